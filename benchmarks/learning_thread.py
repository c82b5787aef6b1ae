"""What a process would gain that learns in a thread beside its search, where `athenan train --workers 0` takes turns.

Torch and OpenVINO let Python's lock go while they compute; the search is Python. Printed are states valued and states
learned a second, each alone and both at once, and what both at once get done: the shares that they keep of their own
speeds, added up. In turns that is 1.

    python benchmarks/learning_thread.py                  # three games, about two minutes
    python benchmarks/learning_thread.py --games connect_four --seconds 20
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import athenan_spiel as ath
from athenan_spiel.config import EngineConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import make_engine
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.learning import Batch, StratifiedReplay
from athenan_spiel.learning.learner import Learner
from athenan_spiel.networks import make_network
from learner import filled_replay
from selfplay import GAMES, search_speed

QUICK = ath.preset("quick")


def batches(replay: StratifiedReplay, enough: threading.Event) -> Iterator[Batch]:
    """Minibatches of one phase after the other, until there are enough."""
    while True:
        for batch in replay.sample(QUICK.learner.batch_size):
            if enough.is_set():
                return
            yield batch


def learning_speed(learner: Learner, replay: StratifiedReplay, enough: threading.Event) -> float:
    """States learned a second, until there are enough."""
    start = time.perf_counter()
    states = learner.learn(batches(replay, enough)).states
    return states / (time.perf_counter() - start)


def main() -> None:
    """Print a line for each game."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--seconds", type=float, default=12.0, help="length of each measurement (default 12)")
    arguments = parser.parse_args()
    print(f"{'game':22} {'valued/s':>9} {'at once':>9} {'learned/s':>10} {'at once':>9} {'done at once':>13}")
    for name in arguments.games:
        game = ath.load_game(name)
        encoder = Encoder(game)
        network = make_network(encoder.shape, QUICK.network, bounded=False, scale=10.0, seed=0)
        evaluator = NetworkEvaluator(encoder, make_engine(EngineConfig(), encoder.shape))
        evaluator.load(network)
        learner, replay = Learner(network, QUICK.learner), filled_replay(game, encoder)
        valued = search_speed(game, evaluator, QUICK.matches_at_once, arguments.seconds)
        with ThreadPoolExecutor(1) as beside:
            enough = threading.Event()
            learning = beside.submit(learning_speed, learner, replay, enough)
            time.sleep(arguments.seconds)
            enough.set()
            learned = learning.result()
            enough.clear()
            learning = beside.submit(learning_speed, learner, replay, enough)
            valued_beside = search_speed(game, evaluator, QUICK.matches_at_once, arguments.seconds)
            enough.set()
            learned_beside = learning.result()
        both = valued_beside / valued + learned_beside / learned
        print(f"{name:22} {valued:9.0f} {valued_beside:9.0f} {learned:10.0f} {learned_beside:9.0f} {both:13.2f}")


if __name__ == "__main__":
    main()

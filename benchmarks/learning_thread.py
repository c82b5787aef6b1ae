"""Gain from learning in a thread parallel to the search, instead of alternating as `athenan train --workers 0` does.

Torch and OpenVINO release Python's global interpreter lock while they compute; the search is Python. Prints evaluations
and training samples per second, each alone and both in parallel, and the sum of the two fractions of the speed alone.
Alternating has the sum 1.

    python benchmarks/learning_thread.py                  # three games, about two minutes
    python benchmarks/learning_thread.py --games connect_four --seconds 20
"""

from __future__ import annotations

import functools
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
from common import make_parser
from learner import filled_replay
from selfplay import GAMES, search_speed

QUICK = ath.preset("quick")


def batches(replay: StratifiedReplay, stop: threading.Event) -> Iterator[Batch]:
    """Yields minibatches of one phase after another until `stop` is set."""
    while True:
        for batch in replay.sample(QUICK.learner.batch_size):
            if stop.is_set():
                return
            yield batch


def learning_speed(learner: Learner, replay: StratifiedReplay, stop: threading.Event) -> float:
    """Learns until `stop` is set; returns training samples per second."""
    start = time.perf_counter()
    states = learner.learn(batches(replay, stop)).states
    return states / (time.perf_counter() - start)


def main() -> None:
    """Prints a line per game."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", nargs="+", default=GAMES, help="OpenSpiel game strings")
    parser.add_argument("--seconds", type=float, default=12.0, help="time of each measurement (default 12)")
    arguments = parser.parse_args()
    print(f"{'game':22} {'evaluated/s':>11} {'parallel':>9} {'learned/s':>10} {'parallel':>9} {'sum':>5}")
    for name in arguments.games:
        game = ath.load_game(name)
        encoder = Encoder(game)
        network = make_network(encoder.shape, QUICK.network, bounded=False, scale=10.0, seed=0)
        evaluator = NetworkEvaluator(encoder, make_engine(EngineConfig(), encoder.shape))
        evaluator.load(network)
        learner, replay = Learner(network, QUICK.learner), filled_replay(game, encoder)
        speed = functools.partial(search_speed, game, evaluator, QUICK.matches_at_once, arguments.seconds)
        evaluated = speed()
        stop = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            learning = pool.submit(learning_speed, learner, replay, stop)
            time.sleep(arguments.seconds)
            stop.set()
            learned = learning.result()
            stop.clear()
            learning = pool.submit(learning_speed, learner, replay, stop)
            evaluated_parallel = speed()
            stop.set()
            learned_parallel = learning.result()
        both = evaluated_parallel / evaluated + learned_parallel / learned
        print(
            f"{name:22} {evaluated:11.0f} {evaluated_parallel:9.0f} {learned:10.0f} {learned_parallel:9.0f} {both:5.2f}"
        )


if __name__ == "__main__":
    main()

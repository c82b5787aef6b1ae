"""How much of the network's speed self-play gets, and what a valued state costs outside the network.

For each game, within one run: the states that the search of several matches at once gets valued per second; what
the same engine values alone, on batches of the very sizes the search asked; their ratio; and the time outside the
network per valued state (search, encoding, storing), measured with an engine that answers at once.

    python benchmarks/selfplay.py            # Hex 11 x 11, Breakthrough, Connect Four; about two minutes
    python benchmarks/selfplay.py --seconds 1 --games "hex(board_size=7)"
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence

import numpy as np
import pyspiel

import athenan_spiel as ath
from athenan_spiel.config import EngineConfig, NetworkConfig
from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.engines import Engine, make_engine
from athenan_spiel.engines.base import Pending
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.evaluators.base import Answer
from athenan_spiel.measuring.stand_ins import InstantEngine
from athenan_spiel.networks import make_network
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.play.self_play import Round
from athenan_spiel.search.choice import completed, ordinal, uniform_exploitation

GAMES = ("hex(board_size=11)", "breakthrough", "connect_four")


class Watched(NetworkEvaluator):
    """An evaluator that keeps the sizes of its batches."""

    def __init__(self, encoder: Encoder, engine: Engine) -> None:
        super().__init__(encoder, engine)
        self.sizes: list[int] = []

    def submit(self, states: Sequence[pyspiel.State]) -> Pending[Answer]:
        """As ever."""
        self.sizes.append(len(states))
        return super().submit(states)


def search_speed(game: pyspiel.Game, evaluator: NetworkEvaluator, matches: int, seconds: float) -> float:
    """States valued per second over rounds of `matches` matches, 20 iterations a move, for about `seconds`."""
    search = ath.Descent(game, outcome=make_outcome("additive_depth", game, random.Random(0)))
    decision = completed(ordinal(uniform_exploitation))
    budget = ath.Budget(iterations=20)
    evaluations, seed = 0, 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        seeds = range(seed, seed + matches)
        seed += matches
        with without_garbage_collection():
            play = Round(
                game,
                search,
                evaluator,
                decision,
                budget,
                seeds,
                new_store=lambda seed: ObservationStore(evaluator.encoder),
            )
            while play.advance() and time.perf_counter() - start < seconds:
                pass
        evaluations += play.evaluations
    return evaluations / (time.perf_counter() - start)


def engine_speed(engine: Engine, encoder: Encoder, sizes: list[int], seconds: float) -> float:
    """States per second of the engine alone, over batches of these sizes in this order."""
    batches = {n: np.random.default_rng(n).integers(0, 2, (n, *encoder.shape)).astype(np.float32) for n in set(sizes)}
    done, i, start = 0, 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        engine.infer(batches[sizes[i % len(sizes)]])
        done += sizes[i % len(sizes)]
        i += 1
    return done / (time.perf_counter() - start)


def main() -> None:
    """Print one line a game."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--matches", type=int, default=8, help="matches at once (default 8)")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of each measurement (default 12)")
    parser.add_argument("--threads", type=int, default=None, help="threads of the engine (default: its own)")
    arguments = parser.parse_args()
    print(f"{'game':22} {'engine':20} {'batch':>6} {'search/s':>9} {'alone/s':>9} {'ratio':>6} {'outside, us':>12}")
    for name in arguments.games:
        game = ath.load_game(name)
        encoder = Encoder(game)
        engine = make_engine(EngineConfig(threads=arguments.threads), encoder.shape)
        engine.load(make_network(encoder.shape, NetworkConfig(), bounded=False, scale=10.0, seed=0))
        evaluator = Watched(encoder, engine)
        search = search_speed(game, evaluator, arguments.matches, arguments.seconds)
        alone = engine_speed(engine, encoder, evaluator.sizes, arguments.seconds / 2)
        instant = NetworkEvaluator(encoder, InstantEngine())
        outside = 1e6 / search_speed(game, instant, arguments.matches, arguments.seconds / 2)
        batch = np.mean(evaluator.sizes)
        print(
            f"{name:22} {engine.name:20} {batch:6.0f} {search:9.0f} {alone:9.0f} {search / alone:6.2f} {outside:12.2f}"
        )


if __name__ == "__main__":
    main()

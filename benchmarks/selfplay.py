"""Speed of self-play compared with the network alone, and time per evaluation outside the network.

Prints for each game, within one run: evaluations per second of the search of several games at once; those of the same
engine alone, on batches of the same sizes; their ratio; and the time outside the network per evaluation (search,
encoding, storing), measured with an engine that answers immediately. The parts of encoding and of storing are
differences from a search without them. The last columns are OpenSpiel's time to create a child and to write an
observation, repeated for one state.

    python benchmarks/selfplay.py            # Hex 11 x 11, Breakthrough, Connect Four; about two and a half minutes
    python benchmarks/selfplay.py --seconds 1 --games "hex(board_size=7)"
"""

from __future__ import annotations

import random
import time
import timeit
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import make_observation

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
from athenan_spiel.search.tree import Store
from common import make_parser

GAMES = ("hex(board_size=11)", "breakthrough", "connect_four")


class Watched(NetworkEvaluator):
    """An evaluator that records the sizes of its batches."""

    def __init__(self, encoder: Encoder, engine: Engine) -> None:
        super().__init__(encoder, engine)
        self.sizes: list[int] = []

    def submit(self, states: Sequence[pyspiel.State]) -> Pending[Answer]:
        """Records the size."""
        self.sizes.append(len(states))
        return super().submit(states)


class Blind(Encoder):
    """An encoder that writes nothing."""

    def encode(self, states: Sequence[pyspiel.State], out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Returns the rows unchanged."""
        return super().encode(states) if out is None else out


class Nowhere:
    """A store that only counts."""

    leaves = False

    def __init__(self, _encoder: Encoder) -> None:
        self._count = 0

    def append(self, state: pyspiel.State) -> int:
        """Returns the index that `state` would have."""
        self._count += 1
        return self._count - 1

    def __len__(self) -> int:
        return self._count

    def kept(self, indices: Sequence[int]) -> Nowhere:
        """Is never called, as the trees have no bound."""
        raise NotImplementedError


def search_speed(
    game: pyspiel.Game,
    evaluator: NetworkEvaluator,
    matches: int,
    seconds: float,
    store: Callable[[Encoder], Store] = ObservationStore,
) -> float:
    """Returns evaluations per second in rounds of `matches` games with 20 iterations per move, for about `seconds`."""
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
                new_store=lambda seed: store(evaluator.encoder),
            )
            while play.advance() and time.perf_counter() - start < seconds:
                pass
        evaluations += play.evaluations
    return evaluations / (time.perf_counter() - start)


def engine_speed(engine: Engine, encoder: Encoder, sizes: list[int], seconds: float) -> float:
    """Returns evaluations per second of the engine alone, over batches of these sizes."""
    batches = {n: np.random.default_rng(n).integers(0, 2, (n, *encoder.shape)).astype(np.float32) for n in set(sizes)}
    done, i, start = 0, 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        engine.infer(batches[sizes[i % len(sizes)]])
        done += sizes[i % len(sizes)]
        i += 1
    return done / (time.perf_counter() - start)


def time_outside(game: pyspiel.Game, matches: int, seconds: float) -> tuple[float, float, float]:
    """Returns microseconds per evaluation outside the network: in total, of encoding, of storing."""

    def per_state(encoder: Encoder, store: Callable[[Encoder], Store] = ObservationStore) -> float:
        return 1e6 / search_speed(game, NetworkEvaluator(encoder, InstantEngine()), matches, seconds, store)

    encoder = Encoder(game)
    whole = per_state(encoder)
    return whole, whole - per_state(Blind(game)), whole - per_state(encoder, Nowhere)


def openspiel_times(game: pyspiel.Game, calls: int = 20_000, plies: int = 4) -> tuple[float, float]:
    """Returns OpenSpiel's microseconds to create a child and to write an observation of a state after some plies."""
    state = game.new_initial_state()
    for _ in range(plies):
        state.apply_action(state.legal_actions()[0])
    action, observation = state.legal_actions()[0], make_observation(game)._observation

    def once(call: Callable[[], object]) -> float:
        return 1e6 * min(timeit.repeat(call, number=calls, repeat=5)) / calls

    return once(lambda: state.child(action)), once(lambda: observation.set_from(state, 0))


def main() -> None:
    """Prints a line per game."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", nargs="+", default=GAMES, help="OpenSpiel game strings")
    parser.add_argument("--matches", type=int, default=8, help="concurrent games (default 8)")
    parser.add_argument("--seconds", type=float, default=12.0, help="time of each measurement (default 12)")
    parser.add_argument("--threads", type=int, help="threads of the engine (default: chosen by the library)")
    arguments = parser.parse_args()
    print(f"{'game':22} {'engine':20} {'batch':>6} {'search/s':>9} {'alone/s':>9} {'ratio':>6}", end="")
    print(f" {'outside, us':>12} {'encoding':>9} {'storing':>8} {'child':>6} {'observation':>12}")
    for name in arguments.games:
        game = ath.load_game(name)
        encoder = Encoder(game)
        engine = make_engine(EngineConfig(threads=arguments.threads), encoder.shape)
        engine.load(make_network(encoder.shape, NetworkConfig(), bounded=False, scale=10.0, seed=0))
        evaluator = Watched(encoder, engine)
        search = search_speed(game, evaluator, arguments.matches, arguments.seconds)
        alone = engine_speed(engine, encoder, evaluator.sizes, arguments.seconds / 2)
        outside, encoding, storing = time_outside(game, arguments.matches, arguments.seconds / 2)
        child, observation = openspiel_times(game)
        batch = np.mean(evaluator.sizes)
        print(f"{name:22} {engine.name:20} {batch:6.0f} {search:9.0f} {alone:9.0f} {search / alone:6.2f}", end="")
        print(f" {outside:12.2f} {encoding:9.2f} {storing:8.2f} {child:6.2f} {observation:12.2f}", flush=True)


if __name__ == "__main__":
    main()

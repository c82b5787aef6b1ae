"""Time of a learned state, and the loss, with float32 and with bfloat16: the basis of `precision="auto"`.

For each game, the same network learns the same minibatches with either precision. They are states of random games,
whose values are the results. Prints microseconds per state, including sampling and unpacking from the replay, and the
mean loss of the first and of the last learning phase. The losses of the two precisions should differ by chance only.

    python benchmarks/learner.py                 # about two minutes on two cores
    python benchmarks/learner.py --phases 1      # a few seconds, to check that it runs
    ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 python benchmarks/learner.py    # as on a processor without AMX
"""

from __future__ import annotations

import random
from typing import Literal

import numpy as np
import pyspiel

from athenan_spiel.config import LearnerConfig, NetworkConfig, ReplayConfig
from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.learning import StratifiedReplay, Targets
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.learner import Learner
from athenan_spiel.networks import make_network
from common import make_parser

GAMES = ("hex(board_size=11)", "connect_four")
MATCHES = 400
PRECISIONS: tuple[Literal["float32", "bfloat16"], ...] = ("float32", "bfloat16")


def random_match(game: pyspiel.Game, encoder: Encoder, rng: random.Random) -> Targets:
    """Returns the states of a random game as targets, with its result as their value."""
    store = ObservationStore(encoder)
    state = game.new_initial_state()
    store.append(state)
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
        store.append(state)
    return Targets(store.chunks(), Labels(np.full(len(store), state.returns()[0], np.float32)))


def filled_replay(game: pyspiel.Game, encoder: Encoder) -> StratifiedReplay:
    """Returns a replay of random games, the same on each call. A phase learns a fifth of it."""
    config = ReplayConfig(matches=MATCHES, duplication=MATCHES / 5)
    replay, rng = StratifiedReplay(config, np.random.default_rng(0)), random.Random(0)
    for _ in range(MATCHES):
        replay.add(random_match(game, encoder, rng))
    return replay


def main() -> None:
    """Prints two lines per game."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", nargs="+", default=GAMES, help="OpenSpiel game strings")
    parser.add_argument("--phases", type=int, default=10, help="learning phases (default 10)")
    parser.add_argument("--batch-size", type=int, default=128, help="states per minibatch (default 128)")
    parser.add_argument("--threads", type=int, help="threads of the learner (default: chosen by the library)")
    arguments = parser.parse_args()
    for name in arguments.games:
        game = pyspiel.load_game(name)
        encoder = Encoder(game)
        for precision in PRECISIONS:
            network = make_network(encoder.shape, NetworkConfig(), bounded=True, seed=0)
            if precision == PRECISIONS[0]:
                print(f"{name}: {network.description}; threads: {arguments.threads or 'the default'}")
            learner = Learner(network, LearnerConfig(precision=precision, threads=arguments.threads))
            replay = filled_replay(game, encoder)
            reports = [learner.learn(replay.sample(arguments.batch_size)) for _ in range(arguments.phases)]
            cost = 1e6 * min(report.seconds / report.states for report in reports)
            first, last = reports[0].loss, reports[-1].loss
            print(f"  {precision:8}  {cost:7.1f} µs per state   loss {first:.4f} → {last:.4f}")


if __name__ == "__main__":
    main()

"""Speed of creating children of Ludii's states, by the bridge and by a loop of Ludii's plain wrapper calls.

A child counts when it is created and tested for the end, its mover or result is known, and its tensor is in the
network's batch. Bridge and loop process the same positions of random games, alternating within one process, so that
other load slows both. Prints the median rates, and the ratios of the pairs of rounds.

    python benchmarks/ludii_children.py                           # some minutes
    python benchmarks/ludii_children.py --games Breakthrough Hex --rounds 15
    python benchmarks/ludii_children.py --dry-run                 # to check that it runs

The plain loop is the wrapper that other frameworks use: `LudiiStateWrapper` copied, `applyNthMove`, `isTerminal`,
`currentPlayer` or `returns`, `toTensorFlat`. "own" marks games whose tensor the bridge creates itself, as Ludii's is
unsuitable. If Ludii's tensor fails, the loop omits it.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel

import ludii_bridge  # noqa: F401  registers Ludii's games
from athenan_spiel.encoding import Encoder
from athenan_spiel.games.children import children_of, ended_of
from common import make_parser

GAMES = ["Breakthrough", "Surakarta", "Ataxx", "Santorini", "Hex", "Amazons", "Reversi", "Xiangqi"]
MAX_PLIES = 80
"""Maximum length of a random game."""

Round = Callable[[list[Any]], int]
"""Creates all children of some states, and returns their number."""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", nargs="+", default=GAMES, help=f"Ludii's names (default {' '.join(GAMES)})")
    parser.add_argument("--states", type=int, default=100, help="states per round (default 100)")
    parser.add_argument("--rounds", type=int, default=9, help="measured rounds of each (default 9)")
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds for Java's compiler (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random games (default 0)")
    parser.add_argument("--dry-run", action="store_true", help="smallest counts")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.games, arguments.states, arguments.rounds, arguments.warm_up = arguments.games[:1], 2, 1, 0
    return arguments


def states_of(game: Any, count: int, rng: random.Random) -> list[Any]:
    """Returns states of random games whose children were not yet requested."""
    found: list[Any] = []
    state = game.new_initial_state()
    while len(found) < count:
        if state.is_terminal() or len(state.history()) >= MAX_PLIES:
            state = game.new_initial_state()
        state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            found.append(state.clone())
    return found


def bridge(game: Any) -> Round:
    """Returns a round of the bridge, with the calls of a search and a network."""
    encoder = Encoder(game)
    batch = np.empty((game.num_distinct_actions(), *encoder.shape), np.float32)

    def run(states: list[Any]) -> int:
        count = 0
        for state in states:
            children = children_of(state, state.legal_actions())
            for i, end in enumerate(ended_of(children)):
                if end:
                    children[i].returns()
            encoder.encode(children, batch[: len(children)])
            count += len(children)
        return count

    return run


def wrapper_loop(game: Any) -> Round:
    """Returns a round of Ludii's wrapper, one child after another."""
    import jpype

    wrapped = jpype.JClass("utils.LudiiGameWrapper")(game.rules.game)
    wrap = jpype.JClass("utils.LudiiStateWrapper")
    tensors = _has_tensors(wrapped, wrap, game)
    batch = np.empty((game.num_distinct_actions(), int(np.prod(wrapped.stateTensorsShape()))), np.float32)

    def run(states: list[Any]) -> int:
        count = 0
        for state in states:
            parent = wrap(wrapped, state.position.context)
            for row in range(parent.numLegalMoves()):
                child = wrap(parent)
                child.applyNthMove(row)
                if child.isTerminal():
                    child.returns()
                else:
                    child.currentPlayer()
                if tensors:
                    batch[row] = child.toTensorFlat()
                count += 1
        return count

    return run


def _has_tensors(wrapped: Any, wrap: Any, game: Any) -> bool:
    import jpype

    try:
        wrap(wrapped, game.new_initial_state().position.context).toTensorFlat()
    except jpype.JException:
        return False
    return True


def rates(game: Any, arguments: argparse.Namespace) -> list[tuple[float, float]]:
    """Returns children per second in each measured round, of the bridge and of the loop."""
    rng = random.Random(arguments.seed)
    ways = (bridge(game), wrapper_loop(game))

    def pair() -> tuple[float, float]:
        """Runs one round of each."""
        seed, timed = rng.getrandbits(32), []
        for way in ways:
            states = states_of(game, arguments.states, random.Random(seed))
            start = time.perf_counter()
            timed.append(way(states) / (time.perf_counter() - start))
        return timed[0], timed[1]

    warm = time.perf_counter() + arguments.warm_up
    while time.perf_counter() < warm:
        pair()
    return [pair() for _ in range(arguments.rounds)]


def main() -> None:
    """Prints a line per game, and the load of the machine before and after."""
    arguments = read_arguments()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{'game':18} {'bridge':>9} {'loop':>9}  ratio (of the rounds)   children per second, medians")
    for name in arguments.games:
        game: Any = pyspiel.load_game("ludii", {"game": name})
        measured = rates(game, arguments)
        fast, plain = (statistics.median(rate[i] for rate in measured) for i in (0, 1))
        ratios = sorted(one / other for one, other in measured)
        spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"{name:18} {fast:9,.0f} {plain:9,.0f}  {spread:22} {'' if game.rules.wrapper else 'own'}", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

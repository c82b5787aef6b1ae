"""How fast the bridge makes the children of Ludii's states, against a loop of Ludii's plain wrapper calls.

A child counts when it is made, tested for the end, its mover (or its result) known and its tensor in a row of the
network's batch. Bridge and loop take the same positions of random matches, in turns within one process, so whatever
else the machine does slows both; each round is timed, and the median is printed, with the ratio of each pair of
rounds.

    python benchmarks/ludii_children.py                           # some minutes
    python benchmarks/ludii_children.py --games Breakthrough Hex --rounds 15
    python benchmarks/ludii_children.py --dry-run                 # to see that it works

The plain loop is the wrapper that other frameworks use: `LudiiStateWrapper` copied, `applyNthMove`, `isTerminal`,
`currentPlayer` or `returns`, `toTensorFlat`. "own" marks games whose tensor the bridge makes itself, as Ludii's does
not suit them; where Ludii's fails altogether the loop goes without.
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

import ludii_bridge  # noqa: F401  it registers Ludii's games
from athenan_spiel.encoding import Encoder
from athenan_spiel.games.children import children_of, ended_of

GAMES = ["Breakthrough", "Surakarta", "Ataxx", "Santorini", "Hex", "Amazons", "Reversi", "Xiangqi"]
LONGEST = 80
"""Plies of a random match after which the next begins."""

Round = Callable[[list[Any]], int]
"""Makes all children of some states and says how many."""


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", default=GAMES, help=f"Ludii's names (default {' '.join(GAMES)})")
    parser.add_argument("--states", type=int, default=100, help="in a round (default 100)")
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds of each (default 9)")
    parser.add_argument("--warm-up", type=float, default=10.0, help="seconds before, for Java's compiler (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the random matches (default 0)")
    parser.add_argument("--dry-run", action="store_true", help="all counts at their least")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.games, arguments.states, arguments.rounds, arguments.warm_up = arguments.games[:1], 2, 1, 0
    return arguments


def states_of(game: Any, count: int, rng: random.Random) -> list[Any]:
    """That many states of random matches, none of which has been asked for children."""
    found: list[Any] = []
    state = game.new_initial_state()
    while len(found) < count:
        if state.is_terminal() or len(state.history()) >= LONGEST:
            state = game.new_initial_state()
        state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            found.append(state.clone())
    return found


def bridge(game: Any) -> Round:
    """Through the bridge, as a search and a network ask for children."""
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
    """Through Ludii's wrapper, a child after the other."""
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
    """Children a second in each counted round, of the bridge and of the loop."""
    rng = random.Random(arguments.seed)
    ways = (bridge(game), wrapper_loop(game))

    def pair() -> tuple[float, float]:
        """One round of each."""
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
    """Print one line a game, and the load of the machine before and after."""
    arguments = read_arguments()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{'game':18} {'bridge':>9} {'loop':>9}  ratio (of the rounds)   children a second, medians")
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

"""Searches a position: prints the expected score of each action, or its proven result.

    python examples/value_a_position.py connect_four 3 3 2 2 1
    python examples/value_a_position.py connect_four 3 3 --run runs/connect_four --seconds 2

Without a run, the search knows only the rules and finds only proofs. With a run, it uses learned values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyspiel
from numpy.typing import NDArray

import athenan_spiel as ath


def know_nothing(states: Sequence[pyspiel.State]) -> NDArray[np.floating]:
    """Returns the values of states; any such callable is an evaluator."""
    return np.zeros(len(states))


def value(state: pyspiel.State, run: str | None, budget: ath.Budget) -> ath.SearchResult:
    """Searches `state` under `budget`."""
    if run is None:
        return ath.think(ath.Descent(state.get_game()), state, budget, know_nothing)
    agent = ath.load_agent(run, budget=budget)
    return agent.think(state)


def show(state: pyspiel.State, result: ath.SearchResult) -> None:
    """Prints the position, and the expected score or the proven result of the best actions."""
    print(result.picture(state).text())
    print(f"play {state.action_to_string(state.current_player(), result.action)}")


def main() -> None:
    """Reads the arguments, searches and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="connect_four", help="OpenSpiel game string")
    parser.add_argument("actions", nargs="*", type=int, help="OpenSpiel actions that lead to the position")
    parser.add_argument("--run", help="run folder of a trained agent for the game")
    parser.add_argument("--seconds", type=float, default=1.0, help="thinking time")
    parser.add_argument("--dry-run", action="store_true", help="one iteration")
    arguments = parser.parse_args()
    state = ath.load_game(arguments.game).new_initial_state()
    for action in arguments.actions:
        if action not in state.legal_actions():
            parser.error(f"expected one of the legal actions {state.legal_actions()}, got {action}")
        state.apply_action(action)
    budget = ath.Budget(iterations=1) if arguments.dry_run else ath.Budget(seconds=arguments.seconds)
    show(state, value(state, arguments.run, budget))


if __name__ == "__main__":
    try:
        main()
    except ath.AthenanError as error:  # answered as the athenan command does
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(2)

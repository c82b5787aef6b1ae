"""A custom reinforcement heuristic: a win is worth more with more pawns left, and with pawns further ahead.

    python examples/own_heuristic.py "breakthrough(rows=6,columns=6)" --matches 200
    cd examples && athenan train breakthrough --outcome own_heuristic:material --time 3m

It has the form of the article's heuristic for Arimaa (Section 11.3): the winner's sign times a number larger than any
material, plus V(s), the difference of material. docs/heuristics.md has Arimaa's own values.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pyspiel

import athenan_spiel as ath


def material(state: pyspiel.State) -> float:
    """±(c + 1) + V(s) for a finished Breakthrough, where a pawn's value is the number of rows it has advanced plus 1.

    Player 0 has the b, which begin at the top; no side can have more than c = 2 · columns · rows.
    """
    rows = [line[1:] for line in str(state).splitlines()[:-1]]
    constant = 2 * len(rows[0]) * len(rows) + 1
    first = sum(row.count("b") * (i + 1) for i, row in enumerate(rows))
    second = sum(row.count("w") * (len(rows) - i) for i, row in enumerate(rows))
    return ath.gain(state) * constant + first - second


def main() -> None:
    """Trains with the heuristic, and loads the agent, which requires its module again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="breakthrough(rows=6,columns=6)", help="Breakthrough of any size")
    parser.add_argument("--matches", type=int, default=100, help="number of training games")
    parser.add_argument("--dry-run", action="store_true", help="train for one game")
    arguments = parser.parse_args()

    game = ath.load_game(arguments.game)
    matches = 1 if arguments.dry_run else arguments.matches
    config = ath.TrainingConfig(outcome=f"{Path(__file__).stem}:material", matches=matches)
    with tempfile.TemporaryDirectory() as folder:
        run = ath.train(game, config, folder)
        agent = ath.load_agent(folder, budget=ath.Budget(iterations=1), outcome=config.outcome)
        value = agent.think(game.new_initial_state()).value
    print(f"{run.matches} matches learned; the initial position is valued {value:+.1f} pawns and rows")


if __name__ == "__main__":
    try:
        main()
    except ath.AthenanError as error:  # answered as the athenan command does
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(2)

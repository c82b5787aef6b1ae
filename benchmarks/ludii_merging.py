"""How often histories of Ludii's games meet, and whether those that do have one future.

For each game: the histories of narrow trees below random states, how many there are for each transposition text, how
many pairs that meet were compared, and over how many plies afterwards; see `ludii_bridge.merging`. It needs Ludii.

    python benchmarks/ludii_merging.py Chess Pentago "English Draughts"
    python benchmarks/ludii_merging.py --drawn 60      # games drawn by chance
"""

from __future__ import annotations

import argparse
import random

import pyspiel

from ludii_bridge import merging, verdicts

LONGEST = (20, 4, 60)
"""Moves before a narrow tree, at most, one after the other."""
PAIRS = 4
"""Compared for each tree."""


def names(arguments: argparse.Namespace) -> list[str]:
    """Those of the games to look at."""
    playable = [verdict.name for verdict in verdicts.read() if not verdict.reason]
    drawn: list[str] = random.Random(arguments.seed).sample(playable, arguments.drawn)
    return [*arguments.games, *drawn]


def main() -> None:
    """Print a line for each game, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("games", nargs="*", metavar="GAME")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="and N games more, drawn by chance")
    parser.add_argument("--trees", type=int, default=3, help="narrow trees for each game")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dry-run", action="store_true", help="say what would be looked at, without Ludii")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"{arguments.trees} trees of each of these: {', '.join(names(arguments)) or 'no game'}")
        return
    print(f"{'game':<40} {'histories':>9} {'each text':>9} {'compared':>9} {'plies':>9}")
    total = merging.Meetings()
    for name in names(arguments):
        game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": 200})
        if game.transposition_text(game.new_initial_state()) is None:
            print(f"{name:<40} never merged")
            continue
        rng, found = random.Random(arguments.seed), merging.Meetings()
        for tree in range(arguments.trees):
            merging.meet(game, rng, longest=LONGEST[tree % len(LONGEST)], pairs=PAIRS, found=found)
        print(line(name, found), flush=True)
        total.add(found)
    print(line("all", total))


def line(name: str, found: merging.Meetings) -> str:
    """A line of the table."""
    each = found.histories / max(found.texts, 1)
    return f"{name:<40} {found.histories:>9} {each:>9.2f} {found.compared:>9} {found.plies:>9}"


if __name__ == "__main__":
    main()

"""Transpositions in Ludii's games: how often histories share a text, and whether they then have the same future.

Prints for each game: histories in narrow trees below random states, histories per transposition text, compared pairs
with the same text, and compared plies after them; see `ludii_bridge.merging`. Needs Ludii.

    python benchmarks/ludii_merging.py Chess Pentago "English Draughts"
    python benchmarks/ludii_merging.py --drawn 60      # 60 random games
"""

from __future__ import annotations

import argparse
import random

import pyspiel

from common import make_parser
from ludii_bridge import merging, verdicts

MAX_PLIES = (20, 4, 60)
"""Maximum number of random plies before a tree, used in turn."""
PAIRS = 4
"""Number of compared pairs per tree."""


def names(arguments: argparse.Namespace) -> list[str]:
    """Returns the names of the games."""
    playable = [verdict.name for verdict in verdicts.read() if not verdict.reason]
    drawn: list[str] = random.Random(arguments.seed).sample(playable, arguments.drawn)
    return [*arguments.games, *drawn]


def main() -> None:
    """Prints a line per game and one for all."""
    parser = make_parser(__doc__)
    parser.add_argument("games", nargs="*", metavar="GAME", help="Ludii's names")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="additional random games (default 0)")
    parser.add_argument("--trees", type=int, default=3, help="trees per game (default 3)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    parser.add_argument("--dry-run", action="store_true", help="print the games only, without Ludii")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(f"{arguments.trees} trees each: {', '.join(names(arguments)) or 'no game'}")
        return
    print(f"{'game':<40} {'histories':>9} {'per text':>9} {'compared':>9} {'plies':>9}")
    total = merging.MergeCounters()
    for name in names(arguments):
        game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": 200})
        if game.transposition_text(game.new_initial_state()) is None:
            print(f"{name:<40} has no transposition text")
            continue
        rng, found = random.Random(arguments.seed), merging.MergeCounters()
        for tree in range(arguments.trees):
            merging.check_merges(game, rng, longest=MAX_PLIES[tree % len(MAX_PLIES)], pairs=PAIRS, found=found)
        print(line(name, found), flush=True)
        total.add(found)
    print(line("all", total))


def line(name: str, found: merging.MergeCounters) -> str:
    """Returns a line of the table."""
    each = found.histories / max(found.texts, 1)
    return f"{name:<40} {found.histories:>9} {each:>9.2f} {found.compared:>9} {found.plies:>9}"


if __name__ == "__main__":
    main()

"""Recreates the solved positions of `benchmarks/solved`, and compares the actions that keep the result of best play.

Each game has two sets, with positions from three sources, the kinds of games they come from (`solved/matches.py`). The
script draws a number of plies and plays a game up to there. It keeps the position if the game is not over, the next
move doesn't win, the position is new in both sets, and some action gives the result away. It omits positions that take
too long to solve (`solved/games.py`).

    python benchmarks/solved_positions.py                       # all of them: hours on one core
    python benchmarks/solved_positions.py othello --sets choosing --sources random mcts
    python benchmarks/solved_positions.py othello --count 5     # the first five of each source
    python benchmarks/solved_positions.py othello --write       # replaces those in the files
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from common import make_parser
from solved.games import GAMES, SolvedGame
from solved.matches import begin_of, play
from solved.positions import SETS, SOURCES, Position, SolvedPosition, file_of, position_of, read

COUNTS = {"judging": 80, "choosing": 40}
"""Number of positions per source."""
OWN_COUNTS = {("connect_four", "judging", "random"): 550}
"""Exceptions: older positions."""


@dataclass
class Making:
    """Creates the positions of a game, a set and a source.

    Attributes:
        left_out: number of positions that took too long to solve.
    """

    game: SolvedGame
    which: str
    source: str
    left_out: int = field(default=0, compare=False)

    @property
    def count(self) -> int:
        """Number of positions in the file."""
        return OWN_COUNTS.get((self.game.name, self.which, self.source), COUNTS[self.which])

    def positions(self, folder: Path) -> Iterator[SolvedPosition]:
        """Yields positions endlessly; trains in the folder if needed."""
        game, seed = self.game.load(), SETS[self.which]
        rng, seen = random.Random(seed), self._earlier()
        begin = begin_of(self.source, self.game, seed, folder)
        plies = self.game.random_plies if self.source == "random" else self.game.plies
        while True:
            count = rng.choice(plies)
            state = play(game, begin(rng), count)
            if state is None or position_of(state) in seen or self.game.is_decided_at_once(state):
                continue
            seen.add(position_of(state))
            keeping = self.game.keeping(state)
            self.left_out += keeping is None
            if keeping is not None and len(keeping) < len(state.legal_actions()):
                yield SolvedPosition(tuple(state.history()), keeping, self.source)

    def known(self) -> list[SolvedPosition]:
        """Returns the positions in the file."""
        return [position for position in read(self.game.name, self.which) if position.source == self.source]

    def _earlier(self) -> set[Position]:
        """Returns the positions that precede these in the files."""
        makings = [Making(self.game, which, source) for which in SETS for source in SOURCES]
        earlier = makings[: makings.index(self)]
        game = self.game.load()
        return {position_of(position.state(game)) for making in earlier for position in making.known()}


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    usage = "%(prog)s [GAME ...] [--sets SET ...] [--sources SOURCE ...] [--count N | --write]"
    parser = make_parser(__doc__, usage)
    parser.add_argument("games", nargs="*", metavar="GAME", help="OpenSpiel game strings (default all)")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="default both")
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES, help="default all")
    parser.add_argument("--count", type=int, help="number of positions per source (default all)")
    parser.add_argument("--write", action="store_true", help="write the files instead of comparing")
    arguments = parser.parse_args()
    for game in arguments.games:
        if game not in GAMES:
            parser.error(f"expected games of {', '.join(GAMES)}, got {game!r}")
    if arguments.count is not None and (arguments.count < 1 or arguments.write):
        parser.error(f"expected --count to be 1 or more, and without --write, got {arguments.count}")
    return arguments


def make(making: Making, count: int, *, compare: bool) -> list[SolvedPosition]:
    """Creates and prints the first positions; ends the script if they differ from the file."""
    start, known, found = time.perf_counter(), making.known(), []
    with tempfile.TemporaryDirectory() as folder:
        for index, position in zip(range(count), making.positions(Path(folder) / "run"), strict=False):
            print(position, flush=True)
            if compare and known[index : index + 1] != [position]:
                there = known[index] if index < len(known) else "none"
                sys.exit(f"{making.game.name}, {making.which}: expected what its file has there, {there}")
            found.append(position)
    seconds = time.perf_counter() - start
    print(f"{making.game.name}, {making.which}, {making.source}: {making.left_out} left out, {seconds:.0f} s")
    return found


def write(making: Making, positions: list[SolvedPosition]) -> None:
    """Writes the positions to their file in place of those of their source."""
    others = [position for position in read(making.game.name, making.which) if position.source != making.source]
    lines = sorted([*others, *positions], key=lambda position: SOURCES.index(position.source))
    file_of(making.game.name, making.which).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> None:
    """Creates the requested positions, source by source."""
    arguments = read_arguments()
    for name in arguments.games or GAMES:
        for which in (which for which in SETS if which in arguments.sets):
            for source in (source for source in SOURCES if source in arguments.sources):
                making = Making(GAMES[name], which, source)
                count = min(arguments.count or making.count, making.count)
                found = make(making, count, compare=not arguments.write)
                if arguments.write:
                    write(making, found)


if __name__ == "__main__":
    main()

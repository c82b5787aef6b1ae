"""550 positions of Connect Four by random play, solved: which moves keep the result that best play gives.

They lie in `connect_four_positions.txt`, a line each: the moves that lead to the position and the moves that keep its
result, columns from 0. Made with seed 0: a number of stones is drawn from `STONES` and as many random moves are played.
The position counts if the match goes on, neither player could win it by the next move, it is none of those before, and
some move in it gives the result away.

    python benchmarks/rivals/connect_four_positions.py                # some minutes: makes them anew and compares
    python benchmarks/rivals/connect_four_positions.py --count 5      # the first five
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from connect_four_solver import ConnectFourSolver
from rival_arguments import Parser, number

FILE = Path(__file__).with_suffix(".txt")
COUNT = 550
STONES = range(16, 24)
SEED = 0


@dataclass(frozen=True)
class SolvedPosition:
    """A position, by the columns that lead to it, and the columns that keep its result."""

    moves: tuple[int, ...]
    keeping: tuple[int, ...]

    def __str__(self) -> str:
        return f"{''.join(map(str, self.moves))} {''.join(map(str, self.keeping))}"


def read() -> list[SolvedPosition]:
    """Those of the file."""
    lines = (line.split() for line in FILE.read_text().splitlines())
    return [SolvedPosition(tuple(map(int, moves)), tuple(map(int, keeping))) for moves, keeping in lines]


def made(seed: int) -> Iterator[SolvedPosition]:
    """The positions of that seed, without an end."""
    rng, seen = random.Random(seed), set()
    while True:
        moves = random_moves(rng, rng.choice(STONES))
        if not moves:
            continue
        solver = ConnectFourSolver()  # a new one each time, or what it keeps would fill the memory
        mover, stones = solver.position(moves)
        if (mover, stones) in seen or solver.wins_at_once(mover, stones):
            continue
        seen.add((mover, stones))
        values = solver.move_values(mover, stones)
        keeping = tuple(column for column, value in values.items() if value == max(values.values()))
        if len(keeping) < len(values):
            yield SolvedPosition(moves, keeping)


def random_moves(rng: random.Random, count: int) -> tuple[int, ...]:
    """As many random moves; none if the match ends before or with the last of them."""
    solver = ConnectFourSolver()
    moves: list[int] = []
    for _ in range(count):
        moves.append(rng.choice([x for x in range(solver.columns) if moves.count(x) < solver.rows]))
        if solver.is_over(*solver.position(moves)):
            return ()
    return tuple(moves)


def main() -> None:
    """Make the positions, print them, and end with an error if the file has others."""
    parser = Parser(__doc__)
    parser.add_argument("--count", type=number(int, 1, COUNT), default=COUNT, help=f"how many (default {COUNT})")
    count = parser.parse_args().count
    known = read() if FILE.exists() else []
    for index, position in zip(range(count), made(SEED), strict=False):
        print(position, flush=True)
        if known and position != known[index]:
            sys.exit(f"expected {known[index]} in line {index + 1} of {FILE.name}, as that file has it")


if __name__ == "__main__":
    main()

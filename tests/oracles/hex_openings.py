"""The openings with which the first player wins Hex on small boards.

`python -m oracles.hex_openings SIZE`, run in the folder of the tests, derives a board's row anew with `HexSolver`
(5 x 5 takes some two minutes) and draws it. The results are those of J. van Rijswijck's Queenbee (2000), whose page of
openings covers the boards up to 6 x 6.
"""

from __future__ import annotations

import sys

from oracles.hex_must_play import HexSolver

WINNING_OPENINGS: dict[int, tuple[int, ...]] = {
    1: (0,),
    2: (1, 2),
    3: (2, 3, 4, 5, 6),
    4: (3, 6, 9, 12),
    5: (4, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 18, 20),
}
"""By board size: the cells, numbered row by row; the first player connects the first row to the last one."""


def main() -> None:
    """Derive and draw the openings of the board size given as the first argument."""
    size = int(sys.argv[1])
    solver = HexSolver(size)
    won = solver.winning_openings()
    sys.stdout.write(f"{size}: {tuple(won)},\n\n")
    for row in range(size):
        cells = " ".join("o" if row * size + column in won else "." for column in range(size))
        sys.stdout.write(" " * row + cells + "\n")
    sys.stdout.write(f"\no wins; {solver.positions:,} positions were proven\n")


if __name__ == "__main__":
    main()

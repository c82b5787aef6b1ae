"""The games with solved positions, for tests that are made for each: `benchmarks` cannot be imported that early."""

from __future__ import annotations

GAMES = (
    "connect_four",
    "hex(board_size=5)",
    "breakthrough(rows=5,columns=5)",
    "othello",
    "clobber(rows=5,columns=5)",
    "dots_and_boxes(num_rows=3,num_cols=3)",
)

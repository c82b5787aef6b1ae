"""Positions of six games that were solved exactly, and what finds and solves them.

- `exact_solver`: who wins a position of any game; `connect_four_solver`: the same by bitboards, for Connect Four;
- `games`: the games, how far from their end positions are taken, and how each is solved;
- `matches`: the matches that positions come from;
- `positions`: what a position is, and the files that hold them, `*_judging.txt` and `*_choosing.txt`;
- `measurements`: what an agent's moves in them are worth.

`benchmarks/solved_positions.py` makes the files, `benchmarks/perfect_play.py` measures agents by them.
"""

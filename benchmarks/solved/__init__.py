"""Exactly solved positions of six games, and the code that creates and solves them.

- `exact_solver`: winner of a position of any game; `connect_four_solver`: the same by bitboards, for Connect Four;
- `games`: the games, the plies from which positions are taken, and their solvers;
- `matches`: the games that positions come from;
- `positions`: positions and their files, `*_judging.txt` and `*_choosing.txt`;
- `measurements`: shares of an agent's moves that keep the result.

`benchmarks/solved_positions.py` creates the files, and `benchmarks/perfect_play.py` measures agents by them.
"""

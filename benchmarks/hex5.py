"""Proves the winner of Hex 5 x 5 after each first move, with a network trained for minutes.

Trains by the preset `quick` for three minutes, or uses an existing run. Proves each position after one move, and
compares the winner with the published one (J. van Rijswijck's Queenbee, 2000; `tests/oracles/hex_openings.py`). A board
rotated by 180 degrees is the same game, so 13 of the 25 moves are proven. Prints nodes, evaluations and seconds of each
proof, and ends with an error if a proof is missing or disagrees.

    python benchmarks/hex5.py                     # 15 to 20 minutes on two cores
    python benchmarks/hex5.py --run runs/hex5 --search ubfm
    python benchmarks/hex5.py --dry-run           # a few seconds, on 3 x 3
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import athenan_spiel as ath
from common import ROOT, make_parser, train


def winning_openings(size: int) -> tuple[int, ...]:
    """Returns the published first moves that win, from the tests' oracles."""
    sys.path.append(str(ROOT / "tests"))
    openings: tuple[int, ...] = importlib.import_module("oracles.hex_openings").WINNING_OPENINGS[size]
    return openings


def main() -> None:
    """Trains unless there is a run, then prints a line per proof."""
    parser = make_parser(__doc__)
    parser.add_argument("--run", help="existing run whose network is used")
    parser.add_argument("--time", default="3m", help="time of the training (default 3m)")
    parser.add_argument("--seed", default="0", help="seed of the training (default 0)")
    parser.add_argument("--search", default="descent", choices=["descent", "ubfm"], help="default descent")
    parser.add_argument("--seconds", type=float, default=600.0, help="time limit of a proof (default 600)")
    parser.add_argument("--moves", type=int, nargs="+", help="first moves, as numbers of cells (default all)")
    parser.add_argument("--dry-run", action="store_true", help="3 x 3, and a training of two games")
    arguments = parser.parse_args()
    size, limit = (3, ("--matches", "2")) if arguments.dry_run else (5, ("--time", arguments.time))
    game, cells, published = f"hex(board_size={size})", size * size, winning_openings(size)
    with tempfile.TemporaryDirectory() as folder:
        options = ("--preset", "quick", *limit, "--seed", arguments.seed)
        agent = ath.load_agent(arguments.run or train(game, Path(folder) / "run", *options), seed=0)
    start, disagreements = agent.game.new_initial_state(), 0
    for cell in arguments.moves or range((cells + 1) // 2):
        proof = ath.solve(
            agent.game,
            start.child(cell),
            algorithm=arguments.search,
            evaluator=agent.evaluator,
            outcome=agent.search.outcome,
            bounds=ath.ProofBounds(seconds=arguments.seconds),
        )
        agrees = proof.proven and (proof.value > 0) == (cell in published)
        disagreements += not agrees
        winner = f"player {int(proof.value < 0)} wins, {'' if agrees else 'NOT '}as published"
        print(
            f"{start.action_to_string(0, cell)} and {start.action_to_string(0, cells - 1 - cell)}: "
            f"{winner if proof.proven else 'not proven'}; {proof.nodes:,} nodes, "
            f"{proof.evaluations:,} evaluations, {proof.seconds:.0f} s",
            flush=True,
        )
    if disagreements:
        sys.exit(f"{disagreements} of the first moves are not proven as published")


if __name__ == "__main__":
    main()

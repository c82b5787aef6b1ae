"""Who wins Hex 5 x 5 after each first move, proven with a network trained for minutes.

Trains by the preset `quick` for three minutes, or takes a run that is there, then proves each position after one move
and compares the winner with the published one (J. van Rijswijck's Queenbee, 2000; `tests/oracles/hex_openings.py`).
A board turned by 180 degrees is the same game, so 13 of the 25 moves are proven for both. Prints nodes, states valued
and seconds of each proof, and ends with an error if one is missing or disagrees.

    python benchmarks/hex5.py                     # some 15 to 20 minutes on two cores
    python benchmarks/hex5.py --run runs/hex5 --search ubfm
    python benchmarks/hex5.py --dry-run           # a few seconds, to see that it works, on 3 x 3
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
import tempfile
from pathlib import Path

import athenan_spiel as ath

SIZE, DRY_SIZE = 5, 3
TESTS = Path(__file__).resolve().parent.parent / "tests"


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="use the network of this run instead of training one")
    parser.add_argument("--train-seconds", type=float, default=180.0, help="length of the training (default 180)")
    parser.add_argument("--train-seed", type=int, default=0, help="seed of the training (default 0)")
    parser.add_argument("--search", default="descent", choices=["descent", "ubfm"], help="what proves")
    parser.add_argument("--seconds", type=float, default=600.0, help="bound of each proof (default 600)")
    parser.add_argument("--moves", type=int, nargs="+", help="only these cells, numbered row by row")
    parser.add_argument("--dry-run", action="store_true", help="3 x 3, and a training of two matches")
    return parser.parse_args()


def winning_openings(size: int) -> tuple[int, ...]:
    """The published first moves that win, from the tests' oracles."""
    sys.path.append(str(TESTS))
    openings: tuple[int, ...] = importlib.import_module("oracles.hex_openings").WINNING_OPENINGS[size]
    return openings


def train(arguments: argparse.Namespace, size: int, folder: Path) -> Path:
    """Train in `folder`; returns the run's folder."""
    config = dataclasses.replace(ath.preset("quick"), seconds=arguments.train_seconds, seed=arguments.train_seed)
    if arguments.dry_run:
        config = dataclasses.replace(config, matches=2, matches_at_once=2, search=ath.SearchConfig(iterations=1))
    run = ath.train(ath.load_game(f"hex(board_size={size})"), config, folder / "run")
    print(f"trained {run.matches} matches of Hex {size} x {size} in {run.seconds:.0f} s", flush=True)
    return run.folder


def main() -> None:
    """Train unless there is a run, then print a line for each proof."""
    arguments = read_arguments()
    size = DRY_SIZE if arguments.dry_run else SIZE
    cells = size * size
    published = winning_openings(size)
    disagreed = 0
    with tempfile.TemporaryDirectory() as folder:
        agent = ath.load_agent(arguments.run or train(arguments, size, Path(folder)), seed=0)
    start = agent.game.new_initial_state()
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
        disagreed += not agrees
        winner = f"player {int(proof.value < 0)} wins, {'' if agrees else 'NOT '}as published"
        print(
            f"{start.action_to_string(0, cell)} and {start.action_to_string(0, cells - 1 - cell)}: "
            f"{winner if proof.proven else 'not proven'}; {proof.nodes:,} nodes, "
            f"{proof.evaluations:,} states valued, {proof.seconds:.0f} s",
            flush=True,
        )
    if disagreed:
        sys.exit(f"{disagreed} of the first moves are not proven as published")


if __name__ == "__main__":
    main()

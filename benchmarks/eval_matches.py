"""How long `athenan eval` takes for matches of two runs, by this checkout and by another one, in turn.

The command is the same for both: `athenan eval RUN@200i --against OTHER@200i --matches 200`. Each has a process of its
own, so the start of Python is in it. Printed are its seconds and what came out; in the end the ratio of the medians.

    python benchmarks/eval_matches.py runs/a runs/b                               # this checkout alone
    python benchmarks/eval_matches.py runs/a runs/b --before ../before --pairs 3  # and that of the version before
    python benchmarks/eval_matches.py runs/a runs/b -- --matches-at-once 1        # words after -- are for this one
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import athenan_spiel as ath

HERE = Path(__file__).resolve().parent.parent


def read_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", help="the folders of two runs of one game")
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--matches", type=int, default=200, help="matches of a series (default 200)")
    parser.add_argument("--budget", default="200i", help="thinking a move, as in an agent's word (default 200i)")
    parser.add_argument("--pairs", type=int, default=1, help="how often each checkout's turn comes (default 1)")
    parser.add_argument("--dry-run", action="store_true", help="two runs of its own, and smallest counts")
    words = sys.argv[1:]
    own = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:own])
    arguments.own = words[own + 1 :]
    if arguments.dry_run:
        arguments.matches, arguments.budget = 2, "1i"
    elif len(arguments.runs) != 2:
        parser.error("two runs are needed, or --dry-run")
    return arguments


def train(folder: str) -> list[str]:
    """Two runs that have hardly learned."""
    config = ath.TrainingConfig(matches=1, matches_at_once=1, search=ath.SearchConfig(iterations=1))
    return [str(ath.train(ath.load_game("tic_tac_toe"), config, Path(folder) / name).folder) for name in "ab"]


def measure(checkout: Path, arguments: argparse.Namespace, own: Sequence[str]) -> float:
    """The seconds of one series by that checkout; what came out is printed."""
    run, other = (f"{run}@{arguments.budget}" for run in arguments.runs)
    words = ["eval", run, "--against", other, "--matches", str(arguments.matches), "--json", *own]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "athenan_spiel", *words], env=environment, stdout=subprocess.PIPE, check=True
    )
    seconds = time.perf_counter() - start
    print(f"{checkout}: {seconds:.1f} s, {json.loads(done.stdout)['comparisons'][0]['total']}", flush=True)
    return seconds


def main() -> None:
    """Measure in turn, and print the ratio."""
    arguments = read_arguments()
    arguments.runs = [str(Path(run).resolve()) for run in arguments.runs]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.dry_run:
            arguments.runs = train(folder)
        after, before = [], []
        for _ in range(arguments.pairs):
            after.append(measure(HERE, arguments, arguments.own))
            if arguments.before:
                before.append(measure(arguments.before.resolve(), arguments, []))
    print(f"median of {len(after)}: {statistics.median(after):.1f} s")
    if before:
        print(f"{statistics.median(before) / statistics.median(after):.2f} x as fast as {arguments.before}")


if __name__ == "__main__":
    main()

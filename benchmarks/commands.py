"""Wall time of commands, each in a process of its own, so that the start of Python is included.

Without arguments, measures `import athenan_spiel` and `athenan --help`. With two runs of one game, measures
`athenan eval RUN@200i --against OTHER@200i --matches 200`. With another checkout, both versions alternate. Prints
medians.

    python benchmarks/commands.py
    python benchmarks/commands.py runs/a runs/b --before ../before --repeats 3
    python benchmarks/commands.py runs/a runs/b -- --matches-at-once 1   # options of `athenan eval` in this checkout
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import athenan_spiel as ath
from common import ROOT, make_parser, parse_with_options, seconds_of

STARTUP = {
    "import athenan_spiel": ["-c", "import athenan_spiel"],
    "athenan --help": ["-m", "athenan_spiel", "--help"],
}


def short_runs(folder: str) -> list[str]:
    """Trains two runs of one game each."""
    config = ath.TrainingConfig(matches=1, matches_at_once=1, search=ath.DescentConfig(iterations=1))
    return [str(ath.train("tic_tac_toe", config, Path(folder) / name).folder) for name in "ab"]


def run(checkout: Path, words: list[str]) -> tuple[float, str]:
    """Runs Python with these arguments and the packages of a checkout. Returns its time in seconds and its output."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    outputs: list[str] = []

    def call() -> None:
        done = subprocess.run([sys.executable, *words], env=environment, check=True, stdout=subprocess.PIPE, text=True)
        outputs.append(done.stdout)

    return seconds_of(call), outputs[0]


def main() -> None:
    """Prints a line per command and checkout."""
    parser = make_parser(__doc__)
    parser.add_argument("runs", nargs="*", help="folders of two runs of one game")
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--matches", type=int, default=200, help="games of a series (default 200)")
    parser.add_argument("--limit", default="200i", help="limit per move, as in an agent spec (default 200i)")
    parser.add_argument("--repeats", type=int, help="measured runs of each command (default 7; 1 of a series)")
    parser.add_argument("--dry-run", action="store_true", help="two new runs, smallest counts")
    arguments, options = parse_with_options(parser)
    if len(arguments.runs) not in (0, 2):
        parser.error("expected two runs or none")
    if arguments.dry_run:
        arguments.matches, arguments.limit, arguments.repeats = 2, "1i", 1
    before = [arguments.before.resolve()] if arguments.before else []
    with tempfile.TemporaryDirectory() as folder:
        runs = short_runs(folder) if arguments.dry_run else [str(Path(run).resolve()) for run in arguments.runs]
        commands = dict(STARTUP) if arguments.dry_run or not runs else {}
        if runs:
            agent, other = (f"{folder}@{arguments.limit}" for folder in runs)
            series = ["-m", "athenan_spiel", "eval", agent, "--against", other, "--matches", str(arguments.matches)]
            commands["athenan eval"] = [*series, "--json"]
        for name, words in commands.items():
            if name in STARTUP:
                run(ROOT, words)  # reads the files into the disk cache
            own, repeats = ([], 7) if name in STARTUP else (options, 1)
            rounds = [
                [run(ROOT, [*words, *own]), *(run(checkout, words) for checkout in before)]
                for _ in range(arguments.repeats or repeats)
            ]
            for checkout, (_, output) in zip([ROOT, *before], rounds[-1], strict=True):
                if name not in STARTUP:
                    print(f"results in {checkout}: {' '.join(output.split())}")
            medians = [statistics.median(time for time, _ in column) for column in zip(*rounds, strict=True)]
            ratio = f"; {medians[1]:.2f} s in {before[0]}, ratio {medians[1] / medians[0]:.2f}" if before else ""
            print(f"{name:22} {medians[0]:7.2f} s{ratio}", flush=True)


if __name__ == "__main__":
    main()

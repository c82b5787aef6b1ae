"""The agents of `zoo/`: how they were trained, and how strong they are.

Without options the files that are there are measured: each plays a declared number of matches against `mcts:1000`,
which is OpenSpiel's MCTS with 1,000 random simulations a move, and against random play; random openings, both colours,
95 % intervals. In games of Ludii, whose playouts are slow, it is `mcts:100`. The agent is limited in iterations of
its search, so a busy machine changes no result. With --train each game's agent is trained first by `athenan train GAME
--time TIME`, without any other option, unless its run is there, and exported. `docs/zoo.md` tells what came of it.

    python benchmarks/zoo.py                               # measure all
    python benchmarks/zoo.py connect_four                  # one of them
    python benchmarks/zoo.py --train --runs runs/zoo       # make them anew
    python benchmarks/zoo.py --dry-run                     # some seconds, to see that it works
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import athenan_spiel as ath

ZOO = Path(__file__).resolve().parent.parent / "zoo"


@dataclass(frozen=True)
class Entry:
    """An agent of the zoo.

    Attributes:
        game: what it plays.
        time: of its training, as `athenan train` takes it.
        against: whom it meets.
    """

    game: str
    time: str
    against: tuple[str, ...] = ("mcts:1000", "random")


ENTRIES = {
    "connect_four": Entry("connect_four", "30m"),
    "hex7": Entry("hex(board_size=7)", "10m"),
    "breakthrough": Entry("breakthrough", "10m"),
    "squava": Entry("ludii(game=Squava)", "10m", ("mcts:100", "random")),
}
DRY = {"tic_tac_toe": Entry("tic_tac_toe", "1s", ("mcts:1", "random"))}


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(ENTRIES)} (default all that are there)"
    )
    parser.add_argument("--train", action="store_true", help="train and export them first")
    parser.add_argument("--runs", type=Path, default=Path("runs/zoo"), help="where the runs are (default runs/zoo)")
    parser.add_argument("--zoo", type=Path, default=ZOO, help="where the files are (default zoo/ of the repository)")
    parser.add_argument("--iterations", type=int, default=30, help="of the agents' search a move (default 30)")
    parser.add_argument(
        "--against", nargs="+", metavar="AGENT", help="opponents (default mcts:1000 or 100, and random)"
    )
    parser.add_argument("--matches", type=int, default=60, help="against each, half with each colour (default 60)")
    parser.add_argument("--opening-plies", type=int, default=4, help="random plies of an opening (default 4)")
    parser.add_argument("--dry-run", action="store_true", help="one small game, all counts at their least")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in ENTRIES]:
        parser.error(f"expected names of {', '.join(ENTRIES)}, got {unknown[0]!r}")
    if arguments.dry_run:
        arguments.train, arguments.matches, arguments.iterations = True, 2, 1
    return arguments


def athenan(*words: str) -> str:
    """What the command `athenan` prints; what it tells of its progress is seen."""
    command = [sys.executable, "-m", "athenan_spiel", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def file_of(name: str, zoo: Path) -> Path:
    """Where the agent's file is."""
    return zoo / f"{name}.safetensors"


def make(name: str, entry: Entry, runs: Path, zoo: Path) -> None:
    """Train an agent, unless its run is there, and write its file."""
    run = runs / name
    if not run.exists():
        athenan("train", entry.game, "--time", entry.time, "--folder", str(run), "--quiet")
    zoo.mkdir(parents=True, exist_ok=True)
    ath.export_agent(run, file_of(name, zoo), overwrite=True)


def measure(name: str, entry: Entry, arguments: argparse.Namespace, zoo: Path) -> list[dict[str, Any]]:
    """The series of an agent against each opponent, as `athenan eval --json` tells them."""
    agent = f"{file_of(name, zoo)}@{arguments.iterations}i"
    counts = ["--matches", str(arguments.matches), "--opening-plies", str(arguments.opening_plies), "--seed", "1"]
    told = json.loads(athenan("eval", agent, "--against", *(arguments.against or entry.against), *counts, "--json"))
    comparisons: list[dict[str, Any]] = told["comparisons"]
    return comparisons


def report(arguments: argparse.Namespace, entries: dict[str, Entry], runs: Path, zoo: Path) -> None:
    """Make and measure the agents, and print some lines for each."""
    chosen = arguments.names or [name for name in entries if arguments.train or file_of(name, zoo).exists()]
    for name in chosen:
        if arguments.train:
            make(name, entries[name], runs, zoo)
        data = file_of(name, zoo).read_bytes()
        print(f"{name}: {len(data):,} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}", flush=True)
        for series in measure(name, entries[name], arguments, zoo):
            total, share = series["total"], series["points"]
            points = f"{100 * share['estimate']:.1f} % ({100 * share['low']:.1f} to {100 * share['high']:.1f})"
            won = f"{total['wins']} won, {total['draws']} drawn, {total['losses']} lost"
            print(f"    {arguments.iterations} iterations against {series['opponent']}: {points}; {won}", flush=True)


def main() -> None:
    """Print it all, or one line that says what is wrong."""
    arguments = read_arguments()
    try:
        if arguments.dry_run:
            with tempfile.TemporaryDirectory() as folder:
                report(arguments, DRY, Path(folder) / "runs", Path(folder) / "zoo")
        else:
            report(arguments, ENTRIES, arguments.runs, arguments.zoo)
    except (ath.AthenanError, OSError, subprocess.CalledProcessError) as error:
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

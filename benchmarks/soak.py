"""Whether trainings that go on for long take more and more memory.

Five trainings with a worker each, one a game, live as long as this script, and take turns: all but one are stopped
(SIGSTOP). At the end of each turn, when a training stands still, the memory of its processes is read: the proportional
set size (PSS), which counts what they share once. Printed is by how much the median of the last twelfth of the time is
more than that of the twelfth after the first sixth: ten minutes of an hour.

What is to grow has grown by then: the replay keeps `--kept` matches, as many as each game ends within a minute or two
of its own, and what it holds is printed for both times, as matches may become longer. Searches are bounded by
`--evaluations` a move, so trees are no larger later on. Checkpoints are written all the time. A training that ends, or
loses its worker, ends the script.

    python benchmarks/soak.py --minutes 60
    python benchmarks/soak.py --minutes 1 --turn 4 --games tic_tac_toe connect_four
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GAMES = ("connect_four", "hex(board_size=7)", "breakthrough(rows=6,columns=6)", "othello", "clobber")
WINDOW = 1 / 12
"""Of the time: so long are the samples taken whose medians are compared."""
SETTLED = 1 / 6
"""Of the time: what grows before is not counted."""
PATIENCE_SECONDS = 60.0
"""For a training that is asked to end."""


@dataclass(frozen=True)
class Sample:
    """What a training takes at one moment.

    Attributes:
        share: of the whole time that has passed, in [0, 1].
        learner, workers: bytes of the process that learns, and of all others.
        replay: bytes of what the replay holds, as the last round told; None before.
    """

    share: float
    learner: int
    workers: int
    replay: int | None

    @property
    def total(self) -> int:
        """Bytes of all processes."""
        return self.learner + self.workers


@dataclass(eq=False)
class Training:
    """A training of one game, with processes of its own."""

    game: str
    folder: Path
    process: subprocess.Popen[bytes]
    samples: list[Sample] = field(default_factory=list)

    @classmethod
    def begun(cls, game: str, folder: Path, words: Sequence[str]) -> Training:
        """Begin one, which leads a group of processes."""
        command = [sys.executable, "-m", "athenan_spiel", "train", game, "--workers", "1", "--quiet"]
        command += ["--folder", f"{folder}", *words]
        return cls(game, folder, subprocess.Popen(command, start_new_session=True))

    def take_turn(self, seconds: float) -> None:
        """Go on for so long, then stand still."""
        self.signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
            raise SystemExit(f"{self.game}: the training ended with code {self.process.returncode}")
        self.signal(signal.SIGSTOP)

    def sample(self, share: float) -> None:
        """Note what it takes."""
        taken = {number: memory(number) for number in processes(os.getsid(self.process.pid))}
        learner = taken.pop(self.process.pid)
        rounds = [line for line in self.told() if line["event"] == "round_finished"]
        if rounds and rounds[-1]["workers_lost"]:
            raise SystemExit(f"{self.game}: a worker was lost")
        replay = rounds[-1]["replay_bytes"] if rounds else None
        self.samples.append(Sample(share, learner, sum(taken.values()), replay))

    def told(self) -> list[dict[str, Any]]:
        """The end of `metrics.jsonl`."""
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return []
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 2**16))
            lines = file.read().split(b"\n")
        return [json.loads(line) for line in lines[size > 2**16 : -1]]

    def signal(self, number: int) -> None:
        """Send a signal to all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Let it save and end."""
        self.signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()


def processes(session: int) -> list[int]:
    """The processes of a session (Linux)."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with contextlib.suppress(OSError):
                if os.getsid(int(path.name)) == session:
                    found.append(int(path.name))
    return found


def memory(process: int) -> int:
    """Bytes that a process takes, its share of what it has in common with others (Linux)."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def median_of(samples: Sequence[Sample], start: float, name: str) -> float:
    """The median of what was taken in a window; if there was no sample, the nearest one's."""
    within = [sample for sample in samples if start <= sample.share <= start + WINDOW]
    nearest = min(samples, key=lambda sample: abs(sample.share - start))
    found: list[float | None] = [getattr(sample, name) for sample in within or [nearest]]
    return statistics.median([value for value in found if value is not None] or [math.nan])


def report(name: str, samples: Sequence[Sample]) -> None:
    """Print a line on how much was taken, and the growth."""
    before, after = (median_of(samples, start, "total") for start in (SETTLED, 1 - WINDOW))
    parts = []
    for part in ("learner", "workers", "replay"):
        first, last = (median_of(samples, start, part) for start in (SETTLED, 1 - WINDOW))
        parts.append(f"{part} {first / 1e6:.1f} to {last / 1e6:.1f}")
    most = max(sample.total for sample in samples)
    print(
        f"{name:32}{before / 1e6:8.1f} MB to {after / 1e6:8.1f} MB: {after / before - 1:+7.2%}   "
        f"({', '.join(parts)}; most {most / 1e6:.1f}; {len(samples)} samples)"
    )


def added(trainings: Sequence[Training]) -> list[Sample]:
    """All trainings together, turn by turn."""
    found = []
    for row in zip(*(training.samples for training in trainings), strict=False):
        replays = [sample.replay for sample in row if sample.replay is not None]
        learner, workers = sum(sample.learner for sample in row), sum(sample.workers for sample in row)
        found.append(Sample(row[-1].share, learner, workers, sum(replays) if replays else None))
    return found


def main() -> None:
    """Let trainings take turns, and print."""
    usage = "%(prog)s [arguments] [-- settings, as of athenan train]"
    parser = argparse.ArgumentParser(
        usage=usage, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", nargs="+", default=GAMES, help="OpenSpiel game strings")
    parser.add_argument("--minutes", type=float, default=60.0, help="for all games (default 60)")
    parser.add_argument("--turn", type=float, default=12.0, help="seconds of a turn (default 12)")
    parser.add_argument("--kept", type=int, default=20, help="matches in a replay (default 20)")
    parser.add_argument("--evaluations", type=int, default=500, help="states valued a move, about (default 500)")
    parser.add_argument("--lines", help="a file for all samples, one JSON object a line")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    words = ["--time", "1000h", "--workers.patience-seconds", "3600", "--checkpoint-seconds", "30"]
    words += ["--replay.matches", f"{arguments.kept}", "--search.evaluations", f"{arguments.evaluations}"]
    words += options
    print(f"each: athenan train GAME --workers 1 {shlex.join(words)}; turns of {arguments.turn:g} s", flush=True)
    seconds, trainings = 60 * arguments.minutes, list[Training]()
    with tempfile.TemporaryDirectory(prefix="athenan-") as place:
        try:
            start = time.monotonic()
            while (passed := time.monotonic() - start) < seconds:
                number = sum(len(training.samples) for training in trainings) % len(arguments.games)
                if len(trainings) < len(arguments.games):
                    trainings.append(Training.begun(arguments.games[number], Path(place) / f"{number}", words))
                    number = len(trainings) - 1
                training = trainings[number]
                training.take_turn(min(arguments.turn, seconds - passed))
                training.sample(min(1.0, (time.monotonic() - start) / seconds))
                note(training, arguments.lines)
        finally:
            for training in trainings:
                training.end()
    for training in trainings:
        report(training.game, training.samples)
    report("all", added(trainings))


def note(training: Training, file: str | None) -> None:
    """Append a training's last sample to the file, if there is one."""
    if file is not None:
        sample = training.samples[-1]
        line = {"game": training.game, **{name: getattr(sample, name) for name in sample.__dataclass_fields__}}
        with Path(file).open("a") as lines:
            lines.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

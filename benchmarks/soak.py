"""Growth of memory in long trainings.

Five trainings of different games, with one worker each, take turns for the whole time: all but one are stopped
(SIGSTOP). At the end of each turn, the script reads the memory of the stopped training's processes: the proportional
set size (PSS), which counts shared pages once. Prints by how much the median of the last twelfth of the time exceeds
that of the twelfth after the first sixth.

The replay is full by then: it keeps `--kept` games, as many as end within a minute or two. Its size is printed for both
times, because games may become longer. `--evaluations` per move limits the trees. Checkpoints are written throughout. A
training that ends or loses its worker ends the script.

    python benchmarks/soak.py --minutes 60
    python benchmarks/soak.py --minutes 1 --turn 4 --games tic_tac_toe connect_four
"""

from __future__ import annotations

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

from common import make_parser, parse_with_options

GAMES = ("connect_four", "hex(board_size=7)", "breakthrough(rows=6,columns=6)", "othello", "clobber")
WINDOW = 1 / 12
"""Length of the two compared windows, as a fraction of the time."""
SETTLED = 1 / 6
"""Start of the first window, as a fraction of the time."""
STOP_SECONDS = 60.0
"""Time for a training to save and end before it is killed, in seconds."""


@dataclass(frozen=True)
class Sample:
    """Memory of a training at one moment, in bytes.

    Attributes:
        share: fraction of the whole time that has passed, in [0, 1].
        learner, workers: memory of the learning process, and of all others.
        replay: size of the replay as reported by the last round; None before the first.
    """

    share: float
    learner: int
    workers: int
    replay: int | None

    @property
    def total(self) -> int:
        """Memory of all processes."""
        return self.learner + self.workers


@dataclass(eq=False)
class Training:
    """A training of one game in its own processes."""

    game: str
    folder: Path
    process: subprocess.Popen[bytes]
    samples: list[Sample] = field(default_factory=list)

    @classmethod
    def start(cls, game: str, folder: Path, words: Sequence[str]) -> Training:
        """Starts a training as the leader of a process group."""
        command = [sys.executable, "-m", "athenan_spiel", "train", game, "--workers", "1", "--quiet"]
        command += ["--folder", f"{folder}", *words]
        return cls(game, folder, subprocess.Popen(command, start_new_session=True))

    def take_turn(self, seconds: float) -> None:
        """Lets the training run for some seconds, then stops it."""
        self.signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
            raise SystemExit(f"{self.game}: the training ended with code {self.process.returncode}")
        self.signal(signal.SIGSTOP)

    def sample(self, share: float) -> None:
        """Appends a sample of its memory."""
        taken = {number: memory(number) for number in processes(os.getsid(self.process.pid))}
        learner = taken.pop(self.process.pid)
        rounds = [line for line in self.last_events() if line["event"] == "round_finished"]
        if rounds and rounds[-1]["workers_lost"]:
            raise SystemExit(f"{self.game}: a worker was lost")
        replay = rounds[-1]["replay_bytes"] if rounds else None
        self.samples.append(Sample(share, learner, sum(taken.values()), replay))

    def last_events(self) -> list[dict[str, Any]]:
        """Returns the events at the end of `metrics.jsonl`."""
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return []
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 2**16))
            lines = file.read().split(b"\n")
        return [json.loads(line) for line in lines[size > 2**16 : -1]]

    def signal(self, number: int) -> None:
        """Sends a signal to all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Lets the training save and end."""
        self.signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()


def processes(session: int) -> list[int]:
    """Returns the processes of a session (Linux)."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with contextlib.suppress(OSError):
                if os.getsid(int(path.name)) == session:
                    found.append(int(path.name))
    return found


def memory(process: int) -> int:
    """Returns the proportional set size of a process in bytes (Linux)."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # the process has just ended
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def median_of(samples: Sequence[Sample], start: float, name: str) -> float:
    """Returns the median of an attribute in a window; without samples there, that of the nearest sample."""
    within = [sample for sample in samples if start <= sample.share <= start + WINDOW]
    nearest = min(samples, key=lambda sample: abs(sample.share - start))
    found: list[float | None] = [getattr(sample, name) for sample in within or [nearest]]
    return statistics.median([value for value in found if value is not None] or [math.nan])


def report(name: str, samples: Sequence[Sample]) -> None:
    """Prints memory and growth in a line."""
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
    """Returns the sums over all trainings, turn by turn."""
    found = []
    for row in zip(*(training.samples for training in trainings), strict=False):
        replays = [sample.replay for sample in row if sample.replay is not None]
        learner, workers = sum(sample.learner for sample in row), sum(sample.workers for sample in row)
        found.append(Sample(row[-1].share, learner, workers, sum(replays) if replays else None))
    return found


def main() -> None:
    """Lets trainings take turns, and prints a line per training."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", nargs="+", default=GAMES, help="OpenSpiel game strings")
    parser.add_argument("--minutes", type=float, default=60.0, help="total time (default 60)")
    parser.add_argument("--turn", type=float, default=12.0, help="seconds of a turn (default 12)")
    parser.add_argument("--kept", type=int, default=20, help="games in a replay (default 20)")
    parser.add_argument("--evaluations", type=int, default=500, help="evaluations per move (default 500)")
    parser.add_argument("--lines", help="file for all samples, one JSON object per line")
    arguments, options = parse_with_options(parser)
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
                    trainings.append(Training.start(arguments.games[number], Path(place) / f"{number}", words))
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
    """Appends a training's last sample to the file, if there is one."""
    if file is not None:
        sample = training.samples[-1]
        line = {"game": training.game, **{name: getattr(sample, name) for name in sample.__dataclass_fields__}}
        with Path(file).open("a") as lines:
            lines.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

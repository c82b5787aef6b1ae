"""Trainings that are killed at random moments and gone on with: nothing that a checkpoint holds may be lost.

A life is a training that is killed or signalled several times and then ends. Its run must be the one that was never
disturbed, to the bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_lines import TINY
from forked import Ended, resources, run_forked
from sandbox import Sandbox
from verdict import broken, last_line

RUN = "runs/life"
MATCHES = 24
SETTINGS: dict[str, tuple[str, ...]] = {
    "descent": (),
    "ubfm": ("--search.algorithm", "ubfm", "--search.resolved-hours", "1"),
    "plain": ("--replay.method", "plain", "--replay.sampling", "0.5"),
    "warm-up": ("--warm-up.states", "60", "--warm-up.processes", "1"),
    "evaluated": ("--evaluation.every-matches", "12", "--evaluation.matches", "2", "--evaluation.opponents", "mcts:2"),
    "convolutions": ("--network.architecture", "c", "--network.filters", "2"),
}
"""Runs of a second that write different files."""
POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDS = {130, *(128 + number for number in POLITE)}
"""Exit codes of a run that was asked to stop."""
SAVED_SECONDS = 5.0
"""Of processor time: with no more a run that is asked to stop has saved and ended, whatever else the machine does."""
_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


@dataclass(frozen=True)
class Undisturbed:
    """The run that a life must become: its content, how long it takes, and how often it changes a file."""

    content: dict[str, str]
    seconds: float
    operations: int


@dataclass
class Life:
    """What became of a life.

    Attributes:
        kills: processes that were ended by SIGKILL.
        signals: those that were asked to stop otherwise.
        faults: what was broken.
        story: each session, in words.
    """

    kills: int = 0
    signals: int = 0
    faults: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return "; ".join(self.story)


def undisturbed(name: str, sandbox: Sandbox) -> Undisturbed:
    """The run of `SETTINGS[name]`, trained at one go."""
    counted = sandbox.root / "operations"
    ended = _session(sandbox, ("train", *_train_words(name)), counted=counted)
    if ended.code != 0:
        raise RuntimeError(f"the run {name} ended with {ended.code}: {ended.stderr}")
    return Undisturbed(content(sandbox), ended.seconds, int(counted.read_text()))


def live(name: str, whole: Undisturbed, rng: random.Random, sandbox: Sandbox, sessions: int = 6) -> Life:
    """Train with a disturbance in each of the first `sessions` sessions, then to the end; what became of it."""
    life = Life()
    saved = 0
    for number in range(sessions + 1):
        words = ("resume", RUN) if (sandbox.work / RUN / "config.toml").exists() else ("train", *_train_words(name))
        if number == sessions:
            ended = _session(sandbox, words)
        else:
            ended = _disturbed(life, words, whole, 1 - saved / MATCHES, rng, sandbox)
        life.faults += [
            fault for fault in broken(ended, sandbox.root) if not fault.startswith(("crash", "code: the current"))
        ]
        if (begun := _begun_after(ended)) is not None and begun < saved:
            life.faults.append(f"lost: {saved} matches were saved, and {words[0]} began after {begun}")
        saved = max(saved, _newest(sandbox))
        if ended.code not in {0, *ENDS, -signal.SIGKILL}:
            life.faults.append(f"exit code: {ended.code} of {words[0]}, {last_line(ended.stderr)!r}")
        if ended.code == 0:
            break
    if saved != MATCHES:
        life.faults.append(f"lost: the run ended with {saved} matches of {MATCHES}")
    else:
        theirs = content(sandbox)
        life.faults += [
            f"bits: {part} is not that of the undisturbed run"
            for part in theirs
            if theirs[part] != whole.content.get(part)
        ]
        life.faults += _faults_of_metrics(sandbox)
    return life


def _disturbed(
    life: Life, words: tuple[str, ...], whole: Undisturbed, share: float, rng: random.Random, sandbox: Sandbox
) -> Ended:
    """One session that is killed or signalled at a random moment, of so large a share of the run."""
    kind = rng.random()
    if kind < 0.45:
        at = rng.randint(1, 10 + int(whole.operations * share))
        ended = _session(sandbox, words, kill_at=at)
        what = f"killed at change {at}"
    else:
        number = signal.SIGKILL if kind < 0.85 else rng.choice(POLITE)
        moment = rng.uniform(0.0, 0.2 + whole.seconds * share)
        sent = _Sender(number, moment)
        ended = _session(sandbox, words, kill=sent)
        what = f"{number.name} after {moment:.2f} s"
        if number != signal.SIGKILL and sent.used is not None:
            life.signals += 1
            if (answer := ended.processor_seconds - sent.used) > SAVED_SECONDS:
                life.faults.append(f"slow: {number.name} was answered after {answer:.1f} s of work")
    life.kills += ended.code == -signal.SIGKILL
    life.story.append(f"{words[0]} {what}: {ended.code}")
    return ended


class _Sender:
    """Sends a signal once, when so many seconds have gone by."""

    def __init__(self, number: signal.Signals, seconds: float) -> None:
        self.used: float | None = None
        self._number = number
        self._seconds = seconds

    def __call__(self, process: int, seconds: float) -> None:
        if self.used is None and seconds >= self._seconds:
            self.used = resources(process)[0]
            os.kill(process, self._number)


def _session(
    sandbox: Sandbox,
    words: tuple[str, ...],
    *,
    kill: Callable[[int, float], None] | None = None,
    kill_at: int | None = None,
    counted: Path | None = None,
) -> Ended:
    """Run the command in a process, which kills itself at the change of a file with the number `kill_at`."""

    def case() -> int:
        operations = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal operations
            if event in _CHANGES or (event == "open" and (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)):
                operations += 1
                if operations == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        from athenan_spiel.cli.main import main

        code = main(words)
        if counted is not None:
            counted.write_text(str(operations))
        return code

    return run_forked(
        case,
        folder=sandbox.work,
        environment=sandbox.environment(),
        notes=sandbox.root / "notes",
        kill=kill,
        patience=120.0,
        limit=300.0,
    )


def content(sandbox: Sandbox) -> dict[str, str]:
    """The checksum of each part of the newest checkpoint that equal runs have in common, read in another process."""
    newest = max(_checkpoints(sandbox), key=lambda path: int(path.name))

    def case() -> int:
        from training_runs import state_of

        parts = {part: hashlib.sha256(repr(value).encode()).hexdigest() for part, value in state_of(newest).items()}
        print(json.dumps(parts))
        return 0

    ended = run_forked(case, folder=sandbox.work, environment=sandbox.environment(), notes=sandbox.root / "notes")
    if ended.code != 0:
        return {"checkpoint": last_line(ended.stderr)}
    parts: dict[str, str] = json.loads(ended.stdout)
    return parts


def _train_words(name: str) -> tuple[str, ...]:
    return (
        *("tic_tac_toe", "--matches", str(MATCHES), "--folder", RUN, "--checkpoint-seconds", "0", *TINY),
        *("--matches-at-once", "3", *SETTINGS[name]),
    )


def _checkpoints(sandbox: Sandbox) -> Iterator[Path]:
    folder = sandbox.work / RUN / "checkpoints"
    return (path for path in folder.glob("*") if path.name.isdecimal())


def _newest(sandbox: Sandbox) -> int:
    return max((int(path.name) for path in _checkpoints(sandbox)), default=0)


def _rows(sandbox: Sandbox) -> list[dict[str, Any]]:
    path = sandbox.work / RUN / "metrics.jsonl"
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break  # a kill has cut it, and the next session takes it away
    return rows


def _begun_after(ended: Ended) -> int | None:
    """The matches after which a session began; None where it has not said so."""
    if found := re.search(r"^resuming after ([\d,]+) games", ended.stderr, re.MULTILINE):
        return int(found[1].replace(",", ""))
    return 0 if ended.stderr.startswith("training: ") else None


def _faults_of_metrics(sandbox: Sandbox) -> Iterator[str]:
    told = [row["matches"] for row in _rows(sandbox) if row["event"] == "match_finished"]
    if told != list(range(1, MATCHES + 1)):
        yield f"metrics: the matches told are {told}"

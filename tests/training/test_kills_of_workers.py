"""Kills of the processes of a real run with workers lose nothing learned."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_runs import GAME, SMALL, Command, count, of, saved, until

SAVED_SECONDS = 5.0
"""Maximum processor time of a stop, in seconds."""
WORDS = ("train", GAME, "--matches", "1000000", "--folder", "run", "--workers", "2", *SMALL)
SHARED = ("--workers.inference", "shared")
HELPERS = 3
"""Two workers and an inference server."""


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[list[Command]]:
    """Commands started by a test, which end with it."""
    commands: list[Command] = []
    yield commands
    for command in commands:
        command.close()


def begin(place: Path, begun: list[Command], words: tuple[str, ...] = (*WORDS, *SHARED)) -> Command:
    """Starts a run, or resumes it."""
    goes_on = (place / "run" / "config.toml").exists()
    begun.append(Command(("resume", "run") if goes_on else words, place))
    return begun[-1]


def until_it_learns(command: Command, folder: Path, more: int = 5) -> None:
    """Waits until `more` games are learned."""
    before = count("match_finished", folder)
    until(lambda: not command.running or count("match_finished", folder) >= before + more)
    assert command.running, command.said


def until_it_has_begun(command: Command, folder: Path, sessions: int) -> None:
    """Waits until session number `sessions` learns."""
    until(lambda: not command.running or count("run_started", folder) >= sessions)
    assert command.running, command.said
    until_it_learns(command, folder)


@pytest.mark.slow("five kills of a real run, 20 s; `test_actor_pool` kills workers and servers in a shorter run")
def test_a_run_continues_after_any_kill(tmp_path: Path, begun: list[Command]) -> None:
    run = tmp_path / "run"
    command = begin(tmp_path, begun)
    until_it_has_begun(command, run, 1)
    for victim in (0, -1):  # the inference server started first
        os.kill(command.helpers()[victim], signal.SIGKILL)
        until(lambda: len(command.helpers()) == HELPERS)
        until_it_learns(command, run)
    until_it_learns(command, run, 20)
    command.kill()
    before = saved(run)
    assert before > 0
    command = begin(tmp_path, begun)
    until_it_has_begun(command, run, 2)
    assert of("run_started", run)[-1]["matches"] == before
    code, seconds = command.end(signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert seconds < SAVED_SECONDS
    assert "continue with: athenan resume run" in command.said
    command.until_alone()
    assert saved(run) == len(of("match_finished", run)) > before, "what was told is saved, and nothing else"


@pytest.mark.slow("a real run that waits for a server that hangs, twenty seconds")
def test_an_inference_server_that_hangs_is_replaced(tmp_path: Path, begun: list[Command]) -> None:
    command = begin(tmp_path, begun, (*WORDS, *SHARED, "--workers.patience-seconds", "3"))
    until_it_has_begun(command, tmp_path / "run", 1)
    hangs = command.helpers()[0]
    os.kill(hangs, signal.SIGSTOP)
    until_it_learns(command, tmp_path / "run", 50)  # more than are on their way
    assert hangs not in command.helpers()
    assert command.end(signal.SIGTERM)[0] == 128 + signal.SIGTERM


def test_workers_end_with_the_command(tmp_path: Path, begun: list[Command]) -> None:
    command = begin(tmp_path, begun, WORDS)
    until(lambda: len(command.helpers()) == 2)
    command.kill()  # while they import what they need


@pytest.mark.slow("a hundred kills of a real run, six seconds each")
def test_a_hundred_kills_at_random_moments_lose_nothing(tmp_path: Path, begun: list[Command]) -> None:
    rng, killed, run = random.Random(16), Counter[str](), tmp_path / "run"
    before = 0
    while killed.total() < 100:
        sessions = count("run_started", run) + 1
        command = begin(tmp_path, begun)
        if rng.random() < 0.7:
            until_it_has_begun(command, run, sessions)
            for _ in range(rng.randrange(4)):
                time.sleep(rng.uniform(0.0, 1.0))
                with contextlib.suppress(ProcessLookupError, IndexError):
                    os.kill(rng.choice(command.helpers()), signal.SIGKILL)
                    killed["helpers"] += 1
            time.sleep(rng.uniform(0.0, 1.0))
        else:
            time.sleep(rng.uniform(0.0, 8.0))  # which it may spend on its imports
        assert command.running, command.said
        command.kill()
        killed["command"] += 1
        now = saved(run) if (run / "config.toml").exists() else 0
        assert now >= before, f"{before} matches were saved"
        before = now
    sessions = count("run_started", run) + 1
    command = begin(tmp_path, begun)
    until_it_has_begun(command, run, sessions)
    code, seconds = command.end(signal.SIGTERM)
    assert (code, seconds < SAVED_SECONDS) == (128 + signal.SIGTERM, True)
    assert saved(run) == len(of("match_finished", run)) > before
    logging.getLogger(__name__).info("%s: 0 of %d matches and 0 lines lost", dict(killed), saved(run))

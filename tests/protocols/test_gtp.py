"""Programs that speak GTP, and programs that do not."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forking import program

from athenan_spiel.errors import ProgramError, ProgramRefusalError, ProgramTimeoutError
from athenan_spiel.protocols import gtp
from athenan_spiel.protocols.gtp import Gtp

FAKE = str(Path(__file__).with_name("fake_gtp.py"))
PATIENCE = 60.0
"""Seconds for what takes a moment, on a busy machine."""
pytestmark = pytest.mark.usefixtures("forked_programs")


@contextmanager
def speaking(*habits: str, seconds: float = PATIENCE) -> Iterator[Gtp]:
    one = Gtp([*program(FAKE), "tic_tac_toe", *habits], seconds)
    try:
        yield one
    finally:
        one.close()


@contextmanager
def saying(code: str, seconds: float = PATIENCE) -> Iterator[Gtp]:
    one = Gtp([sys.executable, "-c", code], seconds)
    try:
        yield one
    finally:
        one.close()


def answering(*answers: str) -> str:
    """The code of a program that answers the version, then no list of commands, then these."""
    return (
        "import sys\n"
        f"answers = ['=1 2', '?2 what', *{list(answers)!r}]\n"
        "for line, answer in zip(sys.stdin, answers): print(answer, end='\\n\\n', flush=True)\n"
        "sys.stdin.read()"
    )


HABITS = [(), ("unnumbered",), ("apart",), ("chatty",), ("lacks=list_commands",)]
HABITS += [("joined",), ("joined", "unnumbered"), ("joined", "chatty"), ("joined", "lacks=list_commands")]


@pytest.mark.parametrize("habits", HABITS)
def test_it_is_asked_and_answers(habits: tuple[str, ...]) -> None:
    with speaking(*habits) as engine:
        assert ("genmove" in engine.commands) == ("lacks=list_commands" not in habits)
        assert engine.ask("genmove b", PATIENCE) == "a3"
        assert engine.ask("play w B2", PATIENCE) == ""
        with pytest.raises(ProgramRefusalError, match=r"answers 'play b B2' with an error: 'illegal move'"):
            engine.ask("play b B2", PATIENCE)
        assert engine.ask("genmove b", PATIENCE) == "b3"


def test_numbers_are_not_sent_to_who_takes_none(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with speaking("unnumbered", f"log={log}") as engine:
        engine.ask("clear_board", PATIENCE)
    with speaking(f"log={log}") as engine:
        engine.ask("clear_board", PATIENCE)
    sent = log.read_text().splitlines()
    assert sent[:4] == ["1 protocol_version", "protocol_version", "list_commands", "clear_board"]
    assert sent[4:8] == ["quit", "1 protocol_version", "2 list_commands", "3 clear_board"]


def test_answers_of_many_lines() -> None:
    with saying(answering("=3 \n  A B\n2 . X\n1 O .", "=4\tD4  \r", "=5")) as engine:
        assert engine.ask("showboard", PATIENCE) == "A B\n2 . X\n1 O ."
        assert engine.ask("genmove b", PATIENCE) == "D4"
        assert engine.ask("komi 7.5", PATIENCE) == ""


def test_what_would_steer_a_terminal_is_written_out() -> None:
    with saying(answering("?3 \033[2J no")) as engine, pytest.raises(ProgramRefusalError) as refusal:
        engine.ask("play b d4", PATIENCE)
    assert "\033" not in str(refusal.value)


def test_an_answer_to_something_else_is_none() -> None:
    with saying(answering("=1 A1\n\n= A2\n\n=== 3 ===\n=12 A3\n\n=3 D4")) as engine:
        assert engine.ask("genmove b", PATIENCE) == "D4"


def test_answers_without_a_space() -> None:
    answers = ("=3D4", "=4Gnu Go 3\nby 5", "?5no", "=61", "=7\n. X", "=8\t9 b")
    with saying(answering(*answers)) as engine:
        assert [engine.ask(name, PATIENCE) for name in ("genmove b", "name")] == ["D4", "Gnu Go 3\nby 5"]
        with pytest.raises(ProgramRefusalError, match="answers 'play b d4' with an error: 'no'"):
            engine.ask("play b d4", PATIENCE)
        assert [engine.ask(name, PATIENCE) for name in ("komi", "showboard", "x")] == ["1", ". X", "9 b"]
    with saying(answering("=4D4\n=name\n=34 A1\n\n=03\n\n=3 D5")) as engine:
        assert engine.ask("genmove b", PATIENCE) == "D5"


@pytest.mark.parametrize("first", ["=12", "=2", "=2.0", "= 2", "=1 2", "=12.0"])
def test_the_first_answer_shows_whether_there_are_numbers(first: str) -> None:
    number = "2" if first.startswith("=1") else ""
    code = answering().replace("'=1 2', '?2 what'", f"{first!r}, '={number}genmove', '={number and 3}A1'")
    with saying(code) as engine:
        assert engine.commands == {"genmove"}
        assert engine.ask("genmove b", PATIENCE) == "A1"


def test_an_answer_without_end() -> None:
    with speaking("endless=1") as engine, pytest.raises(ProgramError, match="answers more than 2,000 lines"):
        engine.ask("genmove b", PATIENCE)


def test_talk_without_end_is_not_listened_to_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.monotonic()
    with pytest.raises(ProgramTimeoutError, match="has not answered 'protocol_version' within 1 s"):
        Gtp([sys.executable, "-c", "while True: print('info depth 1', flush=True)"], 1)
    monkeypatch.setattr(gtp, "LONGEST_ANSWER", 10**9)
    with speaking("endless=1") as engine, pytest.raises(ProgramTimeoutError, match=r"'genmove b' within 0\.5 s"):
        engine.ask("genmove b", 0.5)
    assert time.monotonic() - start < PATIENCE


def test_silence() -> None:
    with pytest.raises(ProgramTimeoutError, match=r"within 1 s.*: does it speak GTP, and in this mode"):
        Gtp([*program(FAKE), "tic_tac_toe", "still"], 1)


def test_one_that_ends_says_why() -> None:
    with pytest.raises(ProgramError, match=r"has ended \(exit code 1\); it last wrote: no licence"):
        Gtp([*program(FAKE), "tic_tac_toe", "dies"], PATIENCE)
    with speaking("crash=1") as engine, pytest.raises(ProgramError, match=r"has ended.*out of memory"):
        engine.ask("genmove b", PATIENCE)


def test_another_protocol() -> None:
    with pytest.raises(ProgramTimeoutError, match="does it speak GTP"):
        Gtp([*program(FAKE), "tic_tac_toe", "uci"], 1)
    with pytest.raises(ProgramError, match="gives 'two' for the version of GTP: does it speak another protocol"):
        Gtp([*program(FAKE), "tic_tac_toe", "version=two"], PATIENCE)
    with pytest.raises(ProgramRefusalError, match="answers 'protocol_version' with an error: 'no'"):
        Gtp([*program(FAKE), "tic_tac_toe", "refuses=protocol_version"], PATIENCE)


def test_one_that_stays_is_ended() -> None:
    start = time.monotonic()
    with speaking("stays") as engine:
        engine.ask("clear_board", PATIENCE)
        assert engine.program_name.startswith("python")
    assert time.monotonic() - start < PATIENCE

"""Whatever a game string says, it is loaded or refused in a line; OpenSpiel, which is C++, ends no process nor hangs.

The strings are read by a process of its own, one after the other.
"""

from __future__ import annotations

import json
import os
import resource
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_fuzz_readers import MANY, damaged_texts
from verdict import LONGEST_MESSAGE

pytestmark = pytest.mark.slow(reason="fuzzes game strings")

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120.0
"""What takes longer hangs, also where others work on the machine."""
MOST_BYTES = 2**34
"""Of address space: a bound on what a string may make OpenSpiel ask for."""
READING = """
import json, sys
from athenan_spiel import UnsupportedGameError, load_game
for line in sys.stdin:
    try:
        answer = str(load_game(json.loads(line)))
    except UnsupportedGameError as error:
        answer = [str(error)]
    print(json.dumps(answer), flush=True)
"""
SPECIFICATIONS = {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}
TRANSFORMATIONS = sorted(name for name, default in SPECIFICATIONS.items() if {} in default.values())
VALUES = (
    *(
        "0",
        "-1",
        "1",
        "2",
        "3",
        "5",
        "8",
        "19",
        "100",
        "1000000",
        "2147483647",
        "-2147483648",
        "9" * 20,
        "1.5",
        "1e300",
    ),
    *("1e300", "nan", "True", "False", "None", "", "x", "tic_tac_toe()", "(", "1;2", "é", "\x00", "x" * 1000),
)
SAMPLES = (
    "tic_tac_toe",
    "hex(board_size=5,swap=True)",
    "connect_four(rows=4,columns=5)",
    "misere(game=hex(board_size=3))",
)


@st.composite
def game_strings(draw: st.DrawFn) -> str:
    """A game of OpenSpiel's with odd values of its parameters."""
    name = draw(st.sampled_from(sorted(SPECIFICATIONS)))
    known = tuple(SPECIFICATIONS[name])
    values = draw(st.lists(st.tuples(st.sampled_from((*known, *known, "x", "")), st.sampled_from(VALUES)), max_size=3))
    return f"{name}({','.join(f'{key}={value}' for key, value in values)})"


@st.composite
def transformed_games(draw: st.DrawFn) -> str:
    """Another game inside OpenSpiel's transformations, whose parameters are given, most of them with odd values."""
    text = draw(game_strings() | st.sampled_from(SAMPLES))
    for name in draw(st.lists(st.sampled_from(TRANSFORMATIONS), min_size=1, max_size=3)):
        values = {key: text if default == {} else draw(_odd(default)) for key, default in SPECIFICATIONS[name].items()}
        text = f"{name}({','.join(f'{key}={value}' for key, value in values.items())})"
    return text


def _odd(default: object) -> st.SearchStrategy[str]:
    return st.sampled_from((str(default), str(default), "0;1", "0;0", *VALUES))


class GameReader:
    """The process that reads."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", READING],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)),
        )

    def read(self, text: str) -> str | list[str]:
        """The game's full string, or in a list the message of the refusal."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(text) + "\n")
        stdin.flush()
        assert select.select([stdout], [], [], SECONDS)[0], f"hangs at {text!r}"
        line = stdout.readline()
        assert line, f"ended with {self.process.wait()} at {text!r}"
        answer: str | list[str] = json.loads(line)
        return answer


@pytest.fixture(scope="module")
def reader() -> Iterator[GameReader]:
    found = GameReader()
    yield found
    found.process.kill()
    found.process.wait()


def test_a_game_string_is_loaded_or_refused(reader: GameReader) -> None:
    @MANY
    @given(game_strings() | transformed_games() | damaged_texts(SAMPLES) | st.text())
    def read(text: str) -> None:
        answer = reader.read(text)
        if isinstance(answer, list):
            (message,) = answer
            assert 1 <= len(message.splitlines()) <= 2
            assert len(message) <= LONGEST_MESSAGE

    read()


def test_the_samples_are_loaded(reader: GameReader) -> None:
    assert all(isinstance(reader.read(text), str) for text in SAMPLES[:3])

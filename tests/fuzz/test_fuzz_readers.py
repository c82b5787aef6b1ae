"""Whatever a reader is given, it reads it or says in a line or two why it cannot.

`make fuzz` sets FUZZ_EXAMPLES for more examples, each time other ones.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import BYTES, TEXTS, Reader
from verdict import LONGEST_MESSAGE

pytestmark = pytest.mark.slow(reason="fuzzes every reader")

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
MANY = settings(
    max_examples=EXAMPLES,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
PIECES = (
    *(
        "=",
        "==",
        "[",
        "]",
        "[[",
        "{",
        "}",
        '"',
        '"""',
        "'",
        "\\",
        "\n",
        "\r\n",
        "\t",
        " ",
        "#",
        "@",
        ":",
        ".",
        ",",
        "()",
        "(",
    ),
    *(
        ")",
        "-",
        "0",
        "-1",
        "9" * 30,
        "9" * 5000,
        "1e999",
        "nan",
        "inf",
        "٣",
        "²",
        "é",
        "日",
        "\x00",
        "\x1b",
        "\u2028",
        "\ufeff",
    ),
    *("[" * 3000, "{" * 3000, '{"a":' * 300, "a." * 300, "null", "true", "none", '"x"', "i", "s", "/", "../", "\ud800"),
)


@st.composite
def damaged_texts(draw: st.DrawFn, samples: tuple[str, ...]) -> str:
    """A sample with a few of its parts cut, doubled or exchanged."""
    text = draw(st.sampled_from(samples))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 8)))
        text = text[:start] + draw(st.sampled_from(PIECES) | st.text(max_size=6)) + text[stop:]
    return text


@st.composite
def damaged_bytes(draw: st.DrawFn, samples: tuple[bytes, ...]) -> bytes:
    """A sample with some bytes exchanged, cut or put in."""
    data = bytearray(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        data[start : start + draw(st.integers(0, 4))] = draw(st.binary(max_size=8))
    return bytes(data)


def check(reader: Reader, given_input: object) -> None:
    """Read it; what is raised is of the promised kind, and a message for a person."""
    try:
        reader.read(given_input)
    except reader.raises as error:
        message = str(error)
        assert 1 <= len(message.splitlines()) <= 2, message
        assert len(message) <= LONGEST_MESSAGE


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_read_or_refused(name: str) -> None:
    reader = TEXTS[name]

    @MANY
    @given(st.text() | damaged_texts(reader.samples))
    def read(text: str) -> None:
        check(reader, text)

    read()


@pytest.mark.parametrize("name", BYTES)
def test_bytes_are_read_or_refused(name: str) -> None:
    reader = BYTES[name]

    @MANY
    @given(st.binary() | damaged_bytes(reader.samples))
    def read(data: bytes) -> None:
        check(reader, data)

    read()


@pytest.mark.parametrize("name", [*TEXTS, *BYTES])
def test_the_samples_are_read(name: str) -> None:
    reader = {**TEXTS, **BYTES}[name]
    for sample in reader.samples:
        reader.read(sample)

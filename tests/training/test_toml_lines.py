"""In which line of a TOML text a key is set."""

from __future__ import annotations

import tomllib

import pytest
from experiment_runs import TINY

from athenan_spiel.experiments import (
    ExperimentFile,
)
from athenan_spiel.training.settings_file import key_lines, line_of

MNK = "mnk(m=3,n=4,k=3)"


def with_text(addition: str) -> ExperimentFile:
    return ExperimentFile(TINY + addition, "tiny.toml")


def test_the_line_of_a_key_is_found_however_it_is_written() -> None:
    text = 'a = 1 # b = 2\nlist = [\n  "c = 3", # [\n  "d",\n]\n'
    text += '[t."x = y.z".u]\n"q.r" . s = 1\np = {v = [1,\n 2]}\nw = 1\n'
    assert list(key_lines(text)) == [
        (1, ("a",)),
        (2, ("list",)),
        (6, ("t", "x = y.z", "u")),
        (7, ("t", "x = y.z", "u", "q.r", "s")),
        (8, ("t", "x = y.z", "u", "p")),
        (10, ("t", "x = y.z", "u", "w")),
    ]
    assert line_of(text, ("t", "x = y.z")) == 6
    assert line_of(text, ("nothing",)) is None


def test_lines_of_quotes_are_passed_over() -> None:
    quotes = '\\"' * 30_000
    assert line_of(f'a = """\n{quotes}\n"""\nb = [\n]\nc = 1\n', ("c",)) == 6
    assert line_of(f'a = "{quotes}"\nb = 1\n', ("b",)) == 2


@pytest.mark.parametrize("character", ["\u0085", "\u2028", "\u2029"])
def test_only_a_line_feed_ends_a_line(character: str) -> None:
    assert list(key_lines(f'game = "a{character}b" # {character}x = 1\r\nmatches = 3\n')) == [
        (1, ("game",)),
        (2, ("matches",)),
    ]


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_what_a_multi_line_string_holds_is_no_setting(quotes: str) -> None:
    other = {'"""': "'''", "'''": '"""'}[quotes]
    text = f"a = {quotes}\nx = 1 [ {quotes[0]} {other}\n[t]\n{quotes}{quotes[0] * 2} # {quotes}\n"
    text += f"b = [{quotes}\n]{quotes},\n1]\nc = {quotes}{quotes}\nd = '#' # {quotes}\ne = 2\n"
    assert set(tomllib.loads(text)) == set("abcde")
    assert list(key_lines(text)) == [(1, ("a",)), (5, ("b",)), (8, ("c",)), (9, ("d",)), (10, ("e",))]


def test_escapes_of_a_multi_line_string() -> None:
    text = 'a = """\\\\\\"""\nx = 1\\\n"""\nb = 1\n'
    assert set(tomllib.loads(text)) == {"a", "b"}
    assert list(key_lines(text)) == [(1, ("a",)), (4, ("b",))]


def test_a_quoted_key_is_the_name_that_it_stands_for() -> None:
    text = '"\\u0061b" = 1\n"\'c\'".\'d"\' = 2\n'
    assert tomllib.loads(text) == {"ab": 1, "'c'": {'d"': 2}}
    assert list(key_lines(text)) == [(1, ("ab",)), (2, ("'c'", 'd"'))]

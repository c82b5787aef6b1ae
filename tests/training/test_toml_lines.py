"""In which line of a TOML text a key is set."""

from __future__ import annotations

from experiment_runs import TINY

from athenan_spiel.experiments import (
    ExperimentFile,
)
from athenan_spiel.training.toml_lines import key_lines, line_of

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

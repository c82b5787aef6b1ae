"""`athenan games --ludii`: the sweep that comes with the bridge, read without Java and without Ludii."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from athenan_spiel.cli.main import main
from ludii_bridge import verdicts
from ludii_bridge.verdicts import Verdict

ROWS = [
    Verdict("Hex [Big]", "", 2, (10, 21, 11), 970, 121, 98, 98, 1, "1.3.0", "2026-01-01"),
    Verdict("Hexdame", "it has chance", version="1.3.0", date="2026-01-01"),
    Verdict("Go, old", "it breaks law 2", version="1.3.0", date="2026-01-01"),
]


@pytest.fixture(autouse=True)
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "games.csv"
    verdicts.write(ROWS, file)
    monkeypatch.setattr(verdicts.read, "__defaults__", (file,))


def test_rows_are_read_as_they_were_written() -> None:
    assert verdicts.read() == sorted(ROWS, key=lambda verdict: verdict.name)
    assert verdicts.read(Path("nowhere")) == []


def test_each_game_has_a_line_supported_or_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "HEX"]) == 0
    text = capsys.readouterr().out
    assert "1 of 2 board games of Ludii 1.3.0 can be trained" in text
    first, second = (next(line for line in text.splitlines() if name in line) for name in ("Hex [Big]", "Hexdame"))
    assert "yes" in first
    assert "10 x 21 x 11" in first
    assert "121" in first
    assert "no: it has chance" in second
    assert "Go" not in text


def test_the_list_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "--json"]) == 0
    games = {game["name"]: game for game in json.loads(capsys.readouterr().out)}
    assert len(games) == 3
    assert games["Hex [Big]"]["supported"]
    assert games["Hex [Big]"]["shape"] == [10, 21, 11]
    assert not games["Hexdame"]["supported"]
    assert games["Hexdame"]["reason"] == "it has chance"


def test_a_part_of_no_name_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "zzz"]) == 2
    assert "one of Ludii's 3 board games, got 'zzz'" in capsys.readouterr().err

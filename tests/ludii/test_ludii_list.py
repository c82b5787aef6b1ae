"""`athenan games --ludii`: the sweep that comes with the bridge, read without Java and Ludii, and single games."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clocks import Clock
from ludii_fake import PATHS

from athenan_spiel.cli.main import main
from ludii_bridge import connection, report, verdicts
from ludii_bridge.details import SECONDS, details
from ludii_bridge.installation import Jar
from ludii_bridge.verdicts import Verdict

ROWS = [
    Verdict("Hex [Big]", "", 2, (10, 21, 11), 970, 121, 98, 98, 1, 4.5, "1.3.0", "2026-01-01"),
    Verdict("Hexdame", "it has chance of an unsupported kind", version="1.3.0", date="2026-01-01"),
    Verdict("Go, old", "it breaks law 2", version="1.3.0", date="2026-01-01"),
]


@pytest.fixture(autouse=True)
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of three games, and no jar."""
    file = tmp_path / "games.csv"
    verdicts.write(ROWS, file)
    monkeypatch.setattr(verdicts.read, "__defaults__", (file,))
    monkeypatch.setenv("LUDII_JAR", str(tmp_path / "none.jar"))


@pytest.fixture
def jar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A jar with a game more, whose folder is not that of the board games."""
    paths = [*PATHS, "lud/board/Hexdame.lud", "lud/math/graph/Hex and Boxes.lud"]
    monkeypatch.setattr(report, "find_jar", lambda: Jar(Path("Ludii.jar"), "1.3.0", tuple(paths)))


def test_rows_are_read_as_they_were_written() -> None:
    assert verdicts.read() == sorted(ROWS, key=lambda verdict: verdict.name)
    assert verdicts.read(Path("nowhere")) == []


def test_each_game_has_a_line_supported_or_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "HEX"]) == 0
    text, said = capsys.readouterr()
    assert said.startswith("Only board games were tested; with Ludii's jar the list contains all games")
    assert "1 of 2 board games of Ludii 1.3.0 can be trained" in text
    first, second = (next(line for line in text.splitlines() if name in line) for name in ("Hex [Big]", "Hexdame"))
    assert "yes" in first
    assert "10 x 21 x 11" in first
    assert "121" in first
    assert "no: it has chance of an unsupported kind" in second
    assert "Go" not in text


def test_the_list_is_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "--json"]) == 0
    games = {game["name"]: game for game in json.loads(capsys.readouterr().out)}
    assert len(games) == 3
    assert games["Hex [Big]"]["supported"]
    assert games["Hex [Big]"]["shape"] == [10, 21, 11]
    assert not games["Hexdame"]["supported"]
    assert games["Hexdame"]["reason"] == "it has chance of an unsupported kind"


def test_rejections_are_counted_by_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "--why"]) == 0
    text = capsys.readouterr().out
    assert "2 of 3 games cannot be trained" in text
    assert re.search(r"1 .*it has chance of an unsupported kind.*Hexdame", text)
    assert re.search(r"1 .*it breaks law 2.*Go, old", text)
    assert main(["games", "--ludii", "--why", "hexdame", "--json"]) == 0
    reason = "it has chance of an unsupported kind"
    assert json.loads(capsys.readouterr().out) == [{"reason": reason, "count": 1, "games": ["Hexdame"]}]
    assert main(["games", "--ludii", "--why", "zzz"]) == 2
    assert "one of Ludii's tested board games, got 'zzz'" in capsys.readouterr().err


def test_a_part_of_no_name_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "zzz"]) == 2
    assert "one of Ludii's 3 games, got 'zzz': `athenan games --ludii` lists all; with Ludii" in capsys.readouterr().err
    assert main(["games", "--ludii", "hexdane"]) == 2
    assert "got 'hexdane': did you mean 'Hexdame'?" in capsys.readouterr().err


@pytest.mark.usefixtures("jar")
def test_games_outside_the_sweep_are_listed_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "hex"]) == 0
    captured = capsys.readouterr()
    assert "not swept" in next(line for line in captured.out.splitlines() if "Hex and Boxes" in line)
    assert captured.err.startswith("Only board games were tested")
    assert main(["games", "--ludii", "boxes"]) == 0
    assert "0 of 0" not in capsys.readouterr().out
    assert main(["games", "--ludii", "hex", "--json"]) == 0
    games = {game["name"]: game for game in json.loads(capsys.readouterr().out)}
    assert games["Hex and Boxes"] == {"name": "Hex and Boxes", "reason": "not swept", "supported": None}


def test_brackets_in_a_name_are_printed_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(ROWS[0], name="Hex [big]")
    monkeypatch.setattr(
        verdicts, "read", lambda: [row, replace(row, name="Hex [red]x", reason="it has chance of an unsupported kind")]
    )
    monkeypatch.setattr(report, "find_jar", lambda: Jar(Path("Ludii.jar"), "1.3.0", ("lud/board/Hex [small].lud",)))
    assert main(["games", "--ludii", "hex"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("Hex [big]", "Hex [red]x", "Hex [small]"))
    assert "\\" not in text


def test_without_java_a_whole_name_shows_what_the_sweep_knows(capsys: pytest.CaptureFixture[str]) -> None:
    before = connection.use(None)
    try:
        assert main(["games", "--ludii", "hexdame"]) == 0
        captured = capsys.readouterr()
        assert "no: it has chance of an unsupported kind" in captured.out
        assert "Options, outcomes, length and speed are shown if Java and Ludii are installed: " in captured.err
        assert "LUDII_JAR" in captured.err
        assert main(["games", "--ludii", "hex (big)", "--json"]) == 0
        game = json.loads(capsys.readouterr().out)
    finally:
        connection.use(before)
    assert (game["trainable"], game["shape"], game["written"]) == (True, [10, 21, 11], "ludii(game=Hex [Big])")
    assert "LUDII_JAR" in game["missing"]


@pytest.mark.usefixtures("fake", "jar")
def test_a_whole_name_shows_all_about_a_game(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--ludii", "tic-tac-toe"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "game Tic-Tac-Toe (in board/space/line)",
        'can be trained yes: athenan train "ludii(game=Tic-Tac-Toe)"',
        "players 2",
        "options Line: 3 (default), 2 Board [Kind]: Square (3) (default), Other",
        "rulesets Short (Suggested): Line/2 Long: Line/3",
        "tensor 3 x 3 x 3 its channels first second last move",
        "--outcome gain, additive_depth, multiplicative_depth, mobility, presence",
        "suggested additive_depth: the game has no score",
        "(20 games) legal moves:",
    ):
        assert part in text


@pytest.mark.usefixtures("fake", "jar")
def test_the_details_are_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    def document(name: str) -> dict[str, Any]:
        assert main(["games", "--ludii", name, "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    swap, alone, dice, three, broken = map(document, ("swap", "ALONE", "dice [roll]", "three", "broken"))
    assert (swap["suggested_outcome"], swap["defaults"]) == ("score", {"Line": "3", "Board [Kind]": "Square (3)"})
    assert "score" in swap["outcomes"]
    assert (alone["outcomes"], alone["suggested_outcome"], alone["measured"]["matches"]) == (["score"], "score", 20)
    assert (dice["trainable"], dice["reasons"]) == (False, ["it has chance of an unsupported kind"])
    assert dice["written"] == "ludii(game=Dice [Roll])"
    assert dice["options"] == swap["options"]
    assert (three["players"], three["outcomes"]) == (3, ["gain", "additive_depth", "multiplicative_depth"])
    assert (three["suggested_outcome"], three["reasons"]) == ("gain", [])
    assert broken["reasons"] == ["it cannot be loaded: a bracket is missing"]


@pytest.mark.usefixtures("fake")
def test_a_measurement_ends_after_some_seconds() -> None:
    found = details("Tic-Tac-Toe", clock=Clock(step=SECONDS / 4).perf_counter).measured
    assert found is not None
    assert (found.matches, found.mean_length, found.longest) == (0, None, 4)
    assert (found.most_moves, found.mean_moves) == (9, 7.5)
    slow = details("Tic-Tac-Toe", clock=Clock(step=2 * SECONDS).perf_counter).measured
    assert slow is not None
    assert slow.longest == 1, "one move at least"
    assert slow.moves_per_second == 1 / (4 * SECONDS), "the clock was looked at twice after the start"


@pytest.mark.usefixtures("fake")
def test_a_measurement_is_the_same_each_time() -> None:
    one, two = (details("Tic-Tac-Toe", clock=Clock().perf_counter).measured for _ in range(2))
    assert one == two
    assert one is not None
    assert one.mean_length is not None
    assert 5 <= one.mean_length <= one.longest <= 9

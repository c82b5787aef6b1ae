"""The sweep finds what is wrong with a game, shown on broken fakes."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from clocks import HANG_SECONDS
from ludii_fake import FakePosition, FakeTransport

from athenan_spiel.cli.ludii_sweep import held_to_laws
from athenan_spiel.cli.main import main
from ludii_bridge import verdicts
from ludii_bridge.sweep import FailedCallError, Watched, sweep, try_game
from ludii_bridge.verdicts import Verdict


def test_a_game_that_obeys_the_laws_is_supported(fake: FakeTransport) -> None:
    verdict = try_game("Tic-Tac-Toe", check=held_to_laws, matches=3)
    assert verdict.reason == ""
    assert (verdict.shape, verdict.actions, verdict.branching, verdict.ended) == ((3, 3, 3), 10, 9, 3)
    assert 5 <= verdict.plies <= 9


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Dice (Roll)", "it has chance of an unsupported kind"),
        ("Broken", "Broken cannot be loaded: a bracket is missing"),
        ("Twice", "9 moves are legal"),
    ],
)
def test_a_game_that_is_refused_has_its_reason(fake: FakeTransport, name: str, reason: str) -> None:
    assert try_game(name, check=held_to_laws).reason.startswith(reason)


@pytest.mark.parametrize(
    ("attribute", "broken", "law"),
    [
        ("utilities", property(lambda self: (1.0, -1.0)), 4),
        ("observe", lambda self, out: out.fill(np.nan), 5),
        ("describe", lambda self: str(id(self)), 10),
        ("describe_moves", lambda self: self._spoil(), 3),
        ("child", lambda self, move: FakePosition(self.rules, self._after(0)), 10),
    ],
)
def test_a_broken_law_is_named(
    fake: FakeTransport, monkeypatch: pytest.MonkeyPatch, attribute: str, broken: object, law: int
) -> None:
    def spoil(self: FakePosition) -> list[str]:
        self.board = replace(self.board, last=0)
        return ["?"] * self.moves

    monkeypatch.setattr(FakePosition, "_spoil", spoil, raising=False)
    monkeypatch.setattr(FakePosition, attribute, broken)
    assert f"it breaks law {law}:" in try_game("Tic-Tac-Toe", check=held_to_laws).reason


def test_a_key_that_legal_moves_change_is_found(fake: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Ludii's own generation of moves did to the hash of a state."""
    moves, key = FakePosition.moves, FakePosition.key

    def looked(self: FakePosition) -> int:
        self.__dict__["looked"] = True
        count: int = moves.fget(self)  # type: ignore[attr-defined]
        return count

    monkeypatch.setattr(FakePosition, "moves", property(looked))
    monkeypatch.setattr(FakePosition, "key", lambda self: (*key(self), int("looked" in vars(self))))
    assert "it breaks law 3: legal_actions() changed " in try_game("Tic-Tac-Toe", check=held_to_laws).reason


def test_a_game_that_takes_longer_has_its_verdict_with_how_far_it_came(fake: FakeTransport) -> None:
    """A clock that ticks a second each time it is looked at; a short time is over before any match is."""
    for seconds, plies, checked, ended in ((1000, 8, 8, 1), (20, 5, 4, 0), (8, 2, 1, 0), (1, 0, 0, 0)):
        verdict = try_game(
            "Tic-Tac-Toe", check=held_to_laws, matches=1, seconds=seconds, clock=map(float, range(2000)).__next__
        )
        assert verdict.reason == ""
        assert (verdict.plies, verdict.checked, verdict.ended) == (plies, checked, ended), seconds


def test_one_players_score_is_its_return(fake: FakeTransport) -> None:
    verdict = try_game("Alone", check=held_to_laws)
    assert (verdict.reason, verdict.players) == ("", 1)


def test_the_command_writes_a_row_for_each_game_and_a_page(
    fake: FakeTransport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, page = tmp_path / "games.csv", tmp_path / "games.md"
    words = ["ludii", "sweep", str(rows), "--page", str(page), "--only", "i", "--length", "20", "--seconds", "0"]
    assert main(words) == 0
    assert "2/3 Tic-Tac-Toe: supported\n" in capsys.readouterr().out
    dice, tic_tac_toe, _ = verdicts.read(rows)
    assert (dice.name, dice.reason, dice.version) == ("Dice (Roll)", "it has chance of an unsupported kind", "1.3.0")
    assert (tic_tac_toe.shape, tic_tac_toe.branching, tic_tac_toe.players) == ((3, 3, 3), 9, 2)
    text = page.read_text(encoding="utf-8")
    assert "**1 of 3** board games of Ludii 1.3.0" in text
    assert "| 1 | it has chance of an unsupported kind | Dice (Roll) |" in text


def test_all_games_are_swept_where_that_is_asked_for(fake: FakeTransport, tmp_path: Path) -> None:
    rows = tmp_path / "games.csv"
    words = ["ludii", "sweep", str(rows), "--only", "e", "--seconds", "0", "--length", "20"]
    assert main(words) == 0
    boards = [verdict.name for verdict in verdicts.read(rows)]
    assert "Alone" not in boards
    assert main([*words, "--all"]) == 0
    assert {verdict.name for verdict in verdicts.read(rows)} == {*boards, "Alone", "Three"}


def test_a_sweep_that_was_stopped_goes_on(
    fake: FakeTransport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "games.csv"
    words = ["ludii", "sweep", str(rows), "--seconds", "0", "--only"]
    main([*words, "Twice"])
    capsys.readouterr()
    main([*words, "i"])
    assert "Twice" not in capsys.readouterr().out
    assert [verdict.name for verdict in verdicts.read(rows)] == ["Dice (Roll)", "Tic-Tac-Toe", "Twice"]


def test_a_file_that_is_no_sweeps_or_cannot_be_written_is_one_line(
    fake: FakeTransport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for content in ("garbage\n", "name,reason\nA,\n", verdicts.PUBLISHED.read_text().replace(",2,", ",two,")):
        (tmp_path / "games.csv").write_text(content)
        assert main(["ludii", "sweep", str(tmp_path / "games.csv"), "--seconds", "0"]) == 2
        assert "expected a CSV file that a sweep has written, got" in capsys.readouterr().err
        assert (tmp_path / "games.csv").read_text() == content
    os.mkfifo(tmp_path / "fifo")
    assert main(["ludii", "sweep", str(tmp_path / "fifo"), "--seconds", "0"]) == 2
    assert "which is no regular file" in capsys.readouterr().err
    assert main(["ludii", "sweep", str(tmp_path / "nowhere" / "games.csv"), "--seconds", "0"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "", "no game was tried"
    assert captured.err.startswith("athenan ludii: No such file or directory: ")
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("option", ["--matches=0", "--processes=65", "--length=0", "--seconds=-1", "--seconds=1e9"])
def test_numbers_out_of_bounds_are_refused_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert main(["ludii", "sweep", str(tmp_path / "games.csv"), option]) == 2
    assert f"athenan ludii: {option.split('=')[0]} must be " in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_a_sweep_is_one_line(
    fake: FakeTransport, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ludii_bridge.sweep.sweep", interrupted)
    assert main(["ludii", "sweep", str(tmp_path / "games.csv")]) == 130
    assert capsys.readouterr().err == "athenan ludii: stopped\n"


def test_a_page_counts_each_reason_and_names_what_went_wrong() -> None:
    tried = [
        Verdict("A", "", ended=1, seconds=60.0, version="1.3.0", date="2026-01-02"),
        Verdict("A2", "", plies=9, checked=3, seconds=7.5, version="1.3.0", date="2026-01-02"),
        Verdict(
            "B",
            "it hides information; it has chance of an unsupported kind",
            version="1.3.0",
            date="2026-01-01",
        ),
        Verdict("C", "it has chance of an unsupported kind", version="1.3.0", date="2026-01-02"),
        Verdict("D", "it breaks law 2: it | changed", version="1.3.0", date="2026-01-02"),
    ]
    page = verdicts.page(tried)
    assert "**2 of 5**" in page
    assert "(`--seconds`; 60 s or 7.5 s here)" in " ".join(page.split())
    assert "In 1, clones and children were not tested at every ply" in " ".join(page.split())
    assert "(tried 2026-01-01 to 2026-01-02)" in page
    assert "1 of the supported games" in " ".join(page.split())
    assert "| 2 | it has chance of an unsupported kind | B, C |\n| 1 | it hides information | B |" in page
    assert page.endswith("| game | reason |\n|---|---|\n| D | it breaks law 2: it / changed |\n")
    assert "the right kind" not in verdicts.page(tried[:4])


def test_the_published_page_is_that_of_the_published_rows() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "ludii_games.md"
    assert page.read_text(encoding="utf-8") == verdicts.page(verdicts.read())


def slow_or_deadly(what: str) -> str:
    if what == "sleep":
        time.sleep(HANG_SECONDS)
    if what == "die":
        os._exit(1)
    if what == "raise":
        raise ValueError(what)
    return f"{what} in {os.getpid()}"


def test_a_call_that_takes_too_long_or_dies_is_told_and_the_next_one_works() -> None:
    with Watched(slow_or_deadly, seconds=HANG_SECONDS) as watched:
        first, second = watched("one"), watched("one")
        assert first == second != f"one in {os.getpid()}"
        for deadly in ("die", "raise"):
            with pytest.raises(FailedCallError, match="its process died"):
                watched(deadly)
        assert watched("two").startswith("two")
    with Watched(slow_or_deadly, seconds=0.01) as watched, pytest.raises(FailedCallError, match=r"more than 0\.01 s"):
        watched("sleep")


def test_a_call_is_stopped_by_another_thread() -> None:
    with Watched(slow_or_deadly, seconds=60) as watched:
        watched("one")
        with ThreadPoolExecutor(1) as threads:
            call = threads.submit(watched, "sleep")
            watched.stop()
            with pytest.raises(FailedCallError, match="its process died"):
                call.result()
        assert watched("two").startswith("two")


def test_a_game_that_kills_its_process_is_a_row(fake: FakeTransport, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(self: Watched, name: str) -> Verdict:
        if name == "Deadly":
            raise FailedCallError("its process died")
        return Verdict(name, "")

    monkeypatch.setattr(Watched, "__call__", call)
    for processes in (1, 3):
        found = sweep(
            ["Deadly", "Twice", "Swap"], held_to_laws, matches=1, max_length=9, seconds=5, processes=processes
        )
        reasons = {verdict.name: verdict.reason for verdict in found}
        assert reasons == {"Deadly": "its process died", "Twice": "", "Swap": ""}

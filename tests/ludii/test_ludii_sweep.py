"""The sweep finds what is wrong with a game, shown on broken fakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ludii_fake import FakePosition, FakeTransport

from ludii_bridge.__main__ import main
from ludii_bridge.sweep import try_game


def test_a_game_that_obeys_the_laws_is_supported(fake: FakeTransport) -> None:
    verdict = try_game("Tic-Tac-Toe", matches=3)
    assert verdict.reason == ""
    assert (verdict.shape, verdict.actions, verdict.branching, verdict.ended) == ((3, 3, 3), 10, 9, 3)
    assert 5 <= verdict.plies <= 9


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Dice (Roll)", "it has chance"),
        ("Broken", "Broken cannot be loaded: a bracket is missing"),
        ("Twice", "9 moves are legal"),
    ],
)
def test_a_game_that_is_refused_has_its_reason(fake: FakeTransport, name: str, reason: str) -> None:
    assert try_game(name).reason.startswith(reason)


@pytest.mark.parametrize(
    ("attribute", "broken", "law"),
    [
        ("utilities", property(lambda self: (1.0, -1.0)), 3),
        ("observe", lambda self, out: out.fill(np.nan), 4),
        ("describe", lambda self: str(id(self)), 7),
        ("describe_moves", lambda self: self._spoil(), 2),
    ],
)
def test_a_broken_law_is_named(
    fake: FakeTransport, monkeypatch: pytest.MonkeyPatch, attribute: str, broken: object, law: int
) -> None:
    def spoil(self: FakePosition) -> list[str]:
        self.board = self._after(0)
        return ["?"] * self.moves

    monkeypatch.setattr(FakePosition, "_spoil", spoil, raising=False)
    monkeypatch.setattr(FakePosition, attribute, broken)
    assert f"it breaks law {law}:" in try_game("Tic-Tac-Toe").reason


def test_the_command_writes_a_page(fake: FakeTransport, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "games.md"
    assert main(["sweep", str(page), "--only", "i", "--length", "20"]) == 0
    assert "2/3 Tic-Tac-Toe: supported\n" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "| Tic-Tac-Toe | 3 x 3 x 3 | 9 |" in text
    assert "| Dice (Roll) | it has chance |" in text

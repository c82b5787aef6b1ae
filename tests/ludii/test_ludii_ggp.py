"""A hang or a crash of Java in one game of a series fails this game only."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from athenan_spiel.games import load_game
from athenan_spiel.ggp import GgpSettings, run_ggp
from athenan_spiel.ggp.task import GameTask

HANGS, CRASHES, FILLS_MEMORY = "ludii(game=Tic-Tac-Toe)", "ludii(game=Nine Holes)", "ludii(game=Hex)"
INVALID, TRAINED = "ludii(game=Tic-Tac-Toe,options=Nothing/Nothing)", "ludii(game=Tapatan)"


class Faulty(GameTask):
    """Java hangs, crashes or runs out of memory before the training of some games."""

    def _train(self, report: Any, stop: Any) -> bool:
        state = load_game(self.game).new_initial_state()
        if self.game == HANGS:
            import jpype

            jpype.java.lang.Thread.sleep(1_000_000)
        if self.game == CRASHES:
            ctypes.string_at(8)  # Java's handler writes its report and aborts
        level = [state]
        kept = []
        while self.game == FILLS_MEMORY:
            kept.append(level)
            level = [child for state in level for child in state.children(state.legal_actions())]
        return super()._train(report, stop)


@pytest.mark.slow("starts Java five times and fills its memory")
@pytest.mark.usefixtures("ludii")
def test_faults_of_java_fail_only_their_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("athenan_spiel.ggp.run.GameTask", Faulty)
    monkeypatch.setattr("athenan_spiel.ggp.run.SILENT_SECONDS", 20.0)
    monkeypatch.setenv("LUDII_MEMORY", "64m")
    games = (HANGS, CRASHES, FILLS_MEMORY, INVALID, TRAINED)
    settings = GgpSettings(name="java", games=games, seconds=2.0, matches=2, move_seconds=0.01, opponents=("random",))
    report = run_ggp(settings, tmp_path / "x", processes=1)
    reasons = {row["game"]: row["reason"] for row in report.failures}
    assert reasons[HANGS] == "its process made no progress for 20 s and was killed"
    assert "signal 6" in reasons[CRASHES]
    assert "Java ran out of memory" in reasons[FILLS_MEMORY]
    assert "Nothing" in reasons[INVALID]
    assert [row["game"] for row in report.results] == [TRAINED]
    assert len(list(tmp_path.glob("hs_err_pid*.log"))) == 1, "Java's report of the crash"

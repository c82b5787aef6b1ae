"""GNU Backgammon as a bot, by a fake program and by the real one where it is installed."""

from __future__ import annotations

import pickle
import re
import shlex
import sys
from pathlib import Path

import pytest
from command_line import Out, complaint
from installed import needs_gnubg

import agents
from agents.gnubg import GnubgBot, load_gnubg
from athenan_spiel.errors import AgentError, ProgramError, ProgramTimeoutError
from athenan_spiel.games import load_game
from athenan_spiel.play.series import play_series
from athenan_spiel.protocols import gnubg

FAKE = (sys.executable, str(Path(__file__).parents[1] / "protocols" / "fake_gnubg.py"))
GAME = load_game("backgammon")
STARTS_WITH_3_AND_1 = 2
DOUBLE_ONE = 30


def bot(*words: str, setting: str = "0") -> GnubgBot:
    return load_gnubg(GAME, 0, {"command": shlex.join([*FAKE, *words]), "setting": setting})


def test_specs() -> None:
    assert agents.parse_spec("gnubg").params == {"setting": "world class", "command": "gnubg"}
    assert agents.parse_spec("gnubg:0").params == {"setting": "0", "command": "gnubg"}
    other = agents.parse_spec("gnubg:expert;command=/opt/gnubg -s 'a b'")
    assert other.params == {"setting": "expert", "command": "/opt/gnubg -s 'a b'"}
    assert other.program == "/opt/gnubg -s 'a b'"
    assert agents.parse_spec("gnubg:;command=x").params == {"setting": "world class", "command": "x"}
    for spec, problem in (
        ("gnubg:7", "expected plies from 0 to 4 or a setting of GNU Backgammon"),
        ("gnubg:expret", "got 'expret': did you mean 'expert'?"),
        ("gnubg:0;noise=1", "expected gnubg:SETTING or gnubg:SETTING;command=COMMAND, got 'gnubg:0;noise=1'"),
        ("gnubg:0;command=", "expected a program and its options"),
        ("gnubg:0@1s", "gnubg takes no limit"),
    ):
        with pytest.raises(AgentError, match=re.escape(problem)):
            agents.parse_spec(spec)


def test_a_file_may_not_start_it() -> None:
    spec = agents.parse_spec("gnubg:0")
    with pytest.raises(AgentError, match="names the program 'gnubg', which needs your permission"):
        agents.require_programs([spec], ())
    agents.require_programs([spec], ("gnubg",))


def test_it_plays_both_halves_of_doubles_and_is_not_asked_without_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    send = gnubg.Program.send
    monkeypatch.setattr(gnubg.Program, "send", lambda self, line: (sent.append(line), send(self, line)))
    one = bot("good", "8/5 6/5", "8/7(2) 6/5(2)", "13/10 8/7(2)")
    state = GAME.new_initial_state()
    state.apply_action(STARTS_WITH_3_AND_1)
    one.restart_at(state)
    action = one.step(state)
    assert state.action_to_string(action).endswith("8/5 6/5")
    state.apply_action(action)
    state.apply_action(DOUBLE_ONE)
    del sent[:]
    points = gnubg.points_of(state, 1)
    for _ in range(2):
        assert state.current_player() == 1
        state.apply_action(one.step(state))
    assert [line.split()[0] for line in sent] == ["set", "hint", "show"]
    assert gnubg.points_of(state, 1) == gnubg.after(points, "8/7(2) 6/5(2)")
    assert pickle.loads(pickle.dumps(one))._made_of == one._made_of == one.clone()._made_of
    one.close()


@pytest.mark.parametrize(
    ("words", "kind", "problem"),
    [
        (["hang"], ProgramTimeoutError, "has not answered within 0."),  # what is left of 0.3 s
        (["flood"], ProgramTimeoutError, "within 0."),
        (["crash"], ProgramError, "has ended (exit code 1)"),
        (["deaf", "8/5 6/5"], ProgramError, "did not set up the position"),
        (["other", "8/5 6/5"], ProgramError, "its board is (0, 0, 0"),
        (["good", "24/off"], ProgramError, "expected a legal move, got '24/off' with the dice (1, 3)"),
        (["good", "7/4"], ProgramError, "expected a legal move, got '7/4'"),
        (["good", "resign"], ProgramError, "returned no move in the position"),
        (["good", "99/5"], ProgramError, "returned no move in the position"),
        (["good"], ProgramError, "returned no move in the position"),
    ],
)
def test_failures(words: list[str], kind: type[Exception], problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind is ProgramTimeoutError:
        monkeypatch.setattr(gnubg, "MOVE_SECONDS", 0.3)
    one = bot(*words)
    state = GAME.new_initial_state()
    state.apply_action(STARTS_WITH_3_AND_1)
    one.restart_at(state)
    with pytest.raises(kind, match=re.escape(problem)):
        one.step(state)
    assert one._engine is None
    one.restart_at(state)
    one.close()


def test_what_cannot_play(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    with pytest.raises(AgentError, match="GNU Backgammon plays 'backgammon', got 'chess"):
        agents.make_bot("gnubg:0", "chess", 0)
    with pytest.raises(ProgramError, match="/no/gnubg cannot be started: No such file or directory"):
        load_gnubg(GAME, 0, {"command": "/no/gnubg"})
    monkeypatch.setattr(gnubg, "START_SECONDS", 0.3)
    with pytest.raises(ProgramTimeoutError, match=r"does not answer as GNU Backgammon within 0\.3 s"):
        bot("silent")
    words = ["eval", "random", "--matches", "2", "--game"]
    assert "cannot be started" in complaint(capsys, *words, "backgammon", "--against", "gnubg:0;command=no-gnubg")
    assert "GNU Backgammon plays 'backgammon'" in complaint(capsys, *words, "hex", "--against", "gnubg:0")
    assert "expected plies from 0 to 4" in complaint(capsys, *words, "backgammon", "--against", "gnubg:best")


@needs_gnubg
@pytest.mark.parametrize("scoring", ["winloss_scoring", "full_scoring"])
def test_a_series(scoring: str) -> None:
    game = load_game(f"backgammon(scoring_type={scoring})")
    played = [
        play_series(
            game,
            lambda i: agents.make_bot("gnubg:0", game, i),
            lambda i: agents.make_bot("random", game, i, 1),
            2,
            opening_plies=3,
        )
        for _ in range(2)
    ]
    assert played[0].wins == 2
    assert played[0].forfeits() == ([], [])
    assert [result.history for result in played[0].results] == [result.history for result in played[1].results]

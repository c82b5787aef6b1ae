"""AEI engines as bots, by a fake engine on a fake Arimaa."""

from __future__ import annotations

import pickle
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_arimaa import SET_UP, FakeGame, FakeState, after

import agents
from agents.aei import AeiBot, load_aei
from athenan_spiel.errors import AgentError, BudgetError, ProgramError, ProgramTimeoutError, ResignedError
from athenan_spiel.protocols import aei

FAKE = (sys.executable, str(Path(__file__).parents[1] / "protocols" / "fake_aei.py"))
GAME: Any = FakeGame()


def bot(*words: str, seconds: float = 0.1) -> AeiBot:
    return load_aei(GAME, 0, {"command": shlex.join([*FAKE, *words]), "seconds": seconds})


def played(one: AeiBot, state: FakeState, count: int) -> list[str]:
    """The names of the next actions of the bot's."""
    names = []
    for _ in range(count):
        action = one.step(state)
        names.append(state.names()[action])
        state.apply_action(action)
    return names


def test_the_time_per_move_is_public() -> None:
    assert bot(seconds=5.0).seconds == 5.0
    assert load_aei(GAME, 0, {"command": shlex.join(FAKE)}).seconds == 1.0


def test_words() -> None:
    assert agents.parse_spec("aei:sharp aei;hash=200@5s").params == {"command": "sharp aei;hash=200", "seconds": 5.0}
    with pytest.raises(AgentError, match=r"aei takes seconds per move \(aei@0\.5s\) and no other limit"):
        agents.parse_spec("aei:x@5e")


def test_it_plays_from_the_set_up_on_and_is_told_of_all_turns() -> None:
    one = bot("good", "Ra1 Hb2", "Hb2n Hb3n")
    state = after()
    one.restart_at(state)
    assert played(one, state, 2) == ["64-A1", "65-B2"]
    for name in ("70-A7", "71-B7"):
        state.apply_action(state.names().index(name))
    assert played(one, state, 3) == ["B2-B3", "B3-B4", "Pass"]
    one.restart()
    assert pickle.loads(pickle.dumps(one))._made_of == one._made_of == one.clone()._made_of


def test_what_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    send = aei.Program.send
    monkeypatch.setattr(aei.Program, "send", lambda self, line: (told.append(line), send(self, line)))
    one = bot("good", "Hb2n", "ra7s", seconds=2.5)
    state = after(*SET_UP)
    one.restart_at(state)
    one.step(state)
    assert [line for line in told if not line.startswith("setoption")][-5:] == [
        "newgame",
        "isready",
        "makemove Ra1 Hb2",
        "makemove ra7 hb7",
        "go",
    ]
    assert "setoption name tcmove value 2.5" in told


@pytest.mark.parametrize(
    ("words", "kind", "problem"),
    [
        (["hang"], ProgramTimeoutError, r"has not moved within 0\.1 s and 0\.4 s more"),
        (["crash"], ProgramError, r"has ended \(exit code 1\)"),
        (["good", "Ee2n"], ProgramError, r"python \(Fake\): expected a legal move, got 'Ee2n'"),
        (["good"], ProgramError, "returned no move: got 'bestmove'"),
        (["good", "resign"], ResignedError, r"python \(Fake\) resigned"),
    ],
)
def test_what_misbehaves(
    words: list[str], kind: type[Exception], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aei, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(aei, "STOP_SECONDS", 0.2)
    one = bot(*words)
    state = after(*SET_UP)
    one.restart_at(state)
    with pytest.raises(kind) as failed:
        one.step(state)
    assert re.search(problem, str(failed.value))
    assert one._engine is None
    one.restart_at(state)


def test_an_opening_that_ends_within_a_turn() -> None:
    one = bot("good", "Hb2n")
    with pytest.raises(ProgramError, match="plays from the start of a turn: use openings of 0 plies, or of 32"):
        one.step(after(*SET_UP, "B2-B3"))


def test_where_a_match_can_begin() -> None:
    one = bot("good")
    one.require_start(after())
    one.require_start(after(*SET_UP))
    for within in (SET_UP[:1], SET_UP[:3], (*SET_UP, "B2-B3")):
        with pytest.raises(AgentError, match="plays from the start of a turn: use openings of 0 plies, or of 32"):
            one.require_start(after(*within))
    one.require_start(after(*SET_UP, "B2-B3", "Pass"))


def test_what_is_wrong_is_said_before_the_first_match(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AgentError, match=r"AEI engines play 'ludii\(game=Arimaa\)', got 'chess"):
        agents.make_bot("aei:sharp aei@1s", "chess", 0)
    with pytest.raises(BudgetError, match="more than zero"):
        bot(seconds=0.0)
    monkeypatch.setattr(aei, "START_SECONDS", 0.3)
    with pytest.raises(ProgramTimeoutError, match=r"does not speak AEI: no `aeiok` or `readyok` within 0\.3 s"):
        bot("silent")
    with pytest.raises(ProgramError, match="cannot be started"):
        load_aei(GAME, 0, {"command": "/no/engine"})

"""What bots that look at the state alone have in common, and what each has to say itself."""

from __future__ import annotations

import pyspiel
import pytest

from agents.state_bot import OWN, StateBot
from athenan_spiel.play.match import play_match

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


class First(StateBot):
    """Plays the first legal action, and counts its matches."""

    def __init__(self) -> None:
        super().__init__()
        self.matches = 0

    def step(self, state: pyspiel.State) -> int:
        return int(state.legal_actions()[0])

    def restart(self) -> None:
        self.matches += 1

    def clone(self) -> First:
        return First()


@pytest.mark.parametrize("missing", OWN)
def test_what_a_bot_must_say_itself(missing: str) -> None:
    said = {name: getattr(First, name) for name in OWN if name != missing}
    with pytest.raises(TypeError, match=f"Silent must define step, restart, clone, and lacks {missing}"):
        type("Silent", (StateBot,), said)


def test_what_is_said_may_be_inherited() -> None:
    class Second(First):
        pass

    assert Second().step(TIC_TAC_TOE.new_initial_state()) == 0


def test_a_match_begins_with_restart_and_nothing_need_be_told() -> None:
    bots = [First(), First()]
    result = play_match(TIC_TAC_TOE, bots)
    assert result.history == (0, 1, 2, 3, 4, 5, 6)
    assert [bot.matches for bot in bots] == [1, 1]


def test_openspiel_asks_it() -> None:
    """By C++, which calls the methods as those of its own class."""
    bots = [First(), First()]
    assert pyspiel.evaluate_bots(TIC_TAC_TOE.new_initial_state(), bots, 0) == [1.0, -1.0]
    assert not bots[0].provides_policy()
    assert bots[0].is_clonable()
    assert bots[0].clone() is not bots[0]

"""What bots and `load_bot` refuse: states without a choice or of another game, what is no word, player or parameter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyspiel
import pytest

import agents
from athenan_spiel.errors import (
    AgentError,
    ConfigError,
    SearchError,
    UnsupportedGameError,
)

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


def after(game: pyspiel.Game, plies: int, seed: int = 0) -> pyspiel.State:
    """A state after some random plies."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    for _ in range(plies):
        state.apply_action(rng.choice(state.legal_actions()))
    return state


FINISHED = after(TIC_TAC_TOE, 0)
for _action in (0, 3, 1, 4, 2):
    FINISHED.apply_action(_action)


@pytest.mark.parametrize("word", ["alphabeta(1)", "mcts:2", "random", "human"])
@pytest.mark.parametrize(
    ("state", "said"),
    [
        (FINISHED, "expected a state with an action to choose, got a terminal one"),
        (pyspiel.load_game("kuhn_poker").new_initial_state(), "expected a state"),
        (None, "expected a state of"),
        ("x.o", "expected a state of"),
    ],
    ids=["finished", "chance", "none", "text"],
)
def test_a_state_without_a_choice_is_refused(word: str, state: Any, said: str) -> None:
    """OpenSpiel's own bots end the process in some of them."""
    bot = agents.make_bot(word, TIC_TAC_TOE, 0)
    with pytest.raises(SearchError, match=said):
        bot.step(state)
    if word in ("mcts:2", "random"):
        with pytest.raises(SearchError, match=said):
            bot.step_with_policy(state)
    if word == "random":
        with pytest.raises(SearchError, match=said):
            bot.get_policy(state)


@pytest.mark.parametrize("word", ["alphabeta(1)", "mcts:2", "random"])
def test_a_state_of_another_game_is_refused(word: str) -> None:
    state = pyspiel.load_game("connect_four").new_initial_state()
    with pytest.raises(SearchError, match=r"expected a state of 'tic_tac_toe\(\)', got one of 'connect_four\(\)'"):
        agents.make_bot(word, TIC_TAC_TOE, 0).step(state)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: agents.parse_spec(None), "an agent spec must be a str, got None"),  # type: ignore[arg-type]
        (lambda: agents.make_bot(3, TIC_TAC_TOE, 0), "an agent spec must be a str, got 3"),  # type: ignore[arg-type]
        (
            lambda: agents.load_bot("random", TIC_TAC_TOE, 2),
            r"player_id must be from 0 to 1 in 'tic_tac_toe\(\)', got 2",
        ),
        (lambda: agents.load_bot("random", TIC_TAC_TOE, -1), "player_id must be from 0 to 1"),
        (lambda: agents.load_bot("mcts", TIC_TAC_TOE, "0"), "player_id must be a whole number, got '0'"),  # type: ignore[arg-type]
        (lambda: agents.load_bot("random", TIC_TAC_TOE, 0, [1]), r"params must be a Mapping or None, got \[1\]"),  # type: ignore[arg-type]
        (lambda: agents.register_bot(3, print), "name must be a str, got 3"),  # type: ignore[arg-type]
        (lambda: agents.register_bot("mine", None), "factory must be a function, got None"),  # type: ignore[arg-type]
    ],
    ids=range(8),
)
def test_what_is_no_word_player_or_parameter_is_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(AgentError, match=said):
        call()


def test_what_is_no_game_is_refused() -> None:
    with pytest.raises(UnsupportedGameError, match="expected a game, such as load_game"):
        agents.load_bot("random", None, 0)
    with pytest.raises(UnsupportedGameError, match="no game is called 'tic_tac'"):
        agents.load_bot("random", "tic_tac", 0)
    with pytest.raises(ConfigError, match=r"mcts needs a game in which one player moves at a time, got 'goofspiel"):
        agents.load_bot("mcts", pyspiel.load_game("goofspiel"), 0)


@pytest.mark.parametrize(
    ("bot", "params"),
    [
        ("alphabeta", {"depth": 10**5000}),
        ("alphabeta", {"depth": "9" * 100_000}),
        ("mcts", {"simulations": FINISHED}),
        ("athenan", {"checkpoint": 10**5000}),
        ("random", {"x" * 100_000: 1}),
        ("athenan", {}),
    ],
    ids=["number", "text", "state", "path", "name", "missing"],
)
def test_a_parameter_of_any_size_is_refused_in_a_line(bot: str, params: dict[str, Any]) -> None:
    with pytest.raises(AgentError) as error:
        agents.load_bot(bot, TIC_TAC_TOE, 0, params)
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 500


def test_a_bots_name_is_a_text() -> None:
    with pytest.raises(AgentError, match=r"^name must be a str, got \[\[1\]\]$"):
        agents.load_bot([[1]], TIC_TAC_TOE, 0)  # type: ignore[arg-type]

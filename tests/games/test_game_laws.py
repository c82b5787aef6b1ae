"""Laws of games: each violation is found; test_games.py checks real games."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from lying_game import LyingGame, LyingState

from athenan_spiel.errors import UnsupportedGameError
from athenan_spiel.games import check_game, load_game
from athenan_spiel.games.laws import BrokenLawError, check_match
from athenan_spiel.games.state_queries import StateQueries

QUERIES = [name.removesuffix("()") for name in StateQueries(LyingGame()).ways]

OF_ACTIONS = ("action_to_string", "child")
"""Queries that are empty without legal actions."""
PAIRS = [(a, b) for a in QUERIES for b in QUERIES if b != "returns" or a not in OF_ACTIONS]
"""Pairs of queries in order; before the end, returns have only one valid answer."""


def at_the_end(value: object) -> Any:
    """Returns a change: other returns at the end."""
    return lambda state, name, answer: value if name == "returns" and state.is_terminal() else answer


def always(what: str, value: Any) -> Any:
    """Returns a change: always this answer, or a function of the true one."""
    return lambda state, name, answer: (value(answer) if callable(value) else value) if name == what else answer


def when_made(way: str, what: str) -> Any:
    """Returns a change for states made in one way."""
    return lambda state, name, answer: other(state, name, answer) if (state.way, name) == (way, what) else answer


def other(state: LyingState, name: str, answer: Any) -> Any:
    """Returns another valid answer."""
    match name:
        case "current_player":
            return answer if state.is_terminal() else 1 - answer
        case "legal_actions":
            return answer[:-1] if len(answer) > 1 else answer
        case "returns":
            return ([1.0, -1.0] if answer[0] <= 0 else [-1.0, 1.0]) if state.is_terminal() else answer
        case "observation_tensor" | "set_from":
            return 1 - np.array(answer)
        case "history" | "action_to_string" | "serialize" | "str" | "observation_string":
            return answer * 2 if len(answer) else ["?"]
        case "clone" if not state.is_terminal():
            answer.apply_action(answer.real.legal_actions()[0])
        case "child" if not answer.is_terminal():
            answer.apply_action(answer.real.legal_actions()[0])
        case "children":
            answer.players = [1 - player for player in answer.players]
        case "key" | "scores" | "pieces" | "transposition_text":
            return (answer, answer)
    return answer


BROKEN = [
    (1, LyingGame(always("current_player", 2)), "current_player() is 2"),
    (1, LyingGame(lambda state, name, x: abs(x) % 2 if name == "current_player" else x), "at the end"),
    (1, LyingGame(lambda state, name, x: x or [0] if name == "legal_actions" else x), "[0] are legal at the end"),
    (2, LyingGame(always("legal_actions", lambda actions: [])), "no action is legal in an unfinished state"),
    (2, LyingGame(always("legal_actions", lambda actions: actions[::-1])), "not in ascending order: [8, 7"),
    (2, LyingGame(always("legal_actions", lambda actions: [0, *actions])), "not in ascending order: [0, 0"),
    (2, LyingGame(num_distinct_actions=8), "are not all within [0, 8)"),
    (4, LyingGame(always("returns", [1.0, -1.0])), "returns() are [1.0, -1.0] before the end"),
    (4, LyingGame(at_the_end([1.0, 1.0])), "returns() are [1.0, 1.0], not zero-sum"),
    (4, LyingGame(at_the_end([2.0, -2.0])), "beyond [-1.0, 1.0]"),
    (5, LyingGame(always("set_from", np.zeros(1))), "1 numbers observed, (3, 3, 3) declared"),
    (5, LyingGame(always("set_from", lambda tensor: tensor + np.nan)), "an observed number is not finite"),
    (6, LyingGame(always("set_from", lambda tensor: 1 - tensor)), "an observer used again"),
    (7, LyingGame(max_game_length=4), "4 actions and no end, where max_game_length() is 4"),
    (8, LyingGame(when_made("text", "str")), "str() is another one after the text of serialize() was read back"),
    (8, LyingGame(when_made("pickle", "key")), "key() is another one after the pickle was read back"),
    (8, LyingGame(always("serialize", "no text")), "the text of serialize() of a state cannot be read: "),
    (8, LyingGame(always("pickle", "?")), "the pickle of a state cannot be read: "),
    (2, LyingGame(spec="pig", max_chance_outcomes=5), "are not all within [0, 5)"),
    (7, LyingGame(spec="pig", max_chance_nodes_in_history=1), "1 outcomes and another, where max_chance_nodes"),
    (
        11,
        LyingGame(always("chance_outcomes", lambda given: given[1:]), "pig"),
        "chance_outcomes() are [1, 2, 3, 4, 5], ",
    ),
    (
        11,
        LyingGame(always("chance_outcomes", lambda given: [*given[:-1], (5, 0.0)]), "pig"),
        "0.0 of an outcome is not",
    ),
    (11, LyingGame(always("chance_outcomes", lambda given: [*given[:-1], (5, 0.5)]), "pig"), "of outcomes sum to 1.33"),
    (9, LyingGame(when_made("clone", "str")), "str() of a clone is another one"),
    (9, LyingGame(always("clone", lambda made: made.source)), "changed when an action was applied to a clone"),
]


@pytest.mark.parametrize(("law", "game", "found"), BROKEN, ids=[f"{law}: {found}" for law, _, found in BROKEN])
def test_the_check_names_the_broken_law(law: int, game: LyingGame, found: str) -> None:
    with pytest.raises(UnsupportedGameError) as raised:
        check_game(game)
    assert str(raised.value).startswith(f"{game} breaks law {law} of games: ")
    assert found in str(raised.value)


def test_the_fake_game_obeys_the_laws() -> None:
    check_game(LyingGame())


def broken(game: LyingGame, matches: int = 20) -> BrokenLawError | None:
    """Returns the violation found in a few games."""
    try:
        for seed in range(matches):
            check_match(game, random.Random(seed))
    except BrokenLawError as error:
        return error
    return None


@pytest.mark.parametrize(("look", "answer"), PAIRS)
def test_each_query_that_changes_another_one_is_found(look: str, answer: str) -> None:
    """Law 3 for each pair: after the query `look`, a state gives another `answer` until its next action."""
    game = LyingGame(lambda state, name, x: other(state, name, x) if name == answer and look in state.asked else x)
    error = broken(game)
    assert error is not None
    if answer != "returns":  # whose lies, at the end, are found where a child is not the state that follows, too
        assert (error.law, error.found) == (3, f"{look}() changed {answer}()")


def test_a_game_that_changes_is_found() -> None:
    """Law 8: states of every second game have another text."""
    game = LyingGame(lambda state, name, answer: answer + "!" if name == "str" and state.made % 2 else answer)
    with pytest.raises(UnsupportedGameError, match=r"breaks law 8 of games: the same history gave another str\(\)"):
        check_game(game)


@pytest.mark.parametrize("name", ["str", "legal_actions", "set_from", "current_player", "key"])
def test_a_clone_that_follows_its_original_is_found(name: str) -> None:
    """Law 9: actions applied to the original change the clone."""

    def lie(state: LyingState, asked: str, answer: Any) -> Any:
        follows = state.source is not None and state.source.move_number() > state.move_number()
        return other(state, asked, answer) if asked == name and follows and state.moved == 0 else answer

    error = broken(LyingGame(lie))
    assert error is not None
    assert error.law == 9


@pytest.mark.parametrize("name", ["str", "legal_actions", "set_from", "current_player", "key"])
def test_an_original_that_follows_its_clone_is_found(name: str) -> None:
    """Law 9: actions applied to a clone change the original."""

    def lie(state: LyingState, asked: str, answer: Any) -> Any:
        follows = any(clone.move_number() > state.move_number() for clone in state.clones)
        return other(state, asked, answer) if asked == name and follows else answer

    with pytest.raises(BrokenLawError) as raised:
        check_match(LyingGame(lie), random.Random(0))
    assert raised.value.law == 9


@pytest.mark.parametrize("way", ["child", "children"])
@pytest.mark.parametrize("name", ["str", "legal_actions", "set_from", "current_player", "returns", "key"])
def test_children_that_differ_by_how_they_are_made_are_found(way: str, name: str) -> None:
    """Law 10; the returns at the end differ as well."""
    error = broken(LyingGame(when_made(way, name)))
    assert error is not None
    assert error.law == 10


def turned(children: Any) -> Any:
    children.players = [1 - player if player >= 0 else player for player in children.players]
    return children


def spoiled(children: Any) -> Any:
    children.spoil = 1.0
    return children


def never_over(children: Any) -> Any:
    children.players = [max(player, 0) for player in children.players]
    return children


@pytest.mark.parametrize("change", [turned, spoiled, never_over])
def test_children_must_agree_with_the_single_child(change: Any) -> None:
    error = broken(LyingGame(always("children", change)))
    assert error is not None
    assert error.law == 10


@pytest.mark.parametrize(
    "spec",
    ["hex(board_size=2,swap=True)", "dots_and_boxes(num_rows=3,num_cols=1)", "go(board_size=3,max_game_length=1)"],
)
def test_the_check_finds_wrong_lengths_of_openspiel(spec: str) -> None:
    """`max_game_length` ignores a swap, more rows than columns, and a limit below two: games last one action more."""
    with pytest.raises(UnsupportedGameError, match="breaks law 7 of games"):
        check_game(load_game(spec), matches=30)


@pytest.mark.parametrize(
    ("spec", "law"),
    [
        # The score may be higher than that of the largest tile alone.
        ("2048(max_tile=64)", "law 4 of games: returns\\(\\) are .*, beyond"),
        (
            "chess(chess960=True)",
            "law 7 of games: 0 outcomes and another, where max_chance_nodes_in_history\\(\\) is 0",
        ),
        # A state that is read back continues the game, without its history.
        ("stones_and_gems", "law 8 of games: history\\(\\) is another one after the text of serialize"),
    ],
)
def test_the_check_finds_faults_of_openspiels_games_with_chance(spec: str, law: str) -> None:
    with pytest.raises(UnsupportedGameError, match=f"breaks {law}"):
        check_game(load_game(spec), matches=10)


def test_the_fake_game_with_chance_obeys_the_laws() -> None:
    check_game(LyingGame(spec="pig"))


def test_the_check_depends_on_the_generator() -> None:
    ends: list[list[list[int]]] = []
    for seed in (1, 1, 2):
        met: list[list[int]] = []
        ends.append(met)
        check_game(
            LyingGame(always("history", lambda x, met=met: met.append(x) or x)), matches=1, rng=random.Random(seed)
        )
    assert ends[0] == ends[1] != ends[2]


def test_a_game_stops_when_its_time_is_over() -> None:
    """It does not end, and plies are skipped; the result counts the checked ones."""
    game, left = load_game("go(board_size=5)"), iter([1.0] * 12 + [0.72] * 3)
    match = check_match(game, random.Random(0), lambda: next(left, 0.3))
    assert (match.plies, match.ended) == (12, False)
    assert match.checked == 2 + 12 - 7, "two at the beginning, and those in the last 3/7 of the match"
    whole = check_match(game, random.Random(0))
    assert whole.ended
    assert whole.checked == whole.plies > 20
    assert whole.branching == 26


def test_the_last_ply_is_checked_however_short_the_time_is() -> None:
    left = iter([1.0] * 3)

    def lie(state: LyingState, name: str, answer: Any) -> Any:
        lies = name == "key" and state.move_number() == 3 and "str" in state.asked
        return other(state, name, answer) if lies else answer

    game = LyingGame(lie)
    with pytest.raises(BrokenLawError, match=r"law 3: str\(\) changed key\(\)"):
        check_match(game, random.Random(0), lambda: next(left, -1.0))


def test_a_game_without_plies_is_checked() -> None:
    match = check_match(load_game("tic_tac_toe"), random.Random(0), lambda: 0.0)
    assert (match.plies, match.checked, match.ended, match.branching) == (0, 0, False, 9)

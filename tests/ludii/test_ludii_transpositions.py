"""Transposition texts of Ludii's games: histories that share one have one future, and such pairs are really found.

Ludii's hash, its flags and the words of its descriptions decide what a text holds; these tests are why they may be
trusted.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from ludii_fake import FakePosition

from ludii_bridge import LudiiError, memory, merging
from ludii_bridge.merging import BrokenMergeError, MergeCounters
from ludii_bridge.position import JavaPosition

QUICK = ["Breakthrough", "Pentago"]
GAMES = [
    "Andantino", "Arimaa", "Chess", "Domineering", "Fanorona", "Halma", "Hex", "International Draughts", "Quixo",
    "Surakarta", "The Concentration Game", "Tic-Tac-Toe",
]  # fmt: skip
"""Between them and `QUICK` they use almost every memory that a key holds."""
APART = ["Go", "Manifold", "Oware"]
"""Earlier positions, or the order of the pieces, keep all histories of them apart."""


def met(name: str, roots: int) -> MergeCounters:
    """What is found below some random states of a game."""
    game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": 200})
    rng, found = random.Random(11), MergeCounters()
    for number in range(roots):
        merging.check_merges(game, rng, longest=(0, 6, 20)[number % 3], pairs=2, found=found)
    return found


@pytest.mark.usefixtures("fake")
def test_histories_that_meet_are_found_and_compared() -> None:
    found = met("Tic-Tac-Toe", 6)
    assert found.histories > found.texts > 0
    assert found.compared > 0
    assert found.plies > found.compared


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        pytest.param((), "set_from", id="the last move, which the tensor shows"),
        pytest.param((0, 1, 2, 3), "the next states differ|str|legal|moves", id="cells"),
    ],
)
def test_a_text_that_promises_too_much_is_found(
    left_out: tuple[int, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(position: FakePosition) -> tuple[int, ...]:
        return tuple(x for i, x in enumerate(position.board.cells) if i not in left_out)

    monkeypatch.setattr(FakePosition, "key", key)
    with pytest.raises(BrokenMergeError, match=told):
        met("Tic-Tac-Toe", 20)


def test_words_of_a_description_tell_what_rules_read() -> None:
    def read(description: str) -> list[str]:
        return [each.name for each in memory.MEMORIES if each.reads is not None and each.reads(description)]

    assert read('(game "A" (rules (play (forEach Piece)) (end (if (is Line 3) (result Mover Win)))))') == []
    assert read("(count at:(last To afterConsequence:True))") == ["(last To afterConsequence:True)"]
    assert read("(sites LastTo)") == ["(sites LastTo), (last Between)"]
    assert read("(last\n    Between)") == ["(sites LastTo), (last Between)"]
    assert read("(from at:StartOfTurn)") == ["(from at:StartOfTurn)"]
    assert read('(is Threatened (id "King") at:(where\n "King" Mover))') == ['(where "King" ...)']
    in_order = "(forEach Group ...), (then (forEach Piece ...))"
    assert read("(max (sizes Group P1))") == [in_order]
    assert read("(move Add (then (if (is Even) (forEach\n Piece (remove (from))))))") == [in_order]
    assert read('(or (move (then (say "(then"))) (forEach Piece))') == []


def test_the_page_for_readers_tells_each_memory() -> None:
    page = Path(__file__).resolve().parent.parent.parent / "docs" / "transpositions.md"
    rows = re.findall(r"^\| \d+ \| `(.+?)` \| (.*?) \| (.*?) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(each.name, each.what, each.why) for each in memory.MEMORIES]


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", QUICK)
def test_histories_with_one_text_have_one_future(name: str) -> None:
    assert met(name, 6).compared > 0


@pytest.mark.slow(reason="many histories of many games, whose moves are written and read")
@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", GAMES)
def test_histories_with_one_text_have_one_future_in_many_games(name: str) -> None:
    assert met(name, 3).compared > 0


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", APART)
def test_histories_of_games_that_remember_all_of_them_stay_apart(name: str) -> None:
    found = met(name, 1)
    assert found.histories == found.texts


@pytest.mark.usefixtures("ludii")
def test_a_stack_that_the_hash_does_not_see_is_never_merged() -> None:
    game = pyspiel.load_game("ludii(game=Laomuzhu)")
    assert game.transposition_text(game.new_initial_state()) is None


def later(name: str, plies: int) -> Any:
    """The state after some random moves."""
    game = pyspiel.load_game("ludii", {"game": name, "max_length": 200})
    rng, state = random.Random(4), game.new_initial_state()
    for _ in range(plies):
        state = state.child(rng.choice(state.legal_actions()))
    return state


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("Lamosh", lambda state: state.mapRememberingValues().get("OwnedP1").removeAt(0), id="values"),
        pytest.param("Lamosh", lambda state: state.setValue("Replay", 99), id="values by name"),
        pytest.param("Surakarta", lambda state: state.votes().add(1), id="votes"),
        pytest.param("Surakarta", lambda state: state.propositions().add(1), id="proposals"),
        pytest.param("Surakarta", lambda state: state.setIsDecided(1), id="decisions"),
        pytest.param("Arimaa", lambda state: state.pendingValues().add(3), id="pending values"),
        pytest.param("Arimaa", lambda state: state.restoreCurrentState(5), id="the stored state"),
        pytest.param("Halma", lambda state: state.visited().set(7), id="visited sites"),
        pytest.param("Fanorona", lambda state: state.setValueForPlayer(1, 3), id="values of players"),
        pytest.param("International Draughts", lambda state: state.addSitesToRemove(5), id="pieces to be taken"),
        pytest.param("Fergen Gobale", lambda state: state.onTrackIndices().add(0, 1, 1, 0), id="places on tracks"),
    ],
)
def test_a_key_holds_what_the_rules_remember(name: str, change: Callable[[Any], object]) -> None:
    """None of this is in Ludii's hash, as the change is made past it."""
    state = later(name, 6)
    rules, context = state.get_game().rules, state.position.context
    other = rules.jpype.JClass("other.context.Context")(context)
    assert rules.key(other) == state.key()
    change(other.state())
    assert other.state().fullHash(other) == context.state().fullHash(context)
    assert rules.key(other) != state.key()


@pytest.mark.usefixtures("ludii")
def test_what_lamosh_remembers_decides_what_is_legal() -> None:
    """Its lists tell whose holes are whose: states that differ in them alone had one key."""
    state = later("Lamosh", 20)
    while state.legal_actions() == [0]:
        state = state.child(0)
    rules, context = state.get_game().rules, state.position.context
    other = rules.jpype.JClass("other.context.Context")(context)
    for owner in ("OwnedP1", "OwnedP2"):
        other.state().mapRememberingValues().get(owner).removeAt(2)
    assert JavaPosition.of(rules, other).moves < len(state.legal_actions())
    assert rules.key(other) != state.key()


@pytest.mark.usefixtures("ludii")
def test_the_key_of_a_clone_and_of_a_state_played_again_is_the_same() -> None:
    """Sets and maps are written in order, whatever the order in which they were filled."""
    for name in ("Lamosh", "Pentago", "Chess"):
        game = pyspiel.load_game("ludii", {"game": name, "max_length": 60})
        rng, state, again = random.Random(2), game.new_initial_state(), game.new_initial_state()
        while not state.is_terminal():
            action = rng.choice(state.legal_actions())
            state, copy = state.child(action), state.clone()
            copy.apply_action(action)
            again.apply_action(action)
            assert state.key() == copy.key() == again.key()


def test_an_error_of_merging_is_one_of_the_bridge() -> None:
    assert issubclass(BrokenMergeError, LudiiError)

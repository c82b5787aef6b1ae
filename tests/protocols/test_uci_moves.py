"""Each turn of a game is written in UCI and read again, and Fairy-Stockfish has the same ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyspiel
import pytest
from installed import FAIRY_STOCKFISH, needs_fairy_stockfish

from athenan_spiel.errors import AgentError, ProgramError
from athenan_spiel.protocols.uci import UciEngine
from athenan_spiel.protocols.uci_moves.base import UciGame
from athenan_spiel.protocols.uci_moves.table import GAMES, uci_game

BOARDS = [
    "amazons",
    "antichess",
    "breakthrough",
    "breakthrough(rows=6,columns=6)",
    "breakthrough(rows=5,columns=7)",
    "breakthrough(rows=10,columns=8)",
    "chess",
    "clobber",
    "clobber(rows=6,columns=5)",
    "clobber(rows=10,columns=10)",
    "connect_four",
    "connect_four(rows=5,columns=6,x_in_row=3)",
    "crazyhouse",
    "mnk(m=7,n=9,k=5)",
    "othello",
    "shogi",
    "tic_tac_toe",
    "xiangqi",
]
SINCE_14 = ("amazons", "connect_four", "othello")
"""What Debian's version 11.1 does not have."""


def match(uci: UciGame, game: pyspiel.Game, rng: random.Random) -> Iterator[tuple[pyspiel.State, list[str]]]:
    """The states of a random match in which a turn begins, and how it has come there."""
    state, moves = game.new_initial_state(), []
    while not state.is_terminal() and len(moves) < 300:
        yield state, moves
        before, turn = state.clone(), []
        for _ in range(uci.turn_length):
            turn.append(rng.choice(state.legal_actions()))
            state.apply_action(turn[-1])
        moves.append(uci.write(before, turn))
    yield state, moves


def test_every_game_is_tried() -> None:
    assert {name.partition("(")[0] for name in BOARDS} == set(GAMES) - {"ludii"}  # which tests/ludii has


@pytest.mark.parametrize("name", BOARDS)
def test_turns_are_written_and_read_again(name: str) -> None:
    game = pyspiel.load_game(name)
    uci = uci_game(game)
    rng = random.Random(3)
    for _ in range(3):
        for state, moves in match(uci, game, rng):
            assert uci.written(state)[0] == moves
            if state.is_terminal() or (name == "amazons" and len(moves) % 10):
                continue
            turns = uci.turns(state)
            assert len(turns) == len(set(turns.values()))
            if uci.turn_length == 1:
                assert [*turns.values()] == [(action,) for action in state.legal_actions()]
            for text in rng.sample([*turns], min(5, len(turns))):
                assert uci.read(state, text) == turns[text]


def test_rank_10_of_breakthrough() -> None:
    """OpenSpiel names rank 10 `:`."""
    game = pyspiel.load_game("breakthrough(rows=10,columns=8)")
    uci, state = uci_game(game), game.new_initial_state()
    for text in ("a2a3", "a9a8", "a1a2", "a8a7"):
        (action,) = uci.read(state, text)
        state.apply_action(action)
    assert uci.written(state)[0] == ["a2a3", "a9a8", "a1a2", "a8a7"]
    assert len(uci.turns(state)) == len(state.legal_actions())


def test_castling_en_passant_and_promotions() -> None:
    game = pyspiel.load_game("chess")
    uci = uci_game(game)
    state = game.new_initial_state("r3k2r/P7/8/3pP3/8/8/8/R3K2R w KQkq d6 0 1")
    for text, san in (("e1g1", "O-O"), ("e1c1", "O-O-O"), ("e5d6", "exd6"), ("e1f1", "Kf1")):
        (action,) = uci.read(state, text)
        assert state.action_to_string(action).rstrip("+") == san
    state = game.new_initial_state("4k3/P7/8/8/8/8/8/4K3 w - - 0 1")
    assert {text for text in uci.turns(state) if text.startswith("a7")} == {"a7a8q", "a7a8r", "a7a8b", "a7a8n"}


def test_a_forced_pass_at_othello() -> None:
    game = pyspiel.load_game("othello")
    uci = uci_game(game)
    passes = 0
    for seed in range(30):
        for state, _ in match(uci, game, random.Random(seed)):
            if not state.is_terminal() and state.legal_actions() == [64]:
                (text,) = uci.turns(state)
                assert text[:2] == text[2:]
                assert uci.read(state, text) == (64,)
                passes += 1
    assert passes > 5


def test_amazons_is_read_strictly() -> None:
    game = pyspiel.load_game("amazons")
    uci, state = uci_game(game), game.new_initial_state()
    assert uci.read(state, "d1d9,d9b9") == (93, 13, 11)
    assert state.history() == []
    for text in ("d1d9,d9k9", "d1d9,b9b8", "d1d9", "d1d11,d11d9", "d1d9,d9d9", "a1a2,a2a3", "d1d0,d0d1", ""):
        with pytest.raises(ProgramError, match="expected a legal move in UCI's notation, such as d1d4,d4a4; got"):
            uci.read(state, text)


@pytest.mark.parametrize("text", ["e2e5", "E2E4", "e7e8q", "", "0000"])
def test_what_is_no_move(text: str) -> None:
    game = pyspiel.load_game("chess")
    with pytest.raises(ProgramError, match=f"expected a legal move in UCI's notation, got '{text}'"):
        uci_game(game).read(game.new_initial_state(), text)


def test_a_match_that_began_elsewhere() -> None:
    game = pyspiel.load_game("chess")
    uci = uci_game(game)
    elsewhere = game.new_initial_state("4k3/P7/8/8/8/8/8/4K3 w - - 0 1")
    with pytest.raises(ProgramError, match="expected a game from the initial position"):
        uci.written(elsewhere)
    elsewhere.apply_action(uci.read(elsewhere, "a7a8q")[0])
    with pytest.raises(ProgramError, match="expected a game from the initial position"):
        uci.written(elsewhere)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("hex", "UCI engines play amazons, antichess, .*; got 'hex"),
        ("amazons(board_size=6)", "on a board of 10 x 10, got .*use board_size=10"),
        ("breakthrough(rows=8,columns=13)", "on boards from 3 x 3 to 12 x 10"),
        ("clobber(rows=11,columns=10)", "on boards from 2 x 2 to 12 x 10"),
        ("mnk", "on boards from 3 x 3 to 12 x 10"),
        ("chess(chess960=True)", "by its usual rules"),
        ("crazyhouse(king_of_hill=True)", "by its usual rules"),
        ("antichess(fen=8/8/8/8/8/8/8/Kk6 w - - 0 1)", "from its usual position"),
    ],
)
def test_games_that_uci_does_not_have(name: str, problem: str) -> None:
    with pytest.raises(AgentError, match=problem):
        uci_game(pyspiel.load_game(name))


@needs_fairy_stockfish
@pytest.mark.parametrize("name", BOARDS)
def test_fairy_stockfish_has_the_same_turns(name: str) -> None:
    game = pyspiel.load_game(name)
    uci = uci_game(game)
    engine = UciEngine([str(FAIRY_STOCKFISH)])
    try:
        try:
            engine.choose(uci, game)
        except AgentError as error:
            if name.partition("(")[0] not in SINCE_14:
                raise
            pytest.skip(f"needs a newer one: {error}")
        rng = random.Random(5)
        compared = 0
        while compared < 100:
            for state, moves in match(uci, game, rng):
                if state.is_terminal():
                    if uci.definition and state.returns()[0]:  # drawn ones may go on by the engine's rules
                        assert engine.legal_moves(moves) == set()
                elif rng.random() < 0.2:
                    assert engine.legal_moves(moves) == set(uci.turns(state)), moves
                    compared += 1
    finally:
        engine.close()

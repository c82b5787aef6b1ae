"""Ataxx in UCI, on moves and boards as Ludii writes them; tests/ludii/test_ludii_ataxx.py has it on Ludii itself."""

from __future__ import annotations

from typing import Any

import pytest

from athenan_spiel.errors import AgentError, ProgramError
from athenan_spiel.protocols.uci_moves.ataxx import Ataxx


class Named:
    """A game of Ludii's by its parameters, and a state by what it prints and by its moves."""

    def __init__(self, board: str = "", moves: tuple[str, ...] = (), player: int = 0, **parameters: Any) -> None:
        self._board, self._moves, self._player, self._parameters = board, moves, player, parameters

    def get_parameters(self) -> dict[str, Any]:
        return self._parameters

    def current_player(self) -> int:
        return self._player

    def legal_actions(self) -> list[int]:
        return [*range(len(self._moves))]

    def action_to_string(self, player: int, action: int) -> str:
        assert player == self._player
        return self._moves[action]

    def __str__(self) -> str:
        return self._board


def texts(state: Named) -> set[str]:
    return set(Ataxx(Named(game="Ataxx")).turns(state))


def test_moves_are_turned_round() -> None:
    moves = ("A1-B2 (Copy)", "A1-C2", "G7-F5", "G7-G6 (Copy)")
    assert texts(Named(moves=moves)) == {"P@b6", "a7c6", "g1f3", "P@g2"}


def test_copies_to_one_square_are_one_move() -> None:
    uci, state = Ataxx(Named(game="ataxx")), Named(moves=("A1-B2 (Copy)", "C2-B2 (Copy)", "C2-A2"))
    assert set(uci.turns(state)) == {"P@b6", "c6a6"}
    assert uci.read(state, "P@b6") in ((0,), (1,))


def test_a_pass_is_of_the_lowest_piece() -> None:
    empty = ". . . . . . ."
    board = "\n".join([empty, ". . M m . . M", "M m . . . . .", *[empty] * 4, "M Marker1, m Marker2"])
    assert texts(Named(board, ("Pass",))) == {"c2c2"}
    assert texts(Named(board, ("Pass",), player=1)) == {"d2d2"}


def test_what_is_no_move_of_ataxx() -> None:
    uci = Ataxx(Named(game="Ataxx"))
    with pytest.raises(ProgramError, match=r"expected a legal move in UCI's notation, got 'a1a9'"):
        uci.read(Named(moves=("A1-C2",)), "a1a9")
    with pytest.raises(ProgramError, match=r"expected a move of Ataxx, such as A1-B2 \(Copy\), got 'H8-A1'"):
        uci.turns(Named(moves=("H8-A1",)))


@pytest.mark.parametrize("parameters", [{"game": "Hex"}, {}, {"game": "Ataxx", "options": "Board Size/5x5"}])
def test_other_games_of_ludii(parameters: dict[str, str]) -> None:
    with pytest.raises(AgentError, match=r"UCI engines play only 'ludii\(game=Ataxx\)' of Ludii's games, got"):
        Ataxx(Named("ludii()", **parameters))

"""OpenSpiel's games with a UCI notation."""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

from athenan_spiel.errors import AgentError
from athenan_spiel.protocols.uci_moves.amazons import Amazons
from athenan_spiel.protocols.uci_moves.ataxx import Ataxx
from athenan_spiel.protocols.uci_moves.base import UciGame
from athenan_spiel.protocols.uci_moves.boards import Breakthrough, Clobber, ConnectFour, Lines, Othello
from athenan_spiel.protocols.uci_moves.chess import Antichess, Chess, Shogi, Xiangqi

GAMES: dict[str, Callable[[pyspiel.Game], UciGame]] = {
    "amazons": Amazons,
    "antichess": Antichess,
    "breakthrough": Breakthrough,
    "chess": lambda game: Chess(game, "chess", pyspiel.chess),
    "clobber": Clobber,
    "connect_four": ConnectFour,
    "crazyhouse": lambda game: Chess(game, "crazyhouse", pyspiel.crazyhouse),
    "ludii": Ataxx,
    "mnk": Lines,
    "othello": lambda game: Othello(),
    "shogi": lambda game: Shogi(),
    "tic_tac_toe": Lines,
    "xiangqi": lambda game: Xiangqi(),
}
"""UCI notations by OpenSpiel's short name of the game."""


def uci_game(game: pyspiel.Game) -> UciGame:
    """Returns the UCI notation of `game`.

    Raises:
        AgentError: UCI engines don't support the game, its board or its rules.
    """
    make = GAMES.get(game.get_type().short_name)
    if make is None:
        known = ", ".join(sorted("ludii(game=Ataxx)" if name == "ludii" else name for name in GAMES))
        raise AgentError(f"UCI engines play {known}; got {str(game)!r}: use another agent")
    return make(game)

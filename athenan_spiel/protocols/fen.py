"""Positions of Chess in FEN (Forsyth-Edwards Notation)."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.errors import ConfigError, shown

_FEN = re.compile(r"[1-8pnbrqkPNBRQK/]{15,71} [wb] (-|[KQkq]{1,4}) (-|[a-h][36]) [0-9]{1,4} [1-9][0-9]{0,4}")
_DEFAULTS = ["0", "1"]
"""Half-move clock and move number for a FEN of four fields."""
GAMES = ("chess",)
"""Games that FEN supports, by OpenSpiel's short name."""


def is_written(game: pyspiel.Game) -> bool:
    """Returns whether FEN supports the positions of `game`; Chess960 has random ones."""
    return game.get_type().short_name in GAMES and not game.get_parameters().get("chess960", False)


def looks_like(text: str) -> bool:
    """Returns whether `text` has the form of a FEN, with or without the last two fields."""
    return _FEN.fullmatch(_complete(text)) is not None


def read(game: pyspiel.Game, text: str) -> pyspiel.State:
    """Returns the position of a FEN; the last two fields may be missing.

    Raises:
        ConfigError: FEN doesn't support the game, or OpenSpiel refuses the position.
    """
    if not is_written(game):
        raise ConfigError(f"FEN supports {', '.join(GAMES)}, got one of {str(game)!r}")
    text = _complete(text)
    if not _is_position(text):
        raise ConfigError(f"expected a FEN of Chess, got {shown(text)}")
    try:
        state = game.new_initial_state(text)
        for action in state.legal_actions():  # a capture of the king raises below
            state.child(action).legal_actions()
    except pyspiel.SpielError:
        raise ConfigError(f"expected a FEN of Chess, got {shown(text)}, which OpenSpiel refuses") from None
    return state


def _complete(text: str) -> str:
    words = text.split()
    return " ".join([*words, *_DEFAULTS] if len(words) == 4 else words)


def _is_position(fen: str) -> bool:
    """Returns whether OpenSpiel accepts a FEN: eight squares per rank, one king per side, no pawn on an end rank."""
    if not _FEN.fullmatch(fen):
        return False
    board = fen.split()[0]
    ranks = [sum(int(x) if x.isdigit() else 1 for x in rank) for rank in board.split("/")]
    pawns = any(x in "pP" for rank in (board.split("/")[0], board.split("/")[-1]) for x in rank)
    return ranks == [8] * 8 and board.count("k") == board.count("K") == 1 and not pawns

"""Which pieces are whose, in the text of a state: facts of single games of OpenSpiel, for people who play them.

Only what is drawn is told; a game that is not listed has no pieces, shares them, or is not known here. Ludii's games
are all drawn in one way (`ludii_bridge.picture`), where both players have pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pyspiel

_CASES = ("Black, in small letters", "White, in capital letters")

MARKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "amazons": ("X", "O"),
        "antichess": _CASES,
        "breakthrough": ("b", "w"),
        "checkers": ("o, crowned 8", "+, crowned *"),
        "chess": _CASES,
        "chinese_checkers": ("1", "2"),
        "clobber": ("o", "x"),
        "connect_four": ("x", "o"),
        "crazyhouse": _CASES,
        "cursor_go": ("X", "O"),
        "go": ("X", "O"),
        "gomoku": ("b", "w"),
        "havannah": ("O", "@"),
        "hex": ("x", "o"),
        "hive": ("White, w", "Black, b"),
        "lines_of_action": ("x", "o"),
        "mnk": ("x", "o"),
        "nine_mens_morris": ("W", "B"),
        "othello": ("x", "o"),
        "pentago": ("O", "@"),
        "quoridor": ("0", "@"),
        "shogi": ("Black, in capital letters", "White, in small letters"),
        "tic_tac_toe": ("x", "o"),
        "twixt": ("x", "o"),
        "ultimate_tic_tac_toe": ("x", "o"),
        "xiangqi": ("Red, in capital letters", "Black, in small letters"),
        "y": ("O", "@"),
    }
)
"""The pieces of player 0 and of player 1, by the short names of games."""


def mark_of(game: pyspiel.Game, player_id: int) -> str | None:
    """How the text of a state draws the pieces of `player_id`, None where that is not known."""
    owners = {owner for _, owner in getattr(getattr(game, "rules", None), "components", ())}
    if {1, 2} <= owners:
        return ("the capital letters", "the small letters")[player_id]
    marks = MARKS.get(game.get_type().short_name)
    return None if marks is None else marks[player_id]

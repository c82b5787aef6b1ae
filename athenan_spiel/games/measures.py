"""What the rules of a game count, besides who has won: the score of either player, and the pieces of either player.

`MEASURES` decides for each supported game of OpenSpiel what that is, or why there is none; the heuristics of the
article's Sections 6.2.1 (score) and 6.2.4 (presence) stand on it. Pieces that never leave the board are not counted:
their number says who has placed more, and nothing of who is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, cast

import pyspiel

from athenan_spiel.errors import ConfigError, SearchError, shown
from athenan_spiel.games import pieces, scores

MeasureName = Literal["score", "pieces"]


@dataclass(frozen=True)
class Measure:
    """Something that is counted for each player, or that is not."""

    text: str
    """What is counted, or why nothing is."""
    read: Callable[[pyspiel.State], tuple[Any, Any]] | None = field(default=None, repr=False, compare=False)
    """Counts it: for player 0, for player 1. None where nothing is."""


@dataclass(frozen=True, kw_only=True)
class Measures:
    """What is counted in a game."""

    score: Measure
    pieces: Measure


def score(state: pyspiel.State) -> tuple[float, ...]:
    """The score of each player, as the rules would count it if the match ended here.

    Args:
        state: of any game with a score, for which see `MEASURES`; where there is one player, the sum of the rewards.

    Raises:
        ConfigError: the game has no score. The message names those that have.
        SearchError: `state` is none.
    """
    if _game_of(state).num_players() == 1:
        return tuple(state.returns())
    return cast(tuple[float, float], _read("score", _game_of(state))(state))


def piece_counts(state: pyspiel.State) -> tuple[int, int]:
    """The number of pieces of player 0 and of player 1, those in hand included.

    Raises:
        ConfigError: the game has no pieces that come and go. The message names those that have.
        SearchError: `state` is none.
    """
    return _read("pieces", _game_of(state))(state)


def _game_of(state: pyspiel.State) -> pyspiel.Game:
    if not hasattr(state, "get_game"):
        raise SearchError(f"expected a state of a game, got {shown(state)}")
    return state.get_game()


def has_measure(name: MeasureName, game: str) -> bool:
    """Whether `score` (or `piece_counts`) counts in the game with this short name."""
    measures = MEASURES.get(game)
    return measures is not None and _of(measures, name).read is not None


def measured(name: MeasureName, game: pyspiel.Game) -> bool:
    """Whether `score` (or `piece_counts`) counts in `game`, by the table or by the game itself."""
    return _reader(name, game) is not None


def why_not(name: MeasureName, game: pyspiel.Game) -> str:
    """Why `game` has no such measure, and which games have, as the end of a sentence."""
    if hasattr(game, "measure"):
        return f"{str(game)!r} has none"
    measures = MEASURES.get(game.get_type().short_name)
    reason = "its rules are not known here" if measures is None else _of(measures, name).text
    known = ", ".join(other for other in MEASURES if has_measure(name, other))
    return f"{str(game)!r} has none ({reason}); these have: {known}"


def _of(measures: Measures, name: MeasureName) -> Measure:
    return measures.score if name == "score" else measures.pieces


def _read(name: MeasureName, game: pyspiel.Game) -> Callable[[pyspiel.State], tuple[Any, Any]]:
    read = _reader(name, game)
    if read is None:
        raise ConfigError(f"expected a game with {'a score' if name == 'score' else 'pieces'}: {why_not(name, game)}")
    return read


def _reader(name: MeasureName, game: pyspiel.Game) -> Callable[[pyspiel.State], tuple[Any, Any]] | None:
    """What counts in `game`: a game written in Python may bring it along, by a method `measure`, as Ludii's do."""
    measures = MEASURES.get(game.get_type().short_name)
    if measures is not None:
        return _of(measures, name).read
    own: Callable[[str], Callable[[pyspiel.State], tuple[Any, Any]] | None] | None = getattr(game, "measure", None)
    return own(name) if own is not None else None


_WINNER = Measure("the rules know a winner only")
_STAY = Measure("no piece ever leaves the board")

MEASURES: Mapping[str, Measures] = MappingProxyType(
    {
        "amazons": Measures(
            score=Measure(
                "squares that the amazons reach in any number of moves (Remark 22)", scores.amazons_territory
            ),
            pieces=Measure("either player has four amazons to the end"),
        ),
        "antichess": Measures(score=_WINNER, pieces=Measure("chessmen; fewer are better", pieces.chess)),
        "breakthrough": Measures(score=_WINNER, pieces=Measure("pawns", pieces.breakthrough)),
        "checkers": Measures(score=_WINNER, pieces=Measure("men and kings alike", pieces.on_numbered_rows("o8", "+*"))),
        "chess": Measures(score=_WINNER, pieces=Measure("chessmen, the king included", pieces.chess)),
        "chinese_checkers": Measures(score=_WINNER, pieces=_STAY),
        "clobber": Measures(score=_WINNER, pieces=Measure("stones", pieces.on_numbered_rows("o", "x"))),
        "connect_four": Measures(score=_WINNER, pieces=_STAY),
        "crazyhouse": Measures(
            score=_WINNER, pieces=Measure("chessmen on the board and in hand, the king included", pieces.chess)
        ),
        "cursor_go": Measures(
            score=Measure("area by Tromp-Taylor, White's with komi", scores.go_area),
            pieces=Measure("stones on the board", pieces.on_numbered_rows("X", "O")),
        ),
        "dots_and_boxes": Measures(
            score=Measure("boxes closed", scores.boxes), pieces=Measure("lines and boxes stay; boxes are the score")
        ),
        "go": Measures(
            score=Measure("area by Tromp-Taylor, White's with komi", scores.go_area),
            pieces=Measure("stones on the board", pieces.on_numbered_rows("X", "O")),
        ),
        "gomoku": Measures(score=_WINNER, pieces=_STAY),
        "havannah": Measures(score=_WINNER, pieces=_STAY),
        "hex": Measures(score=_WINNER, pieces=_STAY),
        "hive": Measures(score=_WINNER, pieces=_STAY),
        "lines_of_action": Measures(score=_WINNER, pieces=Measure("pieces", pieces.on_numbered_rows("x", "o"))),
        "mancala": Measures(
            score=Measure("seeds in the store and in the pits of one's side", scores.mancala_seeds),
            pieces=Measure("seeds belong to nobody; they are the score"),
        ),
        "mnk": Measures(score=_WINNER, pieces=_STAY),
        "nim": Measures(score=_WINNER, pieces=Measure("what lies in the piles belongs to nobody")),
        "nine_mens_morris": Measures(
            score=_WINNER, pieces=Measure("men on the board and still to be placed", pieces.nine_mens_morris)
        ),
        "othello": Measures(
            score=Measure("discs", scores.othello_discs), pieces=Measure("discs", pieces.on_numbered_rows("x", "o"))
        ),
        "oware": Measures(
            score=Measure("seeds captured", scores.oware_seeds),
            pieces=Measure("seeds belong to nobody; they are the score"),
        ),
        "pentago": Measures(score=_WINNER, pieces=_STAY),
        "quoridor": Measures(score=_WINNER, pieces=Measure("either player has one pawn to the end")),
        "shogi": Measures(score=_WINNER, pieces=Measure("pieces on the board and in hand", pieces.shogi)),
        "tic_tac_toe": Measures(score=_WINNER, pieces=_STAY),
        "twixt": Measures(score=_WINNER, pieces=_STAY),
        "ultimate_tic_tac_toe": Measures(score=_WINNER, pieces=_STAY),
        "xiangqi": Measures(score=_WINNER, pieces=Measure("pieces, the general included", pieces.xiangqi)),
        "y": Measures(score=_WINNER, pieces=_STAY),
    }
)
"""What is counted in each supported game, by its short name; docs/heuristics.md is the same table."""

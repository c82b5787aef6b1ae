"""Facts of single games, a file a game: when two histories are one state, what is counted, what OpenSpiel gets wrong.

`base.Facts` says what there may be to know of a game. Everybody else asks `facts_of`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyspiel

from athenan_spiel.games.facts import (
    amazons,
    antichess,
    breakthrough,
    checkers,
    chess,
    chinese_checkers,
    cliff_walking,
    clobber,
    connect_four,
    crazyhouse,
    cursor_go,
    dots_and_boxes,
    go,
    gomoku,
    havannah,
    hex,
    hive,
    lines_of_action,
    mancala,
    mnk,
    morpion_solitaire,
    nim,
    nine_mens_morris,
    othello,
    oware,
    pentago,
    quoridor,
    shogi,
    tic_tac_toe,
    twixt,
    ultimate_tic_tac_toe,
    xiangqi,
    y,
)
from athenan_spiel.games.facts.base import Facts

FACTS: Mapping[str, Facts] = {
    "amazons": amazons.FACTS,
    "antichess": antichess.FACTS,
    "breakthrough": breakthrough.FACTS,
    "checkers": checkers.FACTS,
    "chess": chess.FACTS,
    "chinese_checkers": chinese_checkers.FACTS,
    "cliff_walking": cliff_walking.FACTS,
    "clobber": clobber.FACTS,
    "connect_four": connect_four.FACTS,
    "crazyhouse": crazyhouse.FACTS,
    "cursor_go": cursor_go.FACTS,
    "dots_and_boxes": dots_and_boxes.FACTS,
    "go": go.FACTS,
    "gomoku": gomoku.FACTS,
    "havannah": havannah.FACTS,
    "hex": hex.FACTS,
    "hive": hive.FACTS,
    "lines_of_action": lines_of_action.FACTS,
    "mancala": mancala.FACTS,
    "mnk": mnk.FACTS,
    "morpion_solitaire": morpion_solitaire.FACTS,
    "nim": nim.FACTS,
    "nine_mens_morris": nine_mens_morris.FACTS,
    "othello": othello.FACTS,
    "oware": oware.FACTS,
    "pentago": pentago.FACTS,
    "quoridor": quoridor.FACTS,
    "shogi": shogi.FACTS,
    "tic_tac_toe": tic_tac_toe.FACTS,
    "twixt": twixt.FACTS,
    "ultimate_tic_tac_toe": ultimate_tic_tac_toe.FACTS,
    "xiangqi": xiangqi.FACTS,
    "y": y.FACTS,
}
"""By the short names of games, in their order: all games of OpenSpiel that are supported."""
_NOTHING = Facts(score=None, pieces=None)


def facts_of(short_name: str) -> Facts:
    """What is known of the game with this short name; of a game that is not in `FACTS`, nothing."""
    return FACTS.get(short_name, _NOTHING)


def longest_match(game: pyspiel.Game) -> int:
    """The most actions of a match by the rules: `max_game_length()`, but where OpenSpiel counts wrong."""
    longest = facts_of(game.get_type().short_name).longest
    return longest(game) if longest is not None else int(game.max_game_length())

"""Checkers."""

from __future__ import annotations

from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, Parameters, Text, cut_if_undecided
from athenan_spiel.games.facts.readers import merged, on_numbered_rows, since_capture


def _text(game: pyspiel.Game) -> Text:
    def text(state: pyspiel.State) -> Hashable:
        quiet = since_capture(state.history())
        return str(state), quiet, None if quiet else tuple(state.legal_actions())

    return text


def _fault(given: Parameters) -> str | None:
    # A piece that goes on jumping is kept as row * rows + column, so columns beyond the rows come out elsewhere.
    rows, columns = given.get("rows", 8), given.get("columns", 8)
    return f"OpenSpiel needs columns <= rows, got {columns} > {rows}" if columns > rows else None


FACTS = Facts(
    transposition=merged(
        "Besides the board the rules know the plies since a capture (40 make a draw), which the history shows, and "
        "the piece that must go on jumping, which the legal actions show right after a capture.",
        "str(state), the plies since a capture, and right after one the legal actions",
        _text,
    ),
    pieces=Measure("men and kings alike", on_numbered_rows("o8", "+*")),
    marks=("o, crowned 8", "+, crowned *"),
    fault=_fault,
    cut=cut_if_undecided,
)

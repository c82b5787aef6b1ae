"""Lines of Action."""

from __future__ import annotations

from collections.abc import Hashable

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure, Text, cut_if_undecided
from athenan_spiel.games.facts.readers import PLIES, merged, on_numbered_rows, since_capture


def _text(game: pyspiel.Game) -> Text:
    def text(state: pyspiel.State) -> Hashable:
        history = state.history()
        return str(state), tuple(history[len(history) - since_capture(history) :])

    return text


FACTS = Facts(
    transposition=merged(
        "A position that recurs makes a draw. Captured pieces do not come back, so only positions since the last "
        "capture can recur; the moves since then, taken back from the board, give them. " + PLIES,
        "str(state) and the actions since the last capture",
        _text,
        counts_plies=True,
    ),
    pieces=Measure("pieces", on_numbered_rows("x", "o")),
    marks=("x", "o"),
    cut=cut_if_undecided,
)

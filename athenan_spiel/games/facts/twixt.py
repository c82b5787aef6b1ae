"""TwixT."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import merged_by_observation


def _process_fault(game: pyspiel.Game) -> str | None:
    """Only boards of one size can be played in a process.

    OpenSpiel keeps the shape of the observation and the table of crossing links in static variables: the first gives
    wrong shapes to a second size, and a board of a second size spoils those of the first.
    """
    size = game.get_parameters()["board_size"]
    first = game.observation_tensor_shape()[1]
    if size == first:
        return None
    return f"OpenSpiel plays TwixT on one size of board in a process, here {first}; use another process for {size}"


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows pegs, links and blocked links; all else follows. Which links stand depends on the "
        "order of the pegs. The swap is possible only when one red peg stands alone."
    ),
    marks=("x", "o"),
    process_fault=_process_fault,
    cut=never_cut,
)

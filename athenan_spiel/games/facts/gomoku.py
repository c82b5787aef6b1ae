"""Gomoku, in any number of dimensions."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import merged_by_observation

_MOST_CELLS = 2**18


def _fault(given: Parameters) -> str | None:
    # The constructor fills a table for size ** dims cells, whatever that number is.
    size, dims = given.get("size", 15), given.get("dims", 2)
    too_many = size > _MOST_CELLS or dims > 18 or size**dims > _MOST_CELLS
    return f"size ** dims must be at most {_MOST_CELLS}, got {size} ** {dims}" if too_many else None


def _planes(game: pyspiel.Game) -> tuple[int, int, int] | None:
    """OpenSpiel gives [3, cells], as there may be any number of dimensions; in two of them the cells are a square."""
    parameters = game.get_parameters()
    if parameters["dims"] != 2:
        return None
    return game.observation_tensor_shape()[0], parameters["size"], parameters["size"]


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows every stone and the mover, and the rules know no more. It is faster to read than "
        "the printed board."
    ),
    marks=("b", "w"),
    fault=_fault,
    planes=_planes,
    cut=never_cut,
)

"""Gomoku, in any number of dimensions."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Parameters, never_cut
from athenan_spiel.games.facts.readers import merged_by_observation
from athenan_spiel.games.facts.views import numbered_points, plain_rows, stones, view_by_rows
from athenan_spiel.games.view import View

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


_view_of_a_square = view_by_rows(lambda text: plain_rows(text)[1:], stones("b", "w"), numbered_points)


def _view(game: pyspiel.Game) -> View | None:
    """Only two dimensions are printed as rows and columns."""
    return _view_of_a_square(game) if game.get_parameters()["dims"] == 2 else None


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows every stone and the mover, and the rules know no more. It is faster to read than "
        "the printed board."
    ),
    marks=("b", "w"),
    fault=_fault,
    planes=_planes,
    view=_view,
    cut=never_cut,
)

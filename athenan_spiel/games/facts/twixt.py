"""TwixT."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, never_cut
from athenan_spiel.games.facts.readers import merged_by_observation
from athenan_spiel.games.facts.views import played
from athenan_spiel.games.layout import Layout, Line, Piece, Point, Site, letters
from athenan_spiel.games.view import View


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


_COLOUR = re.compile(r"\x1b\[\d+m")
_KNIGHTS = tuple((x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y))


def _view(game: pyspiel.Game) -> View:
    size = game.get_parameters()["board_size"]
    corners = {0, size - 1, size * (size - 1), size * size - 1}
    holes = [divmod(i, size) for i in range(size * size) if i not in corners]
    sites = {f"{letters(column)}{row + 1}": i for i, (row, column) in enumerate(holes)}
    borders = [Line((0.5, at), (size - 1.5, at), 0, 0.08) for at in (0.5, size - 1.5)]
    borders += [Line((at, 0.5), (at, size - 1.5), 1, 0.08) for at in (0.5, size - 1.5)]
    borders += [Line((column - 0.01, row), (column + 0.01, row), width=0.14) for row, column in holes]
    layout = Layout(tuple(Site(name, holes[i][1], holes[i][0]) for name, i in sites.items()), tuple(borders))

    def pieces(state: pyspiel.State) -> list[Piece]:
        rows = [line for line in _COLOUR.sub("", str(state)).splitlines() if line.strip()[:1].isdigit()]
        marks = [rows[row][5 + 3 * column] for row, column in holes]
        return [Piece(i, "xo".index(mark), "peg") for i, mark in enumerate(marks) if mark in "xo"]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (sites[state.action_to_string(action)[1:]],)

    def lines(state: pyspiel.State) -> list[Line]:
        """Pegs are linked as they are placed, at a knight's move, where no other link is crossed."""
        side = {piece.site: piece.side for piece in pieces(state)}
        order = [sites[state.action_to_string(player, action)[1:]] for player, action in played(state)]
        order = [i for i in side if i not in order] + [i for i in order if i in side]
        links: list[Line] = []
        placed: dict[Point, int | None] = {}
        for i in order:
            row, column = holes[i]
            for x, y in _KNIGHTS:
                other = (float(column + x), float(row + y))
                link = Line((float(column), float(row)), other, side[i], 0.1)
                if placed.get(other, -1) == side[i] and not any(_cross(link, one) for one in links):
                    links.append(link)
            placed[(float(column), float(row))] = side[i]
        return links

    return View(layout=layout, pieces=pieces, lines=lines, sites=site, colours=("red", "blue"))


def _cross(one: Line, other: Line) -> bool:
    """Whether two links cross between their ends."""
    if {one.start, one.end} & {other.start, other.end}:
        return False

    def turn(line: Line, point: Point) -> bool:
        (ax, ay), (bx, by), (x, y) = line.start, line.end, point
        return (bx - ax) * (y - ay) > (by - ay) * (x - ax)

    return turn(one, other.start) != turn(one, other.end) and turn(other, one.start) != turn(other, one.end)


FACTS = Facts(
    transposition=merged_by_observation(
        "The observation shows pegs, links and blocked links; all else follows. Which links stand depends on the "
        "order of the pegs. The swap is possible only when one red peg stands alone."
    ),
    marks=("x", "o"),
    process_fault=_process_fault,
    view=_view,
    cut=never_cut,
)

"""Winning lines: the stones that decided a finished game, in games with lines or connections.

A view names its rule as `View.win`. A rule returns nothing if it finds no line, for example after a resignation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import pyspiel

from athenan_spiel.drawing.layout import ROW, Point
from athenan_spiel.drawing.view import View, Win

_TOUCH = 1.1
"""Maximum distance of two neighbouring hexagons."""


def in_a_row(count: int | str) -> Win:
    """Returns the rule for a row of stones, also diagonally; longer rows count too.

    Args:
        count: number of stones, or the parameter of the game that gives it.
    """

    def win(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
        game = state.get_game()
        parameters = {**game.get_type().parameter_specification, **game.get_parameters()}
        least = int(parameters[count]) if isinstance(count, str) else count
        at = {place: site for site, place in _stones(view, state, winner).items()}
        found: set[int] = set()
        for (x, y), (dx, dy) in itertools.product(at, ((1, 0), (0, 1), (1, 1), (1, -1))):
            row = list(itertools.takewhile(at.__contains__, ((x + i * dx, y + i * dy) for i in itertools.count())))
            if len(row) >= least:
                found |= {at[place] for place in row}
        return sorted(found)

    return win


def hex_chain(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Hex: player 0 connects the top and the bottom, player 1 the left and the right."""
    lines = [round(site.y / ROW) if winner == 0 else round(site.x - site.y / ROW / 2) for site in view.layout.sites]
    return connection(_stones(view, state, winner), [_where(lines, min(lines)), _where(lines, max(lines))])


def y_chain(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Y: all three sides of the triangle."""
    return connection(_stones(view, state, winner), _sides(view, 3))


def havannah_chain(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Havannah: a bridge between two corners or a fork between three sides without the corners; not a ring."""
    sides = _sides(view, 6)
    corners = [{*one} & {*other} for one, other in itertools.combinations(sides, 2)]
    corners = [corner for corner in corners if corner]
    edges = [side.difference(*corners) for side in sides]
    goals = [*itertools.combinations(corners, 2), *itertools.combinations(edges, 3)]
    stones = _stones(view, state, winner)
    return min(filter(None, (connection(stones, goal) for goal in goals)), key=len, default=())


def connection(stones: Mapping[int, Point], goals: Sequence[Collection[int]]) -> Sequence[int]:
    """Returns a smallest set of stones that connects all goals at one stone; empty if they are not connected.

    Args:
        stones: centre of each stone, by its site.
        goals: sites of each goal.
    """
    neighbours = {
        site: [other for other, at in stones.items() if other != site and math.dist(at, place) < _TOUCH]
        for site, place in stones.items()
    }
    before = [_breadth_first(neighbours, [site for site in goal if site in stones]) for goal in goals]
    paths = [
        set(itertools.chain.from_iterable(_path(found, site) for found in before))
        for site in stones
        if all(site in found for found in before)
    ]
    return sorted(min(paths, key=len, default=()))


def _breadth_first(neighbours: Mapping[int, Iterable[int]], starts: Iterable[int]) -> dict[int, int | None]:
    """Returns the site before each reachable site on a shortest path from the starts, which have None."""
    before: dict[int, int | None] = dict.fromkeys(starts)
    queue = list(before)
    for site in queue:
        for other in neighbours[site]:
            if other not in before:
                before[other] = site
                queue.append(other)
    return before


def _path(before: Mapping[int, int | None], site: int | None) -> Iterable[int]:
    while site is not None:
        yield site
        site = before[site]


def _stones(view: View, state: pyspiel.State, player: int) -> dict[int, Point]:
    sites = view.layout.sites
    return {x.site: (sites[x.site].x, sites[x.site].y) for x in view.pieces(state) if x.side == player}


def _sides(view: View, count: int) -> list[set[int]]:
    """Returns the sites on each side of a triangle or hexagon of hexagons; corners are on two sides."""
    turn = math.tau / count
    sides = []
    for i in range(count):
        x, y = math.cos(math.pi / 2 + i * turn), -math.sin(math.pi / 2 + i * turn)
        distances = [site.x * x + site.y * y for site in view.layout.sites]
        sides.append({j for j, distance in enumerate(distances) if distance > max(distances) - 0.01})
    return sides


def _where(lines: Sequence[int], line: int) -> list[int]:
    return [i for i, each in enumerate(lines) if each == line]

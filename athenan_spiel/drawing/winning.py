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
_AROUND = 6
"""Number of hexagons around another."""
_ROWS = [[(column, row) for column in range(3)] for row in range(3)]
_THREES = [*_ROWS, *map(list, zip(*_ROWS, strict=True)), [(i, i) for i in range(3)], [(i, 2 - i) for i in range(3)]]
"""Lines of three in a square of 3 x 3, as columns and rows."""


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
    return connection(_touching(view, state, winner), [_where(lines, min(lines)), _where(lines, max(lines))])


def twixt_chain(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Twixt: linked pegs, of player 0 from the top to the bottom, of player 1 from the left to the right."""
    places = {(site.x, site.y): i for i, site in enumerate(view.layout.sites)}
    neighbours: dict[int, list[int]] = {site: [] for site in _stones(view, state, winner)}
    for link in () if view.lines is None else view.lines(state):
        one, other = places[link.start], places[link.end]
        if link.side == winner:
            neighbours[one].append(other)
            neighbours[other].append(one)
    lines = [round(site.y if winner == 0 else site.x) for site in view.layout.sites]
    return connection(neighbours, [_where(lines, min(lines)), _where(lines, max(lines))])


def ultimate_line(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Ultimate Tic-Tac-Toe: the lines of three in three boards that are in line themselves."""
    at = {place: site for site, place in _stones(view, state, winner).items()}
    won: dict[tuple[int, ...], set[int]] = {}
    for board in itertools.product(range(3), repeat=2):
        x, y = board
        lines = [[(3 * x + column, 3 * y + row) for column, row in line] for line in _THREES]
        found = {at[place] for line in lines if all(place in at for place in line) for place in line}
        if found:
            won[board] = found
    return sorted(set().union(*(won[board] for line in _THREES if all(each in won for each in line) for board in line)))


def y_chain(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Y: all three sides of the triangle."""
    return connection(_touching(view, state, winner), _sides(view, 3))


def havannah_chain(view: View, state: pyspiel.State, winner: int) -> Sequence[int]:
    """Havannah: a bridge between two corners, a fork between three sides without the corners, or a ring."""
    sides = _sides(view, 6)
    corners = [{*one} & {*other} for one, other in itertools.combinations(sides, 2)]
    corners = [corner for corner in corners if corner]
    edges = [side.difference(*corners) for side in sides]
    goals = [*itertools.combinations(corners, 2), *itertools.combinations(edges, 3)]
    neighbours = _touching(view, state, winner)
    chains = [connection(neighbours, goal) for goal in goals]
    return min(filter(None, [*chains, _ring(view, neighbours, set().union(*sides))]), key=len, default=())


def _ring(view: View, stones: Collection[int], border: Collection[int]) -> Sequence[int]:
    """Returns the stones around a site or around connected sites without own stones; the fewest, if there are several.

    Args:
        stones: sites of the stones.
        border: sites at the edge of the board.
    """
    around = neighbours_of({i: (site.x, site.y) for i, site in enumerate(view.layout.sites)})
    inside = [[site] for site in stones if len(around[site]) == _AROUND and set(around[site]) <= {*stones}]
    left = {*around} - {*stones}
    while left:
        region = {*_breadth_first({site: [x for x in around[site] if x not in stones] for site in around}, [min(left)])}
        left -= region
        if region.isdisjoint(border):
            inside.append([*region])
    rings = [{other for site in region for other in around[site]} - {*region} for region in inside]
    return sorted(min(rings, key=len, default=()))


def connection(neighbours: Mapping[int, Sequence[int]], goals: Sequence[Collection[int]]) -> Sequence[int]:
    """Returns a smallest set of stones that connects all goals at one stone; empty if they are not connected.

    Args:
        neighbours: connected stones of each stone, as sites.
        goals: sites of each goal.
    """
    before = [_breadth_first(neighbours, [site for site in goal if site in neighbours]) for goal in goals]
    paths = [
        set(itertools.chain.from_iterable(_path(found, site) for found in before))
        for site in neighbours
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


def _touching(view: View, state: pyspiel.State, player: int) -> dict[int, list[int]]:
    """Returns the own stones beside each stone of a player."""
    return neighbours_of(_stones(view, state, player))


def neighbours_of(places: Mapping[int, Point]) -> dict[int, list[int]]:
    """Returns the sites beside each site, by the centres of hexagons."""
    return {
        site: [other for other, at in places.items() if other != site and math.dist(at, place) < _TOUCH]
        for site, place in places.items()
    }


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

"""Views of games whose boards are not grids of cells: edges to draw, pits, piles, walls and links."""

from __future__ import annotations

import dataclasses
import re

import pyspiel

from athenan_spiel.drawing.layout import (
    BoardLayout,
    BoardLine,
    BoardSite,
    Piece,
    Point,
    from_above,
    letters,
    square,
    squares,
)
from athenan_spiel.drawing.view import View, played
from athenan_spiel.drawing.winning import twixt_chain

_EDGE = re.compile(r"P\d\(([hv]),(\d+),(\d+)\)")


def dots_and_boxes(game: pyspiel.Game) -> View:
    """Sites: the horizontal edges, the vertical ones, then the boxes, each row by row."""
    rows, columns = game.get_parameters()["num_rows"], game.get_parameters()["num_cols"]
    flat = [
        BoardSite(f"h,{r},{c}", c + 0.5, r, square(0.8, 0.3), is_drawn=False)
        for r in range(rows + 1)
        for c in range(columns)
    ]
    upright = [
        BoardSite(f"v,{r},{c}", c, r + 0.5, square(0.3, 0.8), is_drawn=False)
        for r in range(rows)
        for c in range(columns + 1)
    ]
    boxes = [(r, c) for r in range(rows) for c in range(columns)]
    middles = [BoardSite(f"{r},{c}", c + 0.5, r + 0.5, square(0.8, 0.8), is_drawn=False) for r, c in boxes]
    layout = BoardLayout(
        (*flat, *upright, *middles),
        tuple(BoardLine((c - 0.01, r), (c + 0.01, r), width=0.16) for r in range(rows + 1) for c in range(columns + 1)),
    )
    sites = {site.name: i for i, site in enumerate(layout.sites)}

    def edge(state: pyspiel.State, player: int, action: int) -> tuple[str, int, int]:
        found = _EDGE.match(state.action_to_string(player, action))
        assert found is not None, "an action of Dots and Boxes is named by its edge"
        return found[1], int(found[2]), int(found[3])

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (sites["{},{},{}".format(*edge(state, state.current_player(), action))],)

    def pieces(state: pyspiel.State) -> list[Piece]:
        """A box belongs to the player who drew the last of its edges."""
        drawn, owners = set(), {}
        for player, action in played(state):
            drawn.add(edge(state, player, action))
            for r, c in boxes:
                if (r, c) not in owners and drawn >= {("h", r, c), ("h", r + 1, c), ("v", r, c), ("v", r, c + 1)}:
                    owners[r, c] = player
        return [Piece(sites[f"{r},{c}"], player, "box", form="block") for (r, c), player in owners.items()]

    def lines(state: pyspiel.State) -> list[BoardLine]:
        drawn = [(player, edge(state, player, action)) for player, action in played(state)]
        return [BoardLine((c, r), (c + (way == "h"), r + (way == "v")), player, 0.1) for player, (way, r, c) in drawn]

    return View(layout=layout, pieces=pieces, lines=lines, sites=site, colours=("red", "blue"))


_NUMBERS = re.compile(r"\d+")


def mancala(game: pyspiel.Game) -> View:
    """Sites by the numbers of their actions.

    0 is the store on the left, 1 to 6 are below from left to right, 7 is the store on the right, and 8 to 13 are above
    from right to left.
    """
    sites = [BoardSite("store of player 1", -1, 0.5, square(1, 2))]
    sites += [BoardSite(str(pit), pit - 1, 1, square()) for pit in range(1, 7)]
    sites += [BoardSite("store of player 0", 6, 0.5, square(1, 2))]
    sites += [BoardSite(str(pit), 13 - pit, 0, square()) for pit in range(8, 14)]

    def pieces(state: pyspiel.State) -> list[Piece]:
        above, stores, below = ([int(x) for x in _NUMBERS.findall(line)] for line in str(state).splitlines()[:3])
        counts = [stores[0], *below, stores[1], *reversed(above)]
        return [Piece(pit, None, "seeds", str(count), "count") for pit, count in enumerate(counts)]

    return View(layout=BoardLayout(tuple(sites)), pieces=pieces, sites=lambda state, action: (action,))


_POINT = re.compile(r"\[(\d+),(\d+)\]")


def morpion_solitaire(game: pyspiel.Game) -> View:
    """Sites: the points of the grid, row by row. The sites of an action are the ends of its line."""
    size = len(str(game.new_initial_state()).split())
    sites = tuple(BoardSite(f"[{row},{column}]", column, row) for row in range(size) for column in range(size))
    grid = [BoardLine((0, i), (size - 1, i), width=0.01) for i in range(size)]
    grid += [BoardLine((i, 0), (i, size - 1), width=0.01) for i in range(size)]

    def ends(state: pyspiel.State, action: int) -> list[tuple[int, int]]:
        names = _POINT.findall(state.action_to_string(0, action))
        return [(int(row), int(column)) for row, column in (names[0], names[-1])]

    def pieces(state: pyspiel.State) -> list[Piece]:
        return [Piece(i, 0, "point") for i, x in enumerate("".join(str(state).split())[: size * size]) if x == "1"]

    def lines(state: pyspiel.State) -> list[BoardLine]:
        drawn = [ends(state, action) for _, action in played(state)]
        return [BoardLine((one[1], one[0]), (other[1], other[0]), 0, 0.08) for one, other in drawn]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return tuple(row * size + column for row, column in ends(state, action))

    return View(layout=BoardLayout(sites, tuple(grid)), pieces=pieces, lines=lines, sites=site, is_path=False)


_MOVE = re.compile(r"pile:(\d+), take:(\d+);")


def nim(game: pyspiel.Game) -> View:
    """Draws each pile as a column; the site of an action is the lowest counter that it takes."""
    piles = _piles(game.new_initial_state())
    height = max(piles)
    first = [sum(piles[:i]) for i in range(len(piles))]
    sites = tuple(
        BoardSite(f"pile {i + 1}, counter {j + 1}", i, height - 1 - j, square())
        for i, pile in enumerate(piles)
        for j in range(pile)
    )

    def pieces(state: pyspiel.State) -> list[Piece]:
        return [Piece(first[i] + j, None, "counter") for i, pile in enumerate(_piles(state)) for j in range(pile)]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        found = _MOVE.match(state.action_to_string(action))
        assert found is not None, "an action of Nim is named by its pile and the number of counters taken"
        pile, taken = int(found[1]) - 1, int(found[2])
        return (first[pile] + _piles(state)[pile] - taken,)

    return View(layout=BoardLayout(sites), pieces=pieces, sites=site)


def _piles(state: pyspiel.State) -> list[int]:
    return [int(pile) for pile in str(state).split(":", 1)[1].split()]


def nine_mens_morris(game: pyspiel.Game) -> View:
    """Sites: the points in printed order; they are every second character of every second line."""
    lines = str(game.new_initial_state()).splitlines()[:13]
    places = [(row, column) for row, line in enumerate(lines) for column, x in enumerate(line) if x == "."]
    columns = sorted({column for _, column in places})
    centres = [(float(columns.index(column)), row / 2) for row, column in places]
    sites = tuple(BoardSite(str(i), *centre) for i, centre in enumerate(centres))

    def pieces(state: pyspiel.State) -> list[Piece]:
        text = str(state).splitlines()
        marks = [text[row][column] for row, column in places]
        return [Piece(i, "WB".index(mark), "man") for i, mark in enumerate(marks) if mark in "WB"]

    joined = [BoardLine(centres[a], centres[b]) for a, b in _joined(lines, places)]
    return View(
        layout=BoardLayout(sites, tuple(joined)),
        pieces=pieces,
        colours=("light", "dark"),
        note=lambda state: next(line for line in str(state).splitlines() if "deploy" in line),
    )


def _joined(lines: list[str], places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs of points that a printed line connects."""
    pairs = []
    for i, (row, column) in enumerate(places):
        right = next((j for j, other in enumerate(places) if other[0] == row and other[1] > column), None)
        if right is not None and set(lines[row][column + 1 : places[right][1]]) == {"-"}:
            pairs.append((i, right))
        below = next((j for j, other in enumerate(places) if other[1] == column and other[0] > row), None)
        if below is not None and {line[column] for line in lines[row + 1 : places[below][0]]} == {"|"}:
            pairs.append((i, below))
    return pairs


_HOUSES = re.compile(r"(\s*\d+)+")


def oware(game: pyspiel.Game) -> View:
    """Sites: player 0's houses below from left to right, then player 1's above from right to left."""
    houses = game.get_parameters()["num_houses_per_player"]
    sites = [BoardSite(letters(i).upper(), i, 1, square()) for i in range(houses)]
    sites += [BoardSite(letters(i), houses - 1 - i, 0, square()) for i in range(houses)]

    def pieces(state: pyspiel.State) -> list[Piece]:
        above, below = ([int(x) for x in line.split()] for line in str(state).splitlines() if _HOUSES.fullmatch(line))
        return [Piece(i, None, "seeds", str(count), "count") for i, count in enumerate([*below, *reversed(above)])]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (int(action) + houses * int(state.current_player()),)

    return View(
        layout=BoardLayout(tuple(sites)),
        pieces=pieces,
        sites=site,
        note=lambda state: "; ".join(line for line in str(state).splitlines() if "score" in line),
    )


_WALL = re.compile(r"([a-z])(\d+)([hv])")


def quoridor(game: pyspiel.Game) -> View:
    """Sites: the squares, then the grooves below them (for horizontal walls), then those to their right."""
    size = game.get_parameters()["board_size"]
    board = squares(size, size, from_above)
    grooves = [
        BoardSite(f"{letters(column)}{row + 1}{way}", column + x, row + y, square(width, height), is_drawn=False)
        for way, x, y, width, height in (("h", 0.0, 0.5, 0.8, 0.2), ("v", 0.5, 0.0, 0.2, 0.8))
        for row in range(size - 1)
        for column in range(size - 1)
    ]
    layout = dataclasses.replace(board, sites=board.sites + tuple(grooves))
    sites = {site.name: i for i, site in enumerate(layout.sites)}

    def pieces(state: pyspiel.State) -> list[Piece]:
        rows = str(state).splitlines()[2 : 2 + 2 * size : 2]
        cells = "".join(row[3 : 3 + 4 * size : 4] for row in rows)
        return [Piece(i, "0@#%".index(x), "pawn") for i, x in enumerate(cells) if x in "0@#%"]

    def lines(state: pyspiel.State) -> list[BoardLine]:
        found = ((player, _WALL.fullmatch(state.action_to_string(player, action))) for player, action in played(state))
        walls = []
        for player, wall in found:
            if wall is not None:
                column, row = ord(wall[1]) - ord("a"), int(wall[2]) - 1
                ends = ((column - 0.45, row + 0.5), (column + 1.45, row + 0.5))
                if wall[3] == "v":
                    ends = ((column + 0.5, row - 0.45), (column + 0.5, row + 1.45))
                walls.append(BoardLine(*ends, player, 0.14))
        return walls

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (sites[state.action_to_string(action)],)

    return View(layout=layout, pieces=pieces, lines=lines, sites=site, note=lambda state: str(state).splitlines()[0])


_COLOUR = re.compile(r"\x1b\[\d+m")
_KNIGHTS = tuple((x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y))


def twixt(game: pyspiel.Game) -> View:
    """Sites: the holes row by row, without those of the corners."""
    size = game.get_parameters()["board_size"]
    corners = {0, size - 1, size * (size - 1), size * size - 1}
    holes = [divmod(i, size) for i in range(size * size) if i not in corners]
    sites = {f"{letters(column)}{row + 1}": i for i, (row, column) in enumerate(holes)}
    borders = [BoardLine((0.5, at), (size - 1.5, at), 0, 0.08) for at in (0.5, size - 1.5)]
    borders += [BoardLine((at, 0.5), (at, size - 1.5), 1, 0.08) for at in (0.5, size - 1.5)]
    borders += [BoardLine((column - 0.01, row), (column + 0.01, row), width=0.14) for row, column in holes]
    layout = BoardLayout(tuple(BoardSite(name, holes[i][1], holes[i][0]) for name, i in sites.items()), tuple(borders))

    def pieces(state: pyspiel.State) -> list[Piece]:
        rows = [line for line in _COLOUR.sub("", str(state)).splitlines() if line.strip()[:1].isdigit()]
        marks = [rows[row][5 + 3 * column] for row, column in holes]
        return [Piece(i, "xo".index(mark), "peg") for i, mark in enumerate(marks) if mark in "xo"]

    def site(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return (sites[state.action_to_string(action)[1:]],)

    def lines(state: pyspiel.State) -> list[BoardLine]:
        """Pegs are linked as they are placed, at a knight's move, where no other link is crossed."""
        side = {piece.site: piece.side for piece in pieces(state)}
        order = [sites[state.action_to_string(player, action)[1:]] for player, action in played(state)]
        order = [i for i in side if i not in order] + [i for i in order if i in side]
        links: list[BoardLine] = []
        placed: dict[Point, int | None] = {}
        for i in order:
            row, column = holes[i]
            for x, y in _KNIGHTS:
                other = (float(column + x), float(row + y))
                link = BoardLine((float(column), float(row)), other, side[i], 0.1)
                if placed.get(other, -1) == side[i] and not any(_cross(link, one) for one in links):
                    links.append(link)
            placed[(float(column), float(row))] = side[i]
        return links

    return View(layout=layout, pieces=pieces, lines=lines, sites=site, colours=("red", "blue"), win=twixt_chain)


def _cross(one: BoardLine, other: BoardLine) -> bool:
    """Whether two links cross between their ends."""
    if {one.start, one.end} & {other.start, other.end}:
        return False

    def turn(line: BoardLine, point: Point) -> bool:
        (ax, ay), (bx, by), (x, y) = line.start, line.end, point
        return (bx - ax) * (y - ay) > (by - ay) * (x - ax)

    return turn(one, other.start) != turn(one, other.end) and turn(other, one.start) != turn(other, one.end)

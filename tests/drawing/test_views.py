"""Views of games: pieces and sites read from OpenSpiel's texts, compared with names of moves and piece counts."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.drawing import board, view
from athenan_spiel.drawing.layout import BoardLine, BoardSite, coordinate_labels
from athenan_spiel.drawing.state_picture import side_text
from athenan_spiel.drawing.view import View, colour_called
from athenan_spiel.drawing.views import VIEWS, view_of
from athenan_spiel.drawing.winning import connection, neighbours_of
from athenan_spiel.games import sides
from athenan_spiel.games.facts import FACTS
from athenan_spiel.games.measures import piece_counts

AS_TEXT = {
    "hive": "tiles are the board, which grows where they are laid",
    "pig": "there is no board; the text is the scores and the turn total",
    "stones_and_gems": "its 30 kinds of elements are characters of the text",
    "yacht": "there is no board; the text is the dice and the score sheets",
}
"""Games without a view, with the reason."""
DRAWN = [name for name in FACTS if name not in AS_TEXT]
SMALL = {"go": "go(board_size=9)", "cursor_go": "cursor_go(board_size=5)", "y": "y(board_size=9)"}
OTHERS = [
    "hex(num_cols=3,num_rows=5)",
    "hex(board_size=4,swap=True)",
    "havannah(board_size=4,swap=True)",
    "go(board_size=13)",
    "mnk(m=4,n=3,k=3)",
    "connect_four(rows=5,columns=8)",
    "breakthrough(rows=6,columns=5)",
    "breakthrough(rows=12,columns=5)",
    "clobber(rows=3,columns=7)",
    "dots_and_boxes(num_rows=2,num_cols=4)",
    "nim(pile_sizes=3;4;5)",
    "oware(num_houses_per_player=4)",
    "quoridor(board_size=5)",
    "cliff_walking(height=3,width=5)",
]
"""Other board sizes, and parameters that change the text."""


def looked_at(name: str) -> tuple[pyspiel.Game, View]:
    game = ath.load_game(SMALL.get(name, name))
    view = view_of(game)
    assert view is not None
    return game, view


def states(game: pyspiel.Game, matches: int = 2, plies: int = 40, seed: int = 1) -> Iterator[pyspiel.State]:
    """Yields states of random games, including finished ones."""
    rng = random.Random(seed)
    for _ in range(matches):
        state = game.new_initial_state()
        for _ in range(plies):
            yield state.clone()
            if state.is_terminal():
                break
            state.apply_action(rng.choice(state.legal_actions()))


def some_actions(state: pyspiel.State, most: int = 12) -> list[int]:
    legal = state.legal_actions() if not state.is_terminal() else []
    return random.Random(len(state.history())).sample(legal, min(most, len(legal)))


def test_colours_of_sides_are_those_of_the_boards() -> None:
    assert {colour_called(name) for name in sides.COLOURS} == set(view.COLOURS) == set(board.COLOURS)
    for name, colour in sides.COLOURS.items():
        assert board.COLOURS[colour_called(name)][0] == f"#{bytes(colour).hex()}"


def test_every_game_has_a_view_or_a_reason() -> None:
    assert list(VIEWS) == DRAWN


@pytest.mark.parametrize("name", DRAWN)
def test_sides_are_named_as_drawn(name: str) -> None:
    game, view = looked_at(name)
    names = FACTS[name].names
    if names is not None:
        assert [view.colour_name(player).capitalize() for player in range(len(names))] == list(names)
        assert side_text(game, 0, is_drawn=True) == names[0]


@pytest.mark.parametrize(
    ("name", "side"), [("tic_tac_toe", "x"), ("oware", "player 0"), ("einstein_wurfelt_nicht", "Black")]
)
def test_other_sides_are_named_by_their_pieces(name: str, side: str) -> None:
    game, _ = looked_at(name)
    assert side_text(game, 0, is_drawn=True) == side


@pytest.mark.parametrize("name", [*DRAWN, *OTHERS])
def test_each_site_has_at_most_one_piece(name: str) -> None:
    game, view = looked_at(name)
    for state in states(game, plies=60):
        pieces = view.pieces(state)
        sites = [piece.site for piece in pieces]
        assert len(set(sites)) == len(sites)
        assert all(0 <= site < len(view.layout.sites) for site in sites)
        assert all(piece.side in (None, 0, 1) for piece in pieces)
        assert isinstance(view.note(state), str)
        for line in view.lines(state):
            assert line.start != line.end


@pytest.mark.parametrize("name", DRAWN)
def test_sites_have_distinct_names_and_places(name: str) -> None:
    _, view = looked_at(name)
    sites = view.layout.sites
    assert len({site.name for site in sites}) == len(sites)
    assert len({(round(site.x, 6), round(site.y, 6)) for site in sites}) == len(sites)
    left, top, right, bottom = view.layout.box
    assert all(left <= site.x <= right and top <= site.y <= bottom for site in sites)


@pytest.mark.parametrize("name", [*DRAWN, *OTHERS])
def test_a_view_does_not_change_the_state(name: str) -> None:
    game, view = looked_at(name)
    for state in states(game, matches=1, plies=12):
        text, history = str(state), state.history()
        view.pieces(state)
        for action in some_actions(state, 4):
            view.action_sites(state, action)
        assert (str(state), state.history()) == (text, history)


COUNTED = [
    "antichess",
    "breakthrough",
    "breakthrough(rows=12,columns=5)",
    "checkers",
    "chess",
    "clobber",
    "go",
    "lines_of_action",
    "othello",
    "xiangqi",
]


@pytest.mark.parametrize("name", COUNTED)
def test_the_number_of_pieces_equals_the_count(name: str) -> None:
    """The counts of the presence heuristic read the same text in another way."""
    game, view = looked_at(name)
    for state in states(game, plies=80):
        sides = [piece.side for piece in view.pieces(state)]
        assert (sides.count(0), sides.count(1)) == piece_counts(state)


def dashed(state: pyspiel.State, action: int) -> list[str]:
    return [part.lower() for part in re.findall(r"[a-z]\d+", state.action_to_string(action))]


def in_brackets(state: pyspiel.State, action: int) -> list[str]:
    return [",".join(part) for part in re.findall(r"\((\d+), ?(\d+)\)", state.action_to_string(action))]


def of_chess(state: pyspiel.State, action: int) -> list[str]:
    """Returns the destination at the end of a move's name; castling has none."""
    name = state.action_to_string(action)
    return re.findall(r"[a-h][1-8]", name)[-1:]


SPELLED: dict[str, Callable[[pyspiel.State, int], list[str]]] = {
    "amazons": in_brackets,
    "breakthrough": dashed,
    "checkers": dashed,
    "clobber": dashed,
    "go": dashed,
    "gomoku": lambda state, action: [state.action_to_string(action)],
    "havannah": dashed,
    "hex": dashed,
    "lines_of_action": dashed,
    "mnk": in_brackets,
    "othello": dashed,
    "tic_tac_toe": in_brackets,
    "xiangqi": in_brackets,
    "y": dashed,
}


@pytest.mark.parametrize("name", list(SPELLED))
def test_sites_of_a_move_are_those_in_its_name(name: str) -> None:
    """The name of a move and the change of the board give the same sites."""
    game, view = looked_at(name)
    compared = 0
    for state in states(game, plies=60):
        for action in some_actions(state):
            names = SPELLED[name](state, action)
            assert [view.layout.sites[i].name for i in view.action_sites(state, action)] == names
            compared += bool(names)
    assert compared > 50


def test_ranks_of_breakthrough_above_nine_are_sites() -> None:
    """OpenSpiel names ranks 10, 11 and 12 `:`, `;` and `<`."""
    game, view = looked_at("breakthrough(rows=12,columns=5)")
    initial = game.new_initial_state()
    assert len(view.layout.sites) == 60
    assert len(view.pieces(initial)) == 20
    for state in states(game, plies=60):
        for action in some_actions(state):
            name = state.action_to_string(action)
            expected = [f"{name[i]}{'123456789:;<'.index(name[i + 1]) + 1}" for i in (0, 2)]
            assert [view.layout.sites[i].name for i in view.action_sites(state, action)] == expected


@pytest.mark.parametrize("name", ["gomoku(size=4,dims=3)", "gomoku(size=5,dims=1)"])
def test_gomoku_is_drawn_in_two_dimensions_only(name: str) -> None:
    game = ath.load_game(name)
    assert view_of(game) is None
    ath.show(game.new_initial_state())


@pytest.mark.parametrize("name", ["chess", "antichess", "crazyhouse"])
def test_a_chess_move_ends_at_the_square_in_its_name(name: str) -> None:
    game, view = looked_at(name)
    for state in states(game, matches=3, plies=60):
        for action in some_actions(state):
            sites = [view.layout.sites[i].name for i in view.action_sites(state, action)]
            expected = of_chess(state, action)
            if expected:
                assert sites[-1:] == expected
                assert len(sites) == (1 if "@" in state.action_to_string(action) else 2)


def test_castling_is_the_kings_move() -> None:
    game, view = looked_at("chess")
    state = game.new_initial_state()
    for move in ("e4", "e5", "Nf3", "Nc6", "Bc4", "Bc5"):
        state.apply_action(next(a for a in state.legal_actions() if state.action_to_string(a) == move))
    castling = next(a for a in state.legal_actions() if state.action_to_string(a) == "O-O")
    assert [view.layout.sites[i].name for i in view.action_sites(state, castling)] == ["e1", "g1"]


@pytest.mark.parametrize(
    ("name", "site"), [("dots_and_boxes", "h,0,0"), ("nim", "pile 1, counter 1"), ("quoridor", "a1v"), ("oware", "A")]
)
def test_the_first_action_names_a_site(name: str, site: str) -> None:
    game, view = looked_at(name)
    state = game.new_initial_state()
    assert [view.layout.sites[i].name for i in view.action_sites(state, state.legal_actions()[0])] == [site]


def test_a_move_of_nim_takes_the_counters_from_its_site_up() -> None:
    game, view = looked_at("nim(pile_sizes=3;4;5)")
    state = game.new_initial_state()
    for action in state.legal_actions():
        (site,) = view.action_sites(state, action)
        standing = {piece.site for piece in view.pieces(state)} - {
            piece.site for piece in view.pieces(state.child(action))
        }
        assert site == min(standing)


def test_owners_of_boxes_are_those_of_the_text() -> None:
    game, view = looked_at("dots_and_boxes(num_rows=2,num_cols=4)")
    for state in states(game, matches=10):
        sides = [piece.side for piece in view.pieces(state)]
        assert (sides.count(0), sides.count(1)) == (str(state).count("1"), str(state).count("2"))


def test_all_walls_of_quoridor_are_drawn() -> None:
    game, view = looked_at("quoridor")
    for state in states(game):
        left = [int(number) for number in re.findall(r"walls: (\d+), (\d+)", str(state))[0]]
        sides = [line.side for line in view.lines(state)]
        assert [10 - sides.count(0), 10 - sides.count(1)] == left


def test_all_links_of_twixt_are_drawn() -> None:
    """The second to fifth of each player's six planes show links, one direction each."""
    game, view = looked_at("twixt")
    linked = 0
    for state in states(game, matches=10, plies=50):
        planes = np.array(state.observation_tensor(0)).reshape(2, 6, -1)
        sides = [line.side for line in view.lines(state)]
        assert [sides.count(0), sides.count(1)] == [int(planes[side, 1:5].sum()) for side in (0, 1)]
        linked += len(sides)
    assert linked > 1000


def test_hexagons_touch_their_neighbours() -> None:
    layout = looked_at("hex(board_size=4)")[1].layout
    first = layout.sites[0]
    near = [site for site in layout.sites[1:] if abs((site.x - first.x) ** 2 + (site.y - first.y) ** 2 - 1) < 1e-9]
    assert [site.name for site in near] == ["b1", "a2"]


def test_checkers_of_backgammon_are_all_drawn() -> None:
    """A stack of more than five shows its number on the first checker, as the bar does."""
    game, view = looked_at("backgammon")
    for state in states(game, plies=150):
        counts = [0, 0]
        places = [0, 0]
        for piece in view.pieces(state):
            assert piece.side is not None
            on_point = piece.site < 120
            counts[piece.side] += int(piece.sign or 1) - (4 if piece.sign and on_point else 0)
            places[piece.side] += on_point
        assert counts == [15, 15]
        assert max(places) <= 15


def test_a_move_of_backgammon_leaves_points_with_own_checkers() -> None:
    game, view = looked_at("backgammon")
    for state in states(game, plies=80):
        own = {piece.site for piece in view.pieces(state) if piece.side == state.current_player()}
        for action in some_actions(state) if state.current_player() >= 0 else ():
            origins = view.action_sites(state, action)
            assert bool(origins) == (state.action_to_string(action) != "Pass")
            assert not origins or not own.isdisjoint(origins)


@pytest.mark.parametrize("name", ["backgammon", "einstein_wurfelt_nicht", "maedn"])
def test_the_roll_is_noted_beside_the_board(name: str) -> None:
    game, view = looked_at(name)
    for state in states(game, plies=30):
        if state.is_terminal():
            continue
        if state.is_chance_node():
            assert view.note(state).startswith("chance ")
            for outcome in some_actions(state):
                child = state.child(outcome)
                rolled = re.search(r"(?:roll:? )(\d+)", state.action_to_string(outcome))
                if rolled is not None:
                    assert sorted(view.note(child).removeprefix("dice: ").replace(" ", "")) == sorted(rolled[1])
        else:
            assert view.note(state).startswith("dice: ")


@pytest.mark.parametrize("name", ["einstein_wurfelt_nicht", "banqi"])
def test_a_move_goes_from_an_own_piece_to_where_it_then_stands(name: str) -> None:
    game, view = looked_at(name)
    moved = 0
    for state in states(game, plies=120):
        mover = state.current_player()
        before = {piece.site: piece for piece in view.pieces(state)}
        for action in some_actions(state) if mover >= 0 else ():
            sites = view.action_sites(state, action)
            if len(sites) == 2:
                after = {piece.site: piece for piece in view.pieces(state.child(action))}
                assert before[sites[0]].side == mover == after[sites[1]].side
                assert sites[0] not in after
                moved += 1
    assert moved > 50


@pytest.mark.parametrize(
    ("size", "stars"), [(5, 0), (7, 4), (8, 4), (9, 5), (11, 5), (13, 5), (15, 9), (16, 4), (17, 9), (19, 9)]
)
def test_go_boards_have_star_points(size: int, stars: int) -> None:
    """As drawn by common programs: five on 9 x 9 and 13 x 13, nine on 19 x 19, on the fourth line from 13 x 13."""
    view = view_of(ath.load_game(f"go(board_size={size})"))
    assert view is not None
    points = {line.start for line in view.layout.lines if line.width > 0.2}
    assert len(points) == stars
    places = {(round(x + 0.01), round(y)) for x, y in points}
    assert places == {(size - 1 - x, y) for x, y in places} == {(y, x) for x, y in places}
    if stars:
        assert min(min(place) for place in places) == (2 if size < 13 else 3)


def labels_of(name: str) -> dict[str, set[tuple[float, float]]]:
    view = view_of(ath.load_game(name))
    assert view is not None
    found: dict[str, set[tuple[float, float]]] = {}
    for label in view.layout.labels:
        found.setdefault(label.text, set()).add((round(label.x, 2), round(label.y, 2)))
    return found


def test_rows_and_columns_are_labelled_by_the_names_of_moves() -> None:
    assert labels_of("connect_four") == {str(i): {(i, 5.85)} for i in range(7)}
    assert labels_of("breakthrough(rows=6,columns=6)")["a"] == {(0, 5.85)}
    assert labels_of("breakthrough(rows=6,columns=6)")["6"] == {(-0.85, 0)}
    assert labels_of("tic_tac_toe")["2"] == {(-0.85, 2), (2, 2.85)}
    shogi = labels_of("shogi")
    assert (shogi["9"], shogi["i"]) == ({(0, 8.85)}, {(-0.85, 8)})
    assert labels_of("chinese_checkers") == labels_of("2048") == {}


@pytest.mark.parametrize("name", [*DRAWN, *OTHERS])
def test_labels_collide_with_nothing(name: str) -> None:
    _, view = looked_at(name)
    places = [(label.x, label.y) for label in view.layout.labels]
    sites = [(site.x, site.y) for site in view.layout.sites if site.is_drawn]
    for i, place in enumerate(places):
        assert min(math.dist(place, other) for other in (*sites, *places[:i])) > 0.55


def test_labels_are_beyond_the_ends_of_lines() -> None:
    sites = [BoardSite(f"{'ab'[x]}{y}", x, -y) for x in (0, 1) for y in (0, 1)]
    line = BoardLine((0, 3), (1, 0))
    assert {(label.text, label.x, label.y) for label in coordinate_labels(sites, [line])} == {
        ("a", 0, 3.5), ("b", 1, 3.5), ("0", -0.85, 0), ("1", -0.85, -1),
    }  # fmt: skip


@pytest.mark.parametrize("names", [("a1", "b1", "a2", "x"), ("a1", "a2", "b1", "b2"), ("a1", "b2", "b1", "a2")])
def test_sites_without_rows_and_columns_have_no_labels(names: tuple[str, ...]) -> None:
    places = [(0, 0), (1, 0), (0, 1), (1.3, 1)]
    sites = [BoardSite(name, x, y) for name, (x, y) in zip(names, places, strict=True)]
    assert coordinate_labels(sites) == ()


WINS = [
    "connect_four", "connect_four(rows=5,columns=5,x_in_row=3)", "tic_tac_toe", "mnk", "mnk(m=4,n=3,k=3)",
    "gomoku(size=9)", "pentago", "hex(board_size=5)", "hex(num_cols=3,num_rows=5)", "hex(board_size=4,swap=True)",
    "y(board_size=6)", "havannah(board_size=3)", "havannah(board_size=4)", "ultimate_tic_tac_toe", "twixt",
]  # fmt: skip


@pytest.mark.parametrize("name", WINS)
def test_the_winning_line_consists_of_stones_of_the_winner(name: str) -> None:
    """The last stone completes it."""
    game, view = looked_at(name)
    rng, won = random.Random(5), 0
    for _ in range(20):
        state = game.new_initial_state()
        assert view.winning_sites(state) == ()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        returns = state.returns()
        found = list(view.winning_sites(state))
        if returns[0] == returns[1]:
            assert found == []
            continue
        winner = returns.index(max(returns))
        sides = {piece.site: piece.side for piece in view.pieces(state)}
        assert {sides[site] for site in found} <= {winner}
        assert found, str(state)
        won += bool(found)
        last = view.action_sites(before_last(state), state.history()[-1])
        if found and not name.startswith("pentago"):  # its rotation may complete a line elsewhere
            assert last[-1] in found
    assert won >= 5


def before_last(state: pyspiel.State) -> pyspiel.State:
    before = state.get_game().new_initial_state()
    for action in state.history()[:-1]:
        before.apply_action(action)
    return before


@pytest.mark.parametrize(
    ("name", "actions", "line"),
    [
        ("tic_tac_toe", (0, 3, 1, 4, 2), [0, 1, 2]),
        ("tic_tac_toe", (0, 1, 4, 2, 8), [0, 4, 8]),
        ("hex(board_size=3)", (0, 1, 3, 4, 6), [0, 3, 6]),
        ("hex(board_size=3)", (8, 0, 7, 1, 3, 2), [0, 1, 2]),
        # A ring around an own stone.
        ("havannah(board_size=4)", (24, 0, 16, 2, 17, 14, 23, 3, 25, 34, 31, 48, 32), [11, 12, 17, 19, 24, 25]),
    ],
)
def test_winning_lines_of_known_games(name: str, actions: tuple[int, ...], line: list[int]) -> None:
    game, view = looked_at(name)
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    assert state.is_terminal()
    assert list(view.winning_sites(state)) == line


def test_a_connection_is_shortest_and_needs_all_goals() -> None:
    stones = {i: (float(i % 4), float(i // 4)) for i in range(12)}
    assert connection(neighbours_of(stones), [{0, 4, 8}, {3, 7, 11}]) in ([0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11])
    assert connection(neighbours_of(stones), [{0}, {2}, {9}]) == [0, 1, 2, 5, 9]
    assert connection(neighbours_of({0: (0, 0), 2: (2, 0)}), [{0}, {2}]) == []
    assert connection(neighbours_of(stones), [{0}, {50}]) == []

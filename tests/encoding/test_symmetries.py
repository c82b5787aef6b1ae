"""Symmetries commute with the rules, others are refused, and images of states have the same value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray
from oracles.brute_force import BruteForce

from athenan_spiel.config import SYMMETRIES
from athenan_spiel.encoding import Encoder, mirror_play
from athenan_spiel.encoding.board_maps import IDENTITY, BoardMap, turn
from athenan_spiel.encoding.mirror_play import MirrorPlay
from athenan_spiel.encoding.plane_matching import match_planes
from athenan_spiel.encoding.symmetries import Symmetries, closed_under_products, find_symmetries
from athenan_spiel.errors import ConfigError
from athenan_spiel.games import load_game

OF_A_SQUARE = set(SYMMETRIES)
OF_AN_OBLONG = {"rotate_180", "flip_horizontal", "flip_vertical"}
FOUND = {
    "amazons(board_size=6)": {"flip_horizontal"},
    "breakthrough(rows=6,columns=6)": {"flip_horizontal"},
    "checkers": set(),
    "chess": set(),
    "clobber(rows=4,columns=4)": {"rotate_180", "transpose", "anti_transpose"},
    "connect_four": {"flip_horizontal"},
    "dots_and_boxes": set(),
    "go(board_size=4)": OF_A_SQUARE,
    "gomoku(size=6)": OF_A_SQUARE,
    "havannah(board_size=3)": {"rotate_180", "transpose", "anti_transpose"},
    "hex(board_size=4)": {"rotate_180"},
    "hex(board_size=4,plain_obs_tensor=true)": {"rotate_180"},
    "hex(board_size=4,swap=true)": {"rotate_180"},
    "hex(num_cols=4,num_rows=3)": {"rotate_180"},
    "mancala": set(),
    "mnk(m=5,n=4,k=3)": OF_AN_OBLONG,
    "pentago": OF_A_SQUARE,
    "tic_tac_toe": OF_A_SQUARE,
    "y(board_size=5)": {"transpose"},
}
"""Games without symmetries: Chess has different sides, and turns of Checkers exchange the players."""


def found_in(spec: str, seed: int = 0, *, edges: bool = False) -> Symmetries:
    game = load_game(spec)
    return find_symmetries(game, np.random.default_rng(seed), Encoder(game, edges=edges))


# What the maps are


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("identity", [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        ("rotate_90", [[2, 5, 8], [1, 4, 7], [0, 3, 6]]),
        ("rotate_180", [[8, 7, 6], [5, 4, 3], [2, 1, 0]]),
        ("rotate_270", [[6, 3, 0], [7, 4, 1], [8, 5, 2]]),
        ("flip_horizontal", [[2, 1, 0], [5, 4, 3], [8, 7, 6]]),
        ("flip_vertical", [[6, 7, 8], [3, 4, 5], [0, 1, 2]]),
        ("transpose", [[0, 3, 6], [1, 4, 7], [2, 5, 8]]),
        ("anti_transpose", [[8, 5, 2], [7, 4, 1], [6, 3, 0]]),
    ],
)
def test_names_of_turns(name: str, image: list[list[int]]) -> None:
    board = np.arange(9, dtype=np.float32).reshape(3, 3)
    assert turn(name, board).tolist() == image
    row = np.stack([board, board + 10]).reshape(1, -1)
    turned = BoardMap(name, (2, 3, 3)).image(row).reshape(2, 3, 3)
    assert turned.tolist() == [image, (np.array(image) + 10).tolist()]


def test_planes_are_permuted() -> None:
    row = np.arange(6, dtype=np.float32).reshape(1, -1)
    image = BoardMap("flip_horizontal", (3, 1, 2), (2, 0, 1)).image(row)
    assert image.reshape(3, 2).tolist() == [[5, 4], [1, 0], [3, 2]]


def test_a_product_is_one_map_after_the_other() -> None:
    rows = np.random.default_rng(0).random((2, 27)).astype(np.float32)
    maps = [BoardMap("rotate_90", (3, 3, 3), (1, 2, 0)), BoardMap("transpose", (3, 3, 3), (0, 2, 1))]
    maps += [BoardMap("flip_vertical", (3, 3, 3)), BoardMap(IDENTITY, (3, 3, 3))]
    for second in maps:
        for first in maps:
            product = second.after(first)
            np.testing.assert_array_equal(product.image(rows), second.image(first.image(rows)))
    assert maps[1].after(maps[0]).name == "flip_horizontal"
    assert maps[0].after(maps[1]).name == "flip_vertical"


def test_each_row_has_its_own_map() -> None:
    maps = tuple(BoardMap(name, (1, 2, 2)) for name in (IDENTITY, "flip_horizontal", "flip_vertical"))
    rows = np.array([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], np.float32)
    images = Symmetries(maps, {}).apply(rows, np.array([2, 0, 1]))
    assert images.tolist() == [[2, 3, 0, 1], [4, 5, 6, 7], [9, 8, 11, 10]]
    assert rows[0].tolist() == [0, 1, 2, 3]
    assert not np.shares_memory(images, rows)


# Which ones are found


@pytest.mark.parametrize("spec", FOUND)
def test_games_have_these_symmetries_and_no_others(spec: str) -> None:
    found = found_in(spec)
    assert found.names[0] == IDENTITY
    assert set(found.names[1:]) == FOUND[spec]
    assert set(found.refused) == OF_A_SQUARE - FOUND[spec]
    assert all(found.refused.values())


def test_othello_has_all_eight_symmetries() -> None:
    """Four of them move the initial position; they are tested from positions after seven plies."""
    assert set(found_in("othello").names[1:]) == OF_A_SQUARE


def test_othello_from_its_initial_position_alone_has_four() -> None:
    game = load_game("othello")
    play = MirrorPlay(game, Encoder(game))
    kept = {name for name in SYMMETRIES if isinstance(play.verify(name, np.random.default_rng(0)), BoardMap)}
    assert kept == {"rotate_180", "transpose", "anti_transpose"}


@pytest.mark.parametrize("seed", range(3))
def test_hex_has_its_half_turn_whatever_the_seed(seed: int) -> None:
    found = found_in("hex(board_size=5)", seed)
    assert found.names == (IDENTITY, "rotate_180")
    # Stones linked to the west and to the east change places, and so do those linked to the south and to the north.
    assert found.found[1].planes == (0, 2, 1, 3, 4, 5, 7, 6, 8, 9)


def test_the_half_turn_of_hex_holds_with_edges() -> None:
    assert found_in("hex(board_size=4)", edges=True).names == (IDENTITY, "rotate_180")


def test_a_reflection_that_exchanges_the_players_is_refused() -> None:
    """With plain planes, only the result shows that the other player wins reflected Hex."""
    refused = found_in("hex(board_size=4,plain_obs_tensor=true)").refused["transpose"]
    assert re.fullmatch(r"after the actions \[.+\], no action of the image corresponds to \d+", refused)


def test_reasons_of_refusals() -> None:
    assert found_in("connect_four").refused["transpose"] == "the board is 6 x 7 and not square"
    assert found_in("mancala").refused["rotate_180"] == "the observation of 'mancala' is not a stack of boards"
    assert found_in("chess").refused["flip_horizontal"] == "the initial position is not its own image"


def test_symmetries_are_reproducible() -> None:
    game = load_game("hex(board_size=4)")
    first, second = np.random.default_rng(5), np.random.default_rng(5)
    found, again = find_symmetries(game, first), find_symmetries(game, second)
    assert found.refused == again.refused
    assert [x.planes for x in found.found] == [x.planes for x in again.found]
    assert first.bit_generator.state == second.bit_generator.state


# What they promise


@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=3)", "connect_four(rows=3,columns=4,x_in_row=3)"])
def test_positions_and_their_images_have_equal_values(spec: str) -> None:
    """Compares all positions of the game; each image is one of them."""
    game = load_game(spec)
    encoder, values, oracle = Encoder(game), {}, BruteForce()
    level = [game.new_initial_state()]
    while level:
        rows = encoder.encode(level).reshape(len(level), -1)
        values.update({row.tobytes(): oracle.value(state) for row, state in zip(rows, level, strict=True)})
        children = [state.child(action) for state in level for action in state.legal_actions()]
        # By rows and not by text: which stones Hex shows as the winning ones depends on the last one.
        shown = encoder.encode(children).reshape(len(children), encoder.size)
        level = list({row.tobytes(): child for row, child in zip(shown, children, strict=True)}.values())
    found = find_symmetries(game, np.random.default_rng(0), encoder)
    assert len(found.found) > 1
    every = np.stack([np.frombuffer(row, np.float32) for row in values])
    for symmetry in found.found:
        images = [values[image.tobytes()] for image in symmetry.image(every)]
        assert images == list(values.values())


# Rules that are changed in one place


class Changed:
    """State of Tic-Tac-Toe with changed rules, with the methods that the test of symmetries uses."""

    def __init__(self, state: pyspiel.State, change: Change) -> None:
        self.state = state
        self._change = change

    def legal_actions(self) -> list[int]:
        return self._change.legal_actions(self.state)

    def child(self, action: int) -> Changed:
        return Changed(self._change.child(self.state, action), self._change)

    def returns(self) -> list[float]:
        worth = self._change.worth(self.state)
        return [worth, -worth]

    def current_player(self) -> int:
        return int(self.state.current_player())

    def is_terminal(self) -> bool:
        return bool(self.state.is_terminal())

    def history(self) -> list[int]:
        return list(self.state.history())


class Change:
    """Rules of Tic-Tac-Toe, changed by subclasses; both a game and its encoder."""

    def __init__(self) -> None:
        self.game = load_game("tic_tac_toe")
        self.encoder = Encoder(self.game)
        self.shape = self.encoder.shape

    def new_initial_state(self) -> Changed:
        return Changed(self.game.new_initial_state(), self)

    def encode(self, states: Sequence[Changed]) -> NDArray[np.float32]:
        return self.encoder.encode([state.state for state in states])

    def legal_actions(self, state: pyspiel.State) -> list[int]:
        return list(state.legal_actions())

    def child(self, state: pyspiel.State, action: int) -> pyspiel.State:
        return state.child(action)

    def worth(self, state: pyspiel.State) -> float:
        return float(state.player_return(0))


class TopRowIsWorthLess(Change):
    def worth(self, state: pyspiel.State) -> float:
        return super().worth(state) / (2 if str(state).startswith("xxx") else 1)


class OneCornerForbidsTheOther(Change):
    def legal_actions(self, state: pyspiel.State) -> list[int]:
        actions = super().legal_actions(state)
        return [a for a in actions if a != 8] if str(state)[0] != "." and len(actions) > 1 else actions


class FirstFreeCellHasTwoActions(Change):
    """Every image of a child is a child, but two actions lead to one of them, and one action to its image."""

    def legal_actions(self, state: pyspiel.State) -> list[int]:
        actions = super().legal_actions(state)
        return [*actions, 9] if actions else []

    def child(self, state: pyspiel.State, action: int) -> pyspiel.State:
        return state.child(state.legal_actions()[0] if action == 9 else action)


class RemembersItsFirstAction(Change):
    """A value outside the observation: which stone of the first player came first."""

    def worth(self, state: pyspiel.State) -> float:
        return super().worth(state) / (2 if state.history()[0] == 1 else 1)


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        (Change, OF_A_SQUARE),
        (TopRowIsWorthLess, {"flip_horizontal"}),
        (OneCornerForbidsTheOther, {"transpose"}),
        (FirstFreeCellHasTwoActions, set()),
        (RemembersItsFirstAction, {"flip_horizontal"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_rule_for_one_cell_breaks_the_symmetries_that_move_it(rules: Callable[[], Any], kept: set[str]) -> None:
    changed = rules()
    play = MirrorPlay(changed, changed)
    verdicts = {name: play.verify(name, np.random.default_rng(1)) for name in SYMMETRIES}
    assert {name for name, verdict in verdicts.items() if isinstance(verdict, BoardMap)} == kept


def test_a_different_number_of_legal_actions_is_the_reason() -> None:
    changed = OneCornerForbidsTheOther()
    verdict = MirrorPlay(changed, changed).verify("rotate_180", np.random.default_rng(1))  # type: ignore[arg-type]
    assert isinstance(verdict, str)
    assert re.fullmatch(r"after the actions \[.+\] there are \d legal actions, but \d in the image", verdict)


def test_few_compared_actions_per_ply_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """With many actions, most plies compare only the played one."""
    monkeypatch.setattr(mirror_play, "COMPARED_ACTIONS", 0)
    assert set(found_in("tic_tac_toe").names[1:]) == OF_A_SQUARE
    assert found_in("hex(board_size=4)").names == (IDENTITY, "rotate_180")


# From other positions


def test_the_search_for_pairs_of_positions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirror_play, "MAX_SEARCHED_STATES", 500)
    game = load_game("breakthrough(rows=6,columns=6)")
    verdict = MirrorPlay(game, Encoder(game), any_position=True).verify("rotate_180", np.random.default_rng(0))
    assert verdict == "the initial position is not its own image, and the first 500 positions contain no such pair"


# Planes


@pytest.mark.parametrize("name", ["transpose", "flip_horizontal"])
def test_other_turns_have_no_permutation_of_planes(name: str) -> None:
    game = load_game("hex(board_size=4)")
    assert match_planes(game, Encoder(game), name, np.random.default_rng(0)) is None


def test_planes_that_never_differ_keep_their_places() -> None:
    game = load_game("tic_tac_toe")
    assert match_planes(game, Encoder(game), "rotate_90", np.random.default_rng(0)) == [0, 1, 2, 3]


# Groups, and what is chosen of them


def test_the_remaining_names_are_a_group() -> None:
    whole = [IDENTITY, *SYMMETRIES]
    assert closed_under_products(whole) == (whole, {})
    half = [IDENTITY, "rotate_180", "transpose", "anti_transpose"]
    assert closed_under_products(half) == (half, {})


def test_a_symmetry_whose_products_are_refused_is_refused() -> None:
    names, reasons = closed_under_products([IDENTITY, "rotate_90", "flip_horizontal"])
    assert names == [IDENTITY]
    assert reasons["rotate_90"] == "its product with another symmetry is 'rotate_180', which is refused"
    assert set(reasons) == {"rotate_90", "flip_horizontal"}


def test_a_refused_product_removes_both_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the tests was too short, but it is unknown which."""

    def verify(play: MirrorPlay, name: str, rng: np.random.Generator) -> BoardMap | str:
        return BoardMap(name, (4, 3, 3)) if name in ("flip_horizontal", "transpose") else f"{name} fails"

    monkeypatch.setattr(MirrorPlay, "verify", verify)
    found = found_in("tic_tac_toe")
    assert found.names == (IDENTITY,)
    assert found.refused["rotate_90"] == "rotate_90 fails"
    assert found.refused["transpose"] == "its product with another symmetry is 'rotate_90', which is refused"
    assert set(found.refused) == OF_A_SQUARE


@pytest.mark.parametrize(
    ("setting", "chosen"),
    [("none", ()), ("all", (1,)), ("flip_horizontal", (1,))],
)
def test_the_setting_selects_symmetries(setting: str, chosen: tuple[int, ...]) -> None:
    assert found_in("connect_four").select(setting) == chosen


def test_symmetries_are_selected_by_name() -> None:
    found = found_in("tic_tac_toe")
    assert [found.names[i] for i in found.select("transpose,rotate_90")] == ["transpose", "rotate_90"]
    assert len(found.select("all")) == 7


def test_all_of_a_game_without_symmetries_is_none() -> None:
    assert found_in("chess").select("all") == ()


@pytest.mark.parametrize(
    ("spec", "setting", "problem"),
    [
        (
            "hex(board_size=4)",
            "transpose",
            "'transpose' is not a symmetry of the game, since after the actions .*: use 'rotate",
        ),
        ("connect_four", "flip_horizontal,rotate_90", "'rotate_90' .* the board is 6 x 7 and not square: use 'flip_h"),
        ("chess", "flip_horizontal", "the initial position is not its own image: use 'none'"),
    ],
)
def test_refused_symmetries_cannot_be_selected(spec: str, setting: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        found_in(spec).select(setting)


# The page for readers


def rows_of_the_page() -> list[tuple[str, str]]:
    page = Path(__file__).resolve().parents[2] / "docs" / "symmetries.md"
    return re.findall(r"^\| `([^`]+)` \| (.*?) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.slow("mirrored matches of all of OpenSpiel's games with planes")
@pytest.mark.parametrize("spec", [spec for spec, _ in rows_of_the_page()])
def test_the_page_equals_the_result(spec: str) -> None:
    assert dict(rows_of_the_page())[spec] == (", ".join(found_in(spec).names[1:]) or "none")

"""Names are Ludii's own or an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from ludii_fake import MENU, PATHS

from ludii_bridge import LudiiError
from ludii_bridge.catalogue import Catalogue, Menu, Source, choose, find_file


def test_a_name_is_found_whatever_its_case() -> None:
    found = Catalogue(PATHS).find(" tic-tac-TOE ")
    assert found == Source("Tic-Tac-Toe", "/lud/board/space/line/Tic-Tac-Toe.lud")


def test_square_brackets_stand_for_round_ones() -> None:
    assert Catalogue(PATHS).find("Dice [roll]").name == "Dice (Roll)"


@pytest.mark.parametrize("name", ["Toe", "Tac-Toe", "ex.lud", "", "Tic-Tac-Toe.lud"])
def test_a_part_of_a_name_is_no_name(name: str) -> None:
    with pytest.raises(LudiiError, match="Ludii has no game called"):
        Catalogue(PATHS).find(name)


DRAUGHTS = [f"lud/board/war/{name}.lud" for name in ("English Draughts", "Draughts (12x12)", "Hex", "Chex", "Seys Dos")]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("draughts", ": did you mean 'Draughts [12x12]' or 'English Draughts'?"),
        ("Draugts", ": did you mean 'Draughts [12x12]' or 'English Draughts'?"),
        ("English Draugts", ": did you mean 'English Draughts'?"),
        ("Hexx", ": did you mean 'Hex' or 'Chex'?"),
        ("Dots", "; `athenan games --ludii` lists them"),
        ("Draughts" * 30, "; `athenan games --ludii` lists them"),
    ],
)
def test_a_wrong_name_suggests_those_with_that_word_or_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(LudiiError) as raised:
        Catalogue(DRAUGHTS).find(name)
    assert str(raised.value) == f"Ludii has no game called {name!r}{hint}"


def test_of_many_names_with_a_word_some_are_suggested() -> None:
    paths = [f"lud/board/Chess {number:02}.lud" for number in range(15)]
    with pytest.raises(LudiiError, match=r"'Chess 00', .* or 'Chess 11'\? \(3 more have it in their names\)$"):
        Catalogue(paths).find("chess")


def test_unfinished_games_and_tests_are_left_out() -> None:
    catalogue = Catalogue([*PATHS, "lud/wip/New.lud", "lud/reconstruction/pending/Old.lud"])
    assert catalogue.names() == ["Alone", "Broken", "Dice (Roll)", "Swap", "Three", "Tic-Tac-Toe", "Twice"]
    assert catalogue.find("Broken").path == "/lud/board/hunt/Broken.lud"
    assert catalogue.names("lud/puzzle/") == ["Alone", "Three"]
    assert len(catalogue) == 7


def test_a_file_is_a_source_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "Mine.lud"
    file.write_text("(game)", encoding="utf-8")
    assert find_file(str(file)) == Source("Mine", str(file), is_file=True)


@pytest.mark.parametrize("name", ["Mine.txt", "Other.lud"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "Mine.txt").write_text("(game)", encoding="utf-8")
    with pytest.raises(LudiiError, match=r"expected the path of a \.lud file, got"):
        find_file(str(tmp_path / name))


@pytest.mark.parametrize(
    ("ruleset", "options", "chosen"),
    [
        ("", "", ()),
        ("Long", "", ("Line/3",)),
        ("ruleset/short [suggested]", "", ("Line/2",)),
        ("", "line/2", ("Line/2",)),
        ("", "Line/2; board (kind)/Other", ("Line/2", "Board [Kind]/Other")),
        ("Long", "Line/2", ("Line/2",)),
    ],
)
def test_options_are_ludiis_own(ruleset: str, options: str, chosen: tuple[str, ...]) -> None:
    assert choose("T", MENU, ruleset, options) == chosen


def test_commas_and_equals_signs_are_left_out_of_a_game_string() -> None:
    """OpenSpiel would end the value there, as in Lines of Action's "Simultaneous Group = Draw"."""
    menu = Menu({"End": ["A = B", "A (C, D)"]}, {})
    assert choose("T", menu, "", "End/a b") == ("End/A = B",)
    assert choose("T", menu, "", "End/A [C D]") == ("End/A (C, D)",)
    assert Catalogue(["lud/board/One, Two.lud"]).find("one two").name == "One, Two"


@pytest.mark.parametrize(
    ("ruleset", "options", "message"),
    [
        ("Lung", "", r"T has no ruleset 'Lung': did you mean 'Long'"),
        ("zzz", "", r"T has no ruleset 'zzz'; it has Short \(Suggested\), Long"),
        ("", "Line", r"expected Category/Choice as an option of T, got 'Line'"),
        ("", "Lime/3", r"T has no option 'Lime': did you mean 'Line'"),
        ("", "Line/4", r"'Line' of T has no choice '4'; it has 3, 2"),
        ("", "Line/2;line/3", r"'Line' of T is chosen twice"),
    ],
)
def test_a_wrong_choice_suggests_a_right_one(ruleset: str, options: str, message: str) -> None:
    with pytest.raises(LudiiError, match=message):
        choose("T", MENU, ruleset, options)


def test_names_in_an_error_cannot_steer_a_terminal() -> None:
    menu = Menu({"Size\x1b[2J": ["9x9"]}, {"Ruleset/Old\x9b2J": ["Size\x1b[2J/9x9"]}, {})
    for ruleset, options in (("zzzz", ""), ("", "zzzz/9x9"), ("", "zzzz")):
        with pytest.raises(LudiiError) as caught:
            choose("Hex", menu, ruleset, options)
        assert str(caught.value).isprintable()

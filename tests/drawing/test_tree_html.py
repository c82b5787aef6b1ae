"""Search tree as nested details: bounded, in order, with escaped names."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.drawing.tree import Branch, joined, score_bar, tree_html

ESTIMATE = NodeEvaluation(0.0, None, 1)


def leaf(name: str, value: float = 0.0, visits: int = 0, completion: int | None = None) -> Branch:
    return Branch(name, NodeEvaluation(value, completion, visits))


TREE = Branch(
    "now",
    NodeEvaluation(0.25, None, 9),
    children=(
        Branch("a", NodeEvaluation(0.25, None, 5), children=(leaf("b", 0.25, 4), leaf("c", -0.5, 1))),
        leaf("d", -1.0, 3, -1),
    ),
    more=2,
)


def read(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def paths(html: str) -> list[str]:
    """Returns all rows in document order."""
    return [path for x in read(html).iter() if (path := x.get("data-path")) is not None]


def unfolded(html: str) -> list[str]:
    return [x.get("data-path", "") for x in read(html).iter("details") if x.get("open") is not None]


def words(html: str) -> str:
    return "".join(read(html.replace(" open>", ' open="">')).itertext())


def tree(root: Branch, **options: object) -> str:
    return tree_html(root, **options).replace(" open>", ' open="">')  # type: ignore[arg-type]


def test_each_branch_has_a_row_below_its_parent() -> None:
    html = tree(TREE)
    assert paths(html) == ["", "a", "a/b", "a/c", "d"]
    assert joined("a", "b") == "a/b"
    rows = words(html)
    for text in ("now", "62.5 %", "9 visits", "1 visit", "loss", "and 2 more"):
        assert text in rows


def test_by_default_the_root_and_its_first_child_are_unfolded() -> None:
    assert unfolded(tree(TREE)) == ["", "a"]
    assert unfolded(tree(TREE, unfolded=())) == [""]


def test_depth_and_width_are_bounds() -> None:
    assert paths(tree(TREE, depth=1)) == ["", "a", "d"]
    assert paths(tree(TREE, depth=0)) == [""]
    assert "…" in words(tree(TREE, depth=0))
    narrow = tree(TREE, width=1)
    assert paths(narrow) == ["", "a", "a/b"]
    assert "and 3 more" in words(narrow)
    assert "and 1 more" in words(narrow)


def test_a_still_tree_has_no_paths_and_long_names_are_cut() -> None:
    long = Branch("now", ESTIMATE, children=(Branch("a" * 1000, ESTIMATE, children=(leaf("b" * 1000),)),))
    html = tree(long, is_still=True)
    assert paths(html) == []
    assert unfolded(html) == ["", ""]
    assert "a" * 59 + "…" in words(html)
    assert len(html) < 4000


def test_a_name_that_looks_like_a_tag_is_text() -> None:
    bad = '"><script>alert(1)</script>&'
    html = tree(Branch(bad, ESTIMATE, children=(leaf(bad),)))
    assert "<script" not in html
    assert paths(html) == ["", bad]


@pytest.mark.parametrize(("score", "side", "width"), [(0.75, "plus", 25.0), (0.0, "minus", 50.0), (1.0, "plus", 50.0)])
def test_a_bar_goes_to_the_better_side(score: float, side: str, width: float) -> None:
    bar = score_bar(score)
    assert f'class="{side}"' in bar
    assert f"width:{width}%" in bar


def test_scores_and_raw_values_are_those_of_the_reader() -> None:
    assert "37.5 %" in words(tree(TREE, reader=1))
    assert "win" in words(tree(TREE, reader=1))
    raw = words(tree(TREE, reader=1, raw=True))
    assert "-0.25" in raw
    assert "+0.5" in raw
    assert "62.5 %" not in raw
    assert "37.5 %" not in raw

"""Tree of moves: variations, promotion, deletion, order in the list."""

from __future__ import annotations

import gc
import weakref

import pytest

from athenan_spiel.games.chance import CHANCE
from athenan_spiel.play import move_tree
from athenan_spiel.play.move_tree import MoveError, MoveNode, MoveNotes, MoveTree


def add_line(tree: MoveTree, names: str, start: MoveNode | None = None) -> MoveNode:
    """Adds a line of moves with one letter each."""
    node = tree.root if start is None else start
    for name in names:
        node = tree.add(node, ord(name), name, node.ply % 2)
    return node


def listed(tree: MoveTree) -> str:
    """Returns the moves as they are read, each with its depth."""
    return " ".join(f"{depth}{node.name}" for depth, node in tree.listed())


def branched() -> tuple[MoveTree, dict[str, MoveNode]]:
    """Returns the tree a b c, with d instead of b followed by e, and f instead of e."""
    tree = MoveTree()
    add_line(tree, "abc")
    first = tree.root.children[0]
    add_line(tree, "de", first)
    add_line(tree, "df", first)
    return tree, {node.name: node for _, node in tree.listed()}


def test_another_move_is_a_variation_and_the_same_one_is_not() -> None:
    tree, nodes = branched()
    assert listed(tree) == "0a 0b 1d 1e 2f 0c"
    assert len(tree) == 6
    assert add_line(tree, "abc") is nodes["c"]
    assert len(tree) == 6
    assert [node.name for node in nodes["f"].path()] == ["a", "d", "f"]
    assert [node.name for node in nodes["a"].continuation()] == ["b", "c"]
    assert (nodes["f"].ply, nodes["f"].mover, tree.node(nodes["f"].number)) == (3, 0, nodes["f"])
    assert nodes["f"].has_ancestor(nodes["d"])
    assert nodes["f"].has_ancestor(nodes["f"])
    assert not nodes["f"].has_ancestor(nodes["b"])
    assert not nodes["a"].has_ancestor(nodes["f"])


def test_variations_of_the_first_move_are_listed() -> None:
    tree = MoveTree()
    assert listed(tree) == ""
    add_line(tree, "ab")
    add_line(tree, "c")
    add_line(tree, "d")
    assert listed(tree) == "0a 1c 1d 0b"


def test_a_variation_is_promoted_step_by_step() -> None:
    tree, nodes = branched()
    tree.promote(nodes["f"])
    assert listed(tree) == "0a 0b 1d 1f 2e 0c"
    tree.promote(nodes["f"])
    assert listed(tree) == "0a 0d 1b 1c 0f 1e"
    with pytest.raises(MoveError, match="on the main line already"):
        tree.promote(nodes["f"])


def test_a_move_is_deleted_with_all_later_ones() -> None:
    tree, nodes = branched()
    kept = weakref.ref(nodes["f"])
    assert tree.delete(nodes["d"]) is nodes["a"]
    assert listed(tree) == "0a 0b 0c"
    number = nodes["f"].number
    with pytest.raises(MoveError, match="it was deleted"):
        tree.node(number)
    assert add_line(tree, "d", nodes["a"]).number > number, "a late click must not find another move"
    nodes.clear()
    gc.collect()
    assert kept() is None
    with pytest.raises(MoveError, match="the start cannot be deleted"):
        tree.delete(tree.root)


def test_a_tree_has_a_maximum_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(move_tree, "MAX_TREE_MOVES", 3)
    tree = MoveTree()
    last = add_line(tree, "abc")
    assert tree.is_full
    assert add_line(tree, "abc") is last
    with pytest.raises(MoveError, match="at most 3 moves"):
        add_line(tree, "d")
    tree.delete(last)
    add_line(tree, "d")


def test_comments_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, nodes = branched()
    tree.set_comment(nodes["d"], "good ")
    assert nodes["d"].comment == "good "
    with pytest.raises(MoveError, match="at most 2,000 characters, got 2,001"):
        tree.set_comment(nodes["d"], "x" * 2001)
    monkeypatch.setattr(move_tree, "MAX_ALL_COMMENTS_CHARACTERS", 10)
    tree.set_comment(nodes["b"], "five!")
    with pytest.raises(MoveError, match="at most 10 characters together"):
        tree.set_comment(nodes["a"], "x")
    tree.delete(nodes["d"])
    tree.set_comment(nodes["a"], "four!")
    tree.set_comment(nodes["b"], "\ud800")
    assert nodes["b"].comment == "?"


def test_notes_number_the_positions() -> None:
    """First those of the game, then those of its variations as they are read."""
    tree, nodes = branched()
    for name, text in (("a", "first"), ("f", "last"), ("c", "end")):
        tree.set_comment(nodes[name], text)
    tree.set_comment(tree.root, "start")
    notes = tree.notes(nodes["c"])
    assert notes.variations == ((1, ord("d")), (4, ord("e")), (4, ord("f")))
    assert notes.comments == ((0, "start"), (1, "first"), (3, "end"), (6, "last"))
    other = tree.notes(nodes["e"], 10)
    assert other.variations == ((11, ord("b")), (12, ord("f")), (14, ord("c")))
    assert other.comments == ((10, "start"), (11, "first"), (15, "last"), (16, "end"))
    assert MoveTree().notes(MoveTree().root) == MoveNotes()


def test_a_long_game_needs_no_recursion() -> None:
    tree = MoveTree()
    last = add_line(tree, "ab" * 5_000)
    assert last.ply == 10_000
    assert sum(1 for _ in tree.listed()) == 10_000
    tree.delete(tree.root.children[0])
    assert len(tree) == 0


def test_versions_change_with_the_tree() -> None:
    tree, nodes = branched()
    seen = {tree.version}
    changes = [
        lambda: add_line(tree, "x"),
        lambda: tree.set_comment(tree.root, "x"),
        lambda: tree.promote(nodes["f"]),
        lambda: tree.delete(nodes["f"]),
    ]
    for change in changes:
        change()
        assert tree.version not in seen, "sessions store notes as they change"
        seen.add(tree.version)
    add_line(tree, "abc")
    assert tree.version in seen


def test_a_roll_is_a_move() -> None:
    tree = MoveTree()
    assert tree.add(tree.root, 0, "Roll 1", CHANCE).is_roll
    assert not add_line(tree, "a").is_roll

"""What a tree claims to have proven, held against an oracle, or against the rules alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyspiel

from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from oracles.brute_force import who_won

Value = Callable[[pyspiel.State], float]


def nodes_below(tree: Tree, root: pyspiel.State) -> Iterator[tuple[Node, pyspiel.State]]:
    """Each node that can be reached from `root` through the tree, once, with a state that it stands for."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        state = todo.pop()
        node = None if state.is_terminal() else tree.table.get(tree.key(state))
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            yield node, state
            todo += [state.child(action) for action in node.actions]


def check_proofs(tree: Tree, root: pyspiel.State, value: Value) -> int:
    """Each proven state and action below `root` has the completion that `value` says; returns how many were proven."""
    proven = 0
    for node, state in nodes_below(tree, root):
        if node.resolved:
            assert node.completion == value(state), f"after {state.history()}"
            proven += 1
        for action, completion, resolved in zip(node.actions, node.completions, node.resolutions, strict=True):
            if resolved:
                assert completion == value(state.child(action)), f"after {state.history()} and {action}"
                proven += 1
            else:
                assert completion == 0, "clause 2"
    return proven


def check_certificate(tree: Tree, root: pyspiel.State) -> int:
    """Each proof below `root` follows from ends of matches by the rules of minimax; returns how many nodes have one.

    No oracle is needed, so this goes for games and positions of any size.
    """
    certified = 0
    for node, state in nodes_below(tree, root):
        for action, completion, resolved in zip(node.actions, node.completions, node.resolutions, strict=True):
            if resolved:
                _check_reason(tree, state.child(action), completion)
        if node.resolved:
            certified += 1
            win = 1 if state.current_player() == 0 else -1
            proven = [c for c, r in zip(node.completions, node.resolutions, strict=True) if r]
            if win not in proven:
                assert len(proven) == len(node.actions), f"an action is open after {state.history()}"
            assert node.completion == win * max(win * c for c in proven)
    return certified


def _check_reason(tree: Tree, state: pyspiel.State, completion: int) -> None:
    if state.is_terminal():
        assert who_won(state) == completion
    else:
        node = tree.table[tree.key(state)]
        assert node.resolved
        assert node.completion == completion

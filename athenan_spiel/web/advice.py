"""Advice about a position: the best move, or the opponent's threat. Independent of the browser.

A threat is the reply that is best for the opponent after most of the moves searched, so it is what the opponent would
play if the player to move did something else. It needs no passed turn, which most games don't have.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import pyspiel

from athenan_spiel.drawing.evaluations import named_text
from athenan_spiel.drawing.view import View
from athenan_spiel.games.facts import side_name
from athenan_spiel.play.move_tree import MoveNode
from athenan_spiel.search.choice import safest_candidates
from athenan_spiel.search.node import NodeKind
from athenan_spiel.search.result import SearchResult, action_evaluations

Question = Literal["hint", "threat"]
"""Question of a visitor about a position."""
MIN_REPLY_VISITS = 10
"""Minimum number of visits of the position after a move for its best reply to count, unless it is proven."""
MIN_REPLIES = 2
"""Minimum number of moves with the same best reply for a threat, if several moves are legal."""


@dataclass(frozen=True)
class Advice:
    """Answer to a question about a position.

    Attributes:
        node: node of the position.
        text: the answer.
        sites: sites of the move, to be marked on the board; empty if there is none.
        is_threat: whether the move is the opponent's.
    """

    node: MoveNode
    text: str
    sites: tuple[int, ...] = ()
    is_threat: bool = False


def advice_of(
    question: Question, node: MoveNode, result: SearchResult, state: pyspiel.State, view: View | None
) -> Advice:
    """Returns the answer to a question by the search of a position.

    Args:
        view: view of the board; None if it is shown as text.
    """
    if question == "threat":
        return _threat(node, result, state, view)
    mover = int(state.current_player())
    best = action_evaluations(result, state, mover)[0]
    sites = () if view is None else view.action_sites(state, best.action)
    return Advice(node, f"Hint: {best.name}, {named_text(state.get_game(), best.evaluation, mover)}", sites)


def _threat(node: MoveNode, result: SearchResult, state: pyspiel.State, view: View | None) -> Advice:
    mover, searched = int(state.current_player()), 0
    counts: Counter[tuple[int, str]] = Counter()
    sites: dict[tuple[int, str], tuple[int, ...]] = {}
    for index, action in enumerate(result.actions.tolist()):
        child = result.node.children.get(index)
        if child is None or child.kind is NodeKind.CHANCE:
            continue
        if not child.resolved and sum(map(child.count, range(len(child.actions)))) < MIN_REPLY_VISITS:
            continue
        after = state.child(action)
        opponent = int(after.current_player())
        if opponent == mover:
            continue
        searched += 1
        reply = child.actions[safest_candidates(child)[0]]
        key = opponent, after.action_to_string(opponent, reply)
        counts[key] += 1
        sites.setdefault(key, () if view is None else tuple(view.action_sites(after, reply)))
    if not counts:
        return Advice(node, "No threat found: no reply was searched")
    (key, count) = counts.most_common(1)[0]
    if count < min(MIN_REPLIES, len(result.actions)):
        return Advice(node, f"No threat found: the best reply differs after each of {searched} moves")
    name = f"{side_name(state.get_game(), key[0])} threatens {key[1]}"
    return Advice(node, f"{name}, the best reply to {count} of {searched} moves searched", sites[key], is_threat=True)

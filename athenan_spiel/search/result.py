"""What a search knows of a state in the end, for who goes on to compute with it and for who looks at it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.drawing.mind import ActionMind, Judgement, ordered
from athenan_spiel.drawing.picture import Pictured
from athenan_spiel.drawing.thought import Thought
from athenan_spiel.errors import SearchError, shown
from athenan_spiel.games.given import require_choice
from athenan_spiel.search.branches import branch_of
from athenan_spiel.search.choice import completed_best_action, safest_action
from athenan_spiel.search.node import Node
from athenan_spiel.search.walk import principal_variation


class Used(NamedTuple):
    """What a search has used: iterations, states valued, and questions in which they were asked about."""

    iterations: int
    evaluations: int
    questions: int


@dataclass(frozen=True, eq=False)
class SearchResult(Pictured):
    """What a search knows of a state in the end. Arrays are parallel to `actions`; values are player 0's.

    A notebook shows it as `picture` draws it.

    Attributes:
        actions: the legal actions, int64 [n].
        values: v(s, a), float64 [n].
        completions: c(s, a), int8 [n]: 1, 0 or -1; a proven gain where `resolved` holds.
        resolved: r(s, a), bool [n]: the action's value is proven.
        visits: n(s, a), int64 [n].
        value, completion, is_resolved: v(s), c(s), r(s).
        principal_variation: the line from `best_action` on, as far as the tree goes.
        iterations, evaluations, questions, seconds: what this search used; evaluations counts states valued, questions
            the calls in which it asked for their values.
        best_action: by (completion, value, visits), Algorithm 11.
        safest_action: by (completion, visits, value), Algorithm 13.
        node: the root, for decision rules.
        state: a copy of the state; None where the result was made without.
    """

    actions: NDArray[np.int64]
    values: NDArray[np.float64]
    completions: NDArray[np.int8]
    resolved: NDArray[np.bool_]
    visits: NDArray[np.int64]
    value: float
    completion: int
    is_resolved: bool
    principal_variation: list[int]
    iterations: int
    evaluations: int
    questions: int
    seconds: float
    best_action: int
    safest_action: int
    node: Node = field(repr=False)
    state: pyspiel.State | None = field(default=None, repr=False)

    def picture(self, state: pyspiel.State | None = None, *, scale: float | None = None) -> Thought:
        """Board, values and tree, as they are now.

        Args:
            state: that was searched; needed where the result does not know it.
            scale: the size of large values, `Outcome.scale`; by default that of the largest here, and at least 1.

        Returns:
            What `show` shows: `html()` is at most 200 kB, `text()` some lines.

        Raises:
            SearchError: there is no state, or one in which other actions are legal; the scale is not above zero.
        """
        state = self.state if state is None else state
        if state is None:
            raise SearchError("expected the state that was searched, as this result does not know it; got state=None")
        require_choice(state)
        if sorted(state.legal_actions()) != sorted(self.actions.tolist()):
            raise SearchError(f"expected the state that was searched, got {shown(str(state))}: other actions are legal")
        if scale is not None and not scale > 0:
            raise SearchError(f"expected a scale above zero, got {scale!r}")
        finite = self.values[np.isfinite(self.values)]
        return Thought(
            state=state.clone(),
            whole=of_state(self, state.num_players()),
            minds=of_actions(self, state),
            line=self.principal_variation,
            effort=f"{self.iterations:,} iterations, {self.evaluations:,} states valued, {self.seconds:.2f} s",
            root=branch_of(self.node, state),
            scale=scale or float(np.abs(finite).max(initial=1.0)),
        )

    def _is_drawn(self) -> bool:
        return self.state is not None


def make_result(
    node: Node, rng: random.Random, used: Used, seconds: float, state: pyspiel.State | None = None
) -> SearchResult:
    """What `node` knows, as a `SearchResult`.

    Args:
        state: of the node, which is copied.
    """
    best = completed_best_action(node, rng)
    return SearchResult(
        actions=np.array(node.actions, np.int64),
        values=np.array(node.values, np.float64),
        completions=np.array(node.completions, np.int8),
        resolved=np.array(node.resolutions, np.bool_),
        visits=np.array([node.count(i) for i in range(len(node.actions))], np.int64),
        value=node.value,
        completion=node.completion,
        is_resolved=node.resolved,
        principal_variation=principal_variation(node, best),
        iterations=used.iterations,
        evaluations=used.evaluations,
        questions=used.questions,
        seconds=seconds,
        best_action=node.actions[best],
        safest_action=node.actions[safest_action(node, rng)],
        node=node,
        state=None if state is None else state.clone(),
    )


def of_state(result: SearchResult, players: int = 2) -> Judgement:
    """What is thought of the state that was searched.

    Args:
        players: of the game.
    """
    proof = result.completion if result.is_resolved else None
    return Judgement(result.value, proof, int(result.visits.sum()), players)


def of_actions(result: SearchResult, state: pyspiel.State) -> list[ActionMind]:
    """What is thought of the legal actions of the state that was searched, the mover's best first."""
    players = state.num_players()
    proofs = [int(c) if r else None for c, r in zip(result.completions, result.resolved, strict=True)]
    judged = map(Judgement, result.values.tolist(), proofs, result.visits.tolist(), [players] * len(proofs))
    return ordered(state, zip(result.actions.tolist(), judged, strict=True))

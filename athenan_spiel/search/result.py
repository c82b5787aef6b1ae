"""Results of a search, for further computation and for display."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.drawing.evaluations import ActionEvaluation, NodeEvaluation
from athenan_spiel.drawing.picture import Pictured
from athenan_spiel.drawing.search_picture import SearchPicture
from athenan_spiel.errors import SearchError, shown
from athenan_spiel.games.calibration import GAINS, Calibration
from athenan_spiel.games.chance import first_mover
from athenan_spiel.games.rows import is_proven_draw
from athenan_spiel.games.validation import require_choice
from athenan_spiel.search.branches import branch_of
from athenan_spiel.search.choice import (
    Decision,
    best,
    best_candidates,
    draw_preferring,
    safest,
    safest_candidates,
    securest,
)
from athenan_spiel.search.node import Node, RowNode, StochasticNode, own_value
from athenan_spiel.search.walk import moves_to_end, principal_variation


class Used(NamedTuple):
    """Resources used by a search: iterations, evaluations, and calls of the evaluator."""

    iterations: int
    evaluations: int
    requests: int


@dataclass(frozen=True, eq=False)
class SearchResult(Pictured):
    """Result of a search from one state. Arrays are parallel to `actions`; values are player 0's, or in a game with
    rows those of the player to move.

    A notebook displays it as `picture` draws it.

    Attributes:
        actions: legal actions that were searched, int64 [n]: all, or those in `root_actions`.
        values: v(s, a), float64 [n].
        completions: c(s, a), int8 [n]: 1, 0 or -1; the proven gain where `resolved` is true. In a game with chance
            float64 [n]: 1, 0 or -1, or, once all actions are resolved, the expected gains (`node`, laws 6 to 8).
        resolved: r(s, a), bool [n]: the action's value is proven.
        visits: n(s, a), int64 [n].
        value, completion, is_resolved: v(s), c(s), r(s).
        action: action selected by the decision rule, which an agent plays. The rule is applied once and breaks ties
            once; `best_action` and `safest_action` equal this action if it is among their ties.
        principal_variation: line that starts with `action`, as far as the tree reaches.
        iterations, evaluations, requests, seconds: resources used by this search. `evaluations` counts states,
            `requests` calls of the evaluator.
        best_action: action selected by (completion, value, visits), Algorithm 11.
        safest_action: action selected by (completion, visits, value), Algorithm 13.
        node: root node, for decision rules.
        state: copy of the searched state; None if the result was made without it.
        root_actions: actions to which the search was restricted, in ascending order; None without a restriction.
            `value`, `completion` and `is_resolved` are then those of a player who may take these actions alone.
        calibration: maps values to expected scores, for display.
        order: decision rule in whose order `ranking` returns the actions.
    """

    actions: NDArray[np.int64]
    values: NDArray[np.float64]
    completions: NDArray[np.int8] | NDArray[np.float64]
    resolved: NDArray[np.bool_]
    visits: NDArray[np.int64]
    value: float
    completion: float
    is_resolved: bool
    action: int
    principal_variation: list[int]
    iterations: int
    evaluations: int
    requests: int
    seconds: float
    best_action: int
    safest_action: int
    node: Node = field(repr=False)
    state: pyspiel.State | None = field(default=None, repr=False)
    root_actions: tuple[int, ...] | None = None
    calibration: Calibration = GAINS
    order: Decision = field(default=best, repr=False)

    @property
    def rows(self) -> NDArray[np.float64] | None:
        """Value of each player after each action, float64 [n, players]; None if the game has no rows."""
        if not hasattr(self.node, "player"):
            return None
        return np.array([self.node.value_of(i) for i in range(len(self.actions))], np.float64)

    @property
    def row(self) -> NDArray[np.float64] | None:
        """Value of the state for each player, float64 [players]; None if the game has no rows."""
        return np.array(self.node.value, np.float64) if hasattr(self.node, "player") else None

    def picture(self, state: pyspiel.State | None = None, *, raw: bool = False) -> SearchPicture:
        """Returns a picture of the board, the expected scores and the tree in their current state.

        Args:
            state: state that was searched; required if the result does not hold it.
            raw: show values in units of the outcome instead of expected scores.

        Returns:
            The picture. Its `html()` has at most 200 kB; its `text()` has a few lines.

        Raises:
            SearchError: the state is missing, or other actions are legal in it.
        """
        state = self.state if state is None else state
        if state is None:
            raise SearchError("this result does not hold its state: pass the state that was searched; got state=None")
        require_choice(state)
        legal, actions = set(state.legal_actions()), set(self.actions.tolist())
        if not (actions == legal if self.root_actions is None else actions <= legal):
            raise SearchError(f"expected the state that was searched, got {shown(str(state))}: other actions are legal")
        reader = self.node.player if isinstance(self.node, RowNode) else first_mover(state.get_game())
        return SearchPicture(
            state=state.clone(),
            whole=state_evaluation(self, state, reader),
            actions=action_evaluations(self, state, reader),
            line=self.principal_variation,
            effort=f"{self.iterations:,} iterations, {self.evaluations:,} evaluations, {self.seconds:.2f} s",
            root=branch_of(self.node, state, self.calibration, player=reader),
            reader=reader,
            raw=raw,
        )

    def expected_score(self, player: int = 0) -> float:
        """Returns the expected score of `player` in [0, 1]; 0 or 1 if the result is proven to be one.

        Raises:
            SearchError: the result does not hold its state.
        """
        if self.state is None:
            raise SearchError("this result does not hold its state: use state_evaluation")
        return state_evaluation(self, self.state, player).expected_score(player)

    def _is_drawn(self) -> bool:
        return self.state is not None


def make_result(
    node: Node,
    rng: random.Random,
    used: Used,
    seconds: float,
    state: pyspiel.State | None = None,
    *,
    decision: Decision = best,
    root_actions: Sequence[int] | None = None,
    calibration: Calibration | None = None,
    order: Decision | None = None,
) -> SearchResult:
    """Returns the labels of `node` as a `SearchResult`.

    Args:
        rng: breaks ties.
        state: state of the node, which is copied.
        decision: selects the action of the result; it is called once.
        root_actions: actions to which the search was restricted.
        calibration: maps values to expected scores; by default values are gains.
        order: decision that orders the actions (`ranking`), such as an agent's rule inside `decision`; by default
            `decision`.
    """
    selected = decision(node, rng)
    row = node if isinstance(node, RowNode) else None
    return SearchResult(
        actions=np.array(node.actions, np.int64),
        values=np.array(node.values, np.float64),
        completions=np.array(node.completions),
        resolved=np.array(node.resolutions, np.bool_),
        visits=np.array([node.count(i) for i in range(len(node.actions))], np.int64),
        value=own_value(node),
        completion=node.completion if row is None else row.completion[row.player] if row.resolved else 0,
        is_resolved=node.resolved,
        action=node.actions[selected],
        principal_variation=principal_variation(node, selected),
        iterations=used.iterations,
        evaluations=used.evaluations,
        requests=used.requests,
        seconds=seconds,
        best_action=node.actions[draw_preferring(selected, best_candidates(node), rng)],
        safest_action=node.actions[draw_preferring(selected, safest_candidates(node), rng)],
        node=node,
        state=None if state is None else state.clone(),
        root_actions=None if root_actions is None else tuple(root_actions),
        calibration=calibration or GAINS,
        order=order or decision,
    )


def state_evaluation(result: SearchResult, state: pyspiel.State, player: int = 0) -> NodeEvaluation:
    """Returns the evaluation of the searched state.

    Args:
        state: state that was searched.
        player: player whose value it is in a game with rows; otherwise it is player 0's.
    """
    moves = None
    if result.is_resolved:
        moves = moves_to_end(result.node, result.actions.tolist().index(result.action), state)
    return _state_evaluation(result, state, player, moves)


def state_evaluations(result: SearchResult, state: pyspiel.State) -> list[NodeEvaluation]:
    """Returns `state_evaluation` for each player."""
    first = state_evaluation(result, state)
    return [_state_evaluation(result, state, player, first.moves) for player in range(state.num_players())]


def _state_evaluation(result: SearchResult, state: pyspiel.State, player: int, moves: int | None) -> NodeEvaluation:
    node, gains = result.node, [result.completion]
    value, owner = result.value, None
    if isinstance(node, RowNode):
        gains, value, owner = list(node.completion or ()), float(node.value[player]), player
    proof = float(gains[0 if owner is None else owner]) if result.is_resolved else None
    is_draw = proof is not None and is_proven_draw(state, gains)
    visits, players = int(result.visits.sum()), state.num_players()
    return NodeEvaluation(value, proof, visits, players, owner, result.calibration, moves, is_draw)


def ranking(result: SearchResult, state: pyspiel.State | None = None) -> list[int]:
    """Returns the indices of the searched actions in the order of all tables, marks on boards and lines of engines.

    1. The first is `result.action`. The others follow from the mover's best to its worst.
    2. They are ordered by proof. Of proven wins the shorter line is better, of proven losses the longer one.
    3. Actions with equal proofs are ordered as by `result.order`: by visits and value if it is `safest` (Algorithm 13),
       also with resolved ones first if it is `securest` (Remark 16), and by value and visits for every other rule
       (Algorithm 11).

    Args:
        state: state that was searched; by default the result's. Without any, all proven lines are equally long.
    """
    return _ranking(result, _proven_lengths(result, result.state if state is None else state))


def _ranking(result: SearchResult, lengths: Sequence[int | None]) -> list[int]:
    won = result.node.kind.won

    def key(i: int) -> tuple[float, ...]:
        gain, value, visits = won * float(result.completions[i]), won * float(result.values[i]), int(result.visits[i])
        delay = -math.copysign(lengths[i] or 0, gain) if abs(gain) == 1 else 0.0
        is_first, is_secure = int(result.actions[i]) == result.action, result.order is securest and result.resolved[i]
        last = (visits, value) if result.order in (safest, securest) else (value, visits)
        return is_first, gain, delay, bool(is_secure), *last

    return sorted(range(len(result.actions)), key=key, reverse=True)


def _proven_lengths(result: SearchResult, state: pyspiel.State | None) -> list[int | None]:
    """Returns the number of moves to the end of the game along each proven line; None if it is unknown."""
    return [
        moves_to_end(result.node, i, state) if proven and state is not None else None
        for i, proven in enumerate(result.resolved)
    ]


def action_evaluations(result: SearchResult, state: pyspiel.State, player: int = 0) -> list[ActionEvaluation]:
    """Returns the evaluations of the searched actions in their order (`ranking`).

    Args:
        state: state that was searched.
        player: player whose values these are in a game with rows; otherwise they are player 0's.
    """
    mover, actions, lengths = state.current_player(), result.actions.tolist(), _proven_lengths(result, state)
    return [
        ActionEvaluation(
            actions[i],
            state.action_to_string(mover, actions[i]),
            _action_evaluation(result, state, i, player, lengths[i]),
            mover_score(result, state, i),
        )
        for i in _ranking(result, lengths)
    ]


def mover_score(result: SearchResult, state: pyspiel.State, i: int) -> float:
    """Returns the expected score of the player to move after the i-th action, in [0, 1].

    Only a proven result is 0 or 1.

    Args:
        state: state that was searched.
    """
    mover = int(state.current_player())
    return _action_evaluation(result, state, i, mover, None).expected_score(mover)


def _action_evaluation(
    result: SearchResult, state: pyspiel.State, i: int, player: int, moves: int | None
) -> NodeEvaluation:
    node, value = result.node, float(result.values[i])
    proof, owner, is_draw = None, None, False
    if isinstance(node, RowNode):
        owner, value = player, float(node.value_of(i)[player])
    if result.resolved[i]:
        gains: Sequence[float] = [result.completions[i]]
        if isinstance(node, RowNode):
            gains = node.gain_rows[i]
        elif isinstance(node, StochasticNode):
            gains = [node.gains[i]]
        proof, is_draw = float(gains[owner or 0]), is_proven_draw(state, gains)
    visits, players = int(result.visits[i]), state.num_players()
    return NodeEvaluation(value, proof, visits, players, owner, result.calibration, moves, is_draw)

"""Evaluations of a state and its actions, and their labels on a board.

Values belong to player 0, and are converted for the reader when shown. They are relative to the outcome's large values
(`Outcome.scale`). A proven result is shown as a word, never as a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.drawing.board import SiteLabel, VariationStone
from athenan_spiel.drawing.view import View
from athenan_spiel.games.chance import is_chance, outcome_name

PROVEN = {1: "win", 0: "draw", -1: "loss"}
"""Word for a proven gain, by the gain of the reader."""
MAX_LINE_MOVES = 8
"""Maximum number of moves of a line shown as text."""
MAX_VARIATION_STONES = 6
"""Maximum number of moves of a line shown on the board."""


@dataclass(frozen=True)
class NodeEvaluation:
    """Evaluation of an action or a state.

    Attributes:
        value: value for player 0.
        completion: proven gain of player 0, in a game with chance an expectation; None without a proof.
        visits: number of visits by the search.
        players: number of players of the game. With one player, a proof concerns `value`.
        owner: player whose value and gain these are, in a game with rows (`games.rows`); None: player 0's, and those of
            player 1 are the opposite.
    """

    value: float
    completion: float | None
    visits: int = 0
    players: int = 2
    owner: int | None = None

    def sign(self, player: int) -> int:
        """Returns the sign of the value for `player`; the owner's value is not converted."""
        return 1 if player == 0 or self.owner is not None else -1

    @property
    def is_proven(self) -> bool:
        """Whether the result is proven."""
        return self.completion is not None

    def share(self, scale: float, player: int = 0) -> float:
        """Returns the evaluation in [0, 1], where 1 is best for `player`; only proofs are 0 or 1."""
        sign = self.sign(player)
        if self.completion is not None and self.players > 1:
            return 0.5 + 0.5 * sign * self.completion
        return 0.5 + 0.49 * math.tanh(1.5 * sign * self.value / scale)

    def text(self, player: int = 0) -> str:
        """Returns the value for `player` as text, such as +0.31, or a proven `win`, `draw` or `loss`.

        A proven gain between these is written as a number.
        """
        sign = self.sign(player)
        value = sign * self.value
        if self.completion is not None and self.players > 1:
            value = sign * self.completion
            if value in PROVEN:
                return PROVEN[int(value)]
        return f"{value:+.2f}" if abs(value) < 9.995 else f"{value:+.0f}"


@dataclass(frozen=True)
class ActionEvaluation:
    """Evaluation of a legal action.

    Attributes:
        name: name of the action in OpenSpiel.
    """

    action: int
    name: str
    evaluation: NodeEvaluation


def ordered(
    state: pyspiel.State, evaluations: Iterable[tuple[int, NodeEvaluation]], first: int | None = None
) -> list[ActionEvaluation]:
    """Returns the actions of a state with their names, from the mover's best to its worst.

    They are ordered by proof, then by value, then by visits. `first`, the action to play, precedes all others.
    """
    mover = state.current_player()
    actions = [ActionEvaluation(action, state.action_to_string(mover, action), found) for action, found in evaluations]

    def rank(action: ActionEvaluation) -> tuple[bool, float, float, int]:
        found = action.evaluation
        sign = found.sign(mover)
        return action.action == first, sign * (found.completion or 0), sign * found.value, found.visits

    return sorted(actions, key=rank, reverse=True)


def site_labels(
    actions: Iterable[ActionEvaluation],
    sites: Mapping[int, Sequence[int]],
    scale: float,
    mover: int,
    *,
    pressed: int = 0,
    reader: int | None = None,
) -> dict[int, SiteLabel]:
    """Returns the values to draw on the sites of actions; of several actions on a site, the first counts.

    Args:
        actions: actions, as `ordered` returns them.
        sites: sites of each action; other actions have no label.
        scale: size of large values.
        mover: player to move, whose best moves are green.
        pressed: number of sites of the move pressed so far; the label is on the next one.
        reader: player for whom the values are written; by default the mover.
    """
    reader = mover if reader is None else reader
    found: dict[int, SiteLabel] = {}
    for action in actions:
        own, value = sites.get(action.action, ()), action.evaluation
        if len(own) > pressed and own[pressed] not in found:
            found[own[pressed]] = SiteLabel(value.text(reader), value.share(scale, mover), value.is_proven)
    return found


def variation_stones(
    line: Sequence[int], state: pyspiel.State, view: View, most: int = MAX_VARIATION_STONES
) -> list[VariationStone]:
    """Returns the stones of a line of actions from `state`, only the first on each site."""
    state, seen, found = state.clone(), set(), []
    for number, action in enumerate(line[:most], 1):
        if state.is_terminal() or action not in state.legal_actions():
            break
        sites = view.action_sites(state, action)
        if sites and sites[-1] not in seen:
            seen.add(sites[-1])
            found.append(VariationStone(sites[-1], state.current_player(), number))
        state.apply_action(action)
    return found


def line_text(line: Sequence[int], state: pyspiel.State, most: int = MAX_LINE_MOVES) -> str:
    """Returns the names of the first actions of a line."""
    state, names = state.clone(), []
    for action in line[:most]:
        if state.is_terminal() or action not in state.legal_actions():
            break
        name = state.action_to_string(state.current_player(), action)
        names.append(f"({outcome_name(state, action)})" if is_chance(state) else name)
        state.apply_action(action)
    return " ".join(names) + (" ..." if len(line) > most else "")

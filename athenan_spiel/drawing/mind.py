"""Evaluations of a state and its actions, and their labels on a board.

Values belong to player 0, and are converted for the reader when shown. They are relative to the outcome's large values
(`Outcome.scale`). A proven result is shown as a word, never as a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.drawing.board import Ghost, Worth
from athenan_spiel.drawing.view import View

PROVEN = {1: "win", 0: "draw", -1: "loss"}
"""Word for a proven gain, by the gain of the reader."""
SHOWN_MOVES = 8
"""Maximum number of moves of a line shown as text."""
GHOSTS = 6
"""Maximum number of moves of a line shown on the board."""


@dataclass(frozen=True)
class Judgement:
    """Evaluation of an action or a state.

    Attributes:
        value: value for player 0.
        completion: proven gain of player 0; None without a proof.
        visits: number of visits by the search.
        players: number of players of the game. With one player, a proof concerns `value`.
    """

    value: float
    completion: int | None
    visits: int = 0
    players: int = 2

    @property
    def is_proven(self) -> bool:
        """Whether the result is proven."""
        return self.completion is not None

    def share(self, scale: float, player: int = 0) -> float:
        """Return the evaluation in [0, 1], the best for `player` being 1; only proofs are 0 or 1."""
        sign = 1 if player == 0 else -1
        if self.completion is not None and self.players > 1:
            return 0.5 + 0.5 * sign * self.completion
        return 0.5 + 0.49 * math.tanh(1.5 * sign * self.value / scale)

    def text(self, player: int = 0) -> str:
        """Return the value for `player` as text, such as +0.31, or a proven `win`, `draw` or `loss`."""
        sign = 1 if player == 0 else -1
        if self.completion is not None and self.players > 1:
            return PROVEN[sign * self.completion]
        value = sign * self.value
        return f"{value:+.2f}" if abs(value) < 9.995 else f"{value:+.0f}"


@dataclass(frozen=True)
class ActionMind:
    """Evaluation of a legal action.

    Attributes:
        name: name of the action in OpenSpiel.
    """

    action: int
    name: str
    judgement: Judgement


def ordered(
    state: pyspiel.State, judged: Iterable[tuple[int, Judgement]], first: int | None = None
) -> list[ActionMind]:
    """Returns the actions of a state with their names.

    They are ordered from the mover's best to its worst: by what is proven, then by value, then by visits. The action
    `first`, if there is one, comes before all others: it is the one to play.
    """
    mover = state.current_player()
    sign = 1 if mover == 0 else -1
    minds = [ActionMind(action, state.action_to_string(mover, action), judgement) for action, judgement in judged]

    def worth(mind: ActionMind) -> tuple[bool, int, float, int]:
        judgement = mind.judgement
        return mind.action == first, sign * (judgement.completion or 0), sign * judgement.value, judgement.visits

    return sorted(minds, key=worth, reverse=True)


def worths(
    minds: Iterable[ActionMind],
    sites: Mapping[int, Sequence[int]],
    scale: float,
    mover: int,
    *,
    pressed: int = 0,
    reader: int | None = None,
) -> dict[int, Worth]:
    """Return the values drawn on the sites of actions; the first action of a site counts.

    Args:
        minds: as `ordered` returns them.
        sites: that each action names, by its number; actions that are not there are left out.
        scale: the size of large values.
        mover: whose best is green.
        pressed: how many sites of them were pressed already, so that the next one is meant.
        reader: for whom the numbers are; by default the mover.
    """
    reader = mover if reader is None else reader
    found: dict[int, Worth] = {}
    for mind in minds:
        of_action = sites.get(mind.action, ())
        if len(of_action) > pressed and of_action[pressed] not in found:
            judged = mind.judgement
            found[of_action[pressed]] = Worth(judged.text(reader), judged.share(scale, mover), judged.is_proven)
    return found


def ghosts(line: Sequence[int], state: pyspiel.State, view: View, most: int = GHOSTS) -> list[Ghost]:
    """Return the stones of a line of actions from `state`, at most one per site: the first."""
    state, seen, found = state.clone(), set(), []
    for number, action in enumerate(line[:most], 1):
        if state.is_terminal() or action not in state.legal_actions():
            break
        sites = view.action_sites(state, action)
        if sites and sites[-1] not in seen:
            seen.add(sites[-1])
            found.append(Ghost(sites[-1], state.current_player(), number))
        state.apply_action(action)
    return found


def line_text(line: Sequence[int], state: pyspiel.State, most: int = SHOWN_MOVES) -> str:
    """Return the names of the first actions of a line."""
    state, names = state.clone(), []
    for action in line[:most]:
        if state.is_terminal() or action not in state.legal_actions():
            break
        names.append(state.action_to_string(state.current_player(), action))
        state.apply_action(action)
    return " ".join(names) + (" ..." if len(line) > most else "")

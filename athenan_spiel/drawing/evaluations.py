"""Evaluations of a state and its actions, and their labels on a board.

Readers see the expected score of a named side in percent, or `win`, `draw` or `loss` once it is proven, with the number
of moves until the end of the game. A raw value in units of the outcome is shown only on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.drawing.board import VariationStone
from athenan_spiel.drawing.candidates import CandidateArrow, SiteLabel
from athenan_spiel.drawing.view import View
from athenan_spiel.games.calibration import GAINS, Calibration
from athenan_spiel.games.chance import is_chance, outcome_name
from athenan_spiel.games.facts import side_name

MAX_LINE_MOVES = 8
"""Maximum number of moves of a line shown as text."""
MAX_CANDIDATES = 5
"""Number of candidate moves with a rank or an arrow."""
MAX_VARIATION_STONES = 6
"""Maximum number of moves of a line shown on the board."""
_PROVEN = {1.0: "win", 0.0: "loss"}


@dataclass(frozen=True)
class NodeEvaluation:
    """Evaluation of an action or a state.

    Attributes:
        value: value for player 0, in units of the outcome.
        completion: proven gain of player 0, in a game with chance an expectation; None without a proof.
        visits: number of visits by the search.
        players: number of players of the game. With one player, a proof concerns `value`.
        owner: player whose value and gain these are, in a game with rows (`games.rows`); None: player 0's, and those of
            player 1 are the opposite.
        calibration: maps the value to an expected score.
        moves: number of moves until the end of the game along the proven line, of all players; None if unknown.
        is_draw: whether the proven result is a draw, and not an expectation or a rank between win and loss.
    """

    value: float
    completion: float | None
    visits: int = 0
    players: int = 2
    owner: int | None = None
    calibration: Calibration = GAINS
    moves: int | None = None
    is_draw: bool = False

    @property
    def is_proven(self) -> bool:
        """Whether the result is proven."""
        return self.completion is not None

    def expected_score(self, player: int = 0) -> float:
        """Returns the expected score of `player` in [0, 1]; in a game with rows that of the owner.

        Only a proven result is 0 or 1.
        """
        if self.completion is None or self.players == 1:
            score = self.calibration.expected_score(self.value)
        else:
            score = self.calibration.score_of_gain(self.completion)
        return 1 - score if player == 1 and self.owner is None else score

    def text(self, player: int = 0, *, raw: bool = False) -> str:
        """Returns the evaluation for `player` as text, such as `63.4 %`, `win in 7` or `draw`.

        A proven expectation is `proven 63.4 %`. With one player it is the value, such as `12.5`.

        Args:
            raw: the value in units of the outcome instead of the expected score, and after a proven result.
        """
        if self.players == 1:
            return f"{self.value:,.0f}" if abs(self.value) >= 1000 else f"{self.value:.4g}"
        value = self._value_for(player)
        if self.completion is None:
            return f"{value:+.4g}" if raw else percent(self.expected_score(player))
        score = self.expected_score(player)
        word = "draw" if self.is_draw else _PROVEN.get(score) or f"proven {percent(score)}"
        if self.moves is not None and score in _PROVEN:
            word = f"{word} in {self.moves}"
        return f"{word} ({value:+.4g})" if raw else word

    def label(self, player: int = 0, *, raw: bool = False) -> str:
        """Returns the evaluation for `player` as a short label, such as `63`, `win` or `draw`.

        Args:
            raw: the value in units of the outcome instead of the expected score.
        """
        if self.players == 1:
            return self.text()
        score = self.expected_score(player)
        if self.completion is not None and (self.is_draw or score in _PROVEN):
            return "draw" if self.is_draw else _PROVEN[score]
        if raw:
            return f"{self._value_for(player):+.3g}"
        return f"{min(99, max(1, round(100 * score)))}"

    def _value_for(self, player: int) -> float:
        """Returns the value for `player`, in a game with rows that of the owner; never -0."""
        return 0.0 - self.value if player == 1 and self.owner is None else 0.0 + self.value


def score_title(game: pyspiel.Game, player: int, *, raw: bool = False) -> str:
    """Returns what the texts of evaluations for `player` mean, such as `score of Black`."""
    if game.num_players() == 1:
        return "value"
    return f"{'value' if raw else 'score'} of {side_name(game, player)}"


def named_text(game: pyspiel.Game, evaluation: NodeEvaluation, player: int, *, raw: bool = False) -> str:
    """Returns an evaluation with its side, such as `63.4 % for Black`, `win in 7 for Black` or `draw`."""
    text = evaluation.text(player, raw=raw)
    if game.num_players() == 1:
        return f"value {text}"
    return text if evaluation.is_draw else f"{text} for {side_name(game, player)}"


def percent(score: float) -> str:
    """Returns a score in [0, 1] as text, such as `63.4 %`. Only 0 and 1 are written as such."""
    shown = 100 * score if score in (0, 1) else min(99.9, max(0.1, 100 * score))
    return f"{shown:.1f} %"


@dataclass(frozen=True)
class ActionEvaluation:
    """Evaluation of a legal action.

    Attributes:
        name: name of the action in OpenSpiel.
        evaluation: evaluation for the reader.
        mover_score: expected score of the player to move, in [0, 1].
    """

    action: int
    name: str
    evaluation: NodeEvaluation
    mover_score: float


@dataclass(frozen=True)
class CandidateMarks:
    """Marks of candidate moves on a board.

    Attributes:
        labels: value of the best move on each site.
        arrows: best moves between two sites.
    """

    labels: Mapping[int, SiteLabel]
    arrows: Sequence[CandidateArrow] = ()


def candidate_marks(
    actions: Sequence[ActionEvaluation],
    sites: Mapping[int, Sequence[int]],
    *,
    pressed: int = 0,
    reader: int = 0,
    raw: bool = False,
    is_path: bool = True,
) -> CandidateMarks:
    """Returns the marks of moves: arrows between sites, and labels on single sites.

    Colours show the loss of expected score against the best move; the first `MAX_CANDIDATES` moves have a rank. After
    the first site of a move is pressed, labels are on the next sites.

    Args:
        actions: actions, from the mover's best to its worst.
        sites: sites of each action; other actions have no mark.
        pressed: number of sites of the move pressed so far.
        reader: player for whom the values are written.
        raw: write values in units of the outcome.
        is_path: whether a piece moves from the first to the last site of an action.
    """
    best = max((action.mover_score for action in actions), default=0.0)
    labels: dict[int, SiteLabel] = {}
    arrows = []
    for rank, action in enumerate(actions, 1):
        own, value = sites.get(action.action, ()), action.evaluation
        if len(own) <= pressed:
            continue
        shown = rank if rank <= MAX_CANDIDATES else None
        label = SiteLabel(value.label(reader, raw=raw), best - action.mover_score, value.is_proven, shown)
        if is_path and not pressed and len(own) > 1:
            if shown is not None:
                arrows.append(CandidateArrow(own[0], own[-1], label))
        else:
            labels.setdefault(own[pressed], label)
    return CandidateMarks(labels, arrows)


def variation_stones(
    line: Sequence[int], state: pyspiel.State, view: View, most: int = MAX_VARIATION_STONES, *, first: int = 1
) -> list[VariationStone]:
    """Returns the stones of a line of actions from `state`, only the first on each site.

    Args:
        first: number of the first move that has a stone; earlier ones are marked otherwise.
    """
    state, seen, found = state.clone(), set(), []
    for number, action in enumerate(line[:most], 1):
        if state.is_terminal() or action not in state.legal_actions():
            break
        sites = view.action_sites(state, action)
        if sites and sites[-1] not in seen:
            seen.add(sites[-1])
            if number >= first:
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

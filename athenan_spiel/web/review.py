"""Review of a game: the expected score that each move lost, and the accuracy of each side. Independent of the browser.

1. Each position of a line in which a player moves is searched for the same time, in the order of the game.
2. A move's loss is the expected score of its player in the position before it, which is that of the best move, minus
   the one after it, in percentage points and at least 0. The move that the search prefers loses nothing. Proven results
   have the scores 0, 1/2 and 1 (`NodeEvaluation.expected_score`).
3. The score after a move is that of the next position's search, of the result if the game is over, and of the move in
   the search before it if chance is next.
4. A loss of at least 10, 20 or 30 points is an inaccuracy, a mistake or a blunder, as on Lichess.
5. The accuracy of a side is 100 minus its mean loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyspiel

from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.games.chance import is_chance
from athenan_spiel.play.move_tree import MoveNode
from athenan_spiel.search.result import SearchResult, action_evaluations, state_evaluation
from athenan_spiel.web.analysis import GRADES, AnalysisLog, Judgement

MAX_REVIEWED_MOVES = 1_000
"""Maximum number of moves of a review."""


@dataclass(frozen=True)
class SideSummary:
    """Summary of one player's moves in a review.

    Attributes:
        moves: number of moves judged.
        accuracy: 100 minus the mean loss; None without a move.
        counts: number of bad moves by name of their grade.
    """

    moves: int
    accuracy: float | None
    counts: dict[str, int]


class _PlayedMove(NamedTuple):
    """Move of the line, before the position after it is searched.

    Attributes:
        player: player of the move.
        best: name of the best move.
        is_best: whether it is the move played.
        before: evaluation of the position.
        searched: evaluation of the move by the search of the position.
    """

    player: int
    best: str
    is_best: bool
    before: NodeEvaluation
    searched: NodeEvaluation


class GameReview:
    """Review of one line of a tree, from its first position.

    Args:
        start: first position of the line.
        nodes: its nodes, the root first.
        seconds: time per position, in seconds.
        log: receives the evaluations of the positions and the judgements of the moves.
    """

    def __init__(self, start: pyspiel.State, nodes: Sequence[MoveNode], seconds: float, log: AnalysisLog) -> None:
        self.seconds = seconds
        self.nodes = nodes[: MAX_REVIEWED_MOVES + 1]
        self.index = 0
        self._state = start.clone()
        self._log = log
        self._played: _PlayedMove | None = None
        self._go_to_choice()

    @property
    def is_over(self) -> bool:
        """Whether all positions have been reviewed."""
        return self.index >= len(self.nodes)

    @property
    def state(self) -> pyspiel.State:
        """Position to search."""
        return self._state

    def take(self, result: SearchResult) -> None:
        """Takes the search result of the current position, judges the move before it, and proceeds to the next one."""
        state = self._state
        self._log.store(self.nodes[self.index], result, state)
        self._judge()
        if self.index + 1 < len(self.nodes):
            mover, action = int(state.current_player()), self.nodes[self.index + 1].action
            rows = action_evaluations(result, state, mover)
            before = state_evaluation(result, state, mover)
            for played in rows:
                if played.action == action:
                    is_best = action == result.action
                    self._played = _PlayedMove(mover, rows[0].name, is_best, before, played.evaluation)
        self._advance()
        self._go_to_choice()

    def summary(self, player: int) -> SideSummary:
        """Returns the summary of a player's moves so far."""
        found = [self._log.judgements[node] for node in self.nodes if node in self._log.judgements]
        own = [each for each in found if each.player == player]
        counts = {name: sum(each.grade == name for each in own) for name, _, _ in GRADES}
        return SideSummary(len(own), 100 - sum(each.lost for each in own) / len(own) if own else None, counts)

    def _go_to_choice(self) -> None:
        """Proceeds to the next position in which a player moves; rolls are skipped."""
        while not self.is_over and (self._state.is_terminal() or is_chance(self._state)):
            if self._state.is_terminal():
                self._log.store_final(self.nodes[self.index], self._state)
                self._judge()
            elif self._played is not None:
                self._judge(self._played.searched)
            self._advance()

    def _advance(self) -> None:
        self.index += 1
        if not self.is_over:
            self._state.apply_action(self.nodes[self.index].action)

    def _judge(self, after: NodeEvaluation | None = None) -> None:
        """Judges the move that led to the current position.

        Args:
            after: evaluation of this position; by default the one in the log.
        """
        played, self._played, node = self._played, None, self.nodes[self.index]
        if played is None:
            return
        if after is None:
            (after,) = self._log.evaluations([node], played.player)
        assert after is not None
        lost = 100 * (played.before.expected_score(played.player) - after.expected_score(played.player))
        lost = 0.0 if played.is_best else max(0.0, lost)
        self._log.judgements[node] = Judgement(played.player, lost, played.best, played.before, after)

"""What is known of a match's positions, by the actions that led to them: what was thought, for how long, and how it
ended; notes stay where moves are taken back, so a position that comes again is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.play.match import Forfeit, MatchResult
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.tree import Tree
from athenan_spiel.web.mind import Judgement, of_state

Line = tuple[int, ...]
"""The actions from the start of the game to a position."""


@dataclass(frozen=True)
class Mind:
    """What was found of a position.

    Attributes:
        line: the actions that led there since the start of the game.
        state: the position.
        by: the name of who has thought.
        result: what was found.
        scale: the size of large values.
        tree: in which it was found, which it keeps in memory.
    """

    line: Line
    state: pyspiel.State
    by: str
    result: SearchResult
    scale: float
    tree: Tree


class Notes:
    """The notes on one match.

    Attributes:
        forfeits: who has given the match up in a position, or failed in it.
        spent: the seconds that were thought before the move in a position.
    """

    def __init__(self) -> None:
        self._mind: Mind | None = None
        self._judged: dict[Line, Judgement] = {}
        self.forfeits: dict[Line, Forfeit] = {}
        self.spent: dict[Line, float] = {}

    def note(self, mind: Mind) -> None:
        """Keep what was found of a position."""
        self._mind = mind
        self._judged[mind.line] = of_state(mind.result, mind.state.num_players())

    @property
    def trees(self) -> list[Tree]:
        """The tree that the last note keeps in memory, if there is one."""
        return [] if self._mind is None else [self._mind.tree]

    def release(self) -> None:
        """Forget what was found last and its tree. Values of positions stay."""
        self._mind = None

    def knows(self, result: SearchResult) -> bool:
        """Whether this was noted last."""
        return self._mind is not None and self._mind.result is result

    def mind(self, line: Line) -> Mind | None:
        """What was noted last, of the position that `line` leads to or of one before it; None where nothing was."""
        mind = self._mind
        return None if mind is None or line[: len(mind.line)] != mind.line else mind

    def judgements(self, line: Line, opening: int) -> list[Judgement | None]:
        """What was thought of each position on `line`, from that after `opening` actions on; None where nothing was."""
        return [self._judged.get(line[:ply]) for ply in range(opening, len(line) + 1)]

    def result(self, state: pyspiel.State, opening: int) -> MatchResult:
        """The match that has ended with `state`, by the rules or by a forfeit, and began after `opening` actions."""
        line = tuple(state.history())
        past = state.get_game().new_initial_state()
        movers: list[int] = []
        times: list[float] = []
        for ply, action in enumerate(line):
            if ply >= opening:
                movers.append(int(past.current_player()))
                times.append(self.spent.get(line[:ply], 0.0))
            past.apply_action(action)
        players = range(state.num_players())
        forfeit = self.forfeits.get(line)
        returns = [float(gain) for gain in state.returns()]
        if forfeit is not None:
            returns = [-1.0 if player == forfeit.player_id else 1.0 for player in players]
        return MatchResult(
            history=line,
            opening_plies=opening,
            returns=tuple(returns),
            seconds=tuple(_sum_of(movers, times, player) for player in players),
            forfeit=forfeit,
            movers=tuple(movers),
            move_seconds=tuple(times),
            evaluations=tuple(0 for _ in players),
            questions=tuple(0 for _ in players),
        )


def _sum_of(movers: Sequence[int], times: Sequence[float], player: int) -> float:
    return sum(seconds for mover, seconds in zip(movers, times, strict=True) if mover == player)

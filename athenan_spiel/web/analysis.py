"""Analyses of a game's positions, and their display: values in text and on the board, and the reason for a move.

Analyses stay when moves are taken back. All numbers of a page are expected scores of one side, which it names: player
0, or in a game with rows the viewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from weakref import WeakKeyDictionary

import pyspiel

from athenan_spiel.drawing.evaluations import NodeEvaluation, line_text, named_text
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes.calibration import default_calibration
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.match import Forfeit, MatchResult, forfeited_returns
from athenan_spiel.play.move_tree import MoveNode
from athenan_spiel.search.result import SearchResult, Used, action_evaluations, make_result, state_evaluations
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import principal_variation

Line = tuple[int, ...]
"""Actions from the start of the game to a position."""


@dataclass(frozen=True)
class Analysis:
    """Result of a search from a position.

    Attributes:
        line: actions from the start of the game to the position.
        state: the position.
        by: name of the agent.
        result: search result.
        tree: search tree of the result; this reference keeps it in memory.
    """

    line: Line
    state: pyspiel.State
    by: str
    result: SearchResult
    tree: Tree


GRADES = (("blunder", "??", 30.0), ("mistake", "?", 20.0), ("inaccuracy", "?!", 10.0))
"""Name, mark and least loss in percentage points of a bad move, the worst first."""


@dataclass(frozen=True)
class Judgement:
    """Judgement of a move.

    Attributes:
        player: player of the move.
        lost: expected score that it lost, in percentage points.
        best: name of the best move.
        before, after: evaluations of the positions before and after the move.
    """

    player: int
    lost: float
    best: str
    before: NodeEvaluation
    after: NodeEvaluation

    @property
    def grade(self) -> str | None:
        """`inaccuracy`, `mistake` or `blunder`; None for a good move."""
        return next((name for name, _, least in GRADES if self.lost >= least), None)

    @property
    def mark(self) -> str:
        """Mark of a bad move in a list of moves, such as `??`; empty for a good move."""
        return next((mark for _, mark, least in GRADES if self.lost >= least), "")


class AnalysisLog:
    """Analyses, forfeits and thinking times of one game, by the node of the position.

    Those of deleted nodes are dropped.

    Attributes:
        forfeits: forfeit or resignation in a position.
        spent: seconds spent on the move in a position.
        judgements: judgement of the move to a position, by a review (`review`).
    """

    def __init__(self) -> None:
        self._latest: Analysis | None = None
        self._evaluations: WeakKeyDictionary[MoveNode, Sequence[NodeEvaluation]] = WeakKeyDictionary()
        self.forfeits: WeakKeyDictionary[MoveNode, Forfeit] = WeakKeyDictionary()
        self.spent: WeakKeyDictionary[MoveNode, float] = WeakKeyDictionary()
        self.judgements: WeakKeyDictionary[MoveNode, Judgement] = WeakKeyDictionary()

    def add(self, node: MoveNode, analysis: Analysis) -> None:
        """Stores the analysis of a position."""
        self._latest = analysis
        self.store(node, analysis.result, analysis.state)

    def store(self, node: MoveNode, result: SearchResult, state: pyspiel.State) -> None:
        """Stores the value of a position for each player."""
        self._evaluations[node] = state_evaluations(result, state)

    def store_final(self, node: MoveNode, state: pyspiel.State) -> None:
        """Stores the value of a terminal position for each player."""
        self._evaluations[node] = [final_evaluation(state, player) for player in range(state.num_players())]

    @property
    def trees(self) -> list[Tree]:
        """Tree of the latest analysis, if there is one."""
        return [] if self._latest is None else [self._latest.tree]

    def release(self) -> None:
        """Drops the latest analysis and its tree. Values of positions stay."""
        self._latest = None

    def knows(self, result: SearchResult) -> bool:
        """Returns whether the latest analysis has this result."""
        return self._latest is not None and self._latest.result is result

    def analysis(self, line: Line) -> Analysis | None:
        """Returns the latest analysis if its position is on `line`, else None."""
        latest = self._latest
        return None if latest is None or line[: len(latest.line)] != latest.line else latest

    def continued(self, line: Line, state: pyspiel.State) -> Analysis | None:
        """Returns the part of the latest analysis about a later position on its line, from its tree.

        If the tree has not expanded the position, it is the whole latest analysis.
        """
        latest = self.analysis(line)
        node = None if latest is None or latest.line == line else latest.tree.table.get(latest.tree.key(state))
        if latest is None or node is None:
            return latest
        known = latest.result
        result = make_result(
            node.copy(),
            Random(0),
            Used(0, 0, 0),
            known.seconds,
            decision=known.order,
            calibration=known.calibration,
        )
        return replace(latest, line=line, state=state.clone(), result=result)

    def evaluations(self, nodes: Iterable[MoveNode], viewer: int = 0) -> list[NodeEvaluation | None]:
        """Returns the value of each position; None if not analysed.

        Args:
            viewer: player whose values these are in a game with rows.
        """
        known = map(self._evaluations.get, nodes)
        return [None if found is None else found[viewer] for found in known]

    def result(self, state: pyspiel.State, node: MoveNode) -> MatchResult:
        """Returns the result of the game that ended with `state` at a node of its tree of moves."""
        line, path = tuple(state.history()), node.path()
        movers = [each.mover for each in path]
        times = [0.0 if each.parent is None else self.spent.get(each.parent, 0.0) for each in path]
        players = range(state.num_players())
        forfeit = self.forfeits.get(node)
        returns = state.returns() if forfeit is None else forfeited_returns(forfeit.player_id, len(players))
        return MatchResult(
            history=line,
            opening_plies=len(line) - len(path),
            returns=tuple(float(gain) for gain in returns),
            seconds=tuple(sum(s for m, s in zip(movers, times, strict=True) if m == player) for player in players),
            forfeit=forfeit,
            movers=tuple(movers),
            move_seconds=tuple(times),
            evaluations=tuple(0 for _ in players),
            requests=tuple(0 for _ in players),
        )


def final_evaluation(state: pyspiel.State, player: int) -> NodeEvaluation:
    """Returns the evaluation of a terminal state, in a game with rows that of `player`."""
    game = state.get_game()
    players, rows, returns = state.num_players(), rows_of(game), state.returns()
    is_draw, calibration = len({*returns}) == 1, default_calibration(game, gain_of(game))
    if rows is not None:
        gain, owner = rows.gains(state)[player], player
        return NodeEvaluation(gain, gain, 0, players, owner, calibration, is_draw=is_draw)
    gain = float(returns[0])
    proof = float((gain > 0) - (gain < 0)) if players == 2 else None
    return NodeEvaluation(gain, proof, players=players, calibration=calibration, is_draw=is_draw and players == 2)


def why_not(result: SearchResult, state: pyspiel.State, action: int, reader: int, *, raw: bool = False) -> str:
    """Returns why an action is or isn't the best, with the line that the search expects after it.

    Args:
        reader: player whose expected scores are shown.
        raw: show values in units of the outcome instead.
    """
    rows = {row.action: row for row in action_evaluations(result, state, reader)}
    row, best = rows[action], rows[result.action]
    visits = f"{row.evaluation.visits:,} visit{'' if row.evaluation.visits == 1 else 's'}"
    found = f"{row.name}: {named_text(state.get_game(), row.evaluation, reader, raw=raw)}, {visits}"
    if action == best.action:
        return f"{found}; it is the best move"
    index = int((result.actions == action).nonzero()[0][0])
    line = principal_variation(result.node, index)
    expected = f"after {line_text(line, state)}" if len(line) > 1 else "no reply was searched"
    return f"{found}, {expected}; {best.name}: {best.evaluation.text(reader, raw=raw)}"

"""Search for a turn by UCI's `go`, in the background: reports progress and ends with `bestmove`.

If an iteration is abandoned (`agent_search`), the move is selected from what the tree holds. With several lines
(`MultiPV`) the reports follow these rules:

1. Line 1 is the action that the agent's decision selects. The others follow as in tables (`ranking`), as far as there
   are legal moves.
2. A turn of several actions is searched in parts. The lines are different turns. Those after the first are completed by
   principal variations, and ordered by (c(s, a), v(s, a)) since searches of different parts share no visits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.config.search import DEEPEST
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import ProgramError, shown
from athenan_spiel.games.validation import mover_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.agent_search import AgentSearch
from athenan_spiel.protocols.uci_go import Go, end_words, score_words, wdl_words
from athenan_spiel.protocols.uci_moves.base import Turn, UciGame
from athenan_spiel.search.base import Search
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.result import SearchResult, mover_score, ranking
from athenan_spiel.search.walk import principal_variation

INFO_SECONDS = 1.0
"""Seconds between two `info` lines of a running search."""
MAX_PV_MOVES = 40
"""Maximum number of moves of a principal variation."""
NO_POSITION = "the last position was refused: send another"


@dataclass(frozen=True)
class _Line:
    """A variation from the start of a turn.

    Attributes:
        done: actions of the turn before the searched state.
        result: result of the search.
        i: index of the first action after `done`.
    """

    done: Turn
    result: SearchResult
    i: int

    @property
    def rank(self) -> tuple[int, float]:
        """Proven gain, or 0, and value for the mover."""
        sign = self.result.node.kind.won
        return sign * int(self.result.completions[self.i]), sign * float(self.result.values[self.i])

    @property
    def expected_score(self) -> float:
        """Expected score of the mover, in [0, 1]; only a proven result is 0 or 1."""
        assert self.result.state is not None
        return mover_score(self.result, self.result.state, self.i)

    @property
    def is_resolved(self) -> bool:
        """Whether the value is proven."""
        return bool(self.result.resolved[self.i])

    @property
    def actions(self) -> list[int]:
        """Actions of the variation, as far as the tree reaches."""
        return [*self.done, *principal_variation(self.result.node, self.i)]


class UciSearch(AgentSearch[None]):
    """Searches from the state in which a turn begins and then prints `bestmove`.

    A failure is printed as `info string`, with the move `0000`.

    Args:
        agent: chooses the move.
        uci: notation of its game.
        state: start of a turn; None if there is no position.
        go: limits, and the moves to choose from.
        white: player that begins, UCI's White.
        say: writes a line.
        lines: number of variations to report.
        shows_wdl: whether scores are followed by `wdl`.
    """

    def __init__(
        self,
        agent: Agent,
        uci: UciGame,
        state: pyspiel.State | None,
        go: Go,
        white: int,
        say: Callable[[str], None],
        *,
        lines: int = 1,
        shows_wdl: bool = False,
    ) -> None:
        super().__init__("uci-search", agent, INFO_SECONDS)
        self._uci = uci
        self._state = state
        self._go = go
        self._white = white
        self._say = say
        self._lines = lines
        self._shows_wdl = shows_wdl
        self._others: list[_Line] = []
        """Variations of finished searches of this turn that were not selected."""

    def search(self) -> None:
        """Searches, and prints the move."""
        move = "0000"
        try:
            if self._state is None:
                self._say(f"info string {NO_POSITION}")
            elif self._state.is_terminal():
                gain = self._state.returns()[self._side_at_end(self._state)]
                self._say(f"info depth 0 {end_words(gain)}{self._wdl(0.5 + 0.5 * gain, gain == 0)}")
                move = "(none)"
            else:
                move = self._uci.write(self._state, self._turn(self._state))
        except Exception as error:  # reported to the client, which waits for an answer
            self._say(f"info string {type(error).__name__}: {' '.join(str(error).split())}"[:500])
        if self._go.infinite:
            self._stopped.wait()
        self._say(f"bestmove {move}")

    def _side_at_end(self, state: pyspiel.State) -> int:
        """Returns the player to move in a terminal state: the opponent of the last mover."""
        moves = state.full_history()
        if moves:
            return 1 - int(moves[-1].player)
        return self._white if str(state).split()[1] == "w" else 1 - self._white  # a FEN of Chess

    def _turn(self, start: pyspiel.State) -> Turn:
        """Selects the actions of the turn."""
        only, agent = self._only(start), self._agent
        usual, search = agent.budget, agent.search
        self._explain_depth()
        try:
            turn, result = self._best_of(start, only) if only else self._in_parts(start)
        finally:
            agent.budget, agent.search = usual, search
        if result is None:
            self._say("info string stopped before the search had a result: the move is random")
            self._say(f"info depth 0 score cp 0 {self._effort()} pv {self._uci.write(start, turn)}")
        return turn

    def _in_parts(self, start: pyspiel.State) -> tuple[Turn, SearchResult | None]:
        """Selects the actions one after the other, each by a new search."""
        agent, length = self._agent, self._uci.turn_length
        usual, search = agent.budget, agent.search
        state, turn = start.clone(), Turn()
        result: SearchResult | None = None
        while len(turn) < length:
            limited = self._limited(search, length - len(turn))
            agent.search = limited.with_exact_actions(self._lines)
            agent.budget = self._budget(usual, state, length - len(turn), is_limited=limited is not search)
            result = self._searched(start, turn, ())
            if result is None:  # it was stopped before it had a result
                action = int(agent.rng.choice(state.legal_actions()))
            else:
                action = result.action
                self._tell(result, start, turn, ends=len(turn) == length - 1)
                self._others += self._ranked(result, turn)[1:]
            state.apply_action(action)
            turn = (*turn, action)
        return turn, result

    def _best_of(self, start: pyspiel.State, only: Sequence[Turn]) -> tuple[Turn, SearchResult | None]:
        """Selects one of the turns `only`.

        Turns that differ only in their last action share one search, restricted to these actions. The searches divide
        the budget.
        """
        agent = self._agent
        usual, search = agent.budget, agent.search
        last_actions: dict[Turn, list[int]] = {}
        for turn in only:
            last_actions.setdefault(turn[:-1], []).append(turn[-1])
        limited = self._limited(search, 1)
        agent.search = limited.with_exact_actions(self._lines)
        best: _Line | None = None
        for done, allowed in last_actions.items():
            agent.budget = self._budget(usual, start, len(last_actions), is_limited=limited is not search)
            result = self._searched(start, done, sorted(allowed))
            if result is None:
                continue
            lines = self._ranked(result, done)
            if best is None or lines[0].rank > best.rank:
                best = lines[0]
            if len(last_actions) > 1:
                self._others += lines
        if best is None:  # it was stopped before it had a result
            return agent.rng.choice(only), None
        self._tell(best.result, start, best.done, ends=True)
        return (*best.done, best.result.action), best.result

    def _only(self, start: pyspiel.State) -> list[Turn]:
        """Returns the turns of `searchmoves`; empty without a restriction.

        Raises:
            ProgramError: none of the moves is legal.
        """
        if not self._go.only:
            return []
        turns = self._uci.turns(start)
        wrong = [move for move in self._go.only if move not in turns]
        if wrong:
            more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            self._say(f"info string expected legal moves after searchmoves, got {shown(wrong[0])}{more}")
        if len(wrong) == len(self._go.only):
            raise ProgramError("searchmoves has no legal move: leave it out to search all")
        return [turns[move] for move in self._go.only if move in turns]

    def _explain_depth(self) -> None:
        """Reports how `depth` and `mate` are treated, since the search has no depth limit."""
        search, name = self._agent.search, type(self._agent.search).__name__
        if search.to_depth(1) is not None:
            return
        reasons = {
            "depth": f"{name} follows lines of different lengths",
            "mate": f"{name} {'ends once the position is proven' if search.completion else 'proves no mate'}",
        }
        holds = "the other limits hold" if self._go.limited else "the agent's own limit holds"
        for word in reasons.keys() & self._go.numbers.keys():
            self._say(f"info string {word} {self._go.numbers[word]} is no limit here, as {reasons[word]}: {holds}")

    def _limited(self, search: Search, parts: int) -> Search:
        """Returns the search for an action; `parts` actions of the turn are still to be chosen."""
        if self._go.depth is None:
            return search
        later = (self._go.depth - 1) * self._uci.turn_length
        return search.to_depth(min(DEEPEST, parts + later)) or search

    def _budget(self, usual: Budget, state: pyspiel.State, parts: int, *, is_limited: bool) -> Budget:
        """Returns the budget of an action."""
        if self.is_ending:  # between two actions of a turn
            return Budget(iterations=1, seconds=LONGEST)
        if is_limited and not self._go.limited:
            return Budget(seconds=LONGEST)
        return self._go.budget(usual, white=mover_of(state) == self._white, parts=parts)

    def _searched(self, start: pyspiel.State, done: Turn, allowed: Sequence[int]) -> SearchResult | None:
        """Searches after the first actions `done` of the turn, and prints the result at intervals.

        Returns None if nothing was found before the search was abandoned.

        Args:
            allowed: actions to which the search is restricted; empty for all.
        """
        agent, root_actions = self._agent, allowed or None
        state = start.clone()
        for action in done:
            state.apply_action(action)
        seconds = agent.budget.seconds
        assert seconds is not None
        requests = agent.thought(state, self.clock, root_actions=root_actions)
        result = self.reported(
            requests,
            state,
            lambda current: self._tell(current, start, done),
            root_actions=root_actions,
            seconds=seconds,
        )
        if result is None and (root := agent.tree.search_root) is not None:
            return self.found(root, state, root_actions, agent.rng)
        return result

    def _ranked(self, result: SearchResult, done: Turn) -> list[_Line]:
        """Returns the variations of a search in their order (`ranking`)."""
        if self._lines == 1:
            return [_Line(done, result, result.actions.tolist().index(result.action))]
        return [_Line(done, result, i) for i in ranking(result)]

    def _tell(self, result: SearchResult, start: pyspiel.State, done: Turn, *, ends: bool = False) -> None:
        """Prints `info` for the variations after the actions `done` of the turn, the one of `result.action` first.

        Args:
            ends: whether this action completes the move.
        """
        self.reports_later()
        best, *others = self._ranked(result, done)
        turns = math.ceil(len(best.actions) / self._uci.turn_length)
        wanted = self._go.numbers.get("mate")
        if ends and wanted is not None and not (best.rank[0] > 0 and math.ceil(turns / 2) <= wanted):
            self._say(f"info string no mate in {wanted} found")
        if self._others:
            others = sorted([*others, *self._others], key=lambda line: line.rank, reverse=True)
        self._print(start, best, others)

    def _print(self, start: pyspiel.State, best: _Line, others: Iterable[_Line]) -> None:
        """Prints `info` for `best`, and for other variations of complete turns until there are enough."""
        length = self._uci.turn_length
        told: set[str] = set()
        for line in (best, *others):
            actions = line.actions
            moves = self._moves(start, actions)
            if told and not (moves and moves[0] not in told):
                continue
            told.add(moves[0] if moves else "")
            searched = self._agent.search.depth_of(line.result.node)
            turns = math.ceil(len(actions) / length)
            depth = turns if searched is None else math.ceil((len(line.done) + searched) / length)
            number = f" multipv {len(told)}" if self._lines > 1 else ""
            pv = f" pv {' '.join(moves)}" if moves else ""
            self._say(f"info depth {depth}{number} {self._score(line, turns)} {self._effort()}{pv}")
            if len(told) == self._lines:
                break

    def _score(self, line: _Line, turns: int) -> str:
        """Returns the `score` of a variation, and `wdl` if it was asked for."""
        completion, _ = line.rank
        expected = line.expected_score
        score = score_words(expected, completion, turns, resolved=line.is_resolved)
        draws = line.result.calibration.draw_share(expected)
        return score + self._wdl(expected, float(completion == 0) if line.is_resolved else draws)

    def _wdl(self, expected: float, draws: float) -> str:
        return f" {wdl_words(expected, draws)}" if self._shows_wdl else ""

    def _effort(self) -> str:
        seconds = max(1e-3, self.seconds)
        return f"nodes {self.evaluations} time {round(1000 * seconds)} nps {round(self.evaluations / seconds)}"

    def _moves(self, start: pyspiel.State, actions: Sequence[int]) -> list[str]:
        """Returns the moves of the complete turns of a variation from the start of this turn."""
        state, length = start.clone(), self._uci.turn_length
        moves: list[str] = []
        for first in range(0, min(len(actions), MAX_PV_MOVES * length) - length + 1, length):
            turn = actions[first : first + length]
            moves.append(self._uci.write(state, turn))
            for action in turn:
                state.apply_action(action)
        return moves

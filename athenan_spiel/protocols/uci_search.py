"""Search for a turn by UCI's `go`, in the background: reports progress and ends with `bestmove`.

A stopped search ends with its iteration. A long iteration is abandoned soon after, and the move is then selected from
what the tree holds.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.config.search import DEEPEST
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import ProgramError, shown
from athenan_spiel.games.validation import mover_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.background_search import BackgroundSearch
from athenan_spiel.protocols.uci_go import Go, end_words, score_words
from athenan_spiel.protocols.uci_moves.base import Turn, UciGame
from athenan_spiel.search.base import Search
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.node import Node
from athenan_spiel.search.result import SearchResult, Used, make_result

INFO_SECONDS = 1.0
"""Seconds between two `info` lines of a running search."""
GRACE_SECONDS = 0.1
"""Seconds after the time limit that an iteration has to end."""
FIRST_GRACE_SECONDS = 1.0
"""Additional seconds of the first iteration, without which no move has a value."""
MAX_PV_MOVES = 40
"""Maximum number of moves of a principal variation."""
NO_POSITION = "the last position was refused: send another"


class UciSearch(BackgroundSearch[None]):
    """Searches from the state in which a turn begins and then prints `bestmove`.

    The agent belongs to the thread until it has ended. A failure is printed as `info string`, with the move `0000`.

    Args:
        agent: chooses the move.
        uci: notation of its game.
        state: start of a turn; None if there is no position.
        go: limits, and the moves to choose from.
        white: player that begins, UCI's White.
        say: writes a line.
    """

    def __init__(
        self, agent: Agent, uci: UciGame, state: pyspiel.State | None, go: Go, white: int, say: Callable[[str], None]
    ) -> None:
        super().__init__("uci-search")
        self._agent = agent
        self._uci = uci
        self._state = state
        self._go = go
        self._white = white
        self._say = say
        self._last_info = 0.0
        self._rng = random.Random(0)

    def search(self) -> None:
        """Searches, and prints the move."""
        move = "0000"
        try:
            if self._state is None:
                self._say(f"info string {NO_POSITION}")
            elif self._state.is_terminal():
                self._say(f"info depth 0 {end_words(self._state.returns()[self._side_at_end(self._state)])}")
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
            agent.search = self._limited(search, length - len(turn))
            agent.budget = self._budget(usual, state, length - len(turn), is_limited=agent.search is not search)
            result = self._searched(start, turn, ())
            if result is None:  # it was stopped before it had a result
                action = int(agent.rng.choice(state.legal_actions()))
            else:
                action = result.action
                self._tell(result, start, turn, ends=len(turn) == length - 1)
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
        agent.search = self._limited(search, 1)
        best: tuple[tuple[int, float], Turn, SearchResult] | None = None
        for done, allowed in last_actions.items():
            agent.budget = self._budget(usual, start, len(last_actions), is_limited=agent.search is not search)
            result = self._searched(start, done, sorted(allowed))
            if result is None:
                continue
            i, sign = result.actions.tolist().index(result.action), result.node.kind.won
            score = sign * int(result.completions[i]), sign * float(result.values[i])
            if best is None or score > best[0]:
                best = score, done, result
        if best is None:  # it was stopped before it had a result
            return agent.rng.choice(only), None
        _, done, result = best
        self._tell(result, start, done, ends=True)
        return (*done, result.action), result

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
        until = time.perf_counter() + seconds + GRACE_SECONDS

        def progress() -> bool:
            nonlocal until
            now, root = time.perf_counter(), agent.tree.search_root
            if self.is_ending:
                until = min(until, now + GRACE_SECONDS)
            elif root is None and now <= until + FIRST_GRACE_SECONDS:
                return False
            if now > until:
                return True
            if root is not None and self.seconds - self._last_info >= INFO_SECONDS:
                self._tell(self._found(root, state, root_actions, self._rng), start, done)
            return False

        requests = agent.thought(state, self.clock, root_actions=root_actions)
        result = self.answer(requests, agent.evaluator, progress)
        if result is None and (root := agent.tree.search_root) is not None:
            return self._found(root, state, root_actions, agent.rng)
        return result

    def _found(
        self, root: Node, state: pyspiel.State, root_actions: Sequence[int] | None, rng: random.Random
    ) -> SearchResult:
        """Returns the search's current result."""
        used, seconds = Used(0, self.evaluations, 0), self.seconds
        return make_result(root, rng, used, seconds, state, decision=self._agent.decided, root_actions=root_actions)

    def _tell(self, result: SearchResult, start: pyspiel.State, done: Turn, *, ends: bool = False) -> None:
        """Prints `info` for the action that `result` selects after the actions `done` of the turn.

        Args:
            ends: whether this action completes the move.
        """
        self._last_info = self.seconds
        i = result.actions.tolist().index(result.action)
        line = [*done, *result.principal_variation]
        length = self._uci.turn_length
        turns = math.ceil(len(line) / length)
        sign = result.node.kind.won
        resolved, completion = bool(result.resolved[i]), sign * int(result.completions[i])
        scale = getattr(self._agent.search.outcome, "scale", 1.0)
        score = score_words(sign * float(result.values[i]), completion, turns, resolved=resolved, scale=scale)
        wanted = self._go.numbers.get("mate")
        if ends and wanted is not None and not (completion > 0 and math.ceil(turns / 2) <= wanted):
            self._say(f"info string no mate in {wanted} found")
        searched = self._agent.search.depth_of(result.node)
        depth = turns if searched is None else math.ceil((len(done) + searched) / length)
        moves = self._moves(start, line)
        self._say(f"info depth {depth} {score} {self._effort()}" + (f" pv {' '.join(moves)}" if moves else ""))

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

"""A turn that an agent of ours is asked for by UCI: thought about in a thread, told of as it goes, and stopped.

A search that is told to stop ends with its iteration. One whose iteration is long is given up soon after, and the move
is then what its tree holds for best.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.evaluators.base import Evaluation, checked
from athenan_spiel.games.given import mover_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.protocols.uci_go import Go, score_words
from athenan_spiel.protocols.uci_moves.base import Turn, UciGame
from athenan_spiel.search.choice import completed_best_action
from athenan_spiel.search.node import Node
from athenan_spiel.search.walk import Questions, principal_variation

TOLD_EVERY = 1.0
"""Seconds between two lines about a search that goes on."""
PATIENCE = 0.1
"""Seconds after its time that an iteration may take to come to its end."""
LONGEST_LINE = 40
"""Moves of a principal variation that are told."""


class Thinking(threading.Thread):
    """Thinks about the state in which a turn begins, and says `bestmove` in the end.

    The agent is the thread's until it has ended. What fails is said as `info string`, and the move is then `0000`.

    Args:
        agent: who thinks.
        uci: how its game is written.
        state: in which a turn begins.
        go: for how long.
        white: the side that begins, UCI's White.
        say: writes a line.
    """

    def __init__(
        self, agent: Agent, uci: UciGame, state: pyspiel.State, go: Go, white: int, say: Callable[[str], None]
    ) -> None:
        super().__init__(daemon=True)
        self._agent = agent
        self._uci = uci
        self._state = state
        self._go = go
        self._white = white
        self._say = say
        self._stopped = threading.Event()
        self._start = time.perf_counter()
        self._told = self._start
        self._evaluations = 0

    def stop(self) -> None:
        """Come to an end with the search as it is."""
        self._stopped.set()

    def run(self) -> None:
        """Think, wait for `stop` where it was asked to, and say what was found."""
        move = "0000"
        try:
            if self._state.is_terminal():
                self._say("info depth 0 score cp 0")
                move = "(none)"
            else:
                move = self._uci.write(self._state, self._turn())
        except Exception as error:  # the other side is to hear of it, and nobody else can
            self._say(f"info string {type(error).__name__}: {' '.join(str(error).split())}"[:500])
        if self._go.infinite:
            self._stopped.wait()
        self._say(f"bestmove {move}")

    def _turn(self) -> Turn:
        """The actions of the turn, each thought about where the one before has led."""
        state, turn = self._state.clone(), Turn()
        turns = self._uci.turns(state).items() if self._go.only else ()
        only = [actions for move, actions in turns if move in self._go.only]
        usual = self._agent.budget
        try:
            while len(turn) < self._uci.turn_length:
                parts = self._uci.turn_length - len(turn)
                self._agent.budget = self._go.budget(usual, white=mover_of(state) == self._white, parts=parts)
                allowed = {actions[len(turn)] for actions in only if actions[: len(turn)] == turn}
                action = self._action(state, turn, allowed)
                state.apply_action(action)
                turn = (*turn, action)
        finally:
            self._agent.budget = usual
        return turn

    def _action(self, state: pyspiel.State, done: Turn, only: set[int]) -> int:
        """The action that is chosen in `state`, to which `done` of the turn has led; one of `only` if there are any."""
        agent = self._agent
        agent.think_again()
        action = self._driven(agent.thinks(state, self._clock), state, done)
        node = self._node(state)
        if node is None:  # it was stopped before it had seen anything
            return int(agent.rng.choice(sorted(only) or state.legal_actions()))
        self._tell(node, state, done)
        if action is None:
            action = node.actions[agent.decision(node, agent.rng)]
        if not only or action in only:
            return int(action)
        sign = 1 if mover_of(state) == 0 else -1
        ranked = [
            (sign * completion, sign * value, int(other))
            for completion, value, other in zip(node.completions, node.values, node.actions, strict=True)
            if int(other) in only
        ]
        return max(ranked)[2]

    def _clock(self) -> float:
        """The machine's, until it is time to stop."""
        return math.inf if self._stopped.is_set() else time.perf_counter()

    def _node(self, state: pyspiel.State) -> Node | None:
        """What the tree holds of a state."""
        tree = self._agent.tree
        node: Node | None = tree.table.get(tree.key(state))
        return node

    def _driven(self, questions: Questions[int], state: pyspiel.State, done: Turn) -> int | None:
        """The action that the search returns, which is told of from time to time; None where it was given up."""
        seconds = self._agent.budget.seconds
        assert seconds is not None
        until = time.perf_counter() + seconds + PATIENCE
        try:
            question = next(questions)
            while True:
                answer = checked(self._agent.evaluator(question), question) if question else Evaluation([])
                self._evaluations += len(question)
                now = time.perf_counter()
                if self._stopped.is_set():
                    until = min(until, now + PATIENCE)
                if now > until:
                    questions.close()
                    return None
                if now - self._told >= TOLD_EVERY and (node := self._node(state)) is not None:
                    self._tell(node, state, done)
                question = questions.send(answer)
        except StopIteration as end:
            action: int = end.value
            return action

    def _tell(self, node: Node, state: pyspiel.State, done: Turn) -> None:
        """Say what is known of `state`."""
        self._told = time.perf_counter()
        line = principal_variation(node, completed_best_action(node, random.Random(0)))
        moves = self._moves([*done, *line])
        sign = 1 if mover_of(state) == 0 else -1
        scale = getattr(self._agent.search.outcome, "scale", 1.0)
        score = score_words(sign * node.value, sign * node.completion, len(moves), resolved=node.resolved, scale=scale)
        seconds = max(1e-3, self._told - self._start)
        self._say(
            f"info depth {len(line)} {score} nodes {self._evaluations} time {round(1000 * seconds)} "
            f"nps {round(self._evaluations / seconds)}" + (f" pv {' '.join(moves)}" if moves else "")
        )

    def _moves(self, actions: Sequence[int]) -> list[str]:
        """The whole turns of a line from the state in which this one began."""
        state, length = self._state.clone(), self._uci.turn_length
        moves: list[str] = []
        for start in range(0, min(len(actions), LONGEST_LINE * length) - length + 1, length):
            turn = actions[start : start + length]
            moves.append(self._uci.write(state, turn))
            for action in turn:
                state.apply_action(action)
        return moves

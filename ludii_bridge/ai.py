"""Ludii's own AIs, which choose an action in a state of a Ludii game.

They have the names of Ludii's menu of agents. They use a Java generator that can't be seeded, so their games are not
reproducible. They search Ludii's own state, with its history and the move limit.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from ludii_bridge.errors import LudiiError, alike
from ludii_bridge.state import LudiiState
from ludii_bridge.transport import MatchAI

if TYPE_CHECKING:
    from ludii_bridge.game import LudiiGame

NAMES = (
    "Alpha-Beta",
    "BRS+",
    "Bandit Tree Search",
    "Biased MCTS",
    "Biased UBFM",
    "EPT",
    "EPT-QB",
    "Flat MC",
    "Heuristic Sampling",
    "Hybrid UBFM",
    "Lazy UBFM",
    "Ludii AI",
    "MAST",
    "MC-GRAVE",
    "MCTS (Biased Selection)",
    "MCTS (Hybrid Selection)",
    "NST",
    "One-Ply (No Heuristic)",
    "Progressive Bias",
    "Progressive History",
    "Random",
    "Score Bounded MCTS",
    "UBFM",
    "UCB1Tuned",
    "UCT",
    "UCT (Uncapped)",
)
"""The AIs of Ludii 1.3.12. "Ludii AI" is the one that `LudiiGame.recommended_ai` names, or UCT."""


def find_ai(name: str) -> str:
    """Returns Ludii's name of an AI, given in any case.

    Raises:
        LudiiError: the name is unknown.
    """
    found = {known.lower(): known for known in NAMES}.get(name.lower())
    if found is None:
        hint = alike(name, NAMES) or "; UCT, Alpha-Beta and Ludii AI are some"
        raise LudiiError(f"no AI of Ludii's is called {name!r}{hint} (ludii_bridge.ai.NAMES has all {len(NAMES)})")
    return found


class LudiiAI:
    """One of Ludii's AIs, for either player. It plays one game at a time.

    It forgets its search tree when a state doesn't follow from the last one, or after `restart`. Threads may share it,
    and wait for each other. Other Python threads run while it thinks.

    Args:
        game: the game to play.
        name: one of `NAMES`.
        seconds: time per move, or None.
        iterations: iterations per move, for Monte Carlo searches.

    Raises:
        LudiiError: the AI is unknown or doesn't support the game or iterations, or no limit above zero is given.
    """

    def __init__(
        self, game: LudiiGame, name: str, *, seconds: float | None = None, iterations: int | None = None
    ) -> None:
        self.name = find_ai(name)
        limits = [limit for limit in (seconds, iterations) if limit is not None]
        if not limits or min(limits) <= 0:
            raise LudiiError(
                f"{self.name} needs seconds or iterations above zero, "
                f"got seconds={seconds!r} and iterations={iterations!r}"
            )
        match_ai = game.rules.match_ai(self.name)
        if iterations is not None and not match_ai.counts_iterations:
            raise LudiiError(f"{self.name} counts no iterations, got iterations={iterations!r}: give it seconds")
        self.seconds = seconds
        self._iterations = iterations
        self._lock = threading.Lock()
        self._match_ai: MatchAI | None = None
        self._rules: object = None
        self._history: list[int] = []

    def choose(self, state: LudiiState, seconds: float | None = None) -> int:
        """Returns the action that it plays in `state`.

        Args:
            seconds: time for this move instead of the AI's own.

        Raises:
            LudiiError: the game is over, the state is not Ludii's, or the AI fails or chooses no legal move.
        """
        if not isinstance(state, LudiiState) or state.is_terminal():
            raise LudiiError(f"{self.name} needs a state of a Ludii game that is not over, got {str(state)!r}")
        with self._lock:
            rules, history = state.get_game().rules, state.history()
            if rules is not self._rules or history[: len(self._history)] != self._history:
                self._end()
            if self._match_ai is None:
                self._match_ai = rules.match_ai(self.name)
                self._match_ai.begin(state.current_player())
            self._rules, self._history = rules, history
            try:
                limit = self.seconds if seconds is None else seconds
                return self._match_ai.choose(state.position, limit, self._iterations)
            except LudiiError:
                with contextlib.suppress(LudiiError):  # the next game has its own AI
                    self._end()
                raise

    def restart(self) -> None:
        """Forgets the last game."""
        with self._lock:
            self._end()

    def clone(self) -> LudiiAI:
        """Returns the same AI without its memory of the game."""
        new = LudiiAI.__new__(LudiiAI)
        new.__setstate__(self.__getstate__())
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Pickles the name and the limits, without the memory of the game."""
        return {"name": self.name, "seconds": self.seconds, "_iterations": self._iterations}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._match_ai, self._rules, self._history = threading.Lock(), None, None, []

    def _end(self) -> None:
        match_ai, self._match_ai, self._rules, self._history = self._match_ai, None, None, []
        if match_ai is not None:
            match_ai.end()

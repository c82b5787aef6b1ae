"""Ludii's own AIs, which think about a state of a Ludii game and choose one of its actions.

They are named as in Ludii's menu of agents. All that is random in them comes from a generator of Java's that cannot be
seeded, so no two of their matches need be equal. They see Ludii's state itself, with its past and the limit of moves.
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
"""Those of Ludii 1.3.12. "Ludii AI" is the one that a game's description recommends."""


def find_ai(name: str) -> str:
    """Ludii's name of an AI, from that name in any case.

    Raises:
        LudiiError: no AI is called so.
    """
    found = {known.lower(): known for known in NAMES}.get(name.lower())
    if found is None:
        hint = alike(name, NAMES) or "; UCT, Alpha-Beta and Ludii AI are some"
        raise LudiiError(f"no AI of Ludii's is called {name!r}{hint} (ludii_bridge.ai.NAMES has all {len(NAMES)})")
    return found


class LudiiAI:
    """One of Ludii's AIs, for either player of one game at a time; one match after the other.

    What it remembers of a match (a search tree) it forgets when a state comes that does not follow from the last one,
    or after `restart`. Several threads may share it: they wait for each other. While it thinks, Python goes on.

    Args:
        game: what it is to play.
        name: one of `NAMES`.
        seconds: thinking time of a move, or None for none but `iterations`.
        iterations: of a move, for the AIs that count them (those of Monte Carlo search).

    Raises:
        LudiiError: no AI is called so, it does not play this game or does not count iterations, or no limit is given
            or one is not above zero.
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
        """The action that it plays in `state`, in which a player is to move.

        Args:
            seconds: thinking time of this move, in place of the AI's own.

        Raises:
            LudiiError: the match is over, the state is not Ludii's, or the AI fails or gives no legal move.
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
                with contextlib.suppress(LudiiError):  # the next match has an AI of its own
                    self._end()
                raise

    def restart(self) -> None:
        """A new match begins: forget the last."""
        with self._lock:
            self._end()

    def clone(self) -> LudiiAI:
        """The same AI without its memory of the match."""
        new = LudiiAI.__new__(LudiiAI)
        new.__setstate__(self.__getstate__())
        return new

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle`: its name and its limits, and no memory of the match."""
        return {"name": self.name, "seconds": self.seconds, "_iterations": self._iterations}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._match_ai, self._rules, self._history = threading.Lock(), None, None, []

    def _end(self) -> None:
        match_ai, self._match_ai, self._rules, self._history = self._match_ai, None, None, []
        if match_ai is not None:
            match_ai.end()

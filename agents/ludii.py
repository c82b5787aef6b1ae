"""The `ludii` bot: one of Ludii's own AIs as a `pyspiel.Bot`, for Ludii's games."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyspiel

from agents.bot import BaseBot
from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import DEFAULT_SECONDS, read_parameters
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.games import require_open_state
from athenan_spiel.play.game_clock import ClockedPlayer, GameClock, clock_of
from athenan_spiel.search.drive import Budget

if TYPE_CHECKING:
    from ludii_bridge.ai import LudiiAI

MAX_NAME_CHARACTERS = 100
"""Maximum length of an AI's name; Ludii's have at most half of it."""


@dataclass(frozen=True, kw_only=True)
class LudiiParameters:
    """Parameters of `load_bot("ludii", ...)`; the default limit is one second per move. Ludii's AIs have no seed."""

    ai: str = "UCT"
    """Ludii's name of the AI, one of `ludii_bridge.ai.NAMES`."""
    seconds: float | None = None
    """Time per move."""
    iterations: int | None = None
    """Iterations per move, for Monte Carlo searches only."""
    match_seconds: float | None = None
    """Time for all moves of a game."""
    match_increment: float = 0.0
    """Seconds that each own move adds to it."""


class LudiiBot(ClockedPlayer, BaseBot):
    """One of Ludii's AIs; plays either colour.

    It depends on the state only. `pickle` and `clone` keep the AI and its limits, not the memory of the game.

    Args:
        ai: chooses the actions; must not be used by others.
        game: game string.
        clock: game clock in place of the AI's own time.
    """

    def __init__(self, ai: LudiiAI, game: str, clock: GameClock | None = None) -> None:
        super().__init__()
        self._ai = ai
        self._game = game
        self._clock = clock

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the class and its arguments, for `pickle`."""
        clock = None if self._clock is None else self._clock.copy()
        if clock is not None:
            clock.restart()
        return type(self), (self._ai.clone(), self._game, clock)

    @property
    def seconds(self) -> float | None:
        """Time per move; None with another limit."""
        return self._ai.seconds if self._clock is None else None

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: `state` is of another game, or no player is to move.
            LudiiError: Java fails.
        """
        require_open_state(self._game, state)
        if self._clock is None:
            return self._ai.choose(state)
        start = time.perf_counter()
        action = self._ai.choose(state, self._clock.allot(state))
        self._clock.spend(time.perf_counter() - start)
        return action

    def restart(self) -> None:
        """Starts a new game."""
        self._ai.restart()
        if self._clock is not None:
            self._clock.restart()

    def clone(self) -> LudiiBot:
        """Returns the same bot without its memory of the game."""
        make, arguments = self.__reduce__()
        twin: LudiiBot = make(*arguments)
        return twin


def find_ai(name: str) -> str:
    """Returns Ludii's name of an AI from that name in any case.

    Raises:
        AgentError: there is no such AI, or the name is too long.
    """
    from ludii_bridge import LudiiError, ai  # its import registers Ludii's games

    if len(name) > MAX_NAME_CHARACTERS:
        raise AgentError(f"expected the name of one of Ludii's AIs, such as UCT, got {shown(name)}")
    try:
        return ai.find_ai(name)
    except LudiiError as error:
        raise AgentError(str(error)) from None


def load_ludii(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> LudiiBot:
    """Returns one of Ludii's AIs; see `LudiiParameters`.

    Raises:
        AgentError: a parameter is unknown or of a wrong type, the game is not Ludii's, there is no such AI, or it
            doesn't play this game or doesn't count iterations.
        BudgetError: a limit is not positive.
    """
    given = read_parameters(LudiiParameters, "ludii", params)
    name = find_ai(given.ai)
    if given.seconds is not None and given.match_seconds is not None:
        raise AgentError("bot 'ludii' takes seconds or match_seconds, not both: leave one out")
    unlimited = given.seconds is given.iterations is given.match_seconds is None
    clock = clock_of(game, given.match_seconds, given.match_increment)
    seconds = DEFAULT_SECONDS if unlimited else given.seconds if clock is None else clock.most
    budget = Budget(seconds=seconds, iterations=given.iterations)
    from ludii_bridge import LudiiError, LudiiGame
    from ludii_bridge.ai import LudiiAI

    if not isinstance(game, LudiiGame):
        raise AgentError(f"{name} is one of Ludii's AIs, for games such as 'ludii(game=Hex)'; got {str(game)!r}")
    try:
        return LudiiBot(LudiiAI(game, name, seconds=budget.seconds, iterations=budget.iterations), str(game), clock)
    except LudiiError as error:
        raise AgentError(str(error)) from error


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    return {"ai": find_ai(text), **limit.params}


LUDII = AgentKind(
    name="ludii",
    example="ludii:UCT@1s",
    about="one of Ludii's AIs by its name, for Ludii's games",
    load=load_ludii,
    parse=_parse,
    limits=("seconds", "iterations", "match_seconds", "match_increment"),
    seeded=False,
)

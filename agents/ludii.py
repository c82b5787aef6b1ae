"""The `ludii` bot: one of Ludii's own AIs as a `pyspiel.Bot`, for the games of Ludii."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyspiel

from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import DEFAULT_SECONDS, read_parameters
from agents.state_bot import StateBot
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.games import require_open_state
from athenan_spiel.play.game_clock import GameClock, clock_of
from athenan_spiel.search.drive import Budget

if TYPE_CHECKING:
    from ludii_bridge.ai import LudiiAI

LONGEST_NAME = 100
"""Letters of the name of an AI; Ludii's have half of it at most."""


@dataclass(frozen=True, kw_only=True)
class LudiiParameters:
    """What `load_bot("ludii", ...)` takes; there is no seed, as Ludii's AIs have none."""

    ai: str = "UCT"
    """Ludii's name of the AI, one of `ludii_bridge.ai.NAMES`."""
    seconds: float | None = None
    """Thinking time a move; one second if no limit is given."""
    iterations: int | None = None
    """Iterations a move, for AIs of Monte Carlo search alone."""
    match_seconds: float | None = None
    """A match clock: thinking time of all moves of a match."""
    match_increment: float = 0.0
    """Thinking time that each own move adds to the match clock once it is made."""


class LudiiBot(StateBot):
    """One of Ludii's AIs with the methods of `pyspiel.Bot`; it plays either colour.

    It looks at the state alone, so it may be told of the other players' actions or not. `pickle` keeps which AI it
    is and its limits, and not the memory of the match.

    Args:
        ai: what thinks; the bot has it for itself.
        game: that it plays, as it prints.
        clock: a match clock, by which it thinks in place of its own time.
    """

    def __init__(self, ai: LudiiAI, game: str, clock: GameClock | None = None) -> None:
        super().__init__()
        self._ai = ai
        self._game = game
        self._clock = clock

    def __reduce__(self) -> tuple[type[LudiiBot], tuple[LudiiAI, str, GameClock | None]]:
        """For `pickle`."""
        return type(self), (self._ai.clone(), self._game, self._fresh_clock())

    @property
    def seconds(self) -> float | None:
        """Its time for a move; None where its limit is another."""
        return self._ai.seconds if self._clock is None else None

    @property
    def match_seconds(self) -> float | None:
        """The seconds of its match clock; None without one."""
        return None if self._clock is None else self._clock.seconds

    @property
    def match_increment(self) -> float:
        """The seconds that each own move brings to its match clock."""
        return 0.0 if self._clock is None else self._clock.increment

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`.

        Raises:
            SearchError: it is no state of the bot's game, or no player is to choose in it.
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
        """A new match begins."""
        self._ai.restart()
        if self._clock is not None:
            self._clock.restart()

    def clone(self) -> LudiiBot:
        """The same bot without its memory of the match."""
        return LudiiBot(self._ai.clone(), self._game, self._fresh_clock())

    def _fresh_clock(self) -> GameClock | None:
        if self._clock is None:
            return None
        clock = self._clock.copy()
        clock.restart()
        return clock


def find_ai(name: str) -> str:
    """Ludii's name of an AI, from that name in any case.

    Raises:
        AgentError: no AI is called so, or the name is longer than any.
    """
    from ludii_bridge import LudiiError, ai  # only where Ludii is asked for: importing it registers its games

    if len(name) > LONGEST_NAME:
        raise AgentError(f"expected the name of one of Ludii's AIs, such as UCT, got {shown(name)}")
    try:
        return ai.find_ai(name)
    except LudiiError as error:
        raise AgentError(str(error)) from None


def load_ludii(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> LudiiBot:
    """One of Ludii's AIs; see `LudiiParameters`.

    Raises:
        AgentError: a parameter is unknown or of a wrong type, the game is not Ludii's, no AI is called so, or it
            does not play this game or does not count iterations.
        BudgetError: a limit is not above zero.
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
        raise AgentError(
            f"{name} is an AI of Ludii's and plays its games alone, as in 'ludii(game=Hex)'; got {str(game)!r}"
        )
    try:
        return LudiiBot(LudiiAI(game, name, seconds=budget.seconds, iterations=budget.iterations), str(game), clock)
    except LudiiError as error:
        raise AgentError(str(error)) from error


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    return {"ai": find_ai(text), **limit.params}


LUDII = AgentKind(
    name="ludii",
    example="ludii:UCT@1s",
    about="an AI of Ludii's, by its name there, in Ludii's games",
    load=load_ludii,
    parse=_parse,
    limits=("seconds", "iterations", "match_seconds", "match_increment"),
    seeded=False,
)

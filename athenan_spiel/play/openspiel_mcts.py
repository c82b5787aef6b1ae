"""OpenSpiel's own MCTS, `pyspiel.MCTSBot`, in the settings in which this project measures itself against it.

It is limited by simulations, by seconds a move, or by a match clock. OpenSpiel looks at the clock itself, after each
simulation; of the seconds it is given `THINKING`, as it also takes its tree apart before it answers. So a move takes
no longer than its limit but for one simulation, and a state that the solver has proven is answered at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import pyspiel

from athenan_spiel.config.settings import MOST, Count, require_argument
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.validation import require_open_state
from athenan_spiel.play.game_clock import GameClock, require_times
from athenan_spiel.play.player import seed_of_game
from athenan_spiel.search.drive import Budget

UCT_CONSTANT = 2.0
"""Exploration constant; this and the next two are those of OpenSpiel's MCTS example in Python."""
ROLLOUTS = 1
"""Random rollouts for each new leaf, so a simulation is one rollout."""
SOLVE = True
"""Proven results are backed up (MCTS-Solver)."""
MEMORY_MB = 1000
"""A tree larger than this loses its least visited parts; a tree lives for one move."""
THINKING = 0.99
"""Share of a move's seconds in which simulations are made. The others are for the end of the tree, which took up to
0.5 % of the time that it had grown."""


@dataclass(frozen=True, kw_only=True)
class MCTSSettings:
    """What makes a bot beside the game and the seed.

    Attributes:
        name: of the kind of agents, for messages.
        simulations: of each move; None: as many as the time allows, of which one must be given then.
        seconds, match_seconds: of each move, and of all moves of a match.
        match_increment: seconds that each own move brings to the clock of a match.
        uct_constant: c of Q(s, a) + c · sqrt(ln N(s) / n(s, a)), returns being in [-1, 1].
        solve: proven results are backed up.
        memory_mb: Maximum size of the tree, in MB.
    """

    name: str = "mcts"
    simulations: int | None = None
    seconds: float | None = None
    match_seconds: float | None = None
    match_increment: float = 0.0
    uct_constant: float = UCT_CONSTANT
    solve: bool = SOLVE
    memory_mb: int = MEMORY_MB


def mcts_bot(game: pyspiel.Game, simulations: int, seed: int) -> pyspiel.Bot:
    """`pyspiel.MCTSBot` (UCT) with random rollouts and the constants above, for either colour.

    Args:
        simulations: of each move.
        seed: of the choices among equals and of the rollouts.

    Raises:
        ConfigError: as `make_mcts_bot`.
    """
    return make_mcts_bot(game, MCTSSettings(simulations=simulations), seed)


def make_mcts_bot(game: pyspiel.Game, settings: MCTSSettings, seed: int) -> pyspiel.Bot:
    """`pyspiel.MCTSBot` with these settings, for either colour.

    Args:
        seed: of the choices among equals and of the rollouts.

    Raises:
        ConfigError: the simulations or the MB are less than 1 or more than a billion, or a time is given as well, or
            nothing is, or the game rewards on the way or lets players move at the same time, which `MCTSBot` cannot
            play; c is negative.
        BudgetError: a limit in time is not above zero, or there is an increment without the clock of a match.
    """
    name, simulations = settings.name, settings.simulations
    if game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ConfigError(f"{name} needs a game in which one player moves at a time, got {str(game)!r}")
    if game.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
        raise ConfigError(f"{name} needs a game that rewards at its end only, got {str(game)!r}: take another agent")
    require_argument(f"simulations of {name.upper()}", simulations, Count, ConfigError, or_none=True)
    require_argument(f"the MB of {name.upper()}'s tree", settings.memory_mb, Count, ConfigError)
    times = (settings.seconds, settings.match_seconds)
    if (simulations is None) == (times == (None, None)):  # OpenSpiel's bot with a time does not count
        raise ConfigError(f"{name} takes simulations or a time, not both; got {shown(simulations)} and {shown(times)}")
    if not 0 <= settings.uct_constant < float("inf"):
        raise ConfigError(f"the constant of {name.upper()} must be zero or more, got {shown(settings.uct_constant)}")
    if settings.seconds is not None:
        Budget(seconds=settings.seconds)
    require_times(settings.match_seconds, settings.match_increment)
    if settings.match_seconds is not None:
        return ClockedMCTSBot(game, settings, seed)
    kind = _MCTSBotOfPythonGames if hasattr(game, "make_py_observer") else MCTSBot
    return kind(game, settings, seed)


class MCTSBot(pyspiel.MCTSBot):  # type: ignore[misc]
    """`pyspiel.MCTSBot` as `make_mcts_bot` makes it, which `pickle` takes: it comes back as new, its seed the same.

    Attributes:
        seconds: how long it thinks about a move; None where simulations are counted.
    """

    def __init__(self, game: pyspiel.Game, settings: MCTSSettings, seed: int) -> None:
        seeds = random.Random(seed)
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seeds.getrandbits(31))
        limits: dict[str, Any] = {}
        if settings.seconds is not None:
            limits["max_wall_clock_time"] = THINKING * settings.seconds
        super().__init__(
            game,
            evaluator,
            settings.uct_constant,
            MOST if settings.simulations is None else settings.simulations,
            settings.memory_mb,
            settings.solve,
            seeds.getrandbits(31),
            False,
            **limits,
        )
        self._game = game
        self._made_of = settings, seed
        self.seconds = settings.seconds

    def __reduce__(self) -> tuple[Callable[[str, MCTSSettings, int], pyspiel.Bot], tuple[str, MCTSSettings, int]]:
        """For `pickle`."""
        return _mcts_bot_for, (str(self._game), *self._made_of)

    def for_game(self, number: int) -> Self:
        """This bot for one match of a series, as `player.PerGamePlayer` has it."""
        settings, seed = self._made_of
        return type(self)(self._game, settings, seed_of_game(seed, number))

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`.

        Raises:
            SearchError: no player is to move in it, or it is not of the bot's game: OpenSpiel would crash.
        """
        require_open_state(self._game, state)
        action: int = super().step(state)
        return action

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """The policy in `state`, and the action to play.

        Raises:
            SearchError: as `step`.
        """
        require_open_state(self._game, state)
        answer: tuple[list[tuple[int, float]], int] = super().step_with_policy(state)
        return answer


class _MCTSBotOfPythonGames(MCTSBot):
    """The same, for a game written in Python: OpenSpiel 2.0.2's `step` lets go of Python's lock and then crashes."""

    def step(self, state: pyspiel.State) -> int:
        """The action that `step_with_policy` chooses, which is `step`'s and keeps the lock."""
        action: int = self.step_with_policy(state)[1]
        return action


class ClockedMCTSBot(pyspiel.Bot):  # type: ignore[misc]
    """OpenSpiel's MCTS with a match clock: a bot of its own for each move, with the seconds that the clock allots it.

    `pickle` gives one as new, its seed the same.
    """

    def __init__(self, game: pyspiel.Game, settings: MCTSSettings, seed: int) -> None:
        super().__init__()
        assert settings.match_seconds is not None
        self._game = game
        self._made_of = settings, seed
        self._clock = GameClock.of(game, settings.match_seconds, settings.match_increment)
        self._seeds = random.Random(seed)

    @property
    def match_seconds(self) -> float:
        """The seconds of its match clock."""
        return self._clock.seconds

    @property
    def match_increment(self) -> float:
        """The seconds that each own move brings to its match clock."""
        return self._clock.increment

    def __reduce__(self) -> tuple[Callable[[str, MCTSSettings, int], pyspiel.Bot], tuple[str, MCTSSettings, int]]:
        """For `pickle`."""
        return _mcts_bot_for, (str(self._game), *self._made_of)

    def for_game(self, number: int) -> Self:
        """This bot for one match of a series, as `player.PerGamePlayer` has it."""
        settings, seed = self._made_of
        return type(self)(self._game, settings, seed_of_game(seed, number))

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`.

        Raises:
            SearchError: no player is to move in it, or it is not of the bot's game.
        """
        return self.step_with_policy(state)[1]

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """The policy in `state`, and the action to play.

        Raises:
            SearchError: as `step`.
        """
        require_open_state(self._game, state)
        start = time.perf_counter()
        settings = self._made_of[0]
        allotted = self._clock.allot(state)
        seconds = allotted if settings.seconds is None else min(allotted, settings.seconds)
        settings = replace(settings, match_seconds=None, match_increment=0.0, seconds=seconds)
        bot = make_mcts_bot(self._game, settings, self._seeds.getrandbits(63))
        answer: tuple[list[tuple[int, float]], int] = bot.step_with_policy(state)
        self._clock.spend(time.perf_counter() - start)
        return answer

    def provides_policy(self) -> bool:
        """True: `step_with_policy` answers."""
        return True

    def restart(self) -> None:
        """A new match begins, with all the seconds."""
        self._clock.restart()

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`, with all the seconds."""
        self._clock.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Another player chose `action` in `state`; the next state says so too."""


def _mcts_bot_for(game: str, settings: MCTSSettings, seed: int) -> pyspiel.Bot:
    return make_mcts_bot(load_game(game), settings, seed)

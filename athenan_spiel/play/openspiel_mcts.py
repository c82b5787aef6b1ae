"""OpenSpiel's MCTS, `pyspiel.MCTSBot`, with the settings of this project's comparisons.

Its limit is a number of simulations, a time per move, or a game clock. OpenSpiel checks the time after each simulation,
and frees its tree before it returns. The search therefore receives only `SEARCH_TIME_FRACTION` of the time. A move
exceeds its limit by at most one simulation, and ends early in a state that the solver has proven.

The first simulation does not expand the root, and OpenSpiel 2.0.2 reads invalid memory if it was the only one, because
of the limit or because the time was over. The action is random then.
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
"""Exploration constant. This and the next two settings are those of OpenSpiel's Python example of MCTS."""
ROLLOUTS = 1
"""Number of random rollouts per leaf, so a simulation is one rollout."""
SOLVE = True
"""Whether proven results are backed up (MCTS-Solver)."""
MEMORY_MB = 1000
"""Maximum size of a tree, in MB. A larger tree loses its least visited nodes. Each move has a new tree."""
MIN_SECONDS = 0.05
MIN_FIRST_SIMULATIONS = 20
"""Times per move below which the first simulation may be the only one: in seconds, and in times of a simulation."""
SEARCH_TIME_FRACTION = 0.99
"""Fraction of a move's time for simulations. The rest is for freeing the tree, which took up to 0.5 % of that time."""


@dataclass(frozen=True, kw_only=True)
class MCTSSettings:
    """Settings of a bot. Either `simulations` or a time must be given.

    Attributes:
        name: name of this kind of agent, for messages.
        simulations: number of simulations per move. None simulates as long as the time allows.
        seconds: time per move, in seconds.
        match_seconds: game clock: time for all moves of a game, in seconds.
        match_increment: seconds that each own move adds to the game clock.
        uct_constant: c of Q(s, a) + c · sqrt(ln N(s) / n(s, a)), for returns in [-1, 1].
        solve: whether proven results are backed up.
        memory_mb: maximum size of the tree, in MB.
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
    """Returns `pyspiel.MCTSBot` (UCT) with random rollouts and the default settings, for either colour.

    Args:
        game: game to play.
        simulations: number of simulations per move.
        seed: random seed of tie-breaking and rollouts.

    Raises:
        ConfigError: as `make_mcts_bot`.
    """
    return make_mcts_bot(game, MCTSSettings(simulations=simulations), seed)


def make_mcts_bot(game: pyspiel.Game, settings: MCTSSettings, seed: int) -> pyspiel.Bot:
    """Returns `pyspiel.MCTSBot` with these settings, for either colour.

    Args:
        game: game to play.
        settings: settings of the bot.
        seed: random seed of tie-breaking and rollouts.

    Raises:
        ConfigError: the simulations or the MB are less than 1 or more than a billion; both simulations and a time are
            given, or neither; c is negative; or the game has intermediate rewards or simultaneous moves, which
            `MCTSBot` cannot play.
        BudgetError: a time is not above zero, or there is an increment without a game clock.
    """
    name, simulations = settings.name, settings.simulations
    if game.get_type().dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise ConfigError(f"{name} needs a game in which one player moves at a time, got {str(game)!r}")
    if game.get_type().reward_model != pyspiel.GameType.RewardModel.TERMINAL:
        raise ConfigError(f"{name} needs a game that rewards at its end only, got {str(game)!r}: use another agent")
    require_argument(f"simulations of {name.upper()}", simulations, Count, ConfigError, or_none=True)
    require_argument(f"the MB of {name.upper()}'s tree", settings.memory_mb, Count, ConfigError)
    times = (settings.seconds, settings.match_seconds)
    if (simulations is None) == (times == (None, None)):  # OpenSpiel's bot ignores simulations when it has a time
        raise ConfigError(f"{name} takes simulations or a time, not both; got {shown(simulations)} and {shown(times)}")
    if not 0 <= settings.uct_constant < float("inf"):
        raise ConfigError(
            f"the exploration constant of {name.upper()} must be zero or more, got {shown(settings.uct_constant)}"
        )
    if settings.seconds is not None:
        Budget(seconds=settings.seconds)
    require_times(settings.match_seconds, settings.match_increment)
    if settings.match_seconds is not None:
        return ClockedMCTSBot(game, settings, seed)
    kind = _PythonGameMCTSBot if hasattr(game, "make_py_observer") else MCTSBot
    return kind(game, settings, seed)


class MCTSBot(pyspiel.MCTSBot):  # type: ignore[misc]
    """`pyspiel.MCTSBot` that can be pickled. An unpickled bot is a new one with the same settings and seed.

    Attributes:
        seconds: time per move, in seconds; None if simulations are the limit.
    """

    def __init__(self, game: pyspiel.Game, settings: MCTSSettings, seed: int) -> None:
        seeds = random.Random(seed)
        evaluator = pyspiel.RandomRolloutEvaluator(ROLLOUTS, seeds.getrandbits(31))
        limits: dict[str, Any] = {}
        if settings.seconds is not None:
            limits["max_wall_clock_time"] = SEARCH_TIME_FRACTION * settings.seconds
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
        self._rng = random.Random(seed)
        self._two_simulations: bool | None = None
        self.seconds = settings.seconds

    def __reduce__(self) -> tuple[Callable[[str, MCTSSettings, int], pyspiel.Bot], tuple[str, MCTSSettings, int]]:
        """Returns the constructor call for `pickle`."""
        return _make_for_game_string, (str(self._game), *self._made_of)

    def for_game(self, number: int) -> Self:
        """Returns this bot for one game of a series; see `player.PerGamePlayer`."""
        settings, seed = self._made_of
        return type(self)(self._game, settings, seed_of_game(seed, number))

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: no player is to move in it, or it belongs to another game. OpenSpiel would crash.
        """
        require_open_state(self._game, state)
        if self._two_simulations is None:
            self._two_simulations = self._has_two_simulations(state)
        if not self._two_simulations:
            return self.step_with_policy(state)[1]
        action: int = super().step(state)  # the only method that releases Python's global lock
        return action

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """Returns the policy in `state`, which is 1 for the action to play, and this action.

        Raises:
            SearchError: as `step`.
        """
        require_open_state(self._game, state)
        root = self.mcts_search(state)
        has_children = root.explore_count > 1
        action = root.best_child().action if has_children else self._rng.choice(state.legal_actions())
        return [(action, 1.0)], action

    def _has_two_simulations(self, state: pyspiel.State) -> bool:
        """Returns whether moves are expected to have at least two simulations. One in `state` is timed for it."""
        if self.seconds is None:
            return self._made_of[0].simulations != 1
        single = MCTSBot(self._game, MCTSSettings(simulations=1), 0)
        start = time.perf_counter()
        single.mcts_search(state)
        return self.seconds >= max(MIN_SECONDS, MIN_FIRST_SIMULATIONS * (time.perf_counter() - start))


class _PythonGameMCTSBot(MCTSBot):
    """Bot for a game written in Python. `step` of OpenSpiel 2.0.2 releases Python's global lock and then crashes."""

    def _has_two_simulations(self, state: pyspiel.State) -> bool:
        """Returns False, so `step` keeps the lock."""
        return False


class ClockedMCTSBot(pyspiel.Bot):  # type: ignore[misc]
    """OpenSpiel's MCTS with a game clock. Each move uses a new bot with the time that the clock allots.

    It can be pickled. An unpickled bot is a new one with the same settings and seed.
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
        """Seconds of its game clock."""
        return self._clock.seconds

    @property
    def match_increment(self) -> float:
        """Seconds that each own move adds to its game clock."""
        return self._clock.increment

    def __reduce__(self) -> tuple[Callable[[str, MCTSSettings, int], pyspiel.Bot], tuple[str, MCTSSettings, int]]:
        """Returns the constructor call for `pickle`."""
        return _make_for_game_string, (str(self._game), *self._made_of)

    def for_game(self, number: int) -> Self:
        """Returns this bot for one game of a series; see `player.PerGamePlayer`."""
        settings, seed = self._made_of
        return type(self)(self._game, settings, seed_of_game(seed, number))

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: no player is to move in it, or it belongs to another game.
        """
        return self.step_with_policy(state)[1]

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """Returns the policy in `state` and the action to play.

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
        """Returns True: `step_with_policy` is implemented."""
        return True

    def restart(self) -> None:
        """Starts a new game and resets the clock."""
        self._clock.restart()

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state` and resets the clock."""
        self._clock.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Does nothing: the next state contains `action`."""


def _make_for_game_string(game: str, settings: MCTSSettings, seed: int) -> pyspiel.Bot:
    return make_mcts_bot(load_game(game), settings, seed)

"""Fits settings to a game and to the training time before a run begins.

The outcome is the score if the game has one, else additive depth. Training samples are augmented by symmetries if the
board has all symmetries of a square and searching for them is fast. With much chance, the search, the targets and
the exploration are those of `presets.TD_LAMBDA`.

A short run warms up on random games if a linear function of the inputs explains enough of the variance of their
results (`explained_by_inputs`).

The other settings depend on the length and speed of games. Random games measure their length, their branching factor
and the speed of the rules. The cost of a game is its number of moves times the evaluations per move. If it is low, the
settings stay. If it is high, four settings are reduced:

- the number of games at once, so that the first game is learned early;
- the evaluations per move;
- the length of a descent, so that an iteration of Descent ends before the end of the game;
- the number of games in the replay, so that each is learned as often as in a run of many games.

If the game has a parameter `max_length`, it is reduced, too.

With a time limit, `fit_to_time` reduces the first three further until the first games are expected to end within the
fraction `FIRST_GAMES_SHARE` of it, by the measured speed of self-play, or within `LATEST_SHARE` if that takes fewer
than `LEAST_AT_ONCE` games or `least_evaluations`. During the run, `adaptation` does the same by the measured progress.
Both use `reduced`; `fit_to_time` also limits descents if games of maximum length would take too long.

`widest` chooses the width of the network. A wide network learns more from each state and is slower. In a short run a
narrow network learns far more states, is as strong, and plays faster (`docs/strength.md`). So the duration of a
gradient step is measured on this machine. The widest network that can learn `MIN_SAMPLES` states in time is chosen.

Lengths and branching factors are the same on every machine, unless random games take longer than `MEASURE_SECONDS`. The
speed of the rules only distinguishes C++ games from far slower ones. `MEASURE_SECONDS` and this speed are in
processor time, so time in which other processes use the core doesn't count.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeGuard

import numpy as np
import pyspiel

from athenan_spiel.config import SYMMETRIES, DescentConfig, SearchConfig, TrainingConfig, UbfmConfig
from athenan_spiel.config.settings import MOST
from athenan_spiel.config.training import WARM_UP_SHARE
from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.symmetries import find_symmetries
from athenan_spiel.errors import CheckpointError, ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import CHANCE_SAMPLES, has_chance, is_chance, possible_actions
from athenan_spiel.games.children import children_of
from athenan_spiel.games.measures import has_fixed_turns
from athenan_spiel.games.measures import measured as measured_in
from athenan_spiel.games.playout import random_moves
from athenan_spiel.games.rows import ZERO_SUM
from athenan_spiel.games.spec import read_spec
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay.base import Batch
from athenan_spiel.learning.warm_up import RandomStates, linearly_explained
from athenan_spiel.networks import make_network
from athenan_spiel.outcomes.registry import suggested
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.system.machine import cores
from athenan_spiel.training.actor import Actor, PublishedWeights
from athenan_spiel.training.preflight import learning_device, require_resources
from athenan_spiel.training.presets import BY_TIME, FITTED, QUICK, TD_LAMBDA

RANDOM_GAMES = 16
"""Number of random games."""
MAX_MOVES = 300
"""Maximum length of a random game, and maximum `max_length` chosen, in moves; longer games hardly ever end."""
MEASURE_SECONDS = 2.0
"""Time limit of all random games, in seconds."""
SPEED_STATES = 10_000
"""Maximum number of states by which the speed is measured; slow games use fewer."""
SLOW_STATES_PER_SECOND = 40_000
"""States created and encoded per second, below which a game is slow. C++ games reach twice that, Ludii half."""
SLOW_COST_FACTOR = 20
"""Cost of a state of a slow game, relative to a fast game; about the ratio of their speeds."""
LOW_COST = 1_000_000
"""Maximum cost of a game for which the settings stay, in states of a fast game: 16 such games take minutes."""
EVALUATIONS_PER_GAME = 60_000
"""Evaluations per slow game, at least `LEAST_EVALUATIONS` per move; fast games get `SLOW_COST_FACTOR` times as many."""
GAMES_AT_ONCE = 8
"""Games at once for games of cost `LOW_COST`; half as many for twice the cost."""
MIN_GAMES_AT_ONCE = 2
"""Minimum number of games at once: one is searched while the other is evaluated."""
REPLAY_GAMES = 20
"""Number of games in the replay if the cost of a game is high."""
LENGTH_FACTOR = 2.0
"""`max_length` divided by the mean length of random games, as trained agents play longer games."""
LENGTH_STEP = 50
"""`max_length` is a multiple of this, so that small differences between measurements rarely change it."""
FIRST_GAMES_SHARE = 0.03
"""Fraction of the training time within which the first games should end."""
LATEST_SHARE = 0.1
"""The same if games at once are reduced below `LEAST_AT_ONCE`, or evaluations per move below `least_evaluations`."""
MEASURED_SHARE = 0.005
"""Maximum duration of one measurement, as a fraction of the training time."""
MOST_MEASURED_SECONDS = 1.0
"""Maximum duration of one measurement of the speed of self-play, in seconds, after the first call of the engine."""
WORKER_START_SECONDS = 5.0
"""Time until workers have started, in seconds."""
REUSE_FACTOR = 0.75
"""Evaluations of a game, divided by those of the same number of searches in new trees. It is below 1, because a search
continues in the tree of the previous move. Measured: 0.45 (Connect Four) to 0.9 (Hex 11)."""
LEAST_AT_ONCE = 4
"""Games at once are reduced to this number before evaluations per move are."""
LEAST_EVALUATIONS, LEAST_STATES = 200, 10
"""Evaluations per move are reduced to the first number, or to those of the second number of states, before games at
once are reduced further."""
MUCH_CHANCE = 0.2
"""Minimum fraction of chance states in random games, for `presets.TD_LAMBDA`."""
LONG_DESCENT = 4.0
"""Maximum length of a descent, divided by the mean length of random games."""
LEAST_EXPLAINED_LINEARLY = 0.15
"""Minimum fraction of the variance of random games' results that a linear function explains, for a warm-up
(`docs/strength.md`)."""
LONGEST_WITH_WARM_UP = 180.0
"""Maximum duration of a run with a warm-up, in seconds; for longer runs no gain is known."""
RANDOM_STATES = 4096
"""Maximum number of states for `explained_by_inputs`."""
STRIDE = 8
"""Each `STRIDE`-th of the random states is used: states of one game have the same result."""
WIDTHS = (64, 32, 16)
"""Numbers of filters to choose from."""
MIN_SAMPLES = 1_800_000
"""Minimum number of states that a run could learn in its time if it did nothing else."""
MEASURED_ROWS = 512
"""Maximum number of rows of the measured minibatch; its time is scaled to a larger `batch_size`."""
MEASURED_STEPS = 5
"""Maximum number of measured steps, after one that isn't measured; the fastest counts."""


@dataclass(frozen=True)
class RandomGames:
    """Measurements of random games. Games longer than `MAX_MOVES` count as that long.

    Attributes:
        length: mean length of a game, in moves.
        branching: mean number of legal actions.
        slow: whether states are created far more slowly than those of C++ games.
        cut_off: fraction of games that were cut off after `MAX_MOVES`.
        chance: fraction of chance states with more than one outcome, among the states after the first decision.
        explained: see `explained_by_inputs`; None if it wasn't measured.
    """

    length: float
    branching: float
    slow: bool = False
    cut_off: float = 0.0
    chance: float = 0.0
    explained: float | None = None

    def __str__(self) -> str:
        cut = f" ({self.cut_off:.0%} were longer)" if self.cut_off else ""
        chance = f", {self.chance:.0%} chance states" if self.chance else ""
        text = f"random games take {self.length:.0f} moves{cut}, branching factor {self.branching:.0f}{chance}"
        if self.explained is None:
            return text
        return f"{text}, a linear function explains {max(0.0, self.explained):.0%} of their results"


@dataclass(frozen=True)
class Fit:
    """Measurements that the settings of a run were fitted to. Each checkpoint contains them.

    Attributes:
        lengths: length and branching factor of random games.
        names: settings that may be reduced during the run, from `presets.BY_TIME`.
    """

    lengths: RandomGames
    names: Collection[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Returns the content as JSON values."""
        return {"length": self.lengths.length, "branching": self.lengths.branching, "names": list(self.names)}

    @classmethod
    def restored(cls, content: Mapping[str, Any] | None, config: TrainingConfig, before: TrainingConfig) -> Self | None:
        """Returns the `Fit` of a checkpoint, without the names of settings that the user has edited since.

        Args:
            content: value of `to_dict`; None if the settings were not fitted.
            config: settings in `config.toml`.
            before: settings in the checkpoint.

        Raises:
            CheckpointError: the content is invalid.
        """
        if content is None:
            return None
        length, branching, names = (content.get(name) for name in ("length", "branching", "names"))
        if not (_is_mean(length) and _is_mean(branching) and isinstance(names, list)):
            raise CheckpointError(
                "the checkpoint does not fit this run: expected fit to contain length, branching, names"
            )
        both = [(x.matches_at_once, x.search.evaluations, longest_descent_of(x.search)) for x in (config, before)]
        same = [name for name, new, old in zip(BY_TIME, *both, strict=True) if new == old]
        return cls(RandomGames(length, branching), [name for name in same if name in names])


def _is_mean(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 < value <= MOST


def measure(
    game: pyspiel.Game, encoder: Encoder | None = None, *, clock: Callable[[], float] = time.thread_time
) -> RandomGames:
    """Play random games, always from the same seed, for at most `MEASURE_SECONDS` by `clock`."""
    rng = random.Random(0)
    end = clock() + MEASURE_SECONDS
    lengths: list[int] = []
    legal: list[int] = []
    seen: list[pyspiel.State] = []
    rolls = states = 0
    while len(lengths) < RANDOM_GAMES and clock() < end:
        state = game.new_initial_state()
        decided = False
        for actions in random_moves(state, rng.choice):
            if state.move_number() >= MAX_MOVES or clock() >= end:
                break
            if len(legal).bit_count() <= 1:  # after 0, 1, 2, 4, ... moves: a few states from all parts of games
                seen.append(state.clone())
            by_chance = is_chance(state)
            decided = decided or not by_chance
            states += decided
            rolls += decided and by_chance and len(possible_actions(state)) > 1
            legal.append(min(len(actions), CHANCE_SAMPLES) if by_chance else len(actions))
        if state.is_terminal() or state.move_number() >= MAX_MOVES:
            lengths.append(state.move_number())
    length = statistics.mean(lengths) if lengths else float(MAX_MOVES)
    cut_off = sum(length >= MAX_MOVES for length in lengths) / max(1, len(lengths))
    return RandomGames(
        length,
        statistics.mean(legal) if legal else 1.0,
        _is_slow(encoder or Encoder(game), seen),
        cut_off,
        rolls / max(1, states),
    )


def _is_slow(encoder: Encoder, states: list[pyspiel.State]) -> bool:
    """Whether fewer than `SLOW_STATES_PER_SECOND` children of `states` are created and encoded per second."""
    start, count, seconds = time.process_time(), 0, 0.0
    for state in itertools.cycle(states):
        children = children_of(state, state.legal_actions())
        encoder.encode(children, np.empty((len(children), *encoder.shape), np.float32))
        count += len(children)
        seconds = time.process_time() - start
        if count >= SPEED_STATES or seconds >= SPEED_STATES / SLOW_STATES_PER_SECOND:
            break
    return count < SLOW_STATES_PER_SECOND * seconds


def fitted(config: TrainingConfig, measured: RandomGames, names: Collection[str] = FITTED) -> TrainingConfig:
    """Returns `config` with the settings in `names` fitted to the length and speed of games.

    Settings are only reduced. If the search has a time limit per move, they stay.
    """
    search = config.search
    unbounded = replace(search, longest_descent=None) if isinstance(search, DescentConfig) else search
    per_move = evaluations_per_move(unbounded, measured)
    state_cost = SLOW_COST_FACTOR if measured.slow else 1
    searched = 1.0 if config.self_play.method == "apprentice" else measured.length  # states searched per game
    cost = state_cost * searched * per_move / LOW_COST
    if cost <= 1 or search.seconds is not None:
        return config
    affordable = SLOW_COST_FACTOR * EVALUATIONS_PER_GAME / state_cost / searched
    evaluations = max(LEAST_EVALUATIONS, rounded(affordable))
    evaluations = min(search.evaluations or evaluations, evaluations)
    at_once = max(MIN_GAMES_AT_ONCE, 1 << int(math.log2(max(1.0, GAMES_AT_ONCE / cost))))
    if "search.evaluations" in names:
        search = replace(search, evaluations=evaluations)
    if "search.longest_descent" in names and isinstance(search, DescentConfig) and search.evaluations is not None:
        longest = max(1, round(search.evaluations / measured.branching))
        if longest < measured.length:
            search = replace(search, longest_descent=min(search.longest_descent or longest, longest))
    if "matches_at_once" in names:
        config = replace(config, matches_at_once=min(config.matches_at_once, at_once))
    if "replay.matches" in names:
        kept = min(config.replay.matches, REPLAY_GAMES)
        config = replace(config, replay=replace(config.replay, matches=kept))
    return replace(config, search=search)


def fit_to(
    game: pyspiel.Game,
    config: TrainingConfig,
    measured: RandomGames,
    names: Collection[str],
    elapsed: Callable[[], float] | None = None,
    encoder: Encoder | None = None,
) -> tuple[pyspiel.Game, TrainingConfig, str | None]:
    """Returns the game and the settings with those in `names` fitted, and a description of the choice.

    The description is None if `names` is empty.

    Args:
        elapsed: returns the training time until now, in seconds. By default settings are not fitted to the training
            time.
        encoder: encoder of the game; by default a new one.
    """
    if not names:
        return game, config, None
    encoder = encoder or Encoder(game, edges=config.encoding.edges)
    fast_names = [name for name in names if name != "encoding.symmetries" or not measured.slow]
    much_chance = measured.chance >= MUCH_CHANCE
    learns_td = False
    if much_chance and "chance" in names:
        before, config = config, with_chance(config, names)
        learns_td = config != before
    config = suited(config, game, encoder, fast_names)
    is_long = fitted(config, measured) != config
    if is_long and "max_length" in names:
        game = with_length(game, measured)
    config = fitted(config, measured, names)
    if "network.filters" in names:
        filters = widest(config, encoder)
        config = replace(config, network=replace(config.network, filters=filters))
    if elapsed is not None and "warm_up.seconds" in names and _may_warm_up(config, measured):
        explained = explained_by_inputs(game, encoder, config)
        measured = replace(measured, explained=explained)
        if explained >= LEAST_EXPLAINED_LINEARLY:
            seconds = WARM_UP_SHARE * (config.seconds or 0.0)
            config = replace(config, warm_up=replace(config.warm_up, method="games", seconds=seconds))
    if elapsed is not None and not set(names).isdisjoint(BY_TIME):
        longest = game.max_game_length()
        speed = functools.partial(evaluations_per_second, game, encoder=encoder)
        config = fit_to_time(config, measured, longest, names, speed, elapsed)
    text = choice_text(config, game, [name for name in names if name != "chance" or learns_td])
    if much_chance and config.targets.method == "tree":
        text += "; TD(λ) suits this much chance, and the preset td_lambda has it"
    return game, config, f"{measured}; chosen: {text}"


def suited(
    config: TrainingConfig, game: pyspiel.Game, encoder: Encoder, names: Collection[str] = FITTED
) -> TrainingConfig:
    """Returns `config` with the outcome and the symmetries that suit the game, if they are in `names`."""
    if "outcome" in names:
        outcome, _ = suggested(
            game.num_players(),
            scored=measured_in("score", game),
            fixed_turns=has_fixed_turns(game),
            chance=has_chance(game),
            zero_sum=game.get_type().utility == ZERO_SUM,
        )
        config = replace(config, outcome=outcome)
    if "encoding.symmetries" in names and has_all_symmetries(game, encoder):
        config = replace(config, encoding=replace(config.encoding, symmetries="all"))
    return config


def with_chance(config: TrainingConfig, names: Collection[str] = FITTED) -> TrainingConfig:
    """Returns `config` with search, targets and exploration of `presets.TD_LAMBDA`, if they are those of `quick`.

    The games at once and in replay are then those of `TD_LAMBDA`, too, if they are in `names`.
    """
    if (config.search, config.targets, config.exploration) != (QUICK.search, QUICK.targets, QUICK.exploration):
        return config
    if "matches_at_once" in names and config.workers.max_staleness is None:
        config = replace(config, matches_at_once=TD_LAMBDA.matches_at_once)
    if "replay.matches" in names:
        kept = replace(config.replay, matches=TD_LAMBDA.replay.matches, learning_share=TD_LAMBDA.replay.learning_share)
        config = replace(config, replay=kept)
    return replace(config, search=TD_LAMBDA.search, targets=TD_LAMBDA.targets, exploration=TD_LAMBDA.exploration)


def _may_warm_up(config: TrainingConfig, measured: RandomGames) -> bool:
    """Returns whether a warm-up may suit a run: a short run of tree learning in a fast game whose random games end."""
    short = config.seconds is not None and config.seconds <= LONGEST_WITH_WARM_UP
    fast = not measured.slow and measured.cut_off < 0.5
    has_none = config.warm_up.states is None and config.warm_up.seconds is None
    return short and fast and has_none and config.targets.method == "tree"


def explained_by_inputs(
    game: pyspiel.Game, encoder: Encoder, config: TrainingConfig, clock: Callable[[], float] = time.thread_time
) -> float:
    """Returns the fraction of the variance of random games' results that a linear function of the inputs explains.

    The games are always the same, and are played for at most `MEASURED_SHARE` of the training time by `clock`. With
    few games the fraction is smaller; without a game it is 0.
    """
    end = clock() + min(MOST_MEASURED_SECONDS, MEASURED_SHARE * (config.seconds or math.inf))
    states = RandomStates(
        game,
        gain_of(game),
        encoder,
        method="games",
        states=RANDOM_STATES * STRIDE,
        seed=0,
        processes=1,
        is_over=lambda: clock() >= end,
    )
    chunks = list(states.chunks())
    if not chunks:
        return 0.0
    inputs = np.concatenate([chunk.rows.unpack()[::STRIDE] for chunk in chunks])
    return linearly_explained(inputs, np.concatenate([chunk.values[::STRIDE] for chunk in chunks]))


def has_all_symmetries(game: pyspiel.Game, encoder: Encoder) -> bool:
    """Whether the board has all symmetries of a square.

    Only then is augmentation worthwhile. It made agents far stronger in Othello, but not in Connect Four, which has one
    symmetry.
    """
    found = find_symmetries(game, np.random.default_rng(0), encoder)
    return len(found.names) == 1 + len(SYMMETRIES)


def with_length(game: pyspiel.Game, measured: RandomGames) -> pyspiel.Game:
    """Returns `game` with a smaller `max_length`, if it has this parameter and the game string does not set it."""
    least = math.ceil(LENGTH_FACTOR * measured.length / LENGTH_STEP) * LENGTH_STEP
    longest = min(MAX_MOVES, least)
    if not _takes_length(game) or game.max_game_length() <= longest:
        return game
    return load_game(f"{str(game)[:-1]},max_length={longest})")


def fit_names(names: Collection[str] | None, game: pyspiel.Game | str, *, fits: bool) -> Collection[str]:
    """Returns the names to fit: `names` if given, else all if `fits`; never a `max_length` that the game string sets.

    Raises:
        ConfigError: a name is not in `FITTED`.
    """
    if names is None:
        names = FITTED if fits else ()
    if isinstance(names, str) or not isinstance(names, Collection) or not set(names) <= set(FITTED):
        raise ConfigError(f"fit must contain names among {', '.join(FITTED)}, got {shown(names)}")
    has_length = isinstance(game, str) and "max_length" in read_spec(game.strip()).parameters
    return [name for name in FITTED if name in names and not (has_length and name == "max_length")]


def choice_text(config: TrainingConfig, game: pyspiel.Game, names: Collection[str]) -> str:
    """Returns a description of the settings in `names`."""
    search, longest = config.search, longest_descent_of(config.search)
    iterations = f"{search.iterations} iteration{'s' * (search.iterations != 1)}"
    texts = {
        "matches_at_once": f"{config.matches_at_once} game{'s' * (config.matches_at_once > 1)} at once",
        "search.evaluations": f"{search.evaluations:,} evaluations per move" if search.evaluations else "",
        "search.longest_descent": f"descents of {longest} states" if longest else "",
        "replay.matches": f"a replay of {config.replay.matches} games",
        "max_length": f"max_length={game.max_game_length()}" if not _takes_length(game) and _has_length(game) else "",
        "outcome": f"outcome {config.outcome}",
        "encoding.symmetries": f"symmetries {config.encoding.symmetries}",
        "network.filters": f"{config.network.filters} filters",
        "warm_up.seconds": f"a warm-up of {config.warm_up.seconds:g} s" if config.warm_up.seconds else "",
        "chance": f"TD(λ) with λ = {config.targets.trace_decay}, {iterations} of {search.algorithm} per move, "
        "no exploration",
    }
    return ", ".join(texts[name] for name in names if texts[name])


def _has_length(game: pyspiel.Game) -> bool:
    return "max_length" in game.get_type().parameter_specification


def _takes_length(game: pyspiel.Game) -> bool:
    """Whether the game has a parameter `max_length` that its game string does not set."""
    return _has_length(game) and "max_length" not in game.get_parameters()


def longest_descent_of(search: SearchConfig) -> int | None:
    """Returns the maximum number of states of a descent; None without one, and for other searches."""
    return search.longest_descent if isinstance(search, DescentConfig) else None


def evaluations_per_move(search: SearchConfig, lengths: RandomGames) -> float:
    """Returns the number of evaluations that `search` takes for a move in a new tree.

    An iteration of MCTS evaluates one state, one of UBFM all children of a state. An iteration of Descent evaluates all
    children of the states on its way to the end of the game: on average half the length of a game.
    """
    per_iteration = 1.0
    if not search.tells_policy:
        states = min(lengths.length / 2, longest_descent_of(search) or math.inf)
        if isinstance(search, UbfmConfig):
            states = search.lines or 1
        per_iteration = max(states * lengths.branching, per_iteration)
    limit = per_iteration * (search.iterations or math.inf)
    return max(per_iteration, min(search.evaluations or math.inf, limit))


def evaluations_per_second(game: pyspiel.Game, config: TrainingConfig, encoder: Encoder | None = None) -> float:
    """Measure the speed of self-play with these settings and an untrained network, per process of the run.

    Raises:
        ConfigError: the settings require more than this machine has.
    """
    workers = max(1, config.workers.count)
    if config.workers.count:
        threads = config.engine.threads or max(1, cores() // workers)
        config = replace(config, engine=replace(config.engine, threads=threads))
    actor = Actor(game, config, gain_of(game), encoder=encoder)
    playing = actor.play(PublishedWeights(0, actor.weights), None, range(config.matches_at_once), 0.0)
    before, start = 0, time.perf_counter()
    playing.advance()
    if time.perf_counter() - start <= LATEST_SHARE * (config.seconds or math.inf):
        before, start = playing.evaluations, time.perf_counter()  # the first call of an engine takes longer
    seconds = min(MOST_MEASURED_SECONDS, MEASURED_SHARE * (config.seconds or math.inf))
    while (taken := time.perf_counter() - start) < seconds and playing.advance():
        pass
    return max(1.0, playing.evaluations - before) / max(taken, 1e-6) * min(1.0, cores() / workers)


def fit_to_time(
    config: TrainingConfig,
    lengths: RandomGames,
    longest: int,
    names: Collection[str],
    speed: Callable[[TrainingConfig], float],
    elapsed: Callable[[], float] = lambda: 0.0,
) -> TrainingConfig:
    """Reduce the settings in `names` so that the first games end within `FIRST_GAMES_SHARE` of the training time.

    They may end within `LATEST_SHARE` if this takes few games at once and short searches; see `reduced`. Both are
    fractions of the time after the warm-up.

    Args:
        config: settings; they stay without a time limit of the run, or with a time limit of the search.
        longest: maximum length of a game, in moves.
        speed: measures the evaluations per second of one process of the run.
        elapsed: returns the training time until now, in seconds, which includes measurements of the speed.
    """
    search = config.search
    if config.seconds is None or search.seconds is not None or search.network_seconds is not None:
        return config
    begins = config.warm_up_seconds
    first, latest = (share * (config.seconds - begins) for share in (FIRST_GAMES_SHARE, LATEST_SHARE))
    start = WORKER_START_SECONDS if config.workers.count else 0.0
    searched = 1.0 if config.self_play.method == "apprentice" else lengths.length
    at_once = None
    while at_once != config.matches_at_once:  # the speed depends on the number of games at once
        at_once = config.matches_at_once
        per_second = speed(config)
        spent = max(0.0, elapsed() - begins) + start
        early, late = (per_second * max(end / 2, end - spent) for end in (first, latest))
        if at_once * min(longest, 1e6) * lengths.branching > early:
            config = _bounded(config, LONG_DESCENT * lengths.length, longest, names)
        evaluations = at_once * searched * evaluations_per_move(config.search, lengths) * REUSE_FACTOR
        config = reduced(config, evaluations / early, evaluations / late, lengths, names)
        if spent - start > latest:
            break  # each further measurement would take as long
    return config


def reduced(
    config: TrainingConfig, early: float, late: float, lengths: RandomGames, names: Collection[str]
) -> TrainingConfig:
    """Returns settings with which games in play end sooner, as far as `names` allow.

    Games at once are reduced to `LEAST_AT_ONCE` first, then evaluations per move to `least_evaluations`, until games
    end in 1 / `early` of the time. Then both are reduced to 1, until games end in 1 / `late` of the time. The length of
    a descent is limited if one would take more evaluations than a move has.
    """
    least = least_evaluations(config.search, lengths)
    saved = 1.0
    for wanted, least_at_once, fewest in ((early, LEAST_AT_ONCE, least), (late, 1, 1)):
        factor = wanted / saved
        while factor > 1 and config.matches_at_once > least_at_once and "matches_at_once" in names:
            at_once = max(least_at_once, config.matches_at_once // 2)
            saved *= config.matches_at_once / at_once
            factor = wanted / saved
            config = replace(config, matches_at_once=at_once)
        search = config.search
        before = evaluations_per_move(search, lengths)
        if factor > 1 and before > fewest and "search.evaluations" in names:
            evaluations = max(fewest, rounded(before / factor))
            evaluations = min(search.evaluations or evaluations, evaluations)
            config = replace(config, search=replace(search, evaluations=evaluations))
            config = _bounded(config, evaluations / lengths.branching, lengths.length, names)
            saved *= before / evaluations_per_move(config.search, lengths)
    return config


def least_evaluations(search: SearchConfig, lengths: RandomGames) -> int:
    """Returns the number of evaluations per move below which a search is too short to be worth more games.

    A new state takes one evaluation in MCTS, and in other searches those of its children. The number is rounded down to
    1, 2 or 5 times a power of ten.
    """
    per_state = 1.0 if search.tells_policy else lengths.branching
    return max(LEAST_EVALUATIONS, rounded(LEAST_STATES * per_state))


def _bounded(config: TrainingConfig, states: float, longest: float, names: Collection[str]) -> TrainingConfig:
    """Returns settings with descents of at most `states` states, if that is less than `longest`."""
    search, bound = config.search, max(1, round(states))
    if "search.longest_descent" not in names or not isinstance(search, DescentConfig) or bound >= longest:
        return config
    bound = min(search.longest_descent or bound, bound)
    return replace(config, search=replace(search, longest_descent=bound))


def rounded(number: float) -> int:
    """Returns the largest of 1, 2, 5, 10, 20, 50, ... that is at most `number`.

    So small differences between measurements rarely change a setting.
    """
    power = int(10 ** int(math.log10(max(1.0, number))))
    return max(step * power for step in (1, 2, 5) if step * power <= max(1.0, number))


def widest(config: TrainingConfig, encoder: Encoder, clock: Callable[[], float] = time.perf_counter) -> int:
    """Returns the largest number of filters that the training time allows.

    Without a time limit, or without convolutions, it is the number in `config`.

    Raises:
        ConfigError: the settings require more than this machine has.
    """
    if config.seconds is None or len(encoder.shape) != 3 or config.network.architecture == "mlp":
        return config.network.filters
    require_resources(config, encoder.shape)
    for filters in WIDTHS[:-1]:
        seconds = step_seconds(config, encoder, filters, clock) / config.learner.batch_size
        if MIN_SAMPLES * seconds <= config.seconds:
            return filters
    return WIDTHS[-1]


def step_seconds(
    config: TrainingConfig, encoder: Encoder, filters: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Returns the duration of a gradient step of `config.learner.batch_size` states with this number of filters."""
    settings = replace(config.network, filters=filters, policy="none", policy_filters=None)
    network = make_network(encoder.shape, settings, bounded=False, seed=0)
    learner = Learner(network, config.learner, learning_device(config.engine))
    rows = min(MEASURED_ROWS, config.learner.batch_size)
    batch = Batch(np.zeros((rows, math.prod(encoder.shape)), np.float32), Labels(np.zeros(rows, np.float32)))
    durations = [_seconds(learner, batch, clock) for _ in range(2)]
    most = MEASURED_SHARE * (config.seconds or math.inf)
    while len(durations) < 1 + MEASURED_STEPS and sum(durations) < most:
        durations.append(_seconds(learner, batch, clock))
    return min(durations[1:]) * config.learner.batch_size / rows


def _seconds(learner: Learner, batch: Batch, clock: Callable[[], float]) -> float:
    start = clock()
    learner.learn([batch])
    return clock() - start

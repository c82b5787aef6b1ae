"""Settings fitted to a game before a run begins, and written to its folder.

The outcome is the score if the game has one, else additive depth. Training samples are augmented by symmetries if a
board has all those of a square and finding them is fast. The network is as wide as the training time allows
(`time_budget`).

The other settings follow from the length and speed of games. Some random games show their length and branching factor,
and the speed of the rules. The cost of a game is its number of moves times the evaluations per move. If it is low, the
settings stay. If it is high, fewer games are played at once, so that the first one is learned soon; a move gets fewer
evaluations; Descent ends an iteration before the end of the game; and the replay keeps fewer games, so that each is
learned as often as in a run of many games. A game with a `max_length` gets a smaller one. With a time limit,
`time_budget` reduces the first three further until the first games end within a tenth of it.

Lengths and branching factors are the same on every machine, unless random games take longer than `MEASURE_SECONDS`.
Speed only distinguishes rules in C++ from far slower ones. Both are measured in this thread's or process's own time.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import random
import statistics
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import pyspiel

from athenan_spiel.config import SYMMETRIES, TrainingConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.symmetries import find_symmetries
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.children import children_of
from athenan_spiel.games.measures import measured as measured_in
from athenan_spiel.games.playout import random_moves
from athenan_spiel.games.spec import read_spec
from athenan_spiel.outcomes.registry import suggested
from athenan_spiel.training.presets import BY_TIME, FITTED
from athenan_spiel.training.time_budget import (
    LEAST_EVALUATIONS,
    Lengths,
    evaluations_per_move,
    evaluations_per_second,
    fit_to_time,
    rounded,
    widest,
)

MATCHES = 16
"""Number of random games."""
LONGEST = 300
"""Maximum length of a random game, and maximum `max_length` chosen, in moves; longer games hardly ever end."""
MEASURE_SECONDS = 2.0
"""Time limit of all random games, in seconds."""
SPEED_STATES = 10_000
"""Number of states that the speed is measured with, or fewer if the game is slow."""
SLOW = 40_000
"""States created and encoded per second below which a game is slow. C++ games reach several times that, Ludii half."""
SLOWNESS = 20
"""Cost of a state of a slow game relative to a fast one, about the ratio of their speeds."""
SHORT = 1_000_000
"""Maximum cost of a game, in states of a fast game, up to which the settings stay: 16 such games take minutes."""
PER_MATCH = 60_000
"""Evaluations per game if it is slow, at least `LEAST_EVALUATIONS` per move; `SLOWNESS` times as many if it is fast."""
AT_ONCE = 8
"""Games at once for games of the cost `SHORT`; half as many for twice the cost."""
FEWEST = 2
"""Minimum of games at once: one is searched while the other is evaluated."""
KEPT = 20
"""Games in the replay if games are long."""
SPARE = 2.0
"""Factor of the mean length of random games that gives `max_length`, as trained players play longer games."""
STEP = 50
"""`max_length` is a multiple of this, so chance rarely changes it."""


@dataclass(frozen=True)
class Measured(Lengths):
    """Measurements of random games. Games longer than `LONGEST` count as that long.

    Attributes:
        slow: whether states are created far more slowly than in a C++ game.
        cut_off: fraction of games longer than `LONGEST`.
    """

    slow: bool
    cut_off: float = 0.0

    def __str__(self) -> str:
        cut = f" ({self.cut_off:.0%} were cut off then)" if self.cut_off else ""
        return f"random games take {self.length:.0f} moves{cut}, branching factor {self.branching:.0f}"


def measure(
    game: pyspiel.Game, encoder: Encoder | None = None, *, clock: Callable[[], float] = time.thread_time
) -> Measured:
    """Play some random games, always the same ones, for at most `MEASURE_SECONDS` by `clock`."""
    rng = random.Random(0)
    end = clock() + MEASURE_SECONDS
    lengths: list[int] = []
    legal: list[int] = []
    seen: list[pyspiel.State] = []
    while len(lengths) < MATCHES and clock() < end:
        state = game.new_initial_state()
        for actions in random_moves(state, rng.choice):
            if state.move_number() >= LONGEST or clock() >= end:
                break
            if len(legal).bit_count() <= 1:  # after 0, 1, 2, 4, ... moves: a few, from everywhere
                seen.append(state.clone())
            legal.append(len(actions))
        if state.is_terminal() or state.move_number() >= LONGEST:
            lengths.append(state.move_number())
    length = statistics.mean(lengths) if lengths else float(LONGEST)
    cut_off = sum(length >= LONGEST for length in lengths) / max(1, len(lengths))
    return Measured(length, statistics.mean(legal) if legal else 1.0, _is_slow(encoder or Encoder(game), seen), cut_off)


def _is_slow(encoder: Encoder, states: list[pyspiel.State]) -> bool:
    """Whether fewer than `SLOW` children of `states` are created and encoded per second."""
    start, made, taken = time.process_time(), 0, 0.0
    for state in itertools.cycle(states):
        children = children_of(state, state.legal_actions())
        encoder.encode(children, np.empty((len(children), *encoder.shape), np.float32))
        made += len(children)
        taken = time.process_time() - start
        if made >= SPEED_STATES or taken >= SPEED_STATES / SLOW:
            break
    return made < SLOW * taken


def fitted(config: TrainingConfig, measured: Measured, names: Collection[str] = FITTED) -> TrainingConfig:
    """Returns `config` with the settings in `names` fitted to the length and speed of games.

    Settings are only reduced. With a time limit per move they stay.
    """
    search = config.search
    a_move = evaluations_per_move(dataclasses.replace(search, longest_descent=None), measured)
    weight = SLOWNESS if measured.slow else 1
    searched = 1.0 if config.self_play.method == "apprentice" else measured.length  # states searched per game
    cost = weight * searched * a_move / SHORT
    if cost <= 1 or search.seconds is not None:
        return config
    room = SLOWNESS * PER_MATCH / weight / searched
    evaluations = max(LEAST_EVALUATIONS, rounded(room))
    evaluations = min(search.evaluations or evaluations, evaluations)
    at_once = max(FEWEST, 1 << int(math.log2(max(1.0, AT_ONCE / cost))))
    if "search.evaluations" in names:
        search = dataclasses.replace(search, evaluations=evaluations)
    if "search.longest_descent" in names and search.algorithm == "descent" and search.evaluations is not None:
        longest = max(1, round(search.evaluations / measured.branching))
        if longest < measured.length:
            search = dataclasses.replace(search, longest_descent=min(search.longest_descent or longest, longest))
    if "matches_at_once" in names:
        config = dataclasses.replace(config, matches_at_once=min(config.matches_at_once, at_once))
    if "replay.matches" in names:
        kept = min(config.replay.matches, KEPT)
        config = dataclasses.replace(config, replay=dataclasses.replace(config.replay, matches=kept))
    return dataclasses.replace(config, search=search)


def fit_to(
    game: pyspiel.Game,
    config: TrainingConfig,
    measured: Measured,
    names: Collection[str],
    elapsed: Callable[[], float] | None = None,
    encoder: Encoder | None = None,
) -> tuple[pyspiel.Game, TrainingConfig, str | None]:
    """Returns the game and the settings with those in `names` fitted, and a description of the choice.

    The description is None if `names` is empty.

    Args:
        elapsed: returns the training time until now, in seconds. By default the settings don't fit the training time.
        encoder: encoder of the game; by default a new one.
    """
    if not names:
        return game, config, None
    encoder = encoder or Encoder(game, edges=config.encoding.edges)
    quick = [name for name in names if name != "encoding.symmetries" or not measured.slow]
    config = suited(config, game, encoder, quick)
    is_long = fitted(config, measured) != config
    if is_long and "max_length" in names:
        game = with_length(game, measured)
    config = fitted(config, measured, names)
    if "network.filters" in names:
        filters = widest(config, encoder)
        config = dataclasses.replace(config, network=dataclasses.replace(config.network, filters=filters))
    if elapsed is not None and not set(names).isdisjoint(BY_TIME):
        longest = game.max_game_length()
        speed = functools.partial(evaluations_per_second, game, encoder=encoder)
        config = fit_to_time(config, measured, longest, names, speed, elapsed)
    return game, config, f"{measured}; chosen: {choice_text(config, game, names)}"


def suited(
    config: TrainingConfig, game: pyspiel.Game, encoder: Encoder, names: Collection[str] = FITTED
) -> TrainingConfig:
    """Returns `config` with the game's outcome and symmetries, if they are in `names`."""
    if "outcome" in names:
        outcome, _ = suggested(game.num_players(), scored=measured_in("score", game))
        config = dataclasses.replace(config, outcome=outcome)
    if "encoding.symmetries" in names and has_all_symmetries(game, encoder):
        config = dataclasses.replace(config, encoding=dataclasses.replace(config.encoding, symmetries="all"))
    return config


def has_all_symmetries(game: pyspiel.Game, encoder: Encoder) -> bool:
    """Whether the board has all symmetries of a square.

    Augmentation made the agent far stronger in Othello, but not in Connect Four, which has one symmetry.
    """
    found = find_symmetries(game, np.random.default_rng(0), encoder)
    return len(found.names) == 1 + len(SYMMETRIES)


def with_length(game: pyspiel.Game, measured: Measured) -> pyspiel.Game:
    """Returns `game` with a smaller `max_length`, if it has that parameter and it was not given."""
    least = math.ceil(SPARE * measured.length / STEP) * STEP
    longest = min(LONGEST, least)
    if not _takes_length(game) or game.max_game_length() <= longest:
        return game
    return load_game(f"{str(game)[:-1]},max_length={longest})")


def fit_names(names: Collection[str] | None, game: pyspiel.Game | str, *, fits: bool) -> Collection[str]:
    """Returns the names to fit: `names` if given, else all if `fits`, without a `max_length` given in the game string.

    Raises:
        ConfigError: a name is not in `FITTED`.
    """
    if names is None:
        names = FITTED if fits else ()
    if isinstance(names, str) or not isinstance(names, Collection) or not set(names) <= set(FITTED):
        raise ConfigError(f"fit must hold names among {', '.join(FITTED)}, got {shown(names)}")
    has_length = isinstance(game, str) and "max_length" in read_spec(game.strip()).parameters
    return [name for name in FITTED if name in names and not (has_length and name == "max_length")]


def choice_text(config: TrainingConfig, game: pyspiel.Game, names: Collection[str]) -> str:
    """Returns a description of the settings in `names`."""
    search = config.search
    texts = {
        "matches_at_once": f"{config.matches_at_once} game{'s' * (config.matches_at_once > 1)} at once",
        "search.evaluations": f"{search.evaluations:,} evaluations per move" if search.evaluations else "",
        "search.longest_descent": f"descents of {search.longest_descent} states" if search.longest_descent else "",
        "replay.matches": f"a replay of {config.replay.matches} games",
        "max_length": f"max_length={game.max_game_length()}" if not _takes_length(game) and _has_length(game) else "",
        "outcome": f"outcome {config.outcome}",
        "encoding.symmetries": f"symmetries {config.encoding.symmetries}",
        "network.filters": f"{config.network.filters} filters",
    }
    return ", ".join(texts[name] for name in names if texts[name])


def _has_length(game: pyspiel.Game) -> bool:
    return "max_length" in game.get_type().parameter_specification


def _takes_length(game: pyspiel.Game) -> bool:
    """Whether the game has a parameter `max_length` that was not given."""
    return _has_length(game) and "max_length" not in game.get_parameters()

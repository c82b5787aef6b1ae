"""Settings that fit a game: chosen once, before a run begins, and written into its folder.

A match is worth its score, if the game has one, else more the sooner it is won. Mirror images are learned where a
board has as many as a square, and the rules are not so slow that looking for them takes long. The network is as wide
as the run has the time for (`widths`).

All else goes by the length and the speed of matches. A few random ones say how long a match is and how wide, and how
fast the states of the game are made. What a match costs follows: its moves, times the states valued for one. Where that
is little, the settings stay as they are. Where it is much, fewer matches are played at once, so that the first one is
learned soon; a move takes fewer evaluations; Descent ends an iteration before the end of the match; and fewer matches
are kept, so that each is learned as often as in a run of many. A game with a `max_length` gets a nearer one. Where the
run has a limit in time, `time_budget` reduces the first three further until the first matches end within a tenth of it.

Lengths and widths are the same on every machine but where the random matches take longer than `MEASURE_SECONDS`. Of the
speed it only matters whether it is that of rules in C++ or far less. Both times are this process's, whatever else runs.
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
"""Random matches that are played."""
LONGEST = 300
"""Moves after which a random match is broken off, and the largest `max_length` that is chosen: matches that go on for
longer hardly ever end at all."""
MEASURE_SECONDS = 2.0
"""No random move is begun after so long."""
SPEED_STATES = 10_000
"""States by which the speed is measured, or as many as are made in the time that `SLOW` gives for them."""
SLOW = 40_000
"""States made and encoded in a second of a processor: games in C++ reach several times that, Ludii's hardly a half."""
SLOWNESS = 20
"""So many times as much a state of a slow game counts, about what the speeds differ by."""
SHORT = 1_000_000
"""Where a match costs no more, in states of a fast game, the settings stay: 16 of them take some minutes at most."""
PER_MATCH = 60_000
"""Evaluations that a match of a slow game is given, `LEAST_EVALUATIONS` a move at least; in a fast one `SLOWNESS` times
as many."""
AT_ONCE = 8
"""Matches at once of the cost `SHORT`; half as many where a match costs twice as much."""
FEWEST = 2
"""Matches at once: one is searched while the values of the other are computed."""
KEPT = 20
"""Matches in the replay of a game whose matches take long."""
SPARE = 2.0
"""`max_length` is this factor times the mean length of random matches, as trained players try to last."""
STEP = 50
"""`max_length` is a multiple of this, so chance changes it rarely."""


@dataclass(frozen=True)
class Measured(Lengths):
    """What random matches showed; one that took more than `LONGEST` moves counts as long as that.

    Attributes:
        slow: states are made far more slowly than in a game in C++.
        cut_off: share of them that took more than `LONGEST` moves.
    """

    slow: bool
    cut_off: float = 0.0

    def __str__(self) -> str:
        cut = f" ({self.cut_off:.0%} were broken off then)" if self.cut_off else ""
        return f"random matches take {self.length:.0f} moves{cut}, of {self.branching:.0f} legal ones each"


def measure(
    game: pyspiel.Game, encoder: Encoder | None = None, *, clock: Callable[[], float] = time.thread_time
) -> Measured:
    """Play some random matches, always the same ones, for `MEASURE_SECONDS` by `clock` at most."""
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
    """Whether the children of `states` are made and encoded at less than `SLOW` a second."""
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
    """`config`, with those of its settings that are in `names` made to fit a game that shows itself as `measured`.

    Nothing becomes more than it was. Where a move's time is given in seconds, all stays.
    """
    search = config.search
    a_move = evaluations_per_move(dataclasses.replace(search, longest_descent=None), measured)
    weight = SLOWNESS if measured.slow else 1
    searched = 1.0 if config.self_play.method == "apprentice" else measured.length  # of a match's states
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
    """The game and the settings of a run, with those in `names` as they fit, and what was measured and chosen in words.

    The words are None where there was nothing to choose.

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
    """`config`, with the outcome and the mirror images that the game offers, if they are in `names`."""
    if "outcome" in names:
        outcome, _ = suggested(game.num_players(), scored=measured_in("score", game))
        config = dataclasses.replace(config, outcome=outcome)
    if "encoding.symmetries" in names and has_many_images(game, encoder):
        config = dataclasses.replace(config, encoding=dataclasses.replace(config.encoding, symmetries="all"))
    return config


def has_many_images(game: pyspiel.Game, encoder: Encoder) -> bool:
    """Whether a board of the game has as many images as a square, which are then learned as well.

    Each state counts twice then. At Othello that won far more, at Connect Four, with two images, it did not.
    """
    found = find_symmetries(game, np.random.default_rng(0), encoder)
    return len(found.names) == 1 + len(SYMMETRIES)


def with_length(game: pyspiel.Game, measured: Measured) -> pyspiel.Game:
    """`game` with a `max_length` for such matches, if it has that parameter, it was not given, and is far more."""
    least = math.ceil(SPARE * measured.length / STEP) * STEP
    longest = min(LONGEST, least)
    if not _takes_length(game) or game.max_game_length() <= longest:
        return game
    return load_game(f"{str(game)[:-1]},max_length={longest})")


def fit_names(names: Collection[str] | None, game: pyspiel.Game | str, *, fits: bool) -> Collection[str]:
    """What of a run of `game` is to be chosen: what the caller says, else all if the settings are to fit the game.

    Raises:
        ConfigError: one of the names is none of `FITTED`.
    """
    if names is None:
        names = FITTED if fits else ()
    if isinstance(names, str) or not isinstance(names, Collection) or not set(names) <= set(FITTED):
        raise ConfigError(f"fit must hold names among {', '.join(FITTED)}, got {shown(names)}")
    says_length = isinstance(game, str) and "max_length" in read_spec(game.strip()).parameters
    return [name for name in FITTED if name in names and not (says_length and name == "max_length")]


def choice_text(config: TrainingConfig, game: pyspiel.Game, names: Collection[str]) -> str:
    """What was chosen of `names`, in words."""
    search = config.search
    said = {
        "matches_at_once": f"{config.matches_at_once} match{'es' * (config.matches_at_once > 1)} at once",
        "search.evaluations": f"{search.evaluations:,} evaluations a move" if search.evaluations else "",
        "search.longest_descent": f"descents of {search.longest_descent} states" if search.longest_descent else "",
        "replay.matches": f"a replay of {config.replay.matches} matches",
        "max_length": f"max_length={game.max_game_length()}" if not _takes_length(game) and _has_length(game) else "",
        "outcome": f"outcome {config.outcome}",
        "encoding.symmetries": f"mirror images {config.encoding.symmetries}",
        "network.filters": f"{config.network.filters} filters",
    }
    return ", ".join(said[name] for name in names if said[name])


def _has_length(game: pyspiel.Game) -> bool:
    return "max_length" in game.get_type().parameter_specification


def _takes_length(game: pyspiel.Game) -> bool:
    """Whether the game has a parameter `max_length` that is not given."""
    return _has_length(game) and "max_length" not in game.get_parameters()

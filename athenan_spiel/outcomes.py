"""What a finished match is worth: the gain, and the reinforcement heuristics (the article, Section 6).

An outcome maps a terminal state to a number from the first player's view. It is a reinforcement heuristic if it
keeps the order of the gain (Definition 21): a won match is worth more than a drawn one, a drawn one more than
a lost one. Everything here keeps it strictly, whatever the constants, so an estimate can never turn a win into
a loss.

The depth heuristics look at the number of actions played, `state.move_number()`; two histories may therefore
share a node only if they are equally long, which is what `transpositions` sees to by default.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import pyspiel

from athenan_spiel.errors import ConfigError

SAMPLE_MATCHES = 32
"""Random matches from which lengths are estimated: enough for a mean within some 10 %, a second's work at most."""
TIGHT = 2.5
"""`max_game_length()` counts as tight when it is at most so many times the longest random match seen. Othello,
Breakthrough and Ultimate Tic-Tac-Toe have twice that, and their bound is still a good P."""


class Outcome(ABC):
    """Worth of a terminal state for player 0. Subclasses are frozen dataclasses of their constants.

    Attributes:
        name: how settings call it.
        scale: the size of its large values, above zero, which is that of the largest in random matches where
            `make_outcome` makes it. It changes no worth: networks learn value / scale.
    """

    name: ClassVar[str]
    scale: float

    @abstractmethod
    def __call__(self, state: pyspiel.State) -> float:
        """The worth of `state`, which is terminal."""

    @property
    def parameters(self) -> dict[str, float | int | bool]:
        """Its constants, from which `outcome_from_parameters` makes it again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


def gain(state: pyspiel.State) -> int:
    """b_t(s) of the papers: 1 if player 0 has won the finished match, -1 if player 1 has, 0 for a draw."""
    worth: float = state.player_return(0)
    return (worth > 0) - (worth < 0)


@dataclass(frozen=True)
class Gain(Outcome):
    """The classical terminal evaluation, 1, 0 or -1."""

    name: ClassVar[str] = "gain"
    scale: float = 1.0

    def __call__(self, state: pyspiel.State) -> float:
        """1, 0 or -1."""
        return float(gain(state))


@dataclass(frozen=True)
class AdditiveDepth(Outcome):
    """p_t, the additive depth heuristic (Section 6.2.2): gain · l, with l larger the sooner the match ends.

    Where `longest` is the true bound P on the length of a match (`exact`), l = P - p + 1 after p actions;
    otherwise l = max(1, P̃ - p) with `longest` an estimate P̃ of it.
    """

    name: ClassVar[str] = "additive_depth"
    longest: int
    exact: bool
    scale: float = 1.0

    def __call__(self, state: pyspiel.State) -> float:
        """gain · l."""
        return float(gain(state) * max(1, self.longest - state.move_number() + self.exact))


@dataclass(frozen=True)
class MultiplicativeDepth(Outcome):
    """p'_t, the multiplicative depth heuristic (Section 6.2.2): gain · P' / p after p actions.

    P' is the mean length of a match, so a value near 1 is a win in average time.
    """

    name: ClassVar[str] = "multiplicative_depth"
    mean: float
    scale: float = 1.0

    def __call__(self, state: pyspiel.State) -> float:
        """gain · P' / p."""
        return gain(state) * self.mean / float(max(1, state.move_number()))


@dataclass(frozen=True)
class Score(Outcome):
    """The score of the match (Section 6.2.1), for games whose `returns()` carry more than who has won."""

    name: ClassVar[str] = "score"
    scale: float = 1.0

    def __call__(self, state: pyspiel.State) -> float:
        """What `returns()` gives player 0."""
        return float(state.player_return(0))


@dataclass(frozen=True)
class Sample:
    """What a number of uniformly random matches showed of a game: their lengths in actions, and their returns."""

    lengths: tuple[int, ...]
    returns: tuple[float, ...]


def sample_matches(game: pyspiel.Game, rng: random.Random, matches: int = SAMPLE_MATCHES) -> Sample:
    """Play `matches` uniformly random matches."""
    lengths, returns = [], []
    for _ in range(matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
        lengths.append(state.move_number())
        returns.append(state.player_return(0))
    return Sample(tuple(lengths), tuple(returns))


def _additive_depth(game: pyspiel.Game, sample: Sample) -> Outcome:
    bound, longest = game.max_game_length(), max(sample.lengths)
    exact = bound <= TIGHT * longest
    longest = bound if exact else longest
    return AdditiveDepth(longest=longest, exact=exact, scale=max(1.0, longest - min(sample.lengths) + exact))


def _multiplicative_depth(game: pyspiel.Game, sample: Sample) -> Outcome:
    mean = sum(sample.lengths) / len(sample.lengths)
    return MultiplicativeDepth(mean=mean, scale=mean / max(1, min(sample.lengths)))


def _score(game: pyspiel.Game, sample: Sample) -> Outcome:
    if not any(abs(worth) not in (0.0, 1.0) for worth in sample.returns):
        raise ConfigError(
            f"outcome 'score' needs a game whose returns() carry a score; those of {str(game)!r} only say who has won: "
            "take 'additive_depth'"
        )
    return Score(scale=max(map(abs, sample.returns)))


_FROM_SAMPLE: Mapping[str, Callable[[pyspiel.Game, Sample], Outcome]] = {
    "additive_depth": _additive_depth,
    "multiplicative_depth": _multiplicative_depth,
    "score": _score,
}
_BY_NAME: Mapping[str, type[Outcome]] = {kind.name: kind for kind in (Gain, AdditiveDepth, MultiplicativeDepth, Score)}


def make_outcome(name: str, game: pyspiel.Game, rng: random.Random) -> Outcome:
    """The outcome called `name` for `game`; constants that the rules do not give are estimated from random matches.

    Raises:
        ConfigError: the name is unknown, or the game has no such worth.
    """
    if name == "gain":
        return Gain()
    if name not in _FROM_SAMPLE:
        raise ConfigError(f"outcome must be one of {', '.join(_BY_NAME)}, got {name!r}")
    return _FROM_SAMPLE[name](game, sample_matches(game, rng))


def outcome_from_parameters(name: str, parameters: Mapping[str, float | int | bool]) -> Outcome:
    """Rebuild an outcome from what `Outcome.parameters` said, without estimating anything again.

    Raises:
        ConfigError: the name or the parameters are not those of an outcome.
    """
    kind = _BY_NAME.get(name)
    expected = None if kind is None else {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if (
        kind is None
        or not isinstance(parameters, Mapping)
        or set(parameters) != expected
        or not all(isinstance(value, int | float) for value in parameters.values())
    ):
        raise ConfigError(f"expected the name and parameters of an outcome, got {name!r} with {parameters!r}")
    return kind(**parameters)

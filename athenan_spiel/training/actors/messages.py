"""Messages between the pool and its actors, and the counters that actors report."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import AthenanError, ConfigError, EvaluatorError
from athenan_spiel.outcomes import Kind
from athenan_spiel.training.actor import MatchRecord


@dataclass(frozen=True)
class ActorTask:
    """Game and settings of an actor.

    Attributes:
        outcome: parameters of the run's outcome.
        kind: function or class of the outcome if it is custom code, else None.
    """

    game: str
    config: TrainingConfig
    outcome: Mapping[str, Any]
    kind: Kind | None

    def require_sendable(self, dumps: Callable[[Any], object]) -> None:
        """Raises `ConfigError` if a custom outcome cannot be pickled.

        Args:
            dumps: pickles messages to the other processes.
        """
        try:
            dumps(self.kind)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            problem = f"must be one that can be pickled for other processes, got {self.config.outcome!r}: {error}"
            raise ConfigError.at("outcome", problem) from None


# To an actor


@dataclass(frozen=True)
class Seeds:
    """Seeds of further games, each to be started when another game has ended."""

    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Proofs:
    """States proven in learned games, to be added to those that the actor knows; None: forget all."""

    arrays: Mapping[str, NDArray[Any]] | None


@dataclass(frozen=True)
class NewSettings:
    """New search settings and number of games at once."""

    config: TrainingConfig


@dataclass(frozen=True)
class NewWeights:
    """New weights for an inference server or an actor on a Ray cluster.

    Attributes:
        arrays: the weights; None for an actor whose inference server gets them.
        progress: fraction of the run completed, in [0, 1].
    """

    version: int
    arrays: Mapping[str, NDArray[np.generic]] | None
    progress: float


@dataclass(frozen=True)
class DropGames:
    """End of a round of an actor in this process: it sends the finished games, and drops the others."""


Order = Seeds | Proofs | NewSettings | DropGames


# From an actor


@dataclass(frozen=True)
class Loaded:
    """The actor has loaded its first weights and waits for seeds."""


@dataclass(frozen=True)
class GamePlayed:
    """A game that has ended.

    Attributes:
        version: version of the weights that searched its last move.
    """

    record: MatchRecord
    version: int


@dataclass(frozen=True)
class Dropped:
    """Number of games that were dropped in play, and are not started again."""

    count: int


@dataclass(frozen=True)
class ServerLost:
    """The actor has ended because it lost its inference server."""


@dataclass(frozen=True)
class Failed:
    """An error of an actor, which ends the run."""

    error: AthenanError

    @classmethod
    def by(cls, error: AthenanError | MemoryError) -> Failed:
        """Returns the message for an error raised in an actor."""
        if isinstance(error, AthenanError):
            return cls(error)
        return cls(EvaluatorError("a worker ran out of memory: use fewer --workers, or a smaller network"))


@dataclass(frozen=True)
class ActorState:
    """Counters of an actor or of an inference server.

    Attributes:
        beat: time of the last report, by `time.monotonic`; 0 before the first.
        version: version of its weights.
        alive, plies_in_play: number of games in play, and of moves searched in them.
        plies, evaluations, calls: number of moves searched, evaluations and network calls so far.
        busy, waited: processor time, and time without games, in seconds.
    """

    beat: float = 0.0
    version: float = 0.0
    alive: float = 0.0
    plies_in_play: float = 0.0
    plies: float = 0.0
    evaluations: float = 0.0
    calls: float = 0.0
    busy: float = 0.0
    waited: float = 0.0


def total(states: Iterable[ActorState]) -> ActorState:
    """Returns the sum of each counter."""
    states = list(states)
    return ActorState(*(sum(getattr(state, field.name) for state in states) for field in fields(ActorState)))


def difference(state: ActorState, before: ActorState) -> ActorState:
    """Returns the increase of each counter since `before`."""
    return ActorState(*(getattr(state, field.name) - getattr(before, field.name) for field in fields(ActorState)))

"""What the rounds of a run need of the actors that play its matches, wherever those are.

A `Fleet` has them in processes of this machine, a `cluster.Cluster` on the nodes of a Ray cluster. Neither lets a match
be learned further than `workers.max_staleness` phases from the weights of its last move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.training.fleet.board import ActorState
from athenan_spiel.training.fleet.matches import Played
from athenan_spiel.training.model import Weights


@dataclass(frozen=True)
class Bounds:
    """How far actors and the learner may be apart: each half of `workers.max_staleness`.

    Attributes:
        pending: an actor plays on while fewer of its records are not learned. With those that end together it has at
            most K - 1 more, and all actors together have at most half of `max_staleness`.
        slack: the learner waits while an actor plays with weights that are so many phases old.
    """

    pending: int
    slack: int

    @classmethod
    def of(cls, config: TrainingConfig) -> Bounds:
        """Those of a run with these settings, which has actors."""
        half = config.workers.staleness(config.matches_at_once) // 2
        return cls(half // config.workers.count - config.matches_at_once + 1, half)


class Numbered(Protocol):
    """An actor, which has a place among them."""

    @property
    def number(self) -> int:
        """Its place, from 0."""


class Arrival(Protocol):
    """A match that has ended, and who played it."""

    @property
    def worker(self) -> Numbered:
        """Who played it."""

    @property
    def played(self) -> Played:
        """What there is to learn."""


class Actors(Protocol):
    """The actors of a run. `start` begins them, `close` ends them, at once."""

    def start(self, seeds: Callable[[int], Sequence[int]], proven: ResolvedStates | None = None) -> None:
        """Begin the actors.

        Args:
            seeds: asked for so many seeds of matches; fewer mean that no more are to be begun.
            proven: what who begins is told to be proven, whenever that is; none: such states are not kept.

        Raises:
            AthenanError: they could not be begun.
        """

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Let all play with these weights from now on.

        Args:
            version: the number of learning phases behind them.
            weights: they stay what they are until learning goes on.
            progress: how much of the run lies behind, in [0, 1].
        """

    def adapt(self, config: TrainingConfig) -> None:
        """Let all play with other settings of the search, and with another number of games at once, from now on."""

    def tell_proofs(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Let all know these proofs, or forget all that they know."""

    def next(self, seconds: float) -> Arrival | None:
        """The next match that has ended; None if there is none within so many seconds.

        Raises:
            AthenanError: an actor cannot go on, or too many are lost.
        """

    def count_learned(self, arrival: Any) -> None:
        """This match, which `next` gave, is learned, or of no use."""

    def lagging(self, version: int) -> bool:
        """Whether learning on would take the learner too far from weights that an actor plays with.

        Args:
            version: of the learner's weights.
        """

    def listen(self, seconds: float) -> None:
        """Take in what actors report, waiting for it if need be, and replace those that are lost.

        Raises:
            AthenanError: as `next`.
        """

    def states(self) -> list[ActorState]:
        """What the actors that have begun have told."""

    def each(self) -> list[ActorState]:
        """For each place among the actors the sums of what it and those before it there have told."""

    def inference(self) -> ActorState | None:
        """The same of the process that values states for all; None where each values its own."""

    @property
    def queued(self) -> int:
        """Matches that have come and are not learned."""

    @property
    def outstanding(self) -> int:
        """Matches whose seeds are given and that are not learned, but for one that was taken by `next`."""

    @property
    def losses(self) -> int:
        """Actors that were lost and replaced."""

    def close(self) -> None:
        """End all actors at once."""

"""The matches of one actor: played side by side, each begun as soon as another has ended; there are no rounds."""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.engines import Engine
from athenan_spiel.errors import AthenanError, EvaluatorError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import Kind, outcome_from_parameters
from athenan_spiel.training.actor import Actor, MatchRecord, PublishedWeights, RoundInPlay, proven_states
from athenan_spiel.training.fleet.board import ActorState
from athenan_spiel.training.means import learning_device

COLLECT_SECONDS = 60.0
"""Between two collections of garbage that is in cycles: there is little, and looking for it walks over all trees."""


@dataclass(frozen=True)
class Played:
    """What an actor reports of a match that has ended.

    Attributes:
        version: of the weights with which its last move was searched.
    """

    record: MatchRecord
    version: int


@dataclass(frozen=True)
class Failed:
    """The last report of an actor, which cannot go on."""

    error: AthenanError

    @classmethod
    def by(cls, error: AthenanError | MemoryError) -> Failed:
        """The report of an actor in which this was raised."""
        if isinstance(error, AthenanError):
            return cls(error)
        return cls(EvaluatorError("memory ran out in a worker: take fewer --workers, or a smaller network"))


class Matches:
    """Plays match after match with the newest weights that it is given; `load` gives the first.

    Args:
        game: its string.
        outcome: the parameters of the run's outcome.
        kind: what the outcome is made of, where it is code of one's own.
        engine: what computes; by default one of the settings' own.

    Raises:
        AthenanError: the game cannot be loaded here, or the network does not fit this machine.
    """

    def __init__(
        self,
        game: str,
        config: TrainingConfig,
        outcome: Mapping[str, Any],
        kind: Kind | None,
        engine: Engine | None = None,
    ) -> None:
        self._at_once = config.matches_at_once
        own = outcome_from_parameters(config.outcome, outcome, kind)
        self._actor = Actor(load_game(game), config, own, engine)
        self._actor.evaluator.in_turn = engine is None and learning_device(config.engine) == "cpu"
        self._proven = proven_states(config)
        self._seeds: deque[int] = deque()
        self._playing: RoundInPlay | None = None
        self._collected = time.monotonic()

    @property
    def alive(self) -> int:
        """Matches in play."""
        return 0 if self._playing is None else self._playing.alive

    def load(self, published: PublishedWeights, progress: float) -> None:
        """Play with these weights from now on.

        Args:
            progress: how much of the run lies behind, in [0, 1].
        """
        if self._playing is None:
            self._playing = self._actor.play(published, self._proven, [], progress)
        else:
            self._actor.load(published)

    def plan(self, seeds: Sequence[int]) -> None:
        """Begin these matches, too, as soon as others have ended."""
        self._seeds.extend(seeds)

    def know(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Know these proofs from now on, or forget all that are known; nothing happens where none are kept."""
        if self._proven is not None and arrays is None:
            self._proven.clear()
        elif self._proven is not None and arrays is not None:
            self._proven.add_arrays(arrays)

    def adapt(self, config: TrainingConfig, progress: float) -> None:
        """Play with other settings of the search, and with another number of games at once, from now on.

        Games in excess of that number are dropped, and begin anew when there is room for them.
        """
        self._at_once = config.matches_at_once
        self._actor.adapt(config)
        if self._playing is not None:
            self._seeds.extendleft(reversed(self._playing.adapt(progress, self._at_once)))

    def begin(self, progress: float) -> None:
        """Begin as many as may be played at once; see `load`."""
        while self._playing is not None and self._seeds and self._playing.alive < self._at_once:
            self._playing.begin(self._seeds.popleft(), progress)

    def advance(self) -> list[MatchRecord]:
        """Play on until the next values are wanted; the records of those that have ended by that.

        Raises:
            EvaluatorError: a value is not finite.
        """
        if self._playing is None:
            return []
        if time.monotonic() - self._collected > COLLECT_SECONDS:
            gc.collect()
            self._collected = time.monotonic()
        self._playing.advance()
        return self._playing.take_any()

    def state(self, version: int, waited: float) -> ActorState:
        """What is to be told of the actor.

        Args:
            version: of its weights.
            waited: seconds in which it waited for the learner.
        """
        playing = self._playing
        return ActorState(
            beat=time.monotonic(),
            version=version,
            alive=self.alive,
            plies_in_play=0 if playing is None else playing.plies_in_play,
            plies=0 if playing is None else playing.plies,
            evaluations=0 if playing is None else playing.evaluations,
            calls=0 if playing is None else playing.calls,
            busy=time.process_time(),
            waited=waited,
        )

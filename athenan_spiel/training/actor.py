"""An actor: plays the matches of a run and gives a record of each, and learns nothing itself.

Weights, proven states and seeds go in, records of plain arrays and numbers come out, so a process or a network may lie
between an actor and those who learn. A round is a pure function of what goes in, where moves are limited by iterations
or evaluations: with new weights after the same `advance`, an actor anywhere gives the same records to the bit.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import SearchConfig, TrainingConfig
from athenan_spiel.config.search import LIMITS
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import Engine
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.games.playout import is_cut
from athenan_spiel.learning import Targets, TargetsMethod, make_targets
from athenan_spiel.outcomes import Outcome
from athenan_spiel.play.apprentice import TEMPERATURE, apprentice_match, sharpened
from athenan_spiel.play.self_play import Match, Round, self_play
from athenan_spiel.search import Budget, Search, make_search
from athenan_spiel.search.algorithms import ALGORITHMS, budget_of
from athenan_spiel.search.choice import make_decision
from athenan_spiel.search.proven_states import MOST_STATES, Known, ResolvedStates, proofs_to_arrays
from athenan_spiel.search.walk import Questions
from athenan_spiel.training.model import Weights, make_model

WARM_START = SearchConfig(algorithm="mcts", completion=False, exploration_constant=0.25, rollouts=True)
"""Base MCTS (the article, Sections 8.2.1 and 8.4.2), but for its limits."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatchRecord:
    """A finished match of self-play, as those who learn from it take it.

    Plain arrays and numbers that share nothing with the tree, so a record may be pickled; its arrays never change.
    """

    targets: Targets
    """The learning rows of the match: packed observations, values and weights."""
    returns: tuple[float, ...]
    """As OpenSpiel's `state.returns()`."""
    length: int
    """Actions played."""
    iterations: int
    """Of the search, over the whole match."""
    evaluations: int
    """States valued by the network in the match."""
    questions: int
    """Questions in which the match has asked for them; the network is called once for those of several matches."""
    proofs: Mapping[str, NDArray[Any]] | None
    """The states that the match has proven, for `ResolvedStates.add_arrays`; None where they are not kept."""
    curtailed: int = 0
    """Searches that have ended sooner than their limits as the match's tree was full."""
    actions: tuple[int, ...] = ()
    """All that were played."""
    cut_off: bool = False
    """The limit on the length of a game ended it, undecided."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedWeights:
    """The weights of a network at one moment.

    Attributes:
        version: two of one version are the same weights.
        weights: valid until learning goes on: who wants them longer copies them.
    """

    version: int
    weights: Weights


class Actor:
    """Plays rounds of self-play with the weights that it is given.

    Args:
        game, config: what is played, and how.
        outcome: what the ends of matches are worth.
        engine: the engine; by default a new one with the settings of `config`.
        encoder: the encoder; by default a new one.

    Raises:
        ConfigError: the network does not fit the game or the memory, or the engine this machine.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        config: TrainingConfig,
        outcome: Outcome,
        engine: Engine | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        self._config = config
        self._model = make_model(game, config, outcome, engine=engine, encoder=encoder)
        policies = config.network.policy != "none"
        self._model.evaluator.priors = policies
        self._opened = functools.partial(self_play, opening_plies=config.self_play.opening_plies or 0)
        self._targets = make_targets(config.targets, self._model.encoder, outcome, policies=policies)
        self._version: int | None = None
        self._search: tuple[SearchConfig, Known | None, Search] | None = None

    @property
    def weights(self) -> Weights:
        """The weights of the network, untrained ones before `load`."""
        return {name: tensor.detach() for name, tensor in self._model.network.state_dict().items()}

    @property
    def evaluator(self) -> NetworkEvaluator:
        """Values states with the weights that were loaded last."""
        return self._model.evaluator

    def load(self, published: PublishedWeights) -> None:
        """Play with these weights from now on, in a round that is in progress too."""
        if published.version != self._version:
            self._model.load(published.weights)
            self._version = published.version

    def play(
        self, published: PublishedWeights, proven: Known | None, seeds: Sequence[int], progress: float
    ) -> RoundInPlay:
        """Begin a round.

        Args:
            proven: the states proven in earlier matches, which stay as they are while the round is played; none: they
                are not kept.
            seeds: of the matches, which are played side by side.
            progress: how much of the run lies behind, in [0, 1], for annealed exploration and the phases of ExIt.
        """
        self.load(published)
        way = self._way(proven, progress)
        matches = Round(
            self._model.game,
            way.search,
            self._model.evaluator,
            way.decision,
            way.budget,
            seeds,
            new_store=self._targets.new_store,
            play=way.play,
        )
        return RoundInPlay(
            matches,
            self._targets,
            lambda progress: self._way(proven, progress),
            keep_proofs=proven is not None,
        )

    def adapt(self, config: TrainingConfig) -> None:
        """Play with other settings of the search from now on; `RoundInPlay.adapt` does so in games in play."""
        self._config = config

    def _way(self, proven: Known | None, progress: float) -> _Way:
        """How matches are played when so much of the run lies behind."""
        config, outcome = self._config, self._model.outcome
        search, of_apprentice = search_at(config, progress)
        decision: _Decide
        if of_apprentice:
            temperature = config.self_play.temperature
            decision = sharpened(TEMPERATURE if temperature is None else temperature)
        else:
            own = ALGORITHMS[search.algorithm].decision
            decision = make_decision(config.exploration, progress, outcome.scale, own)
        if self._search is None or self._search[:2] != (search, proven):
            most = config.memory.tree_states
            self._search = search, proven, make_search(self._model.game, search, outcome, proven, most)
        return _Way(self._search[2], decision, budget_of(search), apprentice_match if of_apprentice else self._opened)


def proven_states(config: TrainingConfig, arrays: Mapping[str, NDArray[Any]] | None = None) -> ResolvedStates | None:
    """What a run keeps of states proven in earlier matches; None where it keeps none.

    Args:
        arrays: of a checkpoint; none: nothing is proven yet.

    Raises:
        CheckpointError: they hold something else.
    """
    if config.search.resolved_hours is None:
        return None
    most = config.memory.proven_states or MOST_STATES
    return ResolvedStates(most) if arrays is None else ResolvedStates.from_arrays(arrays, most)


def search_at(config: TrainingConfig, progress: float) -> tuple[SearchConfig, bool]:
    """The search of a run's matches when `progress` of it, in [0, 1], lies behind, and whether an apprentice plays."""
    search, own = config.search, config.self_play
    if own.is_warm_start(progress):
        return replace(WARM_START, **{name: getattr(search, name) for name in LIMITS}), False
    if search.algorithm == "exit" and not own.has_values(progress):
        search = replace(search, value_weight=0.0)
    return search, own.method == "apprentice"


_Decide = Callable[[Any, random.Random], int]


@dataclass(frozen=True)
class _Way:
    """How a match is played."""

    search: Search
    decision: _Decide
    budget: Budget
    play: Callable[..., Questions[Match]]


class RoundInPlay:
    """The matches of a round in progress: `advance`, and `take` the records of those that have ended."""

    def __init__(
        self,
        matches: Round,
        targets: TargetsMethod,
        way_at: Callable[[float], _Way],
        *,
        keep_proofs: bool,
    ) -> None:
        self._round = matches
        self._targets = targets
        self._way_at = way_at
        self._keep_proofs = keep_proofs

    @property
    def plies(self) -> int:
        """Actions found so far; random ones do not count."""
        return self._round.plies

    @property
    def plies_in_play(self) -> int:
        """Actions found so far in the matches that have neither ended nor been dropped."""
        return self._round.plies_in_play

    @property
    def alive(self) -> int:
        """Matches that have not ended."""
        return self._round.alive

    @property
    def calls(self) -> int:
        """Calls of the network so far."""
        return self._round.calls

    @property
    def evaluations(self) -> int:
        """States valued so far."""
        return self._round.evaluations

    def advance(self) -> bool:
        """Play on until the next values are wanted; False once every match has ended.

        Raises:
            EvaluatorError: a value is not finite.
        """
        return self._round.advance()

    def take(self) -> MatchRecord | None:
        """The record of the match whose turn it is by the order of the seeds, if it has ended; it is given once."""
        match = self._round.take()
        return None if match is None else self._record(match)

    def begin(self, seed: int, progress: float) -> None:
        """Begin a further match beside those in progress; then `take_any` gives the records, and not `take`."""
        way = self._way_at(progress)
        self._round.begin(way.search, way.decision, way.budget, seed, way.play)

    def adapt(self, progress: float, most: int) -> list[int]:
        """Continue the games in play by the settings that `Actor.adapt` was given, and drop those in excess of `most`.

        Returns:
            The seeds of the dropped games.
        """
        way = self._way_at(progress)
        return self._round.reduce(way.search, way.budget, most)

    def take_any(self) -> list[MatchRecord]:
        """The records of those that have ended, in whatever order; each is given once."""
        return [self._record(match) for _, match in self._round.take_all()]

    def rest(self) -> Iterator[MatchRecord]:
        """The records of those that have ended out of turn, in the order of their seeds: the others end no more."""
        return map(self._record, self._round.matches())

    def _record(self, match: Match) -> MatchRecord:
        return MatchRecord(
            targets=self._targets.read(match),
            returns=tuple(match.returns),
            length=len(match.history),
            iterations=match.iterations,
            evaluations=match.evaluations,
            questions=match.questions,
            proofs=proofs_to_arrays(match.tree.proofs()) if self._keep_proofs else None,
            curtailed=match.tree.curtailed,
            actions=tuple(match.history),
            cut_off=is_cut(match.states[-1]),
        )

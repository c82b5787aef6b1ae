"""Actor: plays games and returns their records, and learns nothing.

It receives weights, proven states and seeds, and returns records of plain arrays and numbers, so it may run in another
process or on another machine. If moves are limited by iterations or evaluations, a round is a pure function of its
input: any actor that gets the same weights after the same calls of `advance` returns bit-identical records.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import ExitConfig, MctsConfig, ProverConfig, SearchConfig, TrainingConfig
from athenan_spiel.config.search import LIMITS
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import Engine
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.games.playout import is_cut
from athenan_spiel.learning import Targets, TargetsMethod, make_targets
from athenan_spiel.outcomes import Outcome
from athenan_spiel.play.apprentice import TEMPERATURE, apprentice_match, sharpened
from athenan_spiel.play.self_play import Round, SelfPlayGame, self_play
from athenan_spiel.search import Budget, Search, make_search
from athenan_spiel.search.algorithms import ALGORITHMS, budget_of
from athenan_spiel.search.choice import make_decision
from athenan_spiel.search.proven_states import MOST_STATES, Known, ResolvedStates, proofs_to_arrays
from athenan_spiel.search.walk import Requests
from athenan_spiel.training.model import Weights, make_model

WARM_START = MctsConfig(exploration_constant=0.25, rollouts=True)
"""MCTS with playouts and without a network, for ExIt's warm start (the article, Sections 8.2.1 and 8.4.2).

Its limits are those of the run's search."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatchRecord:
    """Record of a finished game of self-play, as plain arrays and numbers.

    It shares nothing with the tree and can be pickled; its arrays never change.
    """

    targets: Targets
    """Training samples of the game: packed observations, values and weights."""
    returns: tuple[float, ...]
    """OpenSpiel's `state.returns()`."""
    length: int
    """Number of actions played."""
    iterations: int
    """Search iterations in the game."""
    evaluations: int
    """Evaluations in the game."""
    requests: int
    """Requests for evaluations; requests of several games share one call of the network."""
    proofs: Mapping[str, NDArray[Any]] | None
    """States proven in the game, for `ResolvedStates.add_arrays`; None if they are not kept."""
    curtailed: int = 0
    """Searches that ended before their limits because the tree was full."""
    actions: tuple[int, ...] = ()
    """The actions played."""
    cut_off: bool = False
    """Whether the limit on the length of a game ended this one without a result."""
    estimates: NDArray[np.float32] = dataclasses.field(default_factory=lambda: np.empty(0, np.float32))
    """Values of the searched states that were not proven, [n] or, in a game with rows, [n, players]."""


@dataclass(frozen=True, slots=True, eq=False)
class PublishedWeights:
    """Weights of a network at one moment.

    Attributes:
        version: identifies the weights.
        weights: valid until the next learning step; copy them to keep them.
    """

    version: int
    weights: Weights


class Actor:
    """Plays rounds of self-play with given weights.

    Args:
        outcome: terminal values.
        engine: the inference engine; by default a new one with the settings of `config`.
        encoder: the encoder; by default a new one.

    Raises:
        ConfigError: the network does not fit the game or the free memory, or the engine is not available here.
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
        self._play_by_search = functools.partial(self_play, opening_plies=config.self_play.opening_plies or 0)
        self._targets = make_targets(config.targets, self._model.encoder, outcome, policies=policies)
        self._version: int | None = None
        self._search: tuple[SearchConfig, Known | None, Search] | None = None

    @property
    def weights(self) -> Weights:
        """Weights of the network; untrained before `load`."""
        return {name: tensor.detach() for name, tensor in self._model.network.state_dict().items()}

    @property
    def evaluator(self) -> NetworkEvaluator:
        """Evaluates states with the weights loaded last."""
        return self._model.evaluator

    def load(self, published: PublishedWeights) -> None:
        """Play with these weights from now on, also in a round in progress."""
        if published.version != self._version:
            self._model.load(published.weights)
            self._version = published.version

    def play(
        self, published: PublishedWeights, proven: Known | None, seeds: Sequence[int], progress: float
    ) -> RoundInPlay:
        """Begin a round.

        Args:
            proven: states proven in earlier games; None if they are not kept. A round is reproducible if they don't
                change during it.
            seeds: seeds of the games, which are played concurrently.
            progress: fraction of the run completed, in [0, 1], for annealed exploration and ExIt's phases.
        """
        self.load(published)
        settings = self._settings_at(proven, progress)
        matches = Round(
            self._model.game,
            settings.search,
            self._model.evaluator,
            settings.decision,
            settings.budget,
            seeds,
            new_store=self._targets.new_store,
            play=settings.play,
        )
        return RoundInPlay(
            matches,
            self._targets,
            lambda progress: self._settings_at(proven, progress),
            keep_proofs=proven is not None,
        )

    def adapt(self, config: TrainingConfig) -> None:
        """Start further games with other search settings; `RoundInPlay.adapt` changes the games in play."""
        self._config = config

    def _settings_at(self, proven: Known | None, progress: float) -> _GameSettings:
        """Returns the settings of games at the fraction `progress` of the run."""
        config, outcome = self._config, self._model.outcome
        search, is_apprentice = search_at(config, progress)
        decision: _Decide
        if is_apprentice:
            temperature = config.self_play.temperature
            decision = sharpened(TEMPERATURE if temperature is None else temperature)
        else:
            of_search = ALGORITHMS[search.algorithm].decision
            decision = make_decision(config.exploration, progress, outcome.scale, of_search)
        if self._search is None or self._search[:2] != (search, proven):
            most = config.memory.tree_states
            self._search = search, proven, make_search(self._model.game, search, outcome, proven, most)
        play = apprentice_match if is_apprentice else self._play_by_search
        return _GameSettings(self._search[2], decision, budget_of(search), play)


def proven_states(config: TrainingConfig, arrays: Mapping[str, NDArray[Any]] | None = None) -> ResolvedStates | None:
    """Returns the store of states proven in earlier games; None if the run keeps none.

    Args:
        arrays: proven states in a checkpoint; None: nothing is proven yet.

    Raises:
        CheckpointError: the arrays are invalid.
    """
    if not isinstance(config.search, ProverConfig) or config.search.resolved_hours is None:
        return None
    most = config.memory.proven_states or MOST_STATES
    return ResolvedStates(most) if arrays is None else ResolvedStates.from_arrays(arrays, most)


def search_at(config: TrainingConfig, progress: float) -> tuple[SearchConfig, bool]:
    """Returns the search at the fraction `progress` of the run, and whether the apprentice plays (see ExIt)."""
    search, self_play_config = config.search, config.self_play
    if self_play_config.is_warm_start(progress):
        return replace(WARM_START, **{name: getattr(search, name) for name in LIMITS}), False
    if isinstance(search, ExitConfig) and not self_play_config.has_values(progress):
        search = replace(search, value_weight=0.0)
    return search, self_play_config.method == "apprentice"


_Decide = Callable[[Any, random.Random], int]


@dataclass(frozen=True)
class _GameSettings:
    """Search, decision rule and budget of a game, and the function that plays it."""

    search: Search
    decision: _Decide
    budget: Budget
    play: Callable[..., Requests[SelfPlayGame]]


class RoundInPlay:
    """Games of a round in progress: `advance` them and `take` the records of those that have ended."""

    def __init__(
        self,
        matches: Round,
        targets: TargetsMethod,
        settings_at: Callable[[float], _GameSettings],
        *,
        keep_proofs: bool,
    ) -> None:
        self._round = matches
        self._targets = targets
        self._settings_at = settings_at
        self._keep_proofs = keep_proofs

    @property
    def plies(self) -> int:
        """Moves searched so far; random moves don't count."""
        return self._round.plies

    @property
    def plies_in_play(self) -> int:
        """Moves searched so far in the games in play."""
        return self._round.plies_in_play

    @property
    def alive(self) -> int:
        """Games in play."""
        return self._round.alive

    @property
    def calls(self) -> int:
        """Network calls so far."""
        return self._round.calls

    @property
    def evaluations(self) -> int:
        """Evaluations so far."""
        return self._round.evaluations

    def advance(self) -> bool:
        """Play until the next call of the network; returns False once every game has ended.

        Raises:
            EvaluatorError: a value is not finite.
        """
        return self._round.advance()

    def take(self) -> MatchRecord | None:
        """Returns the record of the next game in the order of the seeds, if it has ended. Each is returned once."""
        match = self._round.take()
        return None if match is None else self._record(match)

    def begin(self, seed: int, progress: float) -> None:
        """Begin another game. From then on use `take_any` instead of `take`."""
        settings = self._settings_at(progress)
        self._round.begin(settings.search, settings.decision, settings.budget, seed, settings.play)

    def adapt(self, progress: float, most: int) -> list[int]:
        """Continue at most `most` games in play with the settings of `Actor.adapt`, and drop the others.

        Returns:
            The seeds of the dropped games.
        """
        settings = self._settings_at(progress)
        return self._round.reduce(settings.search, settings.budget, most)

    def take_any(self) -> list[MatchRecord]:
        """Returns the records of all games that have ended, in any order. Each is returned once."""
        return [self._record(match) for _, match in self._round.take_all()]

    def rest(self) -> Iterator[MatchRecord]:
        """Yields the records of finished games not yet returned, in the order of their seeds.

        Games in play are dropped.
        """
        return map(self._record, self._round.matches())

    def _record(self, match: SelfPlayGame) -> MatchRecord:
        return MatchRecord(
            targets=self._targets.read(match),
            returns=tuple(match.returns),
            length=len(match.history),
            iterations=match.iterations,
            evaluations=match.evaluations,
            requests=match.requests,
            proofs=proofs_to_arrays(match.tree.proofs()) if self._keep_proofs else None,
            curtailed=match.tree.curtailed,
            actions=tuple(match.history),
            cut_off=is_cut(match.states[-1]),
            estimates=np.array(
                [v for v, proven in zip(match.values, match.proven, strict=False) if not proven], np.float32
            ),
        )

"""A training run in memory: everything that a checkpoint holds, and the two things that change it.

A round plays matches (`new_round`). Each is learned (`learn`) when it and those before it have ended, `publish` gives
the new weights to the engine, and the others go on with them; `end_round` is for what is told once a round. Between two
rounds `checkpoint` is the whole truth: a trainer restored from it goes on as this one would. Until a round has ended,
`drop_round` takes back all that it has changed, and `drop_phase` what the last match has.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pyspiel

from athenan_spiel.config import TrainingConfig
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.engines import make_engine, torch_threads
from athenan_spiel.errors import AthenanError, CheckpointError, ConfigError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.learning import make_replay, make_targets
from athenan_spiel.learning.augmentation import Augmentation
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay import Batch
from athenan_spiel.learning.warm_up import RandomEnds
from athenan_spiel.outcomes import Kind, Outcome, make_outcome, outcome_from_parameters
from athenan_spiel.play.self_play import Match, Round
from athenan_spiel.search import Budget, make_search
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.search.choice import Decision, make_decision
from athenan_spiel.search.proven_states import Proof, ResolvedStates
from athenan_spiel.training.checkpoints import Checkpoint, Counters, Header
from athenan_spiel.training.events import LearningFinished, MatchFinished
from athenan_spiel.training.means import learning_device, require_means
from athenan_spiel.training.model import load_weights, value_network


class Trainer:
    """The state of a run between two rounds.

    Args:
        game: the game to learn.
        config: the run's settings.
        checkpoint: where to go on; none: a new run.
        kind: what the outcome is made of, where it is code of one's own and a checkpoint alone names it.

    Raises:
        CheckpointError: what the checkpoint holds does not fit the game and the settings.
        ConfigError: the game has no such outcome, edges or symmetry, or a setting does not suit this machine.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        config: TrainingConfig,
        checkpoint: Checkpoint | None = None,
        kind: Kind | None = None,
    ) -> None:
        self.game = game
        self.config = config
        seeds = np.random.SeedSequence(config.seed).spawn(6)
        for_outcome, for_network, for_matches, for_replay, for_warm_up, for_symmetries = seeds
        self.outcome: Outcome
        if checkpoint is None:
            self.outcome = make_outcome(config.outcome, game, random.Random(_seed(for_outcome)), kind)
        else:
            self.outcome = outcome_from_parameters(config.outcome, checkpoint.header.outcome, kind)
        _require_suited(config, game, self.outcome)
        self.encoder = Encoder(game, edges=config.encoding.edges)
        require_means(config, self.encoder.shape)  # first, as it says so where the device is missing
        self.engine = make_engine(config.engine, self.encoder.shape)
        self.network = value_network(self.encoder, config, self.outcome, seed=_seed(for_network))
        self.learner = Learner(self.network, config.learner, learning_device(config.engine))
        self.counters = Counters()
        self._generators = {"matches": np.random.default_rng(for_matches), "replay": np.random.default_rng(for_replay)}
        drawn = np.random.default_rng(for_symmetries)
        self.augmentation = Augmentation(game, self.encoder, config.encoding.symmetries, drawn)
        if self.augmentation.names:
            self._generators["symmetries"] = drawn
        self.replay = make_replay(config.replay, self._generators["replay"])
        self._targets = make_targets(config.targets, self.encoder)
        self._warm_up_seed = _seed(for_warm_up)
        self.resolved = ResolvedStates() if config.search.resolved_hours is not None else None
        if checkpoint is not None:
            self._restore(checkpoint)
        search = config.search
        self._search = make_search(game, search, self.outcome, self.resolved)
        self._budget = Budget(seconds=search.seconds, iterations=search.iterations, evaluations=search.evaluations)
        self._undo: list[Callable[[], None]] = []
        """What takes the round in progress back, to be called from the last to the first: the draw of its seeds, the
        first match learned, and the last one, which is enough for those before it too."""
        self._proofs: list[tuple[Hashable, int, Proof]] = []
        self.evaluator = NetworkEvaluator(self.encoder, self.engine)
        self.publish()

    def warm_up(self) -> Generator[Batch, None, None]:
        """The minibatches of the warm-up that are still to be learned; none once a match is learned."""
        config, done = self.config.warm_up, self.counters.warm_up_states
        if config.states is None or done >= config.states or self.counters.matches > 0:
            return
        ends = RandomEnds(
            self.game,
            self.outcome,
            self.encoder,
            states=config.states,
            seed=self._warm_up_seed,
            processes=config.processes,
            edges=self.config.encoding.edges,
        )
        yield from ends.minibatches(self.config.learner.batch_size, first=done)

    def learn_warm_up(self, batch: Batch) -> float:
        """Learn the next minibatch of the warm-up; returns its loss.

        Raises:
            LearningError: the loss is not finite; the weights are then of no use.
        """
        loss = self.learner.learn([batch]).loss
        assert loss is not None, "a minibatch holds a state at least"
        done = self.counters.warm_up_states + len(batch.values)
        self.counters = dataclasses.replace(self.counters, warm_up_states=done)
        return loss

    def new_round(self, progress: float, on_ply: Callable[[], None]) -> Round:
        """Begin the next round.

        Args:
            progress: how much of the run lies behind, in [0, 1], for annealed exploration.
            on_ply: called for each action played.
        """
        matches, limit = self.config.matches_at_once, self.config.matches
        if limit is not None:
            matches = min(matches, limit - self.counters.matches)
        self._undo = [self._restoring_generators()]
        generator = self._generators["matches"]
        return Round(
            self.game,
            self._search,
            self.evaluator,
            _counted(make_decision(self.config.exploration, progress, self.outcome.scale), on_ply),
            self._budget,
            generator.integers(2**64, size=matches, dtype=np.uint64).tolist(),
            new_store=self._targets.new_store,
        )

    def drop_round(self) -> None:
        """Forget the round in progress, if there is one, learned or not: the next one will be the same again."""
        learned = len(self._undo) > 1
        for undo in reversed(self._undo):
            undo()
        self._undo = []
        if learned:
            self.publish()

    def drop_phase(self) -> None:
        """Forget the match that was learned last, or whose learning was broken off; the others of the round stay."""
        self._undo.pop()()

    def learn(self, match: Match, on_batch: Callable[[], None]) -> tuple[MatchFinished, LearningFinished]:
        """Put what a match has to teach into the replay and go through one learning phase (Algorithms 3-8).

        Args:
            on_batch: called before each minibatch; what it raises breaks the phase off, which `drop_phase` takes back.

        Raises:
            LearningError: the loss is not finite; the weights are then of no use.
        """
        self._undo[2:] = [self._unlearning()]
        if self.resolved is not None:
            self._proofs += match.tree.proofs()
        targets = self.augmentation(self._targets.read(match))
        self.replay.add(targets)
        batches = self.replay.sample(self.config.learner.batch_size)
        report = self.learner.learn(_announced(batches, on_batch))
        number = self.counters.matches + 1
        self.counters = dataclasses.replace(
            self.counters,
            matches=number,
            evaluations=self.counters.evaluations + match.evaluations,
            states_learned=self.counters.states_learned + report.states,
        )
        played = MatchFinished(
            matches=number,
            length=len(match.history),
            returns=tuple(match.returns),
            iterations=match.iterations,
            evaluations=match.evaluations,
            targets=len(targets),
        )
        learned = LearningFinished(
            matches=number,
            loss=report.loss,
            states_learned=report.states,
            batches=report.batches,
            learning_seconds=report.seconds,
        )
        return played, learned

    def end_round(self, seconds: float) -> None:
        """What of the round is to be learned is learned: the next one is played with the new weights.

        Args:
            seconds: training time until now.
        """
        self.publish()
        if self.resolved is not None:
            self.resolved.add(self._proofs)
        self.forget_resolved(seconds)
        self.counters = dataclasses.replace(self.counters, rounds=self.counters.rounds + 1)
        self._undo, self._proofs = [], []

    def forget_resolved(self, seconds: float) -> None:
        """Empty the memory of resolved states, if it is time to; to be called between two rounds.

        Args:
            seconds: training time until now.
        """
        hours = self.config.search.resolved_hours
        if self.resolved is None or hours is None or seconds - self.counters.resolved_since < 3600 * hours:
            return
        self.resolved.clear()
        self.counters = dataclasses.replace(self.counters, resolved_since=seconds)

    def publish(self) -> None:
        """Let the engine compute with the weights as they are now."""
        self.evaluator.load(self.network)

    def checkpoint(self) -> Checkpoint:
        """The state between two rounds."""
        return Checkpoint(
            header=self.header(),
            weights={name: tensor.detach().cpu() for name, tensor in self.network.state_dict().items()},
            optimizer=self.learner.state_dict(),
            replay=self.replay.to_arrays(),
            resolved=None if self.resolved is None else self.resolved.to_arrays(),
        )

    def header(self) -> Header:
        """The part of the checkpoint that is not weights, optimiser or replay."""
        return Header(
            game=str(self.game),
            config=self.config,
            outcome=dict(self.outcome.parameters),
            counters=self.counters,
            generators={name: dict(generator.bit_generator.state) for name, generator in self._generators.items()},
        )

    def _restoring_generators(self) -> Callable[[], None]:
        """What gives the generators the states that they have now."""
        states = {name: generator.bit_generator.state for name, generator in self._generators.items()}

        def restore() -> None:
            for name, state in states.items():
                self._generators[name].bit_generator.state = state

        return restore

    def _unlearning(self) -> Callable[[], None]:
        """What takes back all that learning a match changes."""
        with torch_threads(1):  # several are slower where other processes are at work, and no faster elsewhere
            weights = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
            moments = self.learner.state_dict()
        generators, proofs = self._restoring_generators(), len(self._proofs)
        replay, counters = self.replay.copy(), self.counters

        def unlearn() -> None:
            generators()
            with torch_threads(1):
                self.network.load_state_dict(weights)
                self.learner.load_state_dict(moments)
            self.replay, self.counters = replay, counters
            del self._proofs[proofs:]

        return unlearn

    def _restore(self, checkpoint: Checkpoint) -> None:
        load_weights(self.network, checkpoint.weights)
        try:
            self.learner.load_state_dict(checkpoint.optimizer)
            for name, generator in self._generators.items():
                generator.bit_generator.state = checkpoint.header.generators[name]
        except (RuntimeError, KeyError, ValueError, TypeError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint does not fit this run: {error!r}") from error
        self.replay = make_replay(self.config.replay, self._generators["replay"], checkpoint.replay)
        if foreign := self.replay.row_sizes() - {self.encoder.size}:
            raise CheckpointError(
                f"the checkpoint does not fit this run: its replay holds states of {min(foreign)} numbers, "
                f"not of {self.encoder.size}"
            )
        self.counters = checkpoint.header.counters
        if self.resolved is not None and checkpoint.resolved is not None:
            self.resolved = ResolvedStates.from_arrays(checkpoint.resolved)


def _require_suited(config: TrainingConfig, game: pyspiel.Game, outcome: Outcome) -> None:
    """Raise `ConfigError` for settings that the game or the outcome does not allow."""
    if config.search.resolved_hours is not None and outcome.path_dependent:
        raise ConfigError(
            f"search.resolved_hours must be none with outcome {config.outcome!r}, which depends on the way to a state, "
            f"got {config.search.resolved_hours!r}"
        )
    if config.evaluation.every_matches is not None and game.num_players() == 1:
        raise ConfigError(
            f"evaluation.every_matches must be none in a game for one player such as {str(game)!r}, "
            f"got {config.evaluation.every_matches!r}: the scores of its matches are shown"
        )
    try:
        parse_search(config.evaluation.search).make(game, outcome)
    except AthenanError as error:
        raise ConfigError(f"evaluation.search must name a search: {error}") from None


def fraction_done(config: TrainingConfig, matches: int, seconds: float) -> float:
    """How much of a run lies behind by its limits, in [0, 1]; 0 where it has none."""
    by_matches = matches / config.matches if config.matches is not None else 0.0
    by_seconds = seconds / config.seconds if config.seconds is not None else 0.0
    return min(1.0, max(by_matches, by_seconds))


def _counted(decision: Decision, on_ply: Callable[[], None]) -> Decision:
    def counted(node: Any, rng: random.Random) -> int:
        on_ply()
        return decision(node, rng)

    return counted


def _announced(batches: Iterable[Batch], on_batch: Callable[[], None]) -> Iterator[Batch]:
    for batch in batches:
        on_batch()
        yield batch


def _seed(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))

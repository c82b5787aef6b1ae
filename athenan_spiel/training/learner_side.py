"""Trainer: everything that a checkpoint contains, and the operations that change it.

Seeds and weights go to an actor, game records come back. `new_round` returns the seeds of a round, `learn` learns each
record in the order of the seeds, and `end_round` ends the round. Between two rounds `checkpoint` is the complete state.
Until the round ends, `drop_round` undoes all its changes and `drop_phase` those of the last game. `roll_back` returns
to a checkpoint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import ProverConfig, ReplayConfig, TrainingConfig
from athenan_spiel.config.settings import MOST
from athenan_spiel.engines import torch_threads
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning import Replay, Targets, make_replay
from athenan_spiel.learning.augmentation import Augmentation
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay import Batch
from athenan_spiel.learning.warm_up import RandomStates
from athenan_spiel.networks import ValueNetwork
from athenan_spiel.outcomes.calibration import CalibrationTally
from athenan_spiel.training.actor import MatchRecord, PublishedWeights, proven_states
from athenan_spiel.training.checkpoints import Checkpoint, Counters, Header
from athenan_spiel.training.events import LearningFinished, MatchFinished, ShareName
from athenan_spiel.training.model import Weights, load_weights, new_network
from athenan_spiel.training.plan import Randomness, RunPlan
from athenan_spiel.training.preflight import learning_device

LEAST_EXPLAINED = 0.02
"""Minimum fraction of the variance that a network must explain after a warm-up with the method `games`.

In trials, the agents that lost after a warm-up had learned nothing that predicts the results of other random games
(`docs/strength.md`)."""
TEST_STATES = 32_768
"""Maximum number of states that measure this fraction; at most a tenth of the states learned."""
MAX_FACTOR = 2.0
"""Maximum factor by which the length of phases changes after a round."""


class LearnerSide:
    """State of a run: network, optimiser, replay, proven states, counters and random generators.

    Args:
        checkpoint: state to resume from; None for a new run. The plan was made from its header.

    Attributes:
        plan: the run's plan. Its `config` holds the settings at the beginning.
        game, outcome, kind, encoder, policy: as in the plan.
        config: the current settings.
        counters: progress of the run. `seconds` is only set in checkpoints, as the caller has the clock.
        proven: states proven in earlier games; None if they are not kept.
        trees_were_full: whether the tree of a learned game was full.
        calibration: values of positions and the results of their games.

    Raises:
        CheckpointError: the checkpoint does not fit the plan.
        ConfigError: the network does not fit the game or the free memory.
    """

    def __init__(self, plan: RunPlan, checkpoint: Checkpoint | None = None) -> None:
        self.plan = plan
        self.config = config = plan.config
        self.game, self.encoder, self.policy = plan.game, plan.encoder, plan.policy
        self.outcome, self.kind = plan.outcome, plan.kind
        self._random = Randomness(config.seed, plan.generators)
        generators = self._random.generators
        network = new_network(plan.game, plan.encoder, config, plan.outcome, plan.policy, seed=self._random.network)
        self._learner = Learner(network, config.learner, learning_device(config.engine))
        self.augmentation: Callable[[Targets], Targets] = lambda targets: targets
        if plan.symmetries.names:
            self.augmentation = Augmentation(plan.symmetries, generators["symmetries"])
        self.replay = make_replay(self._replay_config(), generators["replay"])
        self.proven = proven_states(config)
        self.trees_were_full = False
        self.calibration = CalibrationTally()
        self.counters = Counters()
        warms_up = config.warm_up.method == "games" and (checkpoint is None or not checkpoint.header.counters.matches)
        self._initial = {name: tensor.clone() for name, tensor in self._weights().items()} if warms_up else None
        if checkpoint is not None:
            self._restore(checkpoint)
        self._version = 0
        self._with_values = True
        self._new_proofs: list[Mapping[str, NDArray[Any]]] = []
        self._before_round: _State | None = None
        self._before_match: _State | None = None
        self._learning_seconds = 0.0
        self._round_ended: float | None = None

    @property
    def network(self) -> ValueNetwork:
        """The network in training."""
        return self._learner.network

    def published(self) -> PublishedWeights:
        """Returns the current weights, for an actor."""
        return PublishedWeights(self._version, self._weights())

    def warm_up(self, is_over: Callable[[], bool]) -> Generator[Batch, None, None]:
        """Yields the remaining minibatches of the warm-up; none after its end.

        Args:
            is_over: returns whether the time of the warm-up has passed, if its time is limited.
        """
        timed = self.config.warm_up_seconds > 0
        states = MOST if timed else self.config.warm_up.states
        if states is None or self.counters.warm_ups_ended or self.counters.matches > 0:
            return
        processes = 1 if timed else self.config.warm_up.processes
        yield from self._random_states(states, processes, is_over if timed else None)

    def _random_states(
        self, states: int, processes: int | None, is_over: Callable[[], bool] | None = None
    ) -> Generator[Batch, None, None]:
        """Yields the first `states` states of random games in minibatches, without those of the warm-up so far."""
        random_states = RandomStates(
            self.game,
            self.outcome,
            self.encoder,
            method=self.config.warm_up.method,
            states=states,
            seed=self._random.warm_up,
            processes=processes,
            edges=self.config.encoding.edges,
            is_over=is_over,
        )
        yield from random_states.minibatches(self.config.learner.batch_size, first=self.counters.warm_up_states)

    def learn_warm_up(self, batch: Batch) -> float:
        """Learn a minibatch of the warm-up and return its loss.

        Raises:
            DivergedError: the loss or the weights are not finite.
        """
        self._version += 1
        loss = self._learner.learn([batch]).loss
        assert loss is not None, "a minibatch contains at least one state"
        self._count(warm_up_states=self.counters.warm_up_states + len(batch.labels))
        return loss

    def end_warm_up(self) -> tuple[float | None, bool]:
        """End the warm-up. A network that hardly explains the values is reset to its initial weights.

        In some games the result of a random game does not depend on its earlier states. Then the network learns noise,
        which can make all its outputs equal (`docs/strength.md`).

        Returns:
            The fraction of the variance of the values of new states that the network explains, at most 1, or None with
            the method "ends", after which the weights stay; and whether they stay.
        """
        self._count(warm_ups_ended=1)
        if self.config.warm_up.method == "ends" or self._initial is None:
            return None, True
        explained = self._explained_fraction()
        is_kept = explained >= LEAST_EXPLAINED
        if not is_kept:
            self._version += 1
            self.network.load_state_dict(self._initial)
            self._learner = Learner(self.network, self.config.learner, learning_device(self.config.engine))
        return explained, is_kept

    def _explained_fraction(self) -> float:
        learned = self.counters.warm_up_states
        errors, values = [], []
        for batch in self._random_states(learned + min(TEST_STATES, max(1, learned // 10)), 1):
            values.append(batch.labels.values)
            errors.append((self._learner.values(batch.observations) - batch.labels.values) ** 2)
        variance = float(np.concatenate(values).var(0, dtype=float).mean())
        error = float(np.concatenate(errors).mean(dtype=float))
        return 1 - error / variance if variance else 0.0

    def new_round(self, progress: float = 0.0, matches: int | None = None) -> list[int]:
        """Begin the next round and return the seeds of its games.

        Args:
            progress: fraction of the run completed, in [0, 1], for the learning rate and ExIt's phases.
            matches: number of games; by default `matches_at_once`, or fewer at the end of the run.
        """
        self._with_values = self.config.self_play.has_values(progress)
        self._learner.set_progress(progress)
        if matches is None:
            matches, limit = self.config.matches_at_once, self.config.matches
            if limit is not None:
                matches = min(matches, limit - self.counters.matches)
        self._before_round = self._state()
        return self.seeds(matches)

    def seeds(self, count: int) -> list[int]:
        """Draw the seeds of further games."""
        seeds: list[int] = self._random.generators["matches"].integers(2**64, size=count, dtype=np.uint64).tolist()
        return seeds

    def learn(self, record: MatchRecord, on_batch: Callable[[], None]) -> tuple[MatchFinished, LearningFinished]:
        """Add the training samples of a game to the replay and run one learning phase (Algorithms 3-8).

        Args:
            on_batch: called before each minibatch. If it raises, `drop_phase` undoes the phase.

        Raises:
            DivergedError: the loss or the weights are not finite.
        """
        assert self._before_round is not None, "a round is in progress"
        if self.counters.matches == self._before_round.counters.matches:  # only seeds were drawn since then
            self._before_match = dataclasses.replace(self._before_round, generators=self._random.states())
        else:
            self._before_match = self._state()
        self._version += 1
        self.trees_were_full = self.trees_were_full or record.curtailed > 0
        if record.proofs is not None:
            self._new_proofs.append(record.proofs)
        self.calibration = self.calibration.add(self.game, self.outcome, record.estimates, record.returns)
        targets = self.augmentation(record.targets)
        self.replay.add(targets)
        batches = self.replay.sample(self.config.learner.batch_size)
        report = self._learner.learn(_with_calls(batches, on_batch), values=self._with_values)
        number = self.counters.matches + 1
        self._count(
            matches=number,
            evaluations=self.counters.evaluations + record.evaluations,
            states_learned=self.counters.states_learned + report.states,
        )
        self._learning_seconds += report.seconds
        played = MatchFinished(
            matches=number,
            length=record.length,
            returns=record.returns,
            iterations=record.iterations,
            evaluations=record.evaluations,
            requests=record.requests,
            targets=len(targets),
            curtailed=None if self.config.memory.tree_states is None else record.curtailed,
            actions=record.actions,
            cut_off=record.cut_off,
        )
        learned = LearningFinished(
            matches=number,
            loss=report.loss,
            policy_loss=report.policy_loss,
            states_learned=report.states,
            batches=report.batches,
            learning_seconds=report.seconds,
        )
        return played, learned

    def drop_phase(self) -> None:
        """Undo the last learning phase, complete or not; earlier games of the round stay learned."""
        assert self._before_match is not None, "a match was learned"
        self._restore_state(self._before_match)
        self._before_match = None

    def drop_round(self) -> None:
        """Undo the round in progress, if any; the next round then has the same games."""
        if self._before_round is not None:
            self._restore_state(self._before_round)
            self._before_round = self._before_match = None

    def roll_back(self, checkpoint: Checkpoint, config: TrainingConfig) -> None:
        """Restore the state of a checkpoint of this run.

        Args:
            config: settings from now on; only those of the learner may differ.

        Raises:
            CheckpointError: the checkpoint does not fit this run.
        """
        self.config = config
        self._version += 1
        self._new_proofs = []
        self._before_round = self._before_match = None
        self._learner = Learner(self.network, config.learner, learning_device(config.engine))
        self._restore(checkpoint)

    def adapt(self, config: TrainingConfig) -> None:
        """Continue with other search settings and another number of games at once."""
        self.config = config

    def end_round(self, seconds: float) -> None:
        """End the round.

        Args:
            seconds: training time until now.
        """
        if self.proven is not None:
            for proofs in self._new_proofs:
                self.proven.add_arrays(proofs)
        self.forget_proven(seconds)
        self._adjust_intensity(seconds)
        self._count(rounds=self.counters.rounds + 1)
        self._before_round = self._before_match = None
        self._new_proofs = []

    def _adjust_intensity(self, seconds: float) -> None:
        """Lengthen or shorten the next phases, so that learning takes `replay.learning_share` of the time.

        Without a time limit phases stay as they are, so the run can be repeated exactly.
        """
        share, before = self.config.replay.learning_share, self._round_ended
        taken, self._learning_seconds, self._round_ended = self._learning_seconds, 0.0, seconds
        if share is None or self.config.seconds is None or before is None or seconds <= before or not taken:
            return
        factor = min(MAX_FACTOR, max(1 / MAX_FACTOR, share * (seconds - before) / taken))
        self.replay.intensity = max(1.0, min(self.replay.max_intensity, self.replay.intensity * factor))

    def forget_proven(self, seconds: float) -> None:
        """Drop the proven states if `search.resolved_hours` have passed. Call this between two rounds.

        Args:
            seconds: training time until now.
        """
        search = self.config.search
        hours = search.resolved_hours if isinstance(search, ProverConfig) else None
        if self.proven is None or hours is None or seconds - self.counters.resolved_since < 3600 * hours:
            return
        self.proven.clear()
        self._count(resolved_since=seconds)

    def full_shares(self) -> list[ShareName]:
        """Returns the parts of the memory budget that are or were full."""
        full: dict[ShareName, bool] = {
            "tree": self.trees_were_full,
            "replay": self.replay.lacked_room,
            "proven": self.proven is not None and self.proven.is_full,
        }
        return [name for name, is_full in full.items() if is_full]

    def note_evaluation(self, matches: int) -> None:
        """Record the evaluation of the network after `matches` games. Call this between two rounds."""
        self._count(evaluated_at=matches)

    def checkpoint(self, seconds: float) -> Checkpoint:
        """Returns the state. Call this between two rounds.

        Args:
            seconds: training time until now.
        """
        return self.snapshot(seconds)()

    def snapshot(self, seconds: float) -> Callable[[], Checkpoint]:
        """Returns a function that creates the checkpoint of this moment. Call it once, at any time, in any thread.

        Args:
            seconds: training time until now.
        """
        parts: dict[str, Any] = {
            "header": self.header(seconds),
            "weights": {name: tensor.to("cpu", copy=True) for name, tensor in self._weights().items()},
            "optimizer": self._learner.state_dict(),
            "resolved": None if self.proven is None else self.proven.to_arrays(),
        }
        replays = [self.replay.copy()]
        return lambda: Checkpoint(replay=replays.pop().to_arrays(), **parts)

    def header(self, seconds: float) -> Header:
        """Returns the header of a checkpoint."""
        return Header(
            game=str(self.game),
            config=self.config,
            outcome=dict(self.outcome.parameters),
            counters=dataclasses.replace(self.counters, seconds=seconds),
            generators=self._random.states(),
            fit=None if self.plan.fit is None else self.plan.fit.to_dict(),
            calibration=self.calibration,
        )

    def _weights(self) -> Weights:
        return {name: tensor.detach() for name, tensor in self.network.state_dict().items()}

    def _count(self, **counts: Any) -> None:
        self.counters = dataclasses.replace(self.counters, **counts)

    def _state(self) -> _State:
        """Returns a copy of everything that learning a game changes."""
        with torch_threads(1):  # more threads are slower next to other processes, and no faster without them
            return _State(
                weights={name: tensor.clone() for name, tensor in self._weights().items()},
                moments=self._learner.state_dict(),
                replay=self.replay.copy(),
                counters=self.counters,
                generators=self._random.states(),
                new_proofs=tuple(self._new_proofs),
                calibration=self.calibration,
            )

    def _restore_state(self, state: _State) -> None:
        self._version += 1
        with torch_threads(1):
            self.network.load_state_dict(state.weights)
            self._learner.load_state_dict(state.moments)
        self.replay = state.replay.copy()
        self.counters = state.counters
        self._random.set_states(state.generators)
        self._new_proofs = [*state.new_proofs]
        self.calibration = state.calibration

    def _restore(self, checkpoint: Checkpoint) -> None:
        load_weights(self.network, checkpoint.weights)
        try:
            self._learner.load_state_dict(checkpoint.optimizer)
            self._random.set_states(checkpoint.header.generators)
        except (RuntimeError, KeyError, ValueError, TypeError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint does not fit this run: {error!r}") from error
        self._require_known_actions(checkpoint.replay.get("policy_actions"))
        self.replay = make_replay(self._replay_config(), self._random.generators["replay"], checkpoint.replay)
        if foreign := self.replay.row_sizes() - {self.encoder.size}:
            raise CheckpointError(
                f"the checkpoint does not fit this run: its replay contains states of {min(foreign)} numbers, "
                f"expected {self.encoder.size}"
            )
        shapes = self.replay.value_shapes()
        if checkpoint.resolved is not None and len(checkpoint.resolved.get("values", ())):
            shapes.add(checkpoint.resolved["values"].shape[1:])
        if shapes - {() if self.network.values == 1 else (self.network.values,)}:
            raise CheckpointError(
                f"the checkpoint does not fit this run: expected {self.network.values} values for each state of its "
                "replay and its resolved states"
            )
        self.calibration = checkpoint.header.calibration
        self.counters = checkpoint.header.counters
        if self.proven is not None:
            self.proven = proven_states(self.config, checkpoint.resolved)

    def _replay_config(self) -> ReplayConfig:
        """Returns the settings of the replay, limited by the memory budget."""
        config, most = self.config.replay, self.config.memory.replay_bytes
        return config if most is None else dataclasses.replace(config, megabytes=min(config.megabytes, most / 1e6))

    def _require_known_actions(self, actions: NDArray[Any] | None) -> None:
        """Raise `CheckpointError` unless the network has a logit for each action in the replay's policies."""
        most = 0 if self.policy is None else self.policy.actions
        if actions is not None and actions.size and not (actions.min() >= 0 and actions.max() < most):
            raise CheckpointError(
                f"the checkpoint does not fit this run: its replay has policies of actions up to {actions.max()}, and "
                f"the network has {most} actions"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class _State:
    """Copy of everything that learning a game changes."""

    weights: Weights
    moments: Weights
    replay: Replay
    counters: Counters
    generators: dict[str, dict[str, Any]]
    new_proofs: tuple[Mapping[str, NDArray[Any]], ...]
    calibration: CalibrationTally


def _with_calls(batches: Iterable[Batch], on_batch: Callable[[], None]) -> Iterator[Batch]:
    """Yields the minibatches and calls `on_batch` before each."""
    for batch in batches:
        on_batch()
        yield batch

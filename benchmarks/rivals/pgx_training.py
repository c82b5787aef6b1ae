"""Self-play and learning of a Gumbel AlphaZero: N concurrent games play a few moves, then ended games are learned.

The states of an ended game are added to the replay, each with its improved policy and the result for its mover. After
each stretch of play, as many minibatches are learned as make each state be learned `reuse` times on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import pgx_network
import pgx_search

STRETCH = 8
"""Moves of each game between two learning phases."""
BATCH = 256
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4
REPLAY_STATES = 100_000
Example = tuple[Any, Any, float]
"""A state's planes, its improved policy, and the result."""


@dataclass
class Counts:
    """Counters of a training."""

    matches: int = 0
    states_played: int = 0
    states_learned: int = 0
    evaluations: int = 0


class Replay:
    """The last `REPLAY_STATES` examples, sampled uniformly."""

    def __init__(self, shape: Sequence[int], actions: int, rng: np.random.Generator) -> None:
        self._planes = np.zeros((REPLAY_STATES, *shape), np.bool_)
        self._policies = np.zeros((REPLAY_STATES, actions), np.float32)
        self._results = np.zeros(REPLAY_STATES, np.float32)
        self._rng = rng
        self._added = 0

    def add(self, examples: Sequence[Example]) -> None:
        """Adds examples in place of the oldest."""
        for planes, policy, result in examples:
            at = self._added % REPLAY_STATES
            self._planes[at], self._policies[at], self._results[at] = planes, policy, result
            self._added += 1

    def sample(self, size: int) -> tuple[Any, Any, Any]:
        """Returns planes, policies and results of `size` examples, drawn with replacement."""
        drawn = self._rng.integers(min(self._added, REPLAY_STATES), size=size)
        return self._planes[drawn], self._policies[drawn], self._results[drawn]


class Training:
    """A training in progress.

    Args:
        env: Pgx's game.
        matches: number of concurrent games.
        simulations: simulations per move.
        reuse: mean number of times a state is learned.
        seed: random seed.

    Attributes:
        weights: newest weights.
        counts: counters.
    """

    def __init__(self, env: Any, matches: int, simulations: int, reuse: float, seed: int) -> None:
        self._key = jax.random.PRNGKey(seed)
        self._env, self._simulations, self._reuse = env, simulations, reuse
        self._states = jax.jit(jax.vmap(env.init))(jax.random.split(self._drawn(), matches))
        shape, actions = self._states.observation.shape[1:], self._states.legal_action_mask.shape[1]
        self.weights = pgx_network.make(shape, actions, self._drawn())
        self.counts = Counts()
        self._optimiser = optax.adamw(LEARNING_RATE, weight_decay=WEIGHT_DECAY)
        self._momenta = self._optimiser.init(self.weights)
        self._replay = Replay(shape, actions, np.random.default_rng(seed))
        self._open: list[list[tuple[Any, Any, int]]] = [[] for _ in range(matches)]
        self._due = 0.0
        self._search = pgx_search.searcher(env, simulations, gumbel_scale=1.0)
        self._play, self._step = jax.jit(self._played), jax.jit(self._gradient_step)

    def round(self) -> None:
        """Plays `STRETCH` moves of each game, and learns."""
        self._states, records = self._play(self.weights, self._states, self._drawn())
        ended = self._ended(jax.device_get(records))
        self.counts.states_played += STRETCH * len(self._open)
        self.counts.evaluations += STRETCH * len(self._open) * (self._simulations + 1)
        self._replay.add(ended)
        self._due += self._reuse * len(ended) / BATCH
        while self._due >= 1:
            self.weights, self._momenta = self._step(self.weights, self._momenta, *self._replay.sample(BATCH))
            self.counts.states_learned += BATCH
            self._due -= 1

    def _drawn(self) -> jax.Array:
        self._key, drawn = jax.random.split(self._key)
        return drawn

    def _played(self, weights: pgx_network.Weights, states: Any, key: jax.Array) -> tuple[Any, Any]:
        """Returns the states after `STRETCH` moves, with ended games restarted, and records [STRETCH, N]."""

        def move(states: Any, key: jax.Array) -> tuple[Any, Any]:
            searching, beginning = jax.random.split(key)
            answer = self._search(weights, states, searching)
            following = jax.vmap(self._env.step)(states, answer.action)
            fresh = jax.vmap(self._env.init)(jax.random.split(beginning, len(answer.action)))

            def fresh_if_ended(new: jax.Array, old: jax.Array) -> jax.Array:
                ended = following.terminated.reshape(-1, *[1] * (new.ndim - 1))
                return jnp.where(ended, new, old)

            record = (
                states.observation,
                answer.action_weights,
                states.current_player,
                following.terminated,
                following.rewards,
            )
            return jax.tree.map(fresh_if_ended, fresh, following), record

        last, records = jax.lax.scan(move, states, jax.random.split(key, STRETCH))
        return last, records

    def _ended(self, records: tuple[Any, ...]) -> list[Example]:
        """Returns the examples of the games that ended in `records`; the others are stored until they end."""
        examples: list[Example] = []
        for planes, policies, movers, terminated, rewards in zip(*records, strict=True):
            for index, match in enumerate(self._open):
                match.append((planes[index], policies[index], int(movers[index])))
                if terminated[index]:
                    examples += [(seen, policy, float(rewards[index][mover])) for seen, policy, mover in match]
                    match.clear()
                    self.counts.matches += 1
        return examples

    def _gradient_step(
        self, weights: pgx_network.Weights, momenta: Any, planes: jax.Array, policies: jax.Array, results: jax.Array
    ) -> tuple[pgx_network.Weights, Any]:
        """Returns weights and momenta after a step with cross-entropy of the policy and squared error of the value."""

        def loss(weights: pgx_network.Weights) -> jax.Array:
            logits, values = pgx_network.apply(weights, planes)
            of_policy = optax.softmax_cross_entropy(logits, policies)
            return jnp.mean(of_policy + (values - results) ** 2)

        change, momenta = self._optimiser.update(jax.grad(loss)(weights), momenta, weights)
        return optax.apply_updates(weights, change), momenta

"""Self-play and learning of a Gumbel AlphaZero: N matches at once play a few moves, then what has ended is learned.

All states of a match that has ended join the replay, each with its improved policy and the result for who was to move.
After each stretch of play as many minibatches are drawn from it as let each state be learned `reuse` times on average.
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
"""Moves of each match between two phases of learning."""
BATCH = 256
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4
REPLAY_STATES = 100_000
Example = tuple[Any, Any, float]
"""A state's planes, its improved policy, and the result."""


@dataclass
class Counts:
    """What was done so far."""

    matches: int = 0
    states_played: int = 0
    states_learned: int = 0
    evaluations: int = 0


class Replay:
    """The last `REPLAY_STATES` examples, drawn from uniformly."""

    def __init__(self, shape: Sequence[int], actions: int, rng: np.random.Generator) -> None:
        self._planes = np.zeros((REPLAY_STATES, *shape), np.bool_)
        self._policies = np.zeros((REPLAY_STATES, actions), np.float32)
        self._results = np.zeros(REPLAY_STATES, np.float32)
        self._rng = rng
        self._added = 0

    def add(self, examples: Sequence[Example]) -> None:
        """Keep these instead of the oldest."""
        for planes, policy, result in examples:
            at = self._added % REPLAY_STATES
            self._planes[at], self._policies[at], self._results[at] = planes, policy, result
            self._added += 1

    def sample(self, size: int) -> tuple[Any, Any, Any]:
        """Planes, policies and results of as many examples, drawn with replacement."""
        drawn = self._rng.integers(min(self._added, REPLAY_STATES), size=size)
        return self._planes[drawn], self._policies[drawn], self._results[drawn]


class Training:
    """A training in progress.

    Args:
        env: Pgx's game.
        matches: at once.
        simulations: of the search before each move.
        reuse: how often a state is learned on average.
        seed: of all that is drawn.

    Attributes:
        weights: the newest.
        counts: what was done.
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
        self._owed = 0.0
        self._search = pgx_search.searcher(env, simulations, gumbel_scale=1.0)
        self._play, self._step = jax.jit(self._played), jax.jit(self._stepped)

    def round(self) -> None:
        """Play `STRETCH` moves of each match, and learn."""
        self._states, records = self._play(self.weights, self._states, self._drawn())
        ended = self._ended(jax.device_get(records))
        self.counts.states_played += STRETCH * len(self._open)
        self.counts.evaluations += STRETCH * len(self._open) * (self._simulations + 1)
        self._replay.add(ended)
        self._owed += self._reuse * len(ended) / BATCH
        while self._owed >= 1:
            self.weights, self._momenta = self._step(self.weights, self._momenta, *self._replay.sample(BATCH))
            self.counts.states_learned += BATCH
            self._owed -= 1

    def _drawn(self) -> jax.Array:
        self._key, drawn = jax.random.split(self._key)
        return drawn

    def _played(self, weights: pgx_network.Weights, states: Any, key: jax.Array) -> tuple[Any, Any]:
        """The states after `STRETCH` moves, ended matches begun anew, and what was seen on the way [STRETCH, N]."""

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
        """The examples of the matches that ended in `records`; the others' are kept until they end."""
        examples: list[Example] = []
        for planes, policies, movers, terminated, rewards in zip(*records, strict=True):
            for index, match in enumerate(self._open):
                match.append((planes[index], policies[index], int(movers[index])))
                if terminated[index]:
                    examples += [(seen, policy, float(rewards[index][mover])) for seen, policy, mover in match]
                    match.clear()
                    self.counts.matches += 1
        return examples

    def _stepped(
        self, weights: pgx_network.Weights, momenta: Any, planes: jax.Array, policies: jax.Array, results: jax.Array
    ) -> tuple[pgx_network.Weights, Any]:
        """Weights and momenta after a step on one minibatch: cross-entropy of the policy and squared error."""

        def loss(weights: pgx_network.Weights) -> jax.Array:
            logits, values = pgx_network.apply(weights, planes)
            of_policy = optax.softmax_cross_entropy(logits, policies)
            return jnp.mean(of_policy + (values - results) ** 2)

        change, momenta = self._optimiser.update(jax.grad(loss)(weights), momenta, weights)
        return optax.apply_updates(weights, change), momenta

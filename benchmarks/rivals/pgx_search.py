"""Gumbel AlphaZero's search (Danihelka et al. 2022) by mctx, with Pgx's rules and the network of `pgx_network`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

import pgx_network

MOST_CONSIDERED = 16
"""Maximum number of root actions in sequential halving, as in the article."""


def searcher(env: Any, simulations: int, gumbel_scale: float) -> Callable[[pgx_network.Weights, Any, jax.Array], Any]:
    """Returns a function of weights, N states and a key that searches from each state; compile it with `jax.jit`.

    Args:
        env: Pgx's game; its players must take turns.
        simulations: simulations per search.
        gumbel_scale: 1 to explore, 0 for the same choice each time.

    Returns:
        The function. Its result has `action` int [N] and `action_weights` float [N, A], the improved policy.
    """
    step = jax.vmap(env.step)

    def recurrent(weights: Any, key: jax.Array, action: jax.Array, states: Any) -> tuple[Any, Any]:
        del key
        mover = states.current_player
        following = step(states, action)
        logits, value = pgx_network.apply(weights, following.observation)
        return mctx.RecurrentFnOutput(
            reward=following.rewards[jnp.arange(len(mover)), mover],
            discount=jnp.where(following.terminated, 0.0, -1.0),
            prior_logits=_masked(logits, following.legal_action_mask),
            value=jnp.where(following.terminated, 0.0, value),
        ), following

    def search(weights: pgx_network.Weights, states: Any, key: jax.Array) -> Any:
        logits, value = pgx_network.apply(weights, states.observation)
        root = mctx.RootFnOutput(prior_logits=_masked(logits, states.legal_action_mask), value=value, embedding=states)
        return mctx.gumbel_muzero_policy(
            weights,
            key,
            root,
            recurrent,
            simulations,
            invalid_actions=~states.legal_action_mask,
            max_num_considered_actions=MOST_CONSIDERED,
            gumbel_scale=gumbel_scale,
        )

    return search


def _masked(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Returns logits with maximum 0, and the smallest float for illegal actions."""
    logits = logits - jnp.max(logits, axis=-1, keepdims=True)
    return jnp.where(legal, logits, jnp.finfo(logits.dtype).min)

"""Random matches: from a state to its end, each action drawn uniformly from the legal ones by what the caller gives.

A playout is the same wherever one is played (rollouts, samples, openings, warm-ups), and the draws are the caller's:
`random.Random.choice`, or a function like it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyspiel

Choose = Callable[[Sequence[int]], int]
"""Draws one of some legal actions."""


def random_moves(state: pyspiel.State, choose: Choose) -> Iterator[list[int]]:
    """Play from `state` on, which is changed, to the end of the match.

    Yields:
        The legal actions, before each action: whoever stops asking leaves the match there.
    """
    while not state.is_terminal():
        actions = state.legal_actions()
        yield actions
        state.apply_action(choose(actions))


def playout(state: pyspiel.State, choose: Choose) -> pyspiel.State:
    """Play from `state` on, which is changed, to the end of the match; returns it."""
    for _ in random_moves(state, choose):
        pass
    return state

"""Random matches: from a state to its end, each action drawn uniformly from the legal ones by what the caller gives.
And whether a match was cut by its length limit.

A playout is the same wherever one is played (rollouts, samples, openings, warm-ups), and the draws are the caller's:
`random.Random.choice`, or a function like it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyspiel

from athenan_spiel.games.extensions import says_cut
from athenan_spiel.games.facts import facts_of, longest_match

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


def is_cut(state: pyspiel.State) -> bool:
    """Whether the length limit ended the game, and not its rules: it might have gone on.

    A state's own `was_cut` (`extensions.CutState`) decides, then `cut` in `games.facts`, then whether
    the game has the greatest length that OpenSpiel allows (`max_game_length()`).

    Args:
        state: any state; one that is not terminal was not cut.
    """
    if not state.is_terminal():
        return False
    if says_cut(state):
        return state.was_cut()
    if not hasattr(state, "get_game"):  # a hand-made state
        return False
    game = state.get_game()
    cut = facts_of(game.get_type().short_name).cut
    return cut(state) if cut is not None else len(state.history()) >= longest_match(game)

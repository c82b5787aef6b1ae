"""Random playouts, and games that end by their length limit.

The caller provides the random choice, such as `random.Random.choice`. Players choose uniformly, chance by its
probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyspiel

from athenan_spiel.games.chance import draw_outcome, is_chance
from athenan_spiel.games.extensions import says_cut
from athenan_spiel.games.facts import facts_of, longest_match

Choose = Callable[[Sequence[int]], int]
"""Chooses one of the legal actions, or one of other integers."""

_UNIFORM = range(2**53)
"""Numerators of the numbers that select an outcome of chance."""


def random_moves(state: pyspiel.State, choose: Choose) -> Iterator[list[int]]:
    """Play a random game from `state`, which is changed, to its end.

    Yields:
        The legal actions, before each action; in a chance state its outcomes. The caller can stop at any of them.
    """
    while not state.is_terminal():
        actions = state.legal_actions()
        yield actions
        if is_chance(state):
            state.apply_action(draw_outcome(state, choose(_UNIFORM) / len(_UNIFORM)))
        else:
            state.apply_action(choose(actions))


def playout(state: pyspiel.State, choose: Choose) -> pyspiel.State:
    """Play a random game from `state`, which is changed, to its end, and return the state."""
    for _ in random_moves(state, choose):
        pass
    return state


def is_cut(state: pyspiel.State) -> bool:
    """Return whether the length limit ended the game, rather than its rules.

    A state's own `was_cut` (`extensions.CutState`) decides, then `cut` in `games.facts`, then whether
    the game has the greatest length that OpenSpiel allows (`max_game_length()`).

    Args:
        state: any state. A state that is not terminal was not cut.
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

"""Chance: the outcomes of a chance state, and rolling them.

A chance state is one in which the game chooses: `state.current_player()` is `CHANCE`. Its legal actions are its
outcomes, in the order of `state.chance_outcomes()`. Players are never asked in such a state: whoever runs a game rolls
until a player is to move.

A state must be determined by its history. OpenSpiel's type `SAMPLED_STOCHASTIC` allows a chance state with one outcome
that has a random effect. Stones and Gems, its only game, is therefore supported without such effects
(`facts/faults.py`). Chance with more outcomes than a tree holds is sampled here (`sampled_outcomes`).
"""

from __future__ import annotations

import bisect
import itertools
import random
import re
from collections.abc import Callable, Sequence

import pyspiel

CHANCE = int(pyspiel.PlayerId.CHANCE)
"""`state.current_player()` of a chance state."""
CHANCE_SAMPLES = 64
"""Default for the largest number of outcomes of a chance state in a tree. Backgammon has up to 36, Yacht 7,776."""

_NUMBER = re.compile(r"^chance outcome \d+ ", re.IGNORECASE)
_ROLL = re.compile(r"\(roll: (\d+)\)")


def is_chance(state: pyspiel.State) -> bool:
    """Return whether chance chooses in `state`."""
    return bool(state.current_player() == CHANCE)


def has_chance(game: pyspiel.Game) -> bool:
    """Return whether a state of the game may be a chance state. A hand-made game without the method has none."""
    most = getattr(game, "max_chance_outcomes", None)
    return most is not None and most() > 0


def outcomes_of(state: pyspiel.State) -> tuple[list[int], list[float]]:
    """Return the n outcomes of a chance state and their n probabilities, which sum to 1."""
    outcomes = state.chance_outcomes()
    return [outcome for outcome, _ in outcomes], [probability for _, probability in outcomes]


def possible_actions(state: pyspiel.State) -> list[int]:
    """Return the legal actions of `state`; in a chance state the outcomes with a positive probability."""
    if not is_chance(state):
        return list(state.legal_actions())
    return [int(outcome) for outcome, probability in state.chance_outcomes() if probability > 0]


def outcome_name(state: pyspiel.State, outcome: int) -> str:
    """Return OpenSpiel's name of an outcome without the words around a roll, such as "O starts, roll 65"."""
    name = str(state.action_to_string(CHANCE, outcome))
    return _ROLL.sub(r"roll \1", _NUMBER.sub("", name)) or name


def mover_after_chance(state: pyspiel.State) -> int | None:
    """Return the next player to move in `state`; None if the outcomes of chance before its move decide that."""
    if not is_chance(state):
        return int(state.current_player())
    movers = set()
    for outcome in sampled_outcomes(state)[0]:
        child = state.child(outcome)
        roll(child, random.Random(0).random)
        movers.add(int(child.current_player()))
    return movers.pop() if len(movers) == 1 else None


def first_mover(game: pyspiel.Game) -> int:
    """Return the player that makes the first move; 0 if the outcomes of chance before it decide that."""
    return mover_after_chance(game.new_initial_state()) or 0


FirstMover = Callable[[Sequence[int]], int]
"""Returns the player that makes the first move of a game, from the game's actions."""


def first_mover_of(game: pyspiel.Game) -> FirstMover:
    """Return the function that finds the player with the first move in a game with some actions.

    In a game that starts with chance, such as Backgammon, the outcomes before the first move may decide it.
    """
    start = game.new_initial_state()
    if not is_chance(start):
        mover = int(start.current_player())
        return lambda history: mover

    def first_mover(history: Sequence[int]) -> int:
        state = start.clone()
        for outcome in history:
            if not is_chance(state):
                break
            state.apply_action(outcome)
        return int(state.current_player())

    return first_mover


def draw_outcome(state: pyspiel.State, uniform: float) -> int:
    """Return the outcome of a chance state that a number from [0, 1) selects by the cumulative probabilities."""
    outcomes, probabilities = outcomes_of(state)
    sums = itertools.accumulate(probabilities)
    return next((outcome for outcome, total in zip(outcomes, sums, strict=True) if uniform < total), outcomes[-1])


Draw = Callable[[pyspiel.State], int]
"""Draws an outcome of a chance state."""


def random_draw(rng: random.Random) -> Draw:
    """Return a function that draws each outcome with its probability."""
    return lambda state: draw_outcome(state, rng.random())


def roll(state: pyspiel.State, uniform: Callable[[], float]) -> list[int]:
    """Apply random outcomes to `state` until a player is to move or the game has ended, and return them.

    Args:
        uniform: returns numbers from [0, 1), such as `random.Random.random`; called once per outcome.
    """
    rolled = []
    while is_chance(state):
        rolled.append(draw_outcome(state, uniform()))
        state.apply_action(rolled[-1])
    return rolled


def sampled_outcomes(state: pyspiel.State, most: int = CHANCE_SAMPLES) -> tuple[list[int], list[float], bool]:
    """Return the outcomes of a chance state and their probabilities, and whether these are all outcomes.

    If there are more than m = `most`, a systematic sample of size m is drawn: one outcome at each of the cumulative
    probabilities (k + U) / m. An outcome drawn n times has the probability n / m, so expectations over the sample are
    unbiased. The history of the state is the seed of U.
    """
    outcomes, probabilities = outcomes_of(state)
    if len(outcomes) <= most:
        return outcomes, probabilities, True
    start = random.Random(repr(state.history())).random()
    counts = dict.fromkeys(outcomes, 0)
    sums = list(itertools.accumulate(probabilities))
    for k in range(most):
        at = bisect.bisect_right(sums, (k + start) / most)
        counts[outcomes[min(at, len(outcomes) - 1)]] += 1
    sample = {outcome: count for outcome, count in counts.items() if count}
    return list(sample), [count / most for count in sample.values()], False

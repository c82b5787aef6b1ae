"""Drawn game trees with chance, and their values by brute force."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from fake_game import FakeGame, FakeState, Place, chance, same

from athenan_spiel.games.chance import is_chance


class Trees:
    """Draws trees whose players and chance alternate at random; a terminal state is a number of points for player 0."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0

    def place(self, depth: int) -> Place | float:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return float(rng.choice([-3, -1, 0, 1, 2]))
        children = {}
        for _ in range(rng.randint(1, 3)):
            self.count += 1
            name = f"s{self.count}"
            children[name] = self.place(depth - 1)
        value = rng.uniform(-3, 3)
        if rng.random() < 0.4:
            weights = [rng.randint(1, 5) for _ in children]
            return chance(value, [weight / sum(weights) for weight in weights], **children)
        return Place(rng.randint(0, 1), value, children)

    def root(self, depth: int) -> Place:
        while True:
            place = self.place(depth)
            if isinstance(place, Place) and place.mover >= 0:
                return place


def points(state: FakeState) -> float:
    return state.player_return(0)


def brute_force(state: FakeState, below: Callable[[FakeState], float] | None = None) -> float:
    """Expected gain of a state under best play. `below` returns that of a child; by default this function does."""
    if state.is_terminal():
        return float(np.sign(points(state)))
    found = [(below or brute_force)(state.child(action)) for action in state.legal_actions()]
    if is_chance(state):
        return math.fsum(p * gain for (_, p), gain in zip(state.chance_outcomes(), found, strict=True))
    return max(found) if state.current_player() == 0 else min(found)


def best_points(state: FakeState) -> tuple[float, float]:
    """Smallest and largest expected points of plays with the best expected gain."""
    if state.is_terminal():
        return points(state), points(state)
    children = [state.child(action) for action in state.legal_actions()]
    lowest, highest = zip(*map(best_points, children), strict=True)
    if is_chance(state):
        weights = [p for _, p in state.chance_outcomes()]
        return _mean(lowest, weights), _mean(highest, weights)
    gain = brute_force(state)
    best = [i for i, child in enumerate(children) if math.isclose(brute_force(child), gain, abs_tol=1e-12)]
    return min(lowest[i] for i in best), max(highest[i] for i in best)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(p * value for p, value in zip(weights, values, strict=True))


def wrapped(place: Place | float, name: str = "w") -> Place | float:
    """The same tree with a chance state of one outcome before each state below the root."""
    if not isinstance(place, Place):
        return place
    children = {}
    for child, where in place.children.items():
        assert where is not None
        value = where.value if isinstance(where, Place) else where
        children[f"{name}{child}"] = chance(value, [1.0], **{child: wrapped(where, name)})
    return Place(place.mover, place.value, children)


def without_chance(depth: int, rng: random.Random) -> Place | float:
    if depth == 0 or rng.random() < 0.15:
        return float(rng.choice([-3, -1, 0, 1, 2]))
    children = {f"n{rng.getrandbits(60)}": without_chance(depth - 1, rng) for _ in range(rng.randint(1, 3))}
    return Place(rng.randint(0, 1), rng.uniform(-3, 3), children)


def einstein(size: int) -> FakeGame:
    """EinStein würfelt nicht! on a small board, without the first roll: the stones 1 to 3 of each side, a die of 3.

    A stone moves by one square towards the other corner, across a side or a corner, and captures what stands there.
    The roll names a stone; if it was captured, those of the next smaller and the next larger number may move.
    """
    last = size - 1
    near = [(0, 0), (0, 1), (1, 0)]
    stones = (tuple(near), tuple((last - x, last - y) for x, y in near))
    seen: set[str] = set()

    def name(position: Any, mover: int, die: int) -> str:
        squares = ["".join("--" if at is None else f"{at[0]}{at[1]}" for at in side) for side in position]
        return f"{squares[0]}|{squares[1]} {mover}{die}"

    def place(position: Any, mover: int, die: int) -> Place | float | None:
        key = name(position, mover, die)
        if key in seen:
            return same
        seen.add(key)
        other = 1 - mover
        if (last, last) in position[0] or not any(position[1]):
            return 1.0
        if (0, 0) in position[1] or not any(position[0]):
            return -1.0
        if not die:
            rolls = {name(position, mover, roll): place(position, mover, roll) for roll in (1, 2, 3)}
            return chance(0.0, [1 / 3] * 3, **rolls)
        own = [number for number in (1, 2, 3) if position[mover][number - 1] is not None]
        smaller, larger = [n for n in own if n < die], [n for n in own if n > die]
        step = 1 - 2 * mover
        children = {}
        for number in [die] if die in own else smaller[-1:] + larger[:1]:
            x, y = position[mover][number - 1]
            for to in ((x + step, y), (x, y + step), (x + step, y + step)):
                if min(to) >= 0 and max(to) <= last:
                    sides = [[None if at == to else at for at in side] for side in position]
                    sides[mover][number - 1] = to
                    after = tuple(map(tuple, sides))
                    children[name(after, other, 0)] = place(after, other, 0)
        return Place(mover, 0.0, children)

    root = place(stones, 0, 1)
    return FakeGame(root)

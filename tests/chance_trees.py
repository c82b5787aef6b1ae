"""Drawn game trees with chance, and their values by brute force."""

from __future__ import annotations

import math
import random

import numpy as np
from fake_game import FakeState, Place, chance

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


def brute_force(state: FakeState) -> float:
    """Expected gain of a state under best play."""
    if state.is_terminal():
        return float(np.sign(points(state)))
    found = [brute_force(state.child(action)) for action in state.legal_actions()]
    if is_chance(state):
        return math.fsum(p * gain for (_, p), gain in zip(state.chance_outcomes(), found, strict=True))
    return max(found) if state.current_player() == 0 else min(found)

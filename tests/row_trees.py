"""Drawn game trees for two to five players, with and without chance, and their solutions by brute force."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pyspiel
from fake_game import FakeGame, FakeState, Place, chance

from athenan_spiel.games.chance import is_chance

Row = tuple[float, ...]


class RowGame(FakeGame):
    """A game whose terminal states are rows with a return for each player."""

    def __init__(self, root: Place, players: int, lowest: float, highest: float) -> None:
        self.players, self.lowest, self.highest = players, lowest, highest
        super().__init__(root)

    def num_players(self) -> int:
        return self.players

    def min_utility(self) -> float:
        return self.lowest

    def max_utility(self) -> float:
        return self.highest

    def get_type(self) -> Any:
        return SimpleNamespace(utility=pyspiel.GameType.Utility.GENERAL_SUM)

    def new_initial_state(self) -> RowState:
        return RowState(self, "root", [])


class RowState(FakeState):
    """A state of a `RowGame`."""

    def clone(self) -> RowState:
        return RowState(self._game, self._name, list(self._history))

    def get_game(self) -> RowGame:
        assert isinstance(self._game, RowGame)
        return self._game

    def num_players(self) -> int:
        return self.get_game().players

    def returns(self) -> list[float]:
        row: Any = self._game.places[self._name]
        return list(row)

    def player_return(self, player: int) -> float:
        return self.returns()[player]


class RowTrees:
    """Draws trees; returns are uniform floats, or a few whole numbers, so that there are ties."""

    def __init__(self, seed: int, *, ties: bool, with_chance: bool) -> None:
        self.rng = random.Random(seed)
        self.players = self.rng.randint(2, 5)
        self.ties, self.with_chance = ties, with_chance
        self.count = 0

    def game(self, depth: int) -> RowGame:
        while True:
            place = self._place(depth)
            if isinstance(place, Place) and place.mover >= 0:
                return RowGame(place, self.players, -1.0, 2.0)

    def _row(self) -> Any:
        draw = (lambda: float(self.rng.choice([-1, 0, 2]))) if self.ties else (lambda: self.rng.uniform(-1, 2))
        return tuple(draw() for _ in range(self.players))

    def _place(self, depth: int) -> Any:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return self._row()
        children = {}
        for _ in range(rng.randint(1, 3)):
            self.count += 1
            name = f"s{self.count}"
            children[name] = self._place(depth - 1)
        value: Any = self._row()
        if self.with_chance and rng.random() < 0.3:
            weights = [rng.randint(1, 5) for _ in children]
            return chance(value, [weight / sum(weights) for weight in weights], **children)
        return Place(rng.randrange(self.players), value, children)


def solutions(state: RowState) -> set[Row]:
    """Rows of returns of all plays in which nobody can do better alone (max^n, with every way to break ties)."""
    if state.is_terminal():
        return {tuple(state.returns())}
    below = [solutions(state.child(action)) for action in state.legal_actions()]
    if is_chance(state):
        probabilities = [p for _, p in state.chance_outcomes()]
        return {_mean(rows, probabilities) for rows in itertools.product(*below)}
    mover = state.current_player()
    least = max(min(row[mover] for row in rows) for rows in below)
    return {row for rows in below for row in rows if row[mover] >= least}


def paranoid(state: RowState, player: int) -> float:
    """Return of `player` if all others prefer its smallest one."""
    if state.is_terminal():
        return state.player_return(player)
    below = [paranoid(state.child(action), player) for action in state.legal_actions()]
    if is_chance(state):
        return math.fsum(p * value for (_, p), value in zip(state.chance_outcomes(), below, strict=True))
    return max(below) if state.current_player() == player else min(below)


def _mean(rows: Sequence[Row], probabilities: Sequence[float]) -> Row:
    columns: Iterator[Row] = zip(*rows, strict=True)
    return tuple(math.fsum(p * x for p, x in zip(probabilities, column, strict=True)) for column in columns)

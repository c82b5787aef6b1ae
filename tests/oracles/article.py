"""Algorithms 1, 9, 10, 11 and 12 of the article, written down line by line over dictionaries.

This is no way to write a search: it recurses, keeps every table apart, asks for one value at a time and computes
what it needs anew. It is here to be read beside the article and compared with the search, table by table.
Ties are drawn by the generator given, among the tied actions in their order; so one that draws likewise agrees.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable

import pyspiel

Arc = tuple[Hashable, int]
Worth = Callable[[pyspiel.State], float]


class Article:
    """The tables of Table 1, and the iterations that fill them.

    Args:
        f_theta: value of a non-terminal state, f_t: worth and b_t: gain of a terminal one; all player 0's view.
        key: what S holds of a state.
    """

    def __init__(
        self, *, f_theta: Worth, f_t: Worth, b_t: Worth, key: Callable[[pyspiel.State], Hashable], rng: random.Random
    ) -> None:
        self.f_theta, self.f_t, self.b_t, self.key, self.rng = f_theta, f_t, b_t, key, rng
        self.S: set[Hashable] = set()
        self.v_arc: dict[Arc, float] = {}
        self.c_arc: dict[Arc, float] = {}
        self.r_arc: dict[Arc, int] = {}
        self.n: dict[Arc, int] = {}
        self.v: dict[Hashable, float] = {}
        self.c: dict[Hashable, float] = {}
        self.r: dict[Hashable, int] = {}

    def ubfm_iteration(self, s: pyspiel.State) -> float:
        """Algorithm 1."""
        if s.is_terminal():
            return self.f_t(s)
        k = self.key(s)
        if k not in self.S:
            self.S.add(k)
            for a in s.legal_actions():
                child = s.child(a)
                self.v_arc[k, a] = self.f_t(child) if child.is_terminal() else self.f_theta(child)
        else:
            a = self._best_action(s)
            self.v_arc[k, a] = self.ubfm_iteration(s.child(a))
        self.v[k] = self._best_value(s)
        return self.v[k]

    def descent_iteration(self, s: pyspiel.State) -> float:
        """Algorithm 9."""
        if s.is_terminal():
            return self.f_t(s)
        k = self.key(s)
        if k not in self.S:
            self.S.add(k)
            for a in s.legal_actions():
                child = s.child(a)
                self.v_arc[k, a] = self.descent_iteration(child) if child.is_terminal() else self.f_theta(child)
        a = self._best_action(s)
        self.v_arc[k, a] = self.descent_iteration(s.child(a))
        self.v[k] = self._best_value(s)
        return self.v[k]

    def completed_descent_iteration(self, s: pyspiel.State) -> tuple[int, float, float]:
        """Algorithm 10."""
        if s.is_terminal():
            return 1, self.b_t(s), self.f_t(s)
        k = self.key(s)
        if k not in self.S:
            self._expand(s, self.completed_descent_iteration)
            self._label(s)
        if self.r[k] == 0:
            A = [a for a in s.legal_actions() if self.r_arc[k, a] == 0]
            a = self._select(s, A)
            self._note(k, a, self.completed_descent_iteration(s.child(a)))
            self._label(s)
        return self.r[k], self.c[k], self.v[k]

    def completed_ubfm_iteration(self, s: pyspiel.State) -> tuple[int, float, float]:
        """Algorithm 12."""
        if s.is_terminal():
            return 1, self.b_t(s), self.f_t(s)
        k = self.key(s)
        if self.r.get(k, 0) == 0:
            if k not in self.S:
                self._expand(s, self.completed_ubfm_iteration)
            else:
                A = [a for a in s.legal_actions() if self.r_arc[k, a] == 0]
                a = self._select(s, A)
                self._note(k, a, self.completed_ubfm_iteration(s.child(a)))
            self._label(s)
        return self.r[k], self.c[k], self.v[k]

    def _expand(self, s: pyspiel.State, iteration: Callable[[pyspiel.State], tuple[int, float, float]]) -> None:
        k = self.key(s)
        self.S.add(k)
        for a in s.legal_actions():
            child = s.child(a)
            self._note(k, a, iteration(child) if child.is_terminal() else (0, 0, self.f_theta(child)))

    def _note(self, k: Hashable, a: int, labels: tuple[int, float, float]) -> None:
        self.r_arc[k, a], self.c_arc[k, a], self.v_arc[k, a] = labels

    def _label(self, s: pyspiel.State) -> None:
        """completed_best_action and backup_resolution of Algorithm 11."""
        k = self.key(s)
        first_player = s.current_player() == 0
        pairs = [(self.c_arc[k, a], self.v_arc[k, a]) for a in s.legal_actions()]
        self.c[k], self.v[k] = max(pairs) if first_player else min(pairs)
        self.r[k] = 1 if abs(self.c[k]) == 1 else min(self.r_arc[k, a] for a in s.legal_actions())

    def _best_value(self, s: pyspiel.State) -> float:
        values = [self.v_arc[self.key(s), a] for a in s.legal_actions()]
        return max(values) if s.current_player() == 0 else min(values)

    def _best_action(self, s: pyspiel.State) -> int:
        """best_action of Algorithms 1 and 9; they count nothing, but the search does."""
        k = self.key(s)
        return self._drawn(k, [a for a in s.legal_actions() if self.v_arc[k, a] == self._best_value(s)])

    def _select(self, s: pyspiel.State, A: list[int]) -> int:
        """completed_best_action_dual of Algorithm 11, then n(s, a) + 1."""
        k = self.key(s)
        if s.current_player() == 0:
            order = {a: (self.c_arc[k, a], self.v_arc[k, a], -self.n.get((k, a), 0)) for a in A}
            best = max(order.values())
        else:
            order = {a: (self.c_arc[k, a], self.v_arc[k, a], self.n.get((k, a), 0)) for a in A}
            best = min(order.values())
        return self._drawn(k, [a for a in A if order[a] == best])

    def _drawn(self, k: Hashable, tied: list[int]) -> int:
        """One of the tied actions (Remarks 11 and 14), counted in n(s, a)."""
        a = tied[0] if len(tied) == 1 else self.rng.choice(tied)
        self.n[k, a] = self.n.get((k, a), 0) + 1
        return a

"""Laws that every game obeys, and checks of a game against them on random games.

1. An unfinished state has a mover, player 0 or 1 (only 0 in games for one player) or chance; a finished one has
   `TERMINAL` and no legal action.
2. An unfinished state has legal actions, in ascending order, without repetition, within [0, num_distinct_actions), or
   within [0, max_chance_outcomes) in a chance state.
3. No query changes the result of another. Legal actions, children, texts, keys, tensors, returns, scores, clones and
   serialised states are each queried before each other.
4. The returns of a finished game sum to zero and lie between `min_utility` and `max_utility`; before, they are 0. In
   games for one player, only the bounds apply, and only at the end.
5. An observation has the declared shape and finite numbers.
6. An observer that is used again gives the same observation as a new one.
7. A game ends within `max_game_length` actions of players and `max_chance_nodes_in_history` outcomes of chance.
8. The same history leads to the same state: played again, or read back after `serialize` or `pickle`.
9. A clone and its original are independent: actions applied to one don't change the other.
10. A child is the same state, whether made by `child`, by `apply_action` to a clone or to the state itself, or by
    `children` if the game has it.
11. The legal actions of a chance state are its outcomes, in order. Their probabilities are positive and sum to 1.

Searches, encoders and transposition keys rely on these laws. The check plays random games; it is not a proof.

A game is first played to its end, with the queries that a player makes of each state. Then two states repeat its
actions. At selected plies (the first, the last, and some between) both receive all queries, in opposite orders and with
another query first each time, so each query comes before each other. At other plies, one state receives no query, and
clones and children of the other are made.
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyspiel

from athenan_spiel.arguments import require_kind
from athenan_spiel.config.settings import Count, require_argument
from athenan_spiel.errors import UnsupportedGameError
from athenan_spiel.games.chance import CHANCE, draw_outcome, has_chance, is_chance, outcomes_of
from athenan_spiel.games.conditions import require_game
from athenan_spiel.games.loading import load_game
from athenan_spiel.games.rows import ZERO_SUM
from athenan_spiel.games.state_queries import StateQueries, sample

_TOLERANCE = 1e-6
"""Tolerance of sums of returns, which may be fractions."""
_ENDS = 3
"""Number of plies at the start and at the end that are checked with all queries."""
_BETWEEN = 16
"""Approximate number of such plies in between."""
_ONWARDS = 3
"""Number of actions applied to a clone."""
_CHILDREN = 3
"""Approximate number of children of a state that are compared."""
_MOST_ENDS = 2
"""Maximum number of further compared children that end the game."""
_PLAYING = 0.75
"""Minimum fraction of the time left for a game to continue."""
_LOOKING = 0.7
"""Minimum fraction of the time left to check the first state. It falls to 0 at the last state."""


class BrokenLawError(Exception):
    """A law of this module does not hold.

    Attributes:
        law: number of the law.
        found: description of the violation.
        history: actions that led to it.
    """

    def __init__(self, law: int, found: str, history: Sequence[int]) -> None:
        super().__init__(f"law {law}: {found}, after {list(history)}")
        self.law = law
        self.found = found
        self.history = list(history)


@dataclass(frozen=True)
class CheckedGame:
    """Result of a checked game.

    Attributes:
        plies: number of actions played.
        checked: number of plies with checks of clones and children; fewer than `plies` if time was short.
        ended: the game reached its end.
        branching: maximum number of legal actions.
    """

    plies: int
    checked: int
    ended: bool
    branching: int


def check_game(game: pyspiel.Game | str, *, matches: int = 3, rng: random.Random | None = None) -> None:
    """Plays random games of `game` and checks their states against the laws of this module.

    Args:
        game: any game, supported or not, or a game string for `load_game`.
        matches: number of games.
        rng: chooses the actions; by default a generator with a fixed seed.

    Raises:
        UnsupportedGameError: a law does not hold (the message has its number, the violation and the history), or an
            argument is invalid.
    """
    game = load_game(game) if isinstance(game, str) else game
    require_game(game)
    require_argument("matches", matches, Count, UnsupportedGameError)
    require_kind("rng", rng, random.Random, UnsupportedGameError, or_none=True)
    rng = rng or random.Random(0)
    for _ in range(matches):
        try:
            check_match(game, rng)
        except BrokenLawError as error:
            raise UnsupportedGameError(
                f"{game} breaks law {error.law} of games: {error.found}, after {error.history}"
            ) from error


def check_match(game: pyspiel.Game, rng: random.Random, left: Callable[[], float] = lambda: 1.0) -> CheckedGame:
    """Plays a random game of `game` and checks its states against the laws of this module.

    Args:
        game: any game with turns.
        rng: chooses the actions.
        left: returns the fraction of the time that is left. If it is short, the game stops before its end, and plies
            other than the last are skipped. By default there is no limit.

    Raises:
        BrokenLawError: a law does not hold.
    """
    check = _Check(game, rng, left)
    check.play()
    return check.again()


class _Check:
    """Check of one game."""

    def __init__(self, game: pyspiel.Game, rng: random.Random, left: Callable[[], float]) -> None:
        self._game = game
        self._rng = rng
        self._left = left
        self._has_chance = has_chance(game)
        self._queries = StateQueries(game)
        self._turn = rng.randrange(len(self._queries.ways))  # index of the query that comes first next time
        self._history: list[int] = []
        self._legal: list[Sequence[int]] = []  # the legal actions at each ply
        self._seen: list[tuple[Hashable, ...]] = []  # sketch of the state at each ply
        self._ended = False
        self._rolls = 0  # outcomes of chance in the history

    # The game as players see it

    def play(self) -> None:
        """Plays to the end: laws 1, 2, 4, 5, 7 and 11."""
        state = self._game.new_initial_state()
        while True:
            self._ended = state.is_terminal()
            actions = state.legal_actions()
            self._plain(state, actions)
            self._check_length(state)
            self._legal.append(actions)
            self._seen.append(self._summary(state))
            if self._ended or self._left() < _PLAYING:
                return
            chance = is_chance(state)
            action = draw_outcome(state, self._rng.random()) if chance else self._rng.choice(actions)
            state.apply_action(action)
            self._history.append(action)
            self._rolls += chance

    def _check_length(self, state: pyspiel.State) -> None:
        """Checks law 7. After its last action, a game may still continue with chance."""
        chance = not self._ended and is_chance(state)
        longest, length = self._game.max_game_length(), len(self._history) - self._rolls
        ends = length < longest or (length == longest and (self._ended or chance))
        self._require(7, ends, f"{length} actions and no end, where max_game_length() is {longest}")
        if chance:
            most = self._game.max_chance_nodes_in_history()
            found = f"{self._rolls} outcomes and another, where max_chance_nodes_in_history() is {most}"
            self._require(7, self._rolls < most, found)

    def _plain(self, state: pyspiel.State, actions: list[int]) -> None:
        """Checks laws 1, 2, 4, 5 and 11 for one state."""
        mover, players = state.current_player(), self._game.num_players()
        if self._ended:
            self._require(1, mover == pyspiel.PlayerId.TERMINAL, f"current_player() is {mover} at the end")
            self._require(1, not actions, f"{actions} are legal at the end")
        else:
            chance = self._has_chance and mover == CHANCE
            self._require(1, chance or 0 <= mover < players, f"current_player() is {mover}")
            self._ordered(actions, self._game.max_chance_outcomes() if chance else self._game.num_distinct_actions())
            if chance:
                self._check_outcomes(state, actions)
        self._check_returns(state.returns(), alone=players == 1)
        if self._queries.shape:
            tensor, declared = self._queries.observed(state), math.prod(self._queries.shape)
            self._require(5, tensor.size == declared, f"{tensor.size} numbers observed, {self._queries.shape} declared")
            self._require(5, bool(np.isfinite(tensor).all()), "an observed number is not finite")

    def _check_outcomes(self, state: pyspiel.State, actions: list[int]) -> None:
        """Checks law 11."""
        outcomes, probabilities = outcomes_of(state)
        self._require(11, outcomes == actions, f"chance_outcomes() are {outcomes}, legal_actions() {actions}")
        positive = all(probability > 0 for probability in probabilities)
        self._require(11, positive, f"the probability {min(probabilities)} of an outcome is not positive")
        total = math.fsum(probabilities)
        self._require(11, math.isclose(total, 1, abs_tol=_TOLERANCE), f"the probabilities of outcomes sum to {total}")

    def _ordered(self, actions: list[int], most: int) -> None:
        self._require(2, len(actions) > 0, "no action is legal in an unfinished state")
        ascending = all(a < b for a, b in pairwise(actions))
        self._require(2, ascending, f"legal_actions() are not in ascending order: {actions}")
        self._require(2, min(actions) >= 0 and max(actions) < most, f"{actions} are not all within [0, {most})")

    def _check_returns(self, returns: list[float], *, alone: bool) -> None:
        if not self._ended:
            self._require(4, alone or not any(returns), f"returns() are {returns} before the end")
            return
        least, most = self._game.min_utility(), self._game.max_utility()
        declared = not alone and self._game.get_type().utility == ZERO_SUM
        zero_sum = not declared or math.isclose(sum(returns), 0, abs_tol=_TOLERANCE)
        self._require(4, zero_sum, f"returns() are {returns}, not zero-sum")
        bounded = all(least - _TOLERANCE <= x <= most + _TOLERANCE for x in returns)
        self._require(4, bounded, f"returns() are {returns}, beyond [{least}, {most}]")

    def _summary(self, state: pyspiel.State) -> tuple[Hashable, ...]:
        """Returns a short summary of what players see of a state."""
        tensor = hash(self._queries.observed(state).tobytes()) if self._queries.shape else 0
        return state.current_player(), tuple(state.returns()), tensor, hash(tuple(state.legal_actions()))

    # The same game again

    def again(self) -> CheckedGame:
        """Repeats the game with two more states: laws 3, 6, 8, 9 and 10."""
        quiet, busy = self._game.new_initial_state(), self._game.new_initial_state()
        last = len(self._history)
        close = self._close_plies()
        checked = 0
        for ply in range(last):
            if self._left() < _LOOKING * (1 - ply / last):
                busy.apply_action(self._history[ply])
            else:
                self._step(busy, ply, self._check_all_queries(quiet, busy, ply) if ply in close else None)
                checked += 1
            quiet.apply_action(self._history[ply])
        self._check_all_queries(quiet, busy, last)
        if last and self._left() > 0:
            self._each_first()
        return CheckedGame(last, checked, self._ended, max(map(len, self._legal)))

    def _each_first(self) -> None:
        """Checks law 3 once per game with a fresh state for each query that comes first."""
        ply = 1
        actions = self._legal[ply]
        seen = self._queries.read(self._replayed(ply), actions, self._queries.ways)
        for first in range(1, len(seen)):
            if self._left() > 0:
                read = self._queries.read(self._replayed(ply), actions, self._queries.rotated(first))
                self._same(seen, read, ply)

    def _close_plies(self) -> set[int]:
        last = len(self._history)
        between = range(0, last, max(last // _BETWEEN, 1))
        return {*range(min(_ENDS, last)), *between, *range(max(last - _ENDS, 0), last + 1)}

    def _step(self, busy: Any, ply: int, seen: dict[str, Hashable] | None) -> None:
        """Plays one ply, with clones and children: laws 9 and 10, by what players see.

        Args:
            busy: state to advance.
            ply: ply of the state.
            seen: results of all queries at a selected ply; a clone is then checked with them afterwards.
        """
        action, actions = self._history[ply], self._legal[ply]
        stays, goes = busy.clone(), busy.clone()
        goes.apply_action(self._rng.choice(actions))
        child = busy.child(action)
        player = busy.children(actions).players[actions.index(action)] if hasattr(busy, "children") else None
        busy.apply_action(action)
        self._require(9, self._summary(stays) == self._seen[ply], "apply_action() changed a clone of the state", ply)
        if seen:
            read = self._queries.read(stays, actions, self._queries.sight)
            self._equal(9, seen, read, "of a clone changed when an action was applied to the state", ply)
        after = self._seen[ply + 1]
        found = "the state after apply_action() is not the child that child() made"
        self._require(10, self._summary(child) == after, found, ply)
        found = f"children() returns {player} as the mover, current_player() is {after[0]}"
        self._require(10, player is None or player == after[0], found, ply)

    def _check_all_queries(self, quiet: pyspiel.State, busy: pyspiel.State, ply: int) -> dict[str, Hashable]:
        """Checks a state with all queries, by two states with its history; returns the results."""
        actions = self._legal[ply]
        order = self._queries.rotated(self._turn)
        self._turn += 1
        seen = self._queries.read(quiet, actions, order)
        self._same(seen, self._queries.read(busy, actions, order[::-1]), ply)
        self._same(seen, self._queries.read(quiet, actions, order if ply == 0 else order[:1]), ply)
        self._same(seen, {"legal_actions()": tuple(actions)}, ply)
        if self._queries.shape:
            again = seen["set_from()"] == seen["observation_tensor()"]
            self._require(6, again, "an observer used again gave another observation than a new one", ply)
        self._clones(busy, seen, ply)
        if ply < len(self._history):
            self._children(busy, ply)
        if ply in (1, len(self._history) // 2, len(self._history)):
            self._read_back(busy, seen, ply)
        return seen

    def _clones(self, state: pyspiel.State, seen: dict[str, Hashable], ply: int) -> None:
        """Checks law 9: a clone is the same state, and independent."""
        actions, sight = self._legal[ply], self._queries.sight
        goes, stays = state.clone(), state.clone()
        self._equal(9, seen, self._queries.read(goes, actions, sight), "of a clone is another one", ply)
        for _ in range(_ONWARDS):
            if not goes.is_terminal():
                goes.apply_action(self._rng.choice(goes.legal_actions()))
        played = "changed when an action was applied to a clone"
        self._equal(9, seen, self._queries.read(state, actions, sight), played, ply)
        self._equal(9, seen, self._queries.read(stays, actions, sight), played, ply)

    def _children(self, state: Any, ply: int) -> None:
        """Checks law 10 for some actions, including the played one and some that end the game."""
        actions, sight = self._legal[ply], self._queries.sight
        together = state.children(actions) if hasattr(state, "children") else None
        chosen = {*sample(actions, _CHILDREN), self._history[ply]}
        rows = np.zeros((len(actions), math.prod(self._queries.shape)), np.float32)
        if together is not None:
            together.observe(rows)
            ends = [a for a, player in zip(actions, together.players, strict=True) if player < 0]
            chosen |= set(sample(ends, _MOST_ENDS))
        for action in sorted(chosen):
            child, applied = state.child(action), state.clone()
            applied.apply_action(action)
            seen = self._queries.read(child, (), sight)
            wrong = f"after child({action}) is another one than after apply_action"
            self._equal(10, seen, self._queries.read(applied, (), sight), wrong, ply)
            if together is None:
                continue
            index = actions.index(action)
            wrong = f"after child({action}) is another one than among children()"
            self._equal(10, seen, self._queries.read(together[index], (), sight), wrong, ply)
            mover = together.players[index] == child.current_player()
            self._require(10, mover, f"children() returns {together.players[index]} as the mover after {action}", ply)
            tensor = rows[index].tobytes() == seen["set_from()"]
            self._require(10, tensor, f"children() returns another observation after {action} than the child", ply)

    def _read_back(self, state: pyspiel.State, seen: dict[str, Hashable], ply: int) -> None:
        """Checks law 8: the history is played again, and the state is written and read."""
        actions = self._legal[ply]
        ways: dict[str, Callable[[], Any]] = {
            "history": lambda: self._replayed(ply),
            "text of serialize()": lambda: self._game.deserialize_state(state.serialize()),
            "pickle": lambda: pickle.loads(pickle.dumps(state)),
        }
        for way, make in ways.items():
            try:
                back = make()
            except (pyspiel.SpielError, pickle.PicklingError, AttributeError, TypeError, ValueError) as error:
                text = " ".join(str(error).split())
                raise self._broken(8, f"the {way} of a state cannot be read: {text}", ply) from error
            order = self._queries.rotated(self._turn)
            self._turn += 1
            read = self._queries.read(back, actions, order)
            self._equal(8, seen, read, f"is another one after the {way} was read back", ply)

    def _replayed(self, ply: int) -> Any:
        """Returns a state that has received no query."""
        state = self._game.new_initial_state()
        for action in self._history[:ply]:
            state.apply_action(action)
        return state

    # What was found

    def _same(self, seen: dict[str, Hashable], other: dict[str, Hashable], ply: int) -> None:
        """Checks law 3 for two states of one history with another order of queries; a violation names the cause."""
        for name, value in other.items():
            if value != seen[name]:
                raise self._query_error(name, ply)

    def _query_error(self, name: str, ply: int) -> BrokenLawError:
        """Returns the error that names the query that changes the result of `name`, as far as fresh states show."""
        actions = self._legal[ply]

        def answer(*before: str) -> Hashable:
            return self._queries.read(self._replayed(ply), actions, [*before, name])[name]

        if (alone := answer()) != answer():
            return self._broken(8, f"the same history gave another {name}", ply)
        for query in self._queries.ways:
            if query == name:
                twice = self._replayed(ply)
                self._queries.read(twice, actions, [name])
                changed = self._queries.read(twice, actions, [name])[name] != alone
            else:
                changed = answer(query) != alone
            if changed:
                return self._broken(3, f"{query} changed {name}", ply)
        return self._broken(3, f"{name} depends on earlier queries", ply)

    def _equal(self, law: int, seen: dict[str, Hashable], other: dict[str, Hashable], wrong: str, ply: int) -> None:
        for name, value in other.items():
            self._require(law, value == seen[name], f"{name} {wrong}", ply)

    def _require(self, law: int, condition: bool, found: str, ply: int | None = None) -> None:
        if not condition:
            raise self._broken(law, found, ply)

    def _broken(self, law: int, found: str, ply: int | None) -> BrokenLawError:
        return BrokenLawError(law, found, self._history[:ply])

"""The laws that every game here obeys, and checks of a game against them in random matches.

1. An unfinished state has a mover, player 0 or 1, or 0 alone where it is the only one; a finished one has `TERMINAL`
   and no legal action.
2. Legal actions are in ascending order, without repetition, within [0, num_distinct_actions), and never none.
3. No query changes the result of another. Legal actions, children, texts, keys, tensors, returns, scores, clones and
   serialised states are each queried before each other.
4. The returns of a finished match sum to zero and lie between `min_utility` and `max_utility`; before, they are 0.
   Those of a single player need only lie there in the end.
5. An observation, where there is one, has the declared shape and finite numbers.
6. An observer that is used again gives the same observation as a new one.
7. A match ends within `max_game_length` actions.
8. The same history leads to the same state: played again, or read back after `serialize` or `pickle`.
9. A clone and its original are independent: what is played in either changes nothing of the other.
10. A child is the same state however it is made: by `child`, by `apply_action` to a clone or to the state itself, and
    among all of `children`, where a game has these.

Searches, encoders and transposition keys rely on these. The check plays random matches; it proves nothing.

How a match is checked: it is played once to its end, each state being asked as a player asks. Then two states go the
same way. Nothing is asked of the one between the plies that are looked at closely; of the other, clones and children
are made at every ply. At a close ply both are asked everything, the one in the opposite order of the other, and
another look comes first each time: so each is asked before each other. Close plies are the first and the last few of
a match and some between.
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
from athenan_spiel.games.conditions import require_game
from athenan_spiel.games.loading import load_game
from athenan_spiel.games.state_queries import StateQueries, sample

_TOLERANCE = 1e-6
"""Tolerance of sums of returns, which may be fractions."""
_ENDS = 3
"""Plies at the beginning and at the end that are looked at closely."""
_BETWEEN = 16
"""And those between them, about."""
_ONWARDS = 3
"""Plies that a clone is played on."""
_CHILDREN = 3
"""Children of a state that are made in every way, about."""
_MOST_ENDS = 2
"""And more of them that end the match."""
_PLAYING = 0.75
"""The share of the time that must be left for a match to be played on."""
_LOOKING = 0.7
"""And for its first state to be looked at; the share falls to 0 at its end, which spreads the time over all plies."""


class BrokenLawError(Exception):
    """A law of this module does not hold.

    Attributes:
        law: its number.
        found: what was found instead, in words.
        history: the actions that led there.
    """

    def __init__(self, law: int, found: str, history: Sequence[int]) -> None:
        super().__init__(f"law {law}: {found}, after {list(history)}")
        self.law = law
        self.found = found
        self.history = list(history)


@dataclass(frozen=True)
class Match:
    """A match that was checked.

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
    """Play `matches` random matches of `game` and hold their states to the laws of this module.

    Args:
        game: the game, which need not be one that `load_game` gives, or the string of one that is.
        matches: how many matches.
        rng: chooses the actions; by default always the same ones.

    Raises:
        UnsupportedGameError: a law is broken; the message has its number, what was found, and the history. Or it is no
            game, or `matches` or `rng` are not what they should be.
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


def check_match(game: pyspiel.Game, rng: random.Random, left: Callable[[], float] = lambda: 1.0) -> Match:
    """Play a random match of `game` and hold its states to the laws of this module.

    Args:
        game: any game with turns.
        rng: chooses the actions.
        left: the share of the time for this match that is left, as it goes by: where too little is, the match is
            stopped before its end, and plies are passed over. The last one is not. By default there is no limit.

    Raises:
        BrokenLawError: a law does not hold.
    """
    check = _Check(game, rng, left)
    check.play()
    return check.again()


class _Check:
    """One match of a game."""

    def __init__(self, game: pyspiel.Game, rng: random.Random, left: Callable[[], float]) -> None:
        self._game = game
        self._rng = rng
        self._left = left
        self._queries = StateQueries(game)
        self._turn = rng.randrange(len(self._queries.ways))  # which look comes first next time
        self._history: list[int] = []
        self._legal: list[Sequence[int]] = []  # the legal actions at each ply
        self._seen: list[tuple[Hashable, ...]] = []  # at each ply, what the players saw
        self._ended = False

    # The match as players see it

    def play(self) -> None:
        """Play to the end: laws 1, 2, 4, 5 and 7."""
        state = self._game.new_initial_state()
        longest = self._game.max_game_length()
        while True:
            self._ended = state.is_terminal()
            actions = state.legal_actions()
            self._plain(state, actions)
            length = len(self._history)
            ends = length < longest or (length == longest and self._ended)
            self._holds(7, ends, f"{length} actions and no end, where max_game_length() is {longest}")
            self._legal.append(actions)
            self._seen.append(self._sketch(state))
            if self._ended or self._left() < _PLAYING:
                return
            action = self._rng.choice(actions)
            state.apply_action(action)
            self._history.append(action)

    def _plain(self, state: pyspiel.State, actions: list[int]) -> None:
        """Laws 1, 2, 4 and 5 of one state."""
        mover, players = state.current_player(), self._game.num_players()
        if self._ended:
            self._holds(1, mover == pyspiel.PlayerId.TERMINAL, f"current_player() is {mover} at the end")
            self._holds(1, not actions, f"{actions} are legal at the end")
        else:
            self._holds(1, 0 <= mover < players, f"current_player() is {mover}")
            self._ordered(actions)
        self._fair(state.returns(), alone=players == 1)
        if self._queries.shape:
            tensor, declared = self._queries.observed(state), math.prod(self._queries.shape)
            self._holds(5, tensor.size == declared, f"{tensor.size} numbers observed, {self._queries.shape} declared")
            self._holds(5, bool(np.isfinite(tensor).all()), "an observed number is not finite")

    def _ordered(self, actions: list[int]) -> None:
        most = self._game.num_distinct_actions()
        self._holds(2, len(actions) > 0, "no action is legal in an unfinished state")
        ascending = all(a < b for a, b in pairwise(actions))
        self._holds(2, ascending, f"legal_actions() are not in ascending order: {actions}")
        self._holds(2, min(actions) >= 0 and max(actions) < most, f"{actions} are not all within [0, {most})")

    def _fair(self, returns: list[float], *, alone: bool) -> None:
        if not self._ended:
            self._holds(4, alone or not any(returns), f"returns() are {returns} before the end")
            return
        least, most = self._game.min_utility(), self._game.max_utility()
        zero_sum = alone or math.isclose(sum(returns), 0, abs_tol=_TOLERANCE)
        self._holds(4, zero_sum, f"returns() are {returns}, not zero-sum")
        bounded = all(least - _TOLERANCE <= x <= most + _TOLERANCE for x in returns)
        self._holds(4, bounded, f"returns() are {returns}, beyond [{least}, {most}]")

    def _sketch(self, state: pyspiel.State) -> tuple[Hashable, ...]:
        """What players see of a state at every ply: cheap, and kept short."""
        tensor = hash(self._queries.observed(state).tobytes()) if self._queries.shape else 0
        return state.current_player(), tuple(state.returns()), tensor, hash(tuple(state.legal_actions()))

    # The same match again

    def again(self) -> Match:
        """Go the same way with two more states: laws 3, 6, 8, 9 and 10."""
        quiet, busy = self._game.new_initial_state(), self._game.new_initial_state()
        last = len(self._history)
        close = self._close_plies()
        checked = 0
        for ply in range(last):
            if self._left() < _LOOKING * (1 - ply / last):
                busy.apply_action(self._history[ply])
            else:
                self._step(busy, ply, self._closely(quiet, busy, ply) if ply in close else None)
                checked += 1
            quiet.apply_action(self._history[ply])
        self._closely(quiet, busy, last)
        if last and self._left() > 0:
            self._each_first()
        return Match(last, checked, self._ended, max(map(len, self._legal)))

    def _each_first(self) -> None:
        """Law 3 again, once in each match: each look comes first in a state of its own, of one history."""
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
        """Go on by one ply, with clones and children made on the way: laws 9 and 10, as far as players see.

        Args:
            busy: the state.
            ply: of it.
            seen: what was seen of it at a close ply; then its clone is looked at closely afterwards, too.
        """
        action, actions = self._history[ply], self._legal[ply]
        stays, goes = busy.clone(), busy.clone()
        goes.apply_action(self._rng.choice(actions))
        child = busy.child(action)
        player = busy.children(actions).players[actions.index(action)] if hasattr(busy, "children") else None
        busy.apply_action(action)
        self._holds(9, self._sketch(stays) == self._seen[ply], "apply_action() changed a clone of the state", ply)
        if seen:
            read = self._queries.read(stays, actions, self._queries.sight)
            self._equal(9, seen, read, "of a clone changed when the state went on", ply)
        after = self._seen[ply + 1]
        found = "the state after apply_action() is not the child that child() made"
        self._holds(10, self._sketch(child) == after, found, ply)
        found = f"children() say that {player} is to move, and then {after[0]} is"
        self._holds(10, player is None or player == after[0], found, ply)

    def _closely(self, quiet: pyspiel.State, busy: pyspiel.State, ply: int) -> dict[str, Hashable]:
        """All that there is to check of one state, which two more states are; returns what is seen of it."""
        actions = self._legal[ply]
        order = self._queries.rotated(self._turn)
        self._turn += 1
        seen = self._queries.read(quiet, actions, order)
        self._same(seen, self._queries.read(busy, actions, order[::-1]), ply)
        self._same(seen, self._queries.read(quiet, actions, order if ply == 0 else order[:1]), ply)
        self._same(seen, {"legal_actions()": tuple(actions)}, ply)
        if self._queries.shape:
            again = seen["set_from()"] == seen["observation_tensor()"]
            self._holds(6, again, "an observer used again gave another observation than a new one", ply)
        self._clones(busy, seen, ply)
        if ply < len(self._history):
            self._children(busy, ply)
        if ply in (1, len(self._history) // 2, len(self._history)):
            self._read_back(busy, seen, ply)
        return seen

    def _clones(self, state: pyspiel.State, seen: dict[str, Hashable], ply: int) -> None:
        """Law 9: a clone is the same state, and goes its own way."""
        actions, sight = self._legal[ply], self._queries.sight
        goes, stays = state.clone(), state.clone()
        self._equal(9, seen, self._queries.read(goes, actions, sight), "of a clone is another one", ply)
        for _ in range(_ONWARDS):
            if not goes.is_terminal():
                goes.apply_action(self._rng.choice(goes.legal_actions()))
        played = "changed when a clone was played on"
        self._equal(9, seen, self._queries.read(state, actions, sight), played, ply)
        self._equal(9, seen, self._queries.read(stays, actions, sight), played, ply)

    def _children(self, state: Any, ply: int) -> None:
        """Law 10 for some actions, the one that is played and some of those that end the match among them."""
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
            self._holds(10, mover, f"children() say that {together.players[index]} moves after {action}", ply)
            tensor = rows[index].tobytes() == seen["set_from()"]
            self._holds(10, tensor, f"children() observe another tensor after {action} than the child shows", ply)

    def _read_back(self, state: pyspiel.State, seen: dict[str, Hashable], ply: int) -> None:
        """Law 8: the history played again, and the state written and read."""
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
                said = " ".join(str(error).split())
                raise self._broken(8, f"the {way} of a state is not read back: {said}", ply) from error
            order = self._queries.rotated(self._turn)
            self._turn += 1
            read = self._queries.read(back, actions, order)
            self._equal(8, seen, read, f"is another one after the {way} was read back", ply)

    def _replayed(self, ply: int) -> Any:
        """A state of which nothing was ever asked."""
        state = self._game.new_initial_state()
        for action in self._history[:ply]:
            state.apply_action(action)
        return state

    # What was found

    def _same(self, seen: dict[str, Hashable], other: dict[str, Hashable], ply: int) -> None:
        """Law 3: two states of one history that were asked in another order; where they differ, say why."""
        for name, value in other.items():
            if value != seen[name]:
                raise self._blamed(name, ply)

    def _blamed(self, name: str, ply: int) -> BrokenLawError:
        """Which look changes the answer of `name`, as far as fresh states tell."""
        actions = self._legal[ply]

        def answer(*before: str) -> Hashable:
            return self._queries.read(self._replayed(ply), actions, [*before, name])[name]

        if (alone := answer()) != answer():
            return self._broken(8, f"the same history gave another {name}", ply)
        for look in self._queries.ways:
            if look == name:
                twice = self._replayed(ply)
                self._queries.read(twice, actions, [name])
                changed = self._queries.read(twice, actions, [name])[name] != alone
            else:
                changed = answer(look) != alone
            if changed:
                return self._broken(3, f"{look} changed {name}", ply)
        return self._broken(3, f"{name} depends on what was asked before", ply)

    def _equal(self, law: int, seen: dict[str, Hashable], other: dict[str, Hashable], wrong: str, ply: int) -> None:
        for name, value in other.items():
            self._holds(law, value == seen[name], f"{name} {wrong}", ply)

    def _holds(self, law: int, condition: bool, found: str, ply: int | None = None) -> None:
        if not condition:
            raise self._broken(law, found, ply)

    def _broken(self, law: int, found: str, ply: int | None) -> BrokenLawError:
        return BrokenLawError(law, found, self._history[:ply])

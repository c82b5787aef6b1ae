"""The law of merging: states that share a transposition text have one future.

Searches keep such states in one node, so a text that promises too much mixes two positions. Histories that meet are
looked for in narrow trees below random states, where the same few moves are played in every order. Of those that meet,
all that can be seen must be equal, and so it must be after every next move and along random matches to the end.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from open_spiel.python.observation import make_observation

from ludii_bridge.errors import LudiiError

BREADTH = 3
"""Moves of a state that a narrow tree has, always the first of those that are legal in one random order."""
DEPTH = 6
"""Plies of a narrow tree; the last two moves are in a key, so fewer than five bring nothing together."""
CLOSELY = 4
"""Plies after a meeting at which the moves are compared in words."""


class BrokenMergeError(LudiiError):
    """Two histories with one transposition text are told apart later."""


@dataclass
class Meetings:
    """What was found in narrow trees.

    Attributes:
        histories: of unfinished states that were visited.
        texts: those that differ among them.
        compared: pairs of histories that meet, of which all was equal.
        plies: played after meetings.
    """

    histories: int = 0
    texts: int = 0
    compared: int = 0
    plies: int = 0


def meet(game: Any, rng: random.Random, *, longest: int, pairs: int, found: Meetings) -> None:
    """Look for histories that meet below one random state, and compare what comes after them.

    Args:
        game: a `LudiiGame` that merges histories.
        rng: chooses moves.
        longest: moves before that state, at most.
        pairs: to be compared, at most.
        found: is added to.

    Raises:
        BrokenMergeError: two that meet are not alike, now or later.
    """
    met: dict[Hashable, list[Any]] = defaultdict(list)
    for state in _narrow_tree(_random_state(game, rng, longest), rng):
        met[game.transposition_text(state)].append(state)
    found.histories += sum(map(len, met.values()))
    found.texts += len(met)
    several = [states for states in met.values() if len(states) > 1]
    for states in rng.sample(several, min(pairs, len(several))):
        one, other = rng.sample(states, 2)
        found.plies += compare(game, one, other, rng)
        found.compared += 1


def _random_state(game: Any, rng: random.Random, longest: int) -> Any:
    state = game.new_initial_state()
    for _ in range(rng.randint(0, longest)):
        if state.is_terminal():
            return _random_state(game, rng, longest // 2)
        state = state.child(rng.choice(state.legal_actions()))
    return state


def _narrow_tree(root: Any, rng: random.Random) -> Iterator[Any]:
    """The unfinished states of it, one for each history."""
    rank: dict[str, float] = {}
    states = [root]
    for _ in range(DEPTH):
        children = []
        for state in states:
            words = state.position.describe_moves()
            first = sorted(range(len(words)), key=lambda action: rank.setdefault(words[action], rng.random()))
            children += [state.child(action) for action in first[:BREADTH]]
        states = [child for child in children if not child.is_terminal()]
        yield from states


def compare(game: Any, one: Any, other: Any, rng: random.Random) -> int:
    """Compare two states that share a text, their children and one random match; the number of plies.

    Raises:
        BrokenMergeError: something differs.
    """
    histories = one.history(), other.history()
    plies = 0
    _require_equal(histories, plies, [list(map(game.transposition_text, _children(x))) for x in (one, other)])
    while True:
        _require_equal(histories, plies, [_sight(game, x, closely=plies < CLOSELY) for x in (one, other)])
        if one.is_terminal():
            return plies
        action = rng.choice(one.legal_actions())
        one, other = one.child(action), other.child(action)
        plies += 1


def _children(state: Any) -> list[Any]:
    return [state.child(action) for action in state.legal_actions()]


def _sight(game: Any, state: Any, *, closely: bool) -> dict[str, Any]:
    """What can be seen of a state, the text first: nothing has looked at the state before."""
    seen: dict[str, Any] = {"text": game.transposition_text(state)}
    seen["player"] = state.current_player()
    seen["legal actions"] = len(state.legal_actions())
    seen["returns"] = state.returns()
    if closely or state.is_terminal():
        observation = make_observation(game)
        observation.set_from(state, 0)
        seen["tensor"] = observation.tensor.tobytes()
        seen["board"] = state.position.describe()
        seen["scores"], seen["pieces"] = state.scores(), state.pieces()
        seen["moves"] = state.position.describe_moves()
    return seen


def _require_equal(histories: tuple[list[int], list[int]], plies: int, seen: list[Any]) -> None:
    if seen[0] == seen[1]:
        return
    what = "the next states"
    if isinstance(seen[0], dict):
        what = ", ".join(name for name in seen[0] if seen[0][name] != seen[1].get(name))
    raise BrokenMergeError(f"{what} differ {plies} plies after {histories[0]} and {histories[1]} met")

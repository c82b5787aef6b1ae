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

    def add(self, other: Meetings) -> None:
        """Add what was found elsewhere."""
        self.histories += other.histories
        self.texts += other.texts
        self.compared += other.compared
        self.plies += other.plies


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
    observation, plies = make_observation(game), 0
    histories = one.history(), other.history()
    children = [list(map(game.transposition_text, _children(state))) for state in (one, other)]
    if children[0] != children[1]:
        raise BrokenMergeError(f"the next states differ after {histories[0]} and {histories[1]}, which meet")
    while True:
        seen, also = (_seen(game, observation, state, closely=plies < CLOSELY) for state in (one, other))
        if different := [look for look in seen if seen[look] != also[look]]:
            raise BrokenMergeError(
                f"{', '.join(different)} differ {plies} plies after {histories[0]} and {histories[1]}, which meet"
            )
        if one.is_terminal():
            return plies
        action = rng.choice(one.legal_actions())
        one, other = one.child(action), other.child(action)
        plies += 1


def _children(state: Any) -> list[Any]:
    return [state.child(action) for action in state.legal_actions()]


def _seen(game: Any, observation: Any, state: Any, *, closely: bool) -> dict[str, Hashable]:
    """What a state says, its text first: nothing has looked at it before."""
    seen: dict[str, Hashable] = {"transposition_text()": game.transposition_text(state)}
    seen["current_player()"] = state.current_player()
    seen["legal_actions()"] = len(state.legal_actions())
    seen["returns()"] = tuple(state.returns())
    if closely or state.is_terminal():
        observation.set_from(state, 0)
        seen["set_from()"] = observation.tensor.tobytes()
        seen["str()"] = str(state)
        seen["scores()"], seen["pieces()"] = state.scores(), state.pieces()
        seen["moves in words"] = tuple(state.position.describe_moves())
    return seen

"""Check of transposition texts: states that share a text must have the same future.

Searches keep such states in one node, so an incomplete text mixes two positions. The check looks for transpositions
(different histories with one text) in narrow trees below random states, where the same few moves are played in every
order. Two such states must be equal in everything that can be observed, and so must their children and the states of
one random game from each.
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
"""Maximum number of children of a state in a narrow tree: its first legal moves in one random order."""
DEPTH = 6
"""Depth of a narrow tree, in plies. A key contains the last two moves, so depth 4 has no transpositions yet."""
DETAILED_PLIES = 4
"""Number of plies after a transposition at which boards and move texts are compared too."""


class BrokenMergeError(LudiiError):
    """Two histories share a transposition text and differ later."""


@dataclass
class MergeCounters:
    """Counters of the check.

    Attributes:
        histories: number of unfinished states visited.
        texts: number of different texts among them.
        compared: number of pairs compared, all of them equal.
        plies: number of plies played after transpositions.
    """

    histories: int = 0
    texts: int = 0
    compared: int = 0
    plies: int = 0

    def add(self, other: MergeCounters) -> None:
        """Add the counters of another check."""
        self.histories += other.histories
        self.texts += other.texts
        self.compared += other.compared
        self.plies += other.plies


def check_merges(game: Any, rng: random.Random, *, longest: int, pairs: int, found: MergeCounters) -> None:
    """Look for transpositions below one random state, and compare the futures of the states that share a text.

    Args:
        game: a `LudiiGame` that merges histories.
        rng: chooses moves.
        longest: maximum number of moves before the random state.
        pairs: maximum number of comparisons.
        found: counters to add to.

    Raises:
        BrokenMergeError: two states with one text differ, or their futures do.
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
    """Yields the unfinished states of the tree, one for each history."""
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
    """Compare two states that share a text, their children and one random game; returns its number of plies.

    Raises:
        BrokenMergeError: something differs.
    """
    observation, plies = make_observation(game), 0
    histories = one.history(), other.history()
    children = [list(map(game.transposition_text, _children(state))) for state in (one, other)]
    if children[0] != children[1]:
        raise BrokenMergeError(f"the next states differ after {histories[0]} and {histories[1]}, with one text")
    while True:
        seen, also = (_seen(game, observation, state, detailed=plies < DETAILED_PLIES) for state in (one, other))
        if different := [look for look in seen if seen[look] != also[look]]:
            raise BrokenMergeError(
                f"{', '.join(different)} differ {plies} plies after {histories[0]} and {histories[1]}, with one text"
            )
        if one.is_terminal():
            return plies
        action = rng.choice(one.legal_actions())
        one, other = one.child(action), other.child(action)
        plies += 1


def _children(state: Any) -> list[Any]:
    return [state.child(action) for action in state.legal_actions()]


def _seen(game: Any, observation: Any, state: Any, *, detailed: bool) -> dict[str, Hashable]:
    """Observable facts of a state by name. The text comes first, because computing other facts may change the state."""
    seen: dict[str, Hashable] = {"transposition_text()": game.transposition_text(state)}
    seen["current_player()"] = state.current_player()
    seen["legal_actions()"] = len(state.legal_actions())
    seen["returns()"] = tuple(state.returns())
    if detailed or state.is_terminal():
        observation.set_from(state, 0)
        seen["set_from()"] = observation.tensor.tobytes()
        seen["str()"] = str(state)
        seen["scores()"], seen["pieces()"] = state.scores(), state.pieces()
        seen["moves in words"] = tuple(state.position.describe_moves())
    return seen

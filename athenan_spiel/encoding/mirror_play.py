"""Whether a turn of the board commutes with the rules. Two matches are played side by side, one the image of the other.

The two begin in states s and s' with T(obs(s)) = obs(s'), as a rule both in the initial one. While they last, for each
legal action of s there has to be one of s', one to one, that leads to the image: T of the child's observation is the
other child's observation, the mover is the same, both have ended or neither, and then with the same returns. A random
action and its counterpart are played, and so on to the end, in several matches.

All actions are compared in some plies, drawn at random, fewer where there are many actions; in the others their number,
and the one that is played. `STATES` bounds the cost, not the length of a match, so that ends are always seen.

Which action becomes which is read from such matches, too: in each state whose actions are all compared, an action may
become those whose children look like the image of its own child (`action_images.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.board_maps import BoardMap
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.plane_matching import match_planes, standing

STATES = 15_000
"""Number of compared states after which no further game starts, once there were `MATCHES` (one for action images)."""
MATCHES = 4
MOST_MATCHES = 16
COMPARED_ACTIONS = 16
"""All actions of a state are compared with a probability that makes this many the average, or in every ply."""
MOST_PLIES = 1000
SEARCHED = 60_000
"""States that are looked through for one that is the image of another, where the initial one is not its own."""

Key = tuple[bytes, int, tuple[float, ...]]
"""Common part of two mirrored states: observation (of one, its image), mover, and returns at the end."""


class Meetings(dict[int, set[int]]):
    """For each action that was met in states whose actions were all compared: the ones it may become by all of them."""

    def add(self, actions: Sequence[int], ours: Sequence[Key], others: Sequence[int], theirs: Sequence[Key]) -> None:
        """Leave of what each action may become those of the others that have its key in this state."""
        alike: dict[Key, set[int]] = {}
        for other, key in zip(others, theirs, strict=True):
            alike.setdefault(key, set()).add(other)
        for action, key in zip(actions, ours, strict=True):
            self[action] = self.get(action, alike[key]) & alike[key]


class MirrorPlay:
    """Tries turns of the board on random matches of one game.

    Args:
        game: the game; of it only `new_initial_state` is asked.
        encoder: how its states are observed, as boards.
        any_position: a turn that moves the initial position may be tried from other pairs of states.
    """

    def __init__(self, game: pyspiel.Game, encoder: Encoder, *, any_position: bool = False) -> None:
        self._game = game
        self._encoder = encoder
        self._any_position = any_position
        start = [game.new_initial_state()]
        self._levels = [_Level(start, self._rows(start))]

    def verify(self, name: str, rng: np.random.Generator) -> BoardMap | str:
        """The symmetry with its planes, or the first difference between a match and its image."""
        plain = BoardMap(name, self._encoder.shape)
        verdict = self._verify(plain, rng)
        if verdict is None:
            return plain
        planes = match_planes(self._game, self._encoder, name, rng)
        if planes is None:
            return verdict
        permuted = BoardMap(name, self._encoder.shape, planes)
        return self._verify(permuted, rng) or permuted

    def meetings(self, symmetry: BoardMap, rng: np.random.Generator) -> Meetings | None:
        """Return the possible images of actions under a verified symmetry, from other games; None if one refutes it."""
        met = Meetings()
        return None if self._verify(symmetry, rng, met) else met

    def _verify(self, symmetry: BoardMap, rng: np.random.Generator, met: Meetings | None = None) -> str | None:
        pairs = self._starts(symmetry)
        if not pairs:
            return "the initial position is not its own image" + (
                f", and of the first {SEARCHED} positions none is another's" if self._any_position else ""
            )
        compared = 0
        least = MATCHES if met is None else 1
        for match in range(MOST_MATCHES):
            if match >= least and compared > STATES:
                break
            difference, states = self._play(*pairs[int(rng.integers(len(pairs)))], symmetry, rng, met)
            if difference is not None:
                return difference
            compared += states
        return None

    def _play(
        self,
        state: pyspiel.State,
        image: pyspiel.State,
        symmetry: BoardMap,
        rng: np.random.Generator,
        met: Meetings | None,
    ) -> tuple[str | None, int]:
        """One match and its image: (the first difference or None, how many states were compared)."""
        partners: dict[int, int] = {}  # an action's counterpart is often the same in every state: tried first
        compared = 0
        for _ in range(MOST_PLIES):
            actions, others = state.legal_actions(), image.legal_actions()
            if len(actions) != len(others):
                return (
                    f"{_after(state)} there are {len(actions)} legal actions, and in the image {len(others)}",
                    compared,
                )
            if not actions:
                break
            action = actions[int(rng.integers(len(actions)))]
            if rng.random() * len(actions) < COMPARED_ACTIONS:
                compared += 2 * len(actions)
                ours = self._keys(state, actions, symmetry)
                theirs = self._keys(image, others)
                if missing := Counter(ours) - Counter(theirs):
                    return _no_counterpart(state, actions[ours.index(next(iter(missing)))]), compared
                places = {key: place for place, key in enumerate(theirs)}
                partners.update((a, others[places[key]]) for a, key in zip(actions, ours, strict=True))
                if met is not None:
                    met.add(actions, ours, others, theirs)
            (key,) = self._keys(state, [action], symmetry)
            first = [partners[action]] if partners.get(action) in others else []
            for other in first + others:
                compared += 2
                if self._keys(image, [other]) == [key]:
                    break
            else:
                return _no_counterpart(state, action), compared
            partners[action] = other
            state, image = state.child(action), image.child(other)
        return None, compared

    def _keys(self, state: pyspiel.State, actions: Sequence[int], symmetry: BoardMap | None = None) -> list[Key]:
        return self._keys_of([state.child(action) for action in actions], symmetry)

    def _keys_of(self, states: Sequence[pyspiel.State], symmetry: BoardMap | None = None) -> list[Key]:
        rows = self._rows(states)
        if symmetry is not None:
            rows = symmetry.image(rows)
        return [(row.tobytes(), *standing(state)) for row, state in zip(rows, states, strict=True)]

    def _rows(self, states: Sequence[pyspiel.State]) -> NDArray[np.float32]:
        return self._encoder.encode(states).reshape(len(states), -1)

    def _starts(self, symmetry: BoardMap) -> list[tuple[pyspiel.State, pyspiel.State]]:
        """Pairs (s, s') with T(s) = s'."""
        start = self._game.new_initial_state()
        if self._keys_of([start], symmetry) == self._keys_of([start]):
            return [(start, start)]
        if not self._any_position:
            return []
        for level in self._positions():
            images = symmetry.image(level.rows)
            places = [level.places.get(image.tobytes()) for image in images]
            pairs = [
                (state, level.states[at]) for state, at in zip(level.states, places, strict=True) if at is not None
            ]
            if pairs := [(s, t) for s, t in pairs if standing(s) == standing(t)]:
                return pairs
        return []

    def _positions(self) -> Iterator[_Level]:
        """The positions after 0, 1, 2, ... plies, each once, until there are no more or `SEARCHED` were looked at."""
        yield from self._levels
        searched = sum(len(level.states) for level in self._levels)
        while searched < SEARCHED:
            states = [state.child(action) for state in self._levels[-1].states for action in state.legal_actions()]
            if not states:
                return
            self._levels.append(_Level(states, self._rows(states)))
            searched += len(self._levels[-1].states)
            yield self._levels[-1]


class _Level:
    """Positions that can be met in one ply, each once, with their rows and their places in the list by row."""

    def __init__(self, states: Sequence[pyspiel.State], rows: NDArray[np.float32]) -> None:
        once = list({row.tobytes(): place for place, row in enumerate(rows)}.values())
        self.states = [states[place] for place in once]
        self.rows = rows[once]
        self.places = {row.tobytes(): place for place, row in enumerate(self.rows)}


def _after(state: pyspiel.State) -> str:
    return f"after the actions {state.history()!r}"


def _no_counterpart(state: pyspiel.State, action: int) -> str:
    return f"{_after(state)}, nothing in the image leads to the image of what {action!r} leads to"

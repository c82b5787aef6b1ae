"""Tests whether a turn of the board commutes with the rules, by playing pairs of games that are images of each other.

Both games start in states s and s' with T(obs(s)) = obs(s'), usually in the initial state. The legal actions of s and
s' must then correspond one to one: T of a child's observation equals the observation of the other child, with the same
mover, and the same returns if the game has ended. A random action and its counterpart are played, and so on until the
end, in several games.

All actions are compared in some random plies, fewer if there are many actions. In other plies only their number and the
played action are compared. `STATES` limits the number of games, not their length, so ends are always tested.

The images of actions are read from such games as well: in a fully compared state, the candidates for an action are
those whose children equal the image of its child (`action_images.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.board_maps import BoardMap
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.plane_matching import fixed_part, match_planes

STATES = 15_000
"""Number of compared states after which no further game starts, once `MIN_GAMES` (one for images) were played."""
MIN_GAMES = 4
MAX_GAMES = 16
COMPARED_ACTIONS = 16
"""Average number of compared actions per ply; states with fewer actions are always compared."""
MAX_PLIES = 1000
MAX_SEARCHED_STATES = 60_000
"""Maximum number of states searched for a pair of images, if the initial state is not its own image."""

Key = tuple[bytes, int, tuple[float, ...]]
"""Key that is equal for a state and its image: observation, turned for one of them, mover, and returns at the end."""


class ImageCandidates(dict[int, set[int]]):
    """Candidates for the image of each action that occurred in fully compared states."""

    def add(self, actions: Sequence[int], ours: Sequence[Key], others: Sequence[int], theirs: Sequence[Key]) -> None:
        """Keeps only candidates with the key of the action in this state."""
        by_key: dict[Key, set[int]] = {}
        for other, key in zip(others, theirs, strict=True):
            by_key.setdefault(key, set()).add(other)
        for action, key in zip(actions, ours, strict=True):
            self[action] = self.get(action, by_key[key]) & by_key[key]


class MirrorPlay:
    """Tests turns of the board on random games.

    Args:
        game: game to play; only its `new_initial_state` is used.
        encoder: encoder of its states, as boards.
        any_position: whether a turn that moves the initial position may be tested from other pairs of states.
    """

    def __init__(self, game: pyspiel.Game, encoder: Encoder, *, any_position: bool = False) -> None:
        self._game = game
        self._encoder = encoder
        self._any_position = any_position
        start = [game.new_initial_state()]
        self._levels = [_Level(start, self._rows(start))]

    def verify(self, name: str, rng: np.random.Generator) -> BoardMap | str:
        """Returns the symmetry with its planes, or the first difference between a game and its image."""
        plain = BoardMap(name, self._encoder.shape)
        verdict = self._verify(plain, rng)
        if verdict is None:
            return plain
        planes = match_planes(self._game, self._encoder, name, rng)
        if planes is None:
            return verdict
        permuted = BoardMap(name, self._encoder.shape, planes)
        return self._verify(permuted, rng) or permuted

    def image_candidates(self, symmetry: BoardMap, rng: np.random.Generator) -> ImageCandidates | None:
        """Returns candidates for the images of actions under a verified symmetry; None if a game refutes it."""
        candidates = ImageCandidates()
        return None if self._verify(symmetry, rng, candidates) else candidates

    def _verify(
        self, symmetry: BoardMap, rng: np.random.Generator, candidates: ImageCandidates | None = None
    ) -> str | None:
        """Returns None if games do not refute the symmetry, otherwise the first difference."""
        pairs = self._starts(symmetry)
        if not pairs:
            return "the initial position is not its own image" + (
                f", and the first {MAX_SEARCHED_STATES} positions contain no such pair" if self._any_position else ""
            )
        compared = 0
        min_games = MIN_GAMES if candidates is None else 1
        for game in range(MAX_GAMES):
            if game >= min_games and compared > STATES:
                break
            difference, states = self._play(*pairs[int(rng.integers(len(pairs)))], symmetry, rng, candidates)
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
        candidates: ImageCandidates | None,
    ) -> tuple[str | None, int]:
        """Plays a game and its image; returns the first difference or None, and the number of compared states."""
        counterparts: dict[int, int] = {}  # those of earlier states, which are tried first
        compared = 0
        for _ in range(MAX_PLIES):
            actions, others = state.legal_actions(), image.legal_actions()
            if len(actions) != len(others):
                return (
                    f"{_after(state)} there are {len(actions)} legal actions, but {len(others)} in the image",
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
                index_of = {key: index for index, key in enumerate(theirs)}
                counterparts.update((a, others[index_of[key]]) for a, key in zip(actions, ours, strict=True))
                if candidates is not None:
                    candidates.add(actions, ours, others, theirs)
            (key,) = self._keys(state, [action], symmetry)
            first = [counterparts[action]] if counterparts.get(action) in others else []
            for other in first + others:
                compared += 2
                if self._keys(image, [other]) == [key]:
                    break
            else:
                return _no_counterpart(state, action), compared
            counterparts[action] = other
            state, image = state.child(action), image.child(other)
        return None, compared

    def _keys(self, state: pyspiel.State, actions: Sequence[int], symmetry: BoardMap | None = None) -> list[Key]:
        return self._keys_of([state.child(action) for action in actions], symmetry)

    def _keys_of(self, states: Sequence[pyspiel.State], symmetry: BoardMap | None = None) -> list[Key]:
        rows = self._rows(states)
        if symmetry is not None:
            rows = symmetry.image(rows)
        return [(row.tobytes(), *fixed_part(state)) for row, state in zip(rows, states, strict=True)]

    def _rows(self, states: Sequence[pyspiel.State]) -> NDArray[np.float32]:
        return self._encoder.encode(states).reshape(len(states), -1)

    def _starts(self, symmetry: BoardMap) -> list[tuple[pyspiel.State, pyspiel.State]]:
        """Returns pairs (s, s') with T(s) = s'."""
        start = self._game.new_initial_state()
        if self._keys_of([start], symmetry) == self._keys_of([start]):
            return [(start, start)]
        if not self._any_position:
            return []
        for level in self._positions():
            images = symmetry.image(level.rows)
            found = [level.index_of.get(image.tobytes()) for image in images]
            pairs = [(state, level.states[i]) for state, i in zip(level.states, found, strict=True) if i is not None]
            if pairs := [(s, t) for s, t in pairs if fixed_part(s) == fixed_part(t)]:
                return pairs
        return []

    def _positions(self) -> Iterator[_Level]:
        """Yields the distinct positions after 0, 1, 2, ... plies, until `MAX_SEARCHED_STATES` are exceeded."""
        yield from self._levels
        searched = sum(len(level.states) for level in self._levels)
        while searched < MAX_SEARCHED_STATES:
            states = [state.child(action) for state in self._levels[-1].states for action in state.legal_actions()]
            if not states:
                return
            self._levels.append(_Level(states, self._rows(states)))
            searched += len(self._levels[-1].states)
            yield self._levels[-1]


class _Level:
    """Distinct positions after a number of plies, with their rows, and the index of each row."""

    def __init__(self, states: Sequence[pyspiel.State], rows: NDArray[np.float32]) -> None:
        distinct = list({row.tobytes(): index for index, row in enumerate(rows)}.values())
        self.states = [states[index] for index in distinct]
        self.rows = rows[distinct]
        self.index_of = {row.tobytes(): index for index, row in enumerate(self.rows)}


def _after(state: pyspiel.State) -> str:
    return f"after the actions {state.history()!r}"


def _no_counterpart(state: pyspiel.State, action: int) -> str:
    return f"{_after(state)}, no action of the image corresponds to {action!r}"

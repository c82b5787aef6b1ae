"""The dice of a Ludii game: outcomes of a roll with their probabilities, and channels of the observation.

Ludii rolls all dice together, and each side of a die is equally likely. It ignores the weights of a description
("biased"); a die is uneven only if several sides have the same face. If the rules don't name single dice, the order of
equal dice doesn't matter, and outcomes that differ by it are one outcome.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.programs import Programs, Types

_SINGLE_DIE = re.compile(r"\(face\b")
"""Ludeme that reads a die by its site."""
HIDDEN = -(2**31)
"""Face of a die before a roll."""


@dataclass(frozen=True)
class ChanceOutcome:
    """An outcome of chance.

    Attributes:
        draws: numbers that Ludii draws.
        probability: its probability.
        text: its name.
        faces: face of each die, or empty if it is no roll.
    """

    draws: tuple[int, ...]
    probability: float
    text: str
    faces: tuple[int, ...] = ()


class Dice:
    """The dice of a game.

    Args:
        faces: face of each side of each die of each container of dice, in the order in which Ludii rolls them.
        ordered: the rules distinguish equal dice.

    Attributes:
        groups: numbers of the dice of each group of equal dice; single dice if the order matters.
        outcomes: outcomes of a roll.
        channels: description of each channel.
    """

    def __init__(self, faces: Sequence[Sequence[Sequence[int]]], *, ordered: bool) -> None:
        self.faces = tuple(tuple(sides) for container in faces for sides in container)
        self._containers = tuple(map(len, faces))
        where = [container for container, count in enumerate(self._containers) for _ in range(count)]
        groups: dict[object, list[int]] = {}
        for die, sides in enumerate(self.faces):
            groups.setdefault(die if ordered else (where[die], sides), []).append(die)
        self.groups = tuple(map(tuple, groups.values()))
        self.outcomes = tuple(self._outcomes())
        self._planes = [(dice, face) for dice in self.groups for face in sorted(set(self.faces[dice[0]]))]
        several = len(self.groups) > 1
        self.channels = tuple(
            f"dice{' ' + ' and '.join(str(die + 1) for die in dice) if several else ''} showing {face}"
            for dice, face in self._planes
        )

    def __len__(self) -> int:
        return len(self.faces)

    def _outcomes(self) -> Iterator[ChanceOutcome]:
        for parts in itertools.product(*(self._rolls(dice) for dice in self.groups)):
            faces = [0] * len(self)
            for dice, (shown, _) in zip(self.groups, parts, strict=True):
                for die, face in zip(dice, shown, strict=True):
                    faces[die] = face
            draws = tuple(sides.index(face) for sides, face in zip(self.faces, faces, strict=True))
            probability = math.prod(part for _, part in parts)
            yield ChanceOutcome(draws, probability, f"roll {'-'.join(map(str, faces))}", tuple(faces))

    def _rolls(self, dice: Sequence[int]) -> list[tuple[tuple[int, ...], float]]:
        """Returns the ascending faces of equal dice and the probability of each."""
        sides = Counter(self.faces[dice[0]])
        total = len(self.faces[dice[0]]) ** len(dice)
        rolls = []
        for shown in itertools.combinations_with_replacement(sorted(sides), len(dice)):
            ways = math.factorial(len(dice))
            for face, often in Counter(shown).items():
                ways = ways // math.factorial(often) * sides[face] ** often
            rolls.append((shown, ways / total))
        return rolls

    def write(self, shown: NDArray[np.int32], out: NDArray[np.float32]) -> None:
        """Writes the number of dice of each group that show each face, a constant plane of the observation.

        Args:
            shown: int32 [n, dice]: face of each die, 0 for a used one, `HIDDEN` before a roll.
            out: float32 [n, channels, places].
        """
        for channel, (dice, face) in enumerate(self._planes):
            out[:, channel] = (shown[:, dice] == face).sum(axis=1, keepdims=True)

    def readers(self, p: Programs, t: Types) -> list[Any]:
        """Programs (Context)int: the face of each die, 0 for a used one."""
        state = p.method(t.context, "state", t.state)
        of_container = p.method(t.state, "currentDice", t.ints, t.int)
        return [
            p.piped(p.bound(p.element(t.ints), i, at=1), 0, p.piped(p.bound(of_container, container, at=1), 0, state))
            for container, count in enumerate(self._containers)
            for i in range(count)
        ]


def uniform_outcomes(bound: int) -> tuple[ChanceOutcome, ...]:
    """Returns the outcomes of a draw of a number below `bound`."""
    return tuple(ChanceOutcome((i,), 1 / bound, f"draw {i + 1} of {bound}") for i in range(bound))


def dice_of(game: Any, context: Any) -> Dice | None:
    """Returns the dice of a compiled game, or None if it has none.

    Args:
        game: Ludii's game.
        context: a state of the game.
    """
    cell = type(game.board().defaultSite()).valueOf("Cell")
    faces = []
    for dice in game.handDice():
        first = int(game.equipment().sitesFrom()[dice.index()])
        state = context.containerState(dice.index())
        kinds = [int(state.what(site, cell)) for site in range(first, first + int(dice.numLocs()))]
        faces.append([list(map(int, game.equipment().components()[kind].getFaces())) for kind in kinds])
    ordered = _SINGLE_DIE.search(str(game.description().expanded())) is not None
    return Dice(faces, ordered=ordered) if faces else None

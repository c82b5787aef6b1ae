"""Ends of random playouts in place of the terminal states that a search has seen.

*Apprendre à jouer aux jeux à deux joueurs à information parfaite sans connaissance* (Cohen-Solal, 2019), Section 4.1:
after a match the terminal states leave D, and from every other state that stays in it a random playout is played, whose
end comes into D with its worth. So what is learned of ends varies more, and is exact as before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Self

import pyspiel

from athenan_spiel.encoding import ObservationStore
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games.playout import playout

NOT_KEPT = -1
"""The index of a terminal state."""


class PlayoutEndsStore(ObservationStore):
    """The store of a match that keeps no terminal states, but ends of playouts.

    A playout is played when its state comes in, which is the same as after the match: it looks at nothing else.

    Args:
        outcome: f_t, the worth of an end.
        seed: of the playouts.

    Attributes:
        ends: the observations of the ends, in order of their states.
        worths: f_t of each of them.
    """

    def __init__(
        self, encoder: Encoder, outcome: Callable[[pyspiel.State], float], seed: int, *, leaves: bool = False
    ) -> None:
        super().__init__(encoder, leaves=leaves)
        self.ends = ObservationStore(encoder)
        self.worths: list[float] = []
        self._begun: list[int] = []  # the index of the state from which each was played
        self._outcome = outcome
        self._rng = random.Random(seed)

    def append(self, state: pyspiel.State) -> int:
        """Encode `state`, unless it is terminal, and return its index; from every other one play to an end."""
        if state.is_terminal():
            return NOT_KEPT
        index = super().append(state)
        if index % 2 == 0:
            end = playout(state.clone(), self._rng.choice)
            self.ends.append(end)
            self.worths.append(float(self._outcome(end)))
            self._begun.append(index)
        return index

    def kept(self, indices: Sequence[int]) -> Self:
        """As `ObservationStore.kept`, with the ends of the playouts from these."""
        twin, new = super().kept(indices), {index: i for i, index in enumerate(indices)}
        ends = [i for i, index in enumerate(self._begun) if index in new]
        twin.ends = self.ends.kept(ends)
        twin.worths = [self.worths[i] for i in ends]
        twin._begun = [new[self._begun[i]] for i in ends]
        return twin

"""Children that are decided by one more action: proofs that a search need not walk to.

Where a side threatens to win, nearly every reply loses at once, and each of those that do would cost a walk from the
root, a node, and the values of all its children, none of which is needed. In Hex 5 x 5 they are five of six states
of a proof. Looked at from their parent, they cost a few children each, and no value. What holds:

1. What it says is a proof: the mover of the state has an action that ends the match, won.
2. It looks only at states that one action may end, by all that was seen of the game: none before the earliest ply at
   which a search has met the end of a match. So it costs nothing in the wide beginning of a long game.
3. It gives up after `PATIENCE` states without a find: a threat that is there already is met by few replies. So where
   none is, it costs the children of a few states.
4. It knows no draws, and says nothing of a state whose mover cannot win by one action.
5. What it says depends on the tree that it belongs to alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.games.children import ends_of
from athenan_spiel.outcomes import gain
from athenan_spiel.search.proven_states import ProvenValue

PATIENCE = 4
"""States looked at in vain before the others are left to the search. Of two replies one does not meet a threat."""


class WinsAhead:
    """Looks one action beyond the children that a search values in a tree.

    Args:
        outcome: of the search; a proven state is worth the end that was found.
    """

    def __init__(self, outcome: Callable[[pyspiel.State], float]) -> None:
        self._outcome = outcome
        self._earliest: float = math.inf
        self._won_before = -1

    def wins(self, states: Sequence[pyspiel.State], ended: Sequence[bool]) -> dict[int, ProvenValue]:
        """The proofs of those of `states` that their mover wins by one action, by index; none after `PATIENCE`.

        Args:
            states: at least one, all after equally many actions, as the children of a state are.
            ended: for each whether it is terminal; those are not looked at.
        """
        ply = states[0].move_number()
        if ply < self._earliest and any(ended):
            self._earliest = ply
        if ply + 1 < self._earliest:
            return {}
        found = {}
        in_vain = 0
        for i, state in enumerate(states):
            if ended[i]:
                continue
            if (end := self._won_end(state)) is not None:
                found[i] = gain(end), self._outcome(end)
            elif not found:
                in_vain += 1
                if in_vain == PATIENCE:
                    break
        return found

    def _won_end(self, state: pyspiel.State) -> pyspiel.State | None:
        """A terminal child of `state` that its mover has won; what won a sibling is tried first."""
        mover = state.current_player()
        actions = state.legal_actions()
        if self._won_before in actions:
            actions.insert(0, self._won_before)
        for action, end in ends_of(state, actions):
            if end.player_return(mover) > 0:
                self._won_before = action
                return end
        return None

"""Proofs of children in which the player to move wins by one action, found without a search.

If a player threatens to win, nearly every reply loses at once. For each of these replies a search would need a walk
from the root, a node and the values of all children. In Hex 5 x 5 they are five of six states of a proof. Looking one
action ahead inspects only a few children of each, and needs no evaluation. It satisfies:

1. Each result is a proof: the mover of the state has an action that ends the game with a win. Chance wins nothing.
2. It inspects no state before the earliest ply at which a search has met the end of a game. It therefore costs nothing
   early in a long game.
3. It stops after `MAX_STATES_WITHOUT_WIN` states without a win, because few replies meet an existing threat. Without a
   threat it therefore costs the children of a few states.
4. It proves no draws, and returns nothing for a state whose mover cannot win by one action.
5. Its results depend only on the tree that it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.games.chance import CHANCE
from athenan_spiel.games.children import ends_of
from athenan_spiel.games.rows import Rows
from athenan_spiel.outcomes import gain
from athenan_spiel.search.node import Value
from athenan_spiel.search.proven_states import ProvenValue

MAX_STATES_WITHOUT_WIN = 4
"""Maximum number of states inspected before the first win.

Usually half of the replies or more do not meet a threat, so four states without a win suggest that there is none.
"""


class WinsAhead:
    """Looks one action beyond the children that a search evaluates in a tree.

    Args:
        outcome: outcome of the search. The value of a proven state is the outcome of the end that was found.
        rows: range of the game's rows, if it has any. Only the best possible return is then a win.
    """

    def __init__(self, outcome: Callable[[pyspiel.State], Value], rows: Rows | None = None) -> None:
        self._outcome = outcome
        self._gain = gain if rows is None else rows.gains
        self._least_won = 0.0 if rows is None else math.nextafter(rows.highest, -math.inf)
        self._earliest: float = math.inf
        self._won_before = -1

    def wins(self, states: Sequence[pyspiel.State], ended: Sequence[bool]) -> dict[int, ProvenValue]:
        """Returns the proofs of the states that their mover wins by one action, by index.

        Args:
            states: at least one state, all at the same ply, as the children of a state are.
            ended: whether each state is terminal. Terminal states are skipped.
        """
        ply = states[0].move_number()
        if ply < self._earliest and any(ended):
            self._earliest = ply
        if ply + 1 < self._earliest:
            return {}
        found: dict[int, ProvenValue] = {}
        without_win = 0
        for i, state in enumerate(states):
            if ended[i]:
                continue
            if (end := self._won_end(state)) is not None:
                found[i] = self._gain(end), self._outcome(end)
            elif not found:
                without_win += 1
                if without_win == MAX_STATES_WITHOUT_WIN:
                    break
        return found

    def _won_end(self, state: pyspiel.State) -> pyspiel.State | None:
        """Returns a terminal child of `state` that its mover has won, or None. The action that won a sibling is tried
        first."""
        mover = state.current_player()
        if mover == CHANCE:
            return None
        actions = state.legal_actions()
        if self._won_before in actions:
            actions.insert(0, self._won_before)
        for action, end in ends_of(state, actions):
            if end.player_return(mover) > self._least_won:
                self._won_before = action
                return end
        return None

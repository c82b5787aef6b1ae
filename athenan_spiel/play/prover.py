"""Proofs during play: proof-number search takes a part of the time of a move, before the agent's own search.

1. It first takes `PROBE` of the time. If that proves the result of an action, or `PROMISING` states or more per state
   that it expands, it takes up to `MOST` of the time. Otherwise the rest of the move is left to the agent's search.
   Only the first `MAX_MOVE_SECONDS` of a long move count.
2. It ends as soon as the position is proven. In a won position only one action is reported, whose proof is the
   shortest one known. Each move of a won game therefore shortens the proof, and the game ends.
3. The table lasts for a game, and is emptied at a move if it has grown beyond half of `MAX_MEGABYTES`.
4. A game with a fault is not searched again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import MappingProxyType

import pyspiel

from athenan_spiel.errors import SearchError
from athenan_spiel.search.drive import Clock
from athenan_spiel.search.walk import Requests
from athenan_spiel.solving.proof_numbers import ProofNumberSearch, unavailable

logger = logging.getLogger(__name__)

PROBE = 0.2
"""Fraction of the time of a move that proofs always take."""
MOST = 0.5
"""Maximum fraction of the time of a move that proofs take."""
MAX_MOVE_SECONDS = 2.0
"""Maximum time of a move of which proofs take a fraction, in seconds. An analysis shows nothing meanwhile, and may have
no limit."""
PROMISING = 0.1
"""Minimum number of proofs per expanded state from which proofs of actions are likely."""
MAX_MEGABYTES = 128.0
"""Maximum size of the table of a game, in megabytes."""
SLICE_SECONDS = 0.02
"""Maximum time between two requests, in seconds, in which a driver can't continue with other games."""
NO_PROOFS: Mapping[int, int] = MappingProxyType({})


class GameProver:
    """Proof search for the moves of one game.

    Args:
        game: game of the states.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self._game = game
        self._search: ProofNumberSearch | None = None
        self._failed = unavailable(game) is not None

    def proofs(self, state: pyspiel.State, seconds: float, clock: Clock) -> Requests[Mapping[int, int]]:
        """Searches `state` for a part of `seconds`, the time of the move (rule 1).

        It makes empty requests, between which a driver may continue with other games.

        Returns:
            Proven gain of player 0 after each action for which one was found.
        """
        if self._failed:
            return NO_PROOFS
        start, seconds = clock(), min(seconds, MAX_MOVE_SECONDS)
        try:
            search = self._started(state)
            proven, nodes = search.proven, search.nodes
            is_open, share = True, PROBE
            while is_open and (left := share * seconds - (clock() - start)) > 0:
                is_open = search.run(min(left, SLICE_SECONDS)) == "limit"
                dense = search.proven - proven >= PROMISING * (search.nodes - nodes)
                if share < MOST and (dense or any(x.bounds.value is not None for x in search.actions.values())):
                    share = MOST
                yield []
            return self._found(search, state.current_player())
        except SearchError as error:
            logger.warning("proofs during play are off for %s: %s", self._game, error)
            self._failed = True
            return NO_PROOFS

    def _started(self, state: pyspiel.State) -> ProofNumberSearch:
        """Returns a search with `state` as its root."""
        if self._search is None or self._search.megabytes > MAX_MEGABYTES / 2:
            self._search = ProofNumberSearch(self._game, MAX_MEGABYTES)
        self._search.start(state)
        return self._search

    def _found(self, search: ProofNumberSearch, mover: int) -> Mapping[int, int]:
        won = 1 if mover == 0 else -1
        if search.root.bounds.value == won:
            return {search.best_action: won}
        values = {action: numbers.bounds.value for action, numbers in search.actions.items()}
        return {action: value for action, value in values.items() if value is not None}

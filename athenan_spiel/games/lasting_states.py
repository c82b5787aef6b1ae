"""Games whose states live only as long as the state that they were cloned from.

OpenSpiel 2.0.2's Morpion Solitaire keeps pointers into the state that `new_initial_state` made, in each of its clones
and in theirs: once it is gone, they read freed memory. `LastingStates` clones all its initial states from one that
lives as long as the process, so all states that follow from them are sound.
"""

from __future__ import annotations

import pyspiel

_first: dict[str, pyspiel.State] = {}
"""An initial state for each game, never changed and never given away."""


class LastingStates(pyspiel.Game):  # type: ignore[misc]
    """`game` as it is, but for the fault above; a Python object around it, and its states are OpenSpiel's own."""

    def __init__(self, game: pyspiel.Game) -> None:
        info = pyspiel.GameInfo(
            num_distinct_actions=game.num_distinct_actions(),
            max_chance_outcomes=game.max_chance_outcomes(),
            num_players=game.num_players(),
            min_utility=game.min_utility(),
            max_utility=game.max_utility(),
            utility_sum=game.utility_sum(),
            max_game_length=game.max_game_length(),
        )
        super().__init__(game.get_type(), info, game.get_parameters())
        self._first = _first.setdefault(str(game), game.new_initial_state())

    def new_initial_state(self) -> pyspiel.State:
        """A clone of the one initial state."""
        return self._first.clone()

    def deserialize_state(self, text: str) -> pyspiel.State:
        """The state that `State.serialize` wrote: an action a line, which OpenSpiel does not expect of such a game."""
        state = self.new_initial_state()
        for action in text.split():
            state.apply_action(int(action))
        return state

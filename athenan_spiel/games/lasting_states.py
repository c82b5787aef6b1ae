"""Games whose states are valid only as long as the state that they were cloned from.

In OpenSpiel 2.0.2's Morpion Solitaire, all clones keep pointers into the state that `new_initial_state` made, and read
freed memory once it is deleted. `LastingStates` clones all initial states from one that lives as long as the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyspiel
from open_spiel.python.observation import make_observation

from athenan_spiel.games.facts import facts_of

_first: dict[str, pyspiel.State] = {}
"""Initial state of each game, never changed or returned."""


def lasting(game: pyspiel.Game) -> pyspiel.Game:
    """Returns `game` with states that are safe to clone."""
    unsafe = facts_of(game.get_type().short_name).lasting and not isinstance(game, LastingStates)
    return LastingStates(game) if unsafe else game


class LastingStates(pyspiel.Game):  # type: ignore[misc]
    """Wrapper of `game` with the same results, errors included, whose states are safe to clone.

    Its states are OpenSpiel's own. Every public method of `pyspiel.Game` that is not defined here calls that of `game`.
    """

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
        given = pyspiel.game_parameters_from_string(str(game))
        del given["name"]
        super().__init__(game.get_type(), info, given)
        self._game = game

    def new_initial_state(self, *position: Any) -> pyspiel.State:
        """Returns a clone of the one initial state, or the state that OpenSpiel makes of a position."""
        if position:
            return self._game.new_initial_state(*position)
        text = str(self._game)
        if text not in _first:
            _first.setdefault(text, self._game.new_initial_state())
        return _first[text].clone()

    def new_initial_states(self) -> list[pyspiel.State]:
        """Returns a clone of the one initial state in a list."""
        return [self.new_initial_state()]

    def deserialize_state(self, text: str) -> pyspiel.State:
        """Returns the state serialised by `State.serialize`."""
        state = self.new_initial_state()
        for action in self._game.deserialize_state(text).history():
            state.apply_action(action)
        return state

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        """Returns the observation of `game`; OpenSpiel calls this method of games written in Python."""
        if isinstance(iig_obs_type, dict):  # OpenSpiel omits a missing type
            iig_obs_type, params = None, iig_obs_type
        return make_observation(self._game, iig_obs_type, params)

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (str(self._game),)


def _loaded(text: str) -> LastingStates:
    return LastingStates(pyspiel.load_game(text))


def _forwarding(name: str) -> Callable[..., Any]:
    def forward(self: LastingStates, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._game, name)(*args, **kwargs)

    forward.__name__ = name
    return forward


for _name in dir(pyspiel.Game):
    if not _name.startswith("_") and _name not in vars(LastingStates):
        setattr(LastingStates, _name, _forwarding(_name))

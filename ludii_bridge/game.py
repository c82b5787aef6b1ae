"""`ludii(...)`: a Ludii game as an OpenSpiel game.

The actions of a state are the indices 0 to n - 1 of its n legal moves. Their order depends on the moves alone, so equal
states have equal indices. In another state the same index is another move: use `action_to_string`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import IIGObserverForPublicInfoGame

from ludii_bridge.catalogue import choose, find_file
from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError, joined
from ludii_bridge.picture import letters_of
from ludii_bridge.state import LudiiState
from ludii_bridge.transport import Rules, Traits

_DEFAULTS: dict[str, Any] = {"game": "", "file": "", "ruleset": "", "options": "", "max_length": 1000, "max_actions": 0}
"""Parameters of a game string; see `docs/ludii.md`."""

_compiled: WeakValueDictionary[tuple[Any, ...], Rules] = WeakValueDictionary()
"""Games in use. OpenSpiel loads a game again for each state that it deserialises."""


_MAX_PLAYERS = 16
"""Ludii's maximum number of players."""


@functools.cache
def _game_type(least: int, most: int, *, chance: bool = False) -> pyspiel.GameType:
    """Returns the type of the games for these numbers of players.

    A game for more than two players may have several winners or none, so only those for two have a zero sum.
    """
    modes, utilities = pyspiel.GameType.ChanceMode, pyspiel.GameType.Utility
    return pyspiel.GameType(
        short_name="ludii",
        long_name="A game of Ludii's",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=modes.EXPLICIT_STOCHASTIC if chance else modes.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=utilities.ZERO_SUM if least == most == 2 else utilities.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=most,
        min_num_players=least,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_DEFAULTS,
        default_loadable=False,
    )


GAME_TYPE = _game_type(1, _MAX_PLAYERS)
"""The registered type; a loaded game has its number of players and its kind of chance."""


class LudiiGame(pyspiel.Game):
    """A Ludii game with perfect information, with or without chance.

    Args:
        params: parameters of the game string.

    Attributes:
        rules: the compiled game.
        channels: description of each channel of the observation.

    Raises:
        LudiiError: Java or the jar is missing, the game, ruleset or option is unknown, the game does not compile, or it
            is not supported.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {**_DEFAULTS, **(params or {})}
        self.rules, length = _rules(given)
        traits = self.rules.traits
        players = traits.players
        bound = math.inf if players == 1 and traits.scored else 1.0  # Ludii has no bound for scores
        info = pyspiel.GameInfo(
            num_distinct_actions=_actions(given["max_actions"], traits.distinct_moves),
            max_chance_outcomes=traits.chance_outcomes,
            num_players=players,
            min_utility=-bound,
            max_utility=bound,
            utility_sum=0.0 if players == 2 else None,
            max_game_length=length,
        )
        kind = _game_type(players, players, chance=traits.chance_outcomes > 0)
        super().__init__(kind, info, {name: x for name, x in given.items() if x != _DEFAULTS[name]})
        self.channels = traits.channels
        self._start = self.rules.start()
        self._start.shared = True

    def max_chance_nodes_in_history(self) -> int:
        """Returns an upper bound."""
        most: int = self.max_game_length()
        return self.rules.traits.chances_per_move * (most + 1)

    def new_initial_state(self, state: Any = None) -> LudiiState:
        """Returns the initial state.

        Raises:
            LudiiError: a state is given.
        """
        if state is not None:
            raise LudiiError(f"a state of Ludii's is made from its history, got {state!r}")
        return LudiiState(self, self._start)

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        """Returns the observer of `make_observation`: Ludii's tensor, or the history for perfect recall."""
        if isinstance(iig_obs_type, dict):  # OpenSpiel omits a missing type
            iig_obs_type, params = None, iig_obs_type
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return LudiiObserver(self.rules.traits.shape, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)

    def transposition_text(self, state: LudiiState) -> Hashable | None:
        """Returns a key that is equal only for states with the same future, or None if there is none.

        It is `LudiiState.key` and the number of moves, and None for games whose rules remember more than that.
        """
        return (state.key(), state.move_number()) if self.rules.traits.hashed else None

    def measure(self, name: str) -> Callable[[LudiiState], tuple[float, ...]] | None:
        """Returns a function that counts "score" or "pieces" of each player, or None.

        A single-player game has no such function; its score is in `returns()`.
        """
        if self.num_players() == 1:
            return None
        if name == "score" and self.rules.traits.scored:
            return lambda state: state.scores() or ()
        return LudiiState.pieces if name == "pieces" else None

    def marks(self) -> tuple[str, ...] | None:
        """Describes the pieces of each player in the text of a state; None if one of them has none."""
        owners = {owner for _, owner in self.rules.components}
        players = range(1, self.rules.traits.players + 1)
        if len(players) < 2 or not owners.issuperset(players):
            return None
        if len(players) == 2:
            return "the capital letters", "the small letters"
        letters = letters_of(self.rules.components)
        owned = [
            [letters[i] for i, (_, owner) in enumerate(self.rules.components, 1) if owner == player]
            for player in players
        ]
        return tuple(f"the letter{'s' if len(mine) > 1 else ''} {' '.join(mine)}" for mine in owned)

    def sides(self) -> Sequence[tuple[str, tuple[int, int, int]]]:
        """Returns the name of each player, mostly empty, and its colour in Ludii's own pictures: red, green, blue."""
        return self.rules.sides

    def category(self) -> str:
        """Returns the folder of the game in Ludii's list, such as "board/space/line"; empty for a .lud file."""
        given = self.get_parameters()
        catalogue = connect().catalogue
        return catalogue.folder(catalogue.find(given["game"]).name) if "game" in given else ""

    def recommended_ai(self) -> str:
        """Returns Ludii's name of the AI that it recommends for the game; empty without a recommendation.

        "Ludii AI" is this AI, and UCT without a recommendation.
        """
        return self.rules.recommended_ai

    def has_fixed_actions(self) -> bool:
        """Returns False: an action is an index of the legal moves of its state."""
        return False

    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """Returns the positions of the sites of the board and of the hands beside it.

        Returns:
            Arrays of float64, by name:

            - "centres", [n, 2]: centres of the main sites, in Ludii's unit square with y upwards;
            - "planes", [n, 2]: their x and y in the observation;
            - "sites", [m, 2]: centres of all sites: the n above, those of hands, and those of other types;
            - "corners", [k, 3]: site, x and y of each corner of its outline, in order; an edge has two, a vertex none;
            - "lines", [k, 4]: x and y of both ends of each line of a board of vertices.
        """
        return self.rules.geometry

    def site_names(self) -> Sequence[str]:
        """Returns the unique name of each row of "sites", as in moves."""
        return self.rules.site_names

    def piece_types(self) -> Sequence[tuple[str, str, int]]:
        """Returns name, letter in texts, and player of each piece type; -1 for a shared or neutral type."""
        components = self.rules.components
        letters = letters_of(components)
        players = self.num_players()
        owners = [owner - 1 if 1 <= owner <= players else -1 for _, owner in components]
        return [(name, letters[i + 1], owners[i]) for i, (name, _) in enumerate(components)]

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (str(self),)


class LudiiObserver:
    """OpenSpiel observer of Ludii's tensor. All players have the same observation.

    Attributes:
        tensor: float32 [channels * x * y], written by `set_from`.
        dict: the same memory with the shape (channels, x, y), under "observation".
    """

    def __init__(self, shape: tuple[int, int, int], params: Mapping[str, Any] | None = None) -> None:
        if params:
            raise LudiiError(f"an observation of Ludii's takes no parameters, got {dict(params)!r}")
        self.tensor = np.zeros(math.prod(shape), np.float32)
        self.dict: dict[str, NDArray[np.float32]] = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: LudiiState, player: int) -> None:
        """Writes the observation of `state` into `tensor`."""
        state.position.observe(self.tensor)

    def string_from(self, state: LudiiState, player: int) -> str:
        """Returns `str(state)`."""
        return str(state)


def load(text: str) -> LudiiGame:
    """Loads a game. Importing this function registers `ludii` with OpenSpiel, which `pickle` needs."""
    game: LudiiGame = pyspiel.load_game(text)
    return game


def _rules(given: Mapping[str, Any]) -> tuple[Rules, int]:
    """Returns the compiled game of these parameters, and the maximum length of a play."""
    if bool(given["game"]) == bool(given["file"]):
        got = f"both, {given['game']!r} and {given['file']!r}: leave one out" if given["game"] else "neither"
        raise LudiiError(
            "expected the name of a game, as in ludii(game=Hex), or the path of a .lud file, as in ludii(file=my.lud), "
            f"got {got}"
        )
    transport = connect()
    source = find_file(given["file"]) if given["file"] else transport.catalogue.find(given["game"])
    options: tuple[str, ...] = ()
    if given["ruleset"] or given["options"]:
        options = choose(source.name, transport.menu(source), given["ruleset"], given["options"])
    wanted = given["max_length"]
    key = (transport, source, options, wanted)
    rules = _compiled.get(key)
    if rules is None or source.is_file:
        rules = transport.load(source, options)
        _require_fit(rules.traits)
        rules.limit(_length(wanted, rules.traits.longest))
        _compiled[key] = rules
    return rules, _length(wanted, rules.traits.longest)


def _require_fit(traits: Traits) -> None:
    """Raises `LudiiError` with all reasons if the game is not supported."""
    if traits.faults:
        raise LudiiError.of(traits.name, f"is not supported: {joined(traits.faults)}", traits.faults)


def _length(wanted: int, longest: int) -> int:
    if wanted < 0:
        raise LudiiError(f"max_length must be a number of moves, or 0 for Ludii's own limit, got {wanted!r}")
    return min(wanted, longest) if wanted else longest


def _actions(wanted: int, distinct_moves: int) -> int:
    if wanted < 0:
        raise LudiiError(f"max_actions must be a number of legal moves, or 0 for a guess, got {wanted!r}")
    return wanted or distinct_moves

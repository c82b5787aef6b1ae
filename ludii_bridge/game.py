"""`ludii(...)`: a game of Ludii's as an OpenSpiel game.

The actions of a state are the numbers 0 to n - 1 of its n legal moves. Their order depends on the moves alone, so
states that are equal number them alike, and no two moves share a number. The same number means another move in
another state: ask `action_to_string`.
"""

from __future__ import annotations

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
from ludii_bridge.errors import LudiiError
from ludii_bridge.observer import LudiiObserver
from ludii_bridge.picture import letters_of
from ludii_bridge.reasons import joined
from ludii_bridge.state import LudiiState
from ludii_bridge.transport import Rules, Traits, unfit

_DEFAULTS: dict[str, Any] = {"game": "", "file": "", "ruleset": "", "options": "", "max_length": 1000, "max_actions": 0}
"""The parameters of a game string; `docs/ludii.md` explains them."""

_compiled: WeakValueDictionary[tuple[Any, ...], Rules] = WeakValueDictionary()
"""Games in use: OpenSpiel loads a game anew for each state that it reads from a file."""


def _game_type(least: int, most: int, utility: pyspiel.GameType.Utility) -> pyspiel.GameType:
    return pyspiel.GameType(
        short_name="ludii",
        long_name="A game of Ludii's",
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=pyspiel.GameType.ChanceMode.DETERMINISTIC,
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=utility,
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


GAME_TYPE = _game_type(1, 2, pyspiel.GameType.Utility.GENERAL_SUM)
"""What OpenSpiel knows before it loads a game; a loaded one has one of the types below."""
_TYPES = {
    1: _game_type(1, 1, pyspiel.GameType.Utility.GENERAL_SUM),
    2: _game_type(2, 2, pyspiel.GameType.Utility.ZERO_SUM),
}
"""By the number of players."""


class LudiiGame(pyspiel.Game):
    """One game of Ludii's for two players or for one, without chance, with perfect information.

    Args:
        params: those of the game string.

    Attributes:
        rules: the compiled game.
        channels: what each channel of the observation means, in words.

    Raises:
        LudiiError: no Java, no jar, an unknown game, ruleset or option, a game that does not compile, or one that
            OpenSpiel cannot play this way.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {**_DEFAULTS, **(params or {})}
        self.rules, length = _rules(given)
        traits = self.rules.traits
        alone = traits.players == 1
        worth = math.inf if alone and traits.scored else 1.0  # Ludii tells no bound of a score
        info = pyspiel.GameInfo(
            num_distinct_actions=_actions(given["max_actions"], traits.distinct_moves),
            max_chance_outcomes=0,
            num_players=traits.players,
            min_utility=-worth,
            max_utility=worth,
            utility_sum=None if alone else 0.0,
            max_game_length=length,
        )
        kind = _TYPES[traits.players]
        super().__init__(kind, info, {name: x for name, x in given.items() if x != _DEFAULTS[name]})
        self.channels = traits.channels
        self._start = self.rules.start()
        self._start.shared = True

    def new_initial_state(self, state: Any = None) -> LudiiState:
        """The state in which matches begin.

        Raises:
            LudiiError: a state is given, from which OpenSpiel lets some games begin.
        """
        if state is not None:
            raise LudiiError(f"a state of Ludii's is made from its history, got {state!r}")
        return LudiiState(self, self._start)

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> Any:
        """What `make_observation` gives: Ludii's tensor, or the history where perfect recall is asked for.

        Args:
            iig_obs_type, params: as OpenSpiel gives them.

        Returns:
            An observer: its `tensor` is float32 [channels * x * y], its `dict["observation"]` the same in that shape.
        """
        if isinstance(iig_obs_type, dict):  # OpenSpiel leaves out the type where there is none
            iig_obs_type, params = None, iig_obs_type
        if iig_obs_type is None or (iig_obs_type.public_info and not iig_obs_type.perfect_recall):
            return LudiiObserver(self.rules.traits.shape, params)
        return IIGObserverForPublicInfoGame(iig_obs_type, params)

    def transposition_text(self, state: LudiiState) -> Hashable | None:
        """What states have in common that nothing later can tell apart, or None where only the history says.

        It is `LudiiState.key` and the number of moves, and None for games whose rules remember more than that.
        """
        return (state.key(), state.move_number()) if self.rules.traits.hashed else None

    def measure(self, name: str) -> Callable[[LudiiState], tuple[float, ...]] | None:
        """What counts something of a state for either player: "score" (None where the game keeps none) or "pieces".

        Nothing does so for one player, whose score is what `returns()` say.
        """
        if self.num_players() == 1:
            return None
        if name == "score" and self.rules.traits.scored:
            return lambda state: state.scores() or (0.0, 0.0)
        return LudiiState.pieces if name == "pieces" else None

    def marks(self) -> tuple[str, str] | None:
        """How the text of a state draws the pieces of either player; None where one of them has none."""
        owners = {owner for _, owner in self.rules.components}
        return ("the capital letters", "the small letters") if {1, 2} <= owners else None

    def has_fixed_actions(self) -> bool:
        """Whether an action is the same move in every state: it is the number of one of the legal moves."""
        return False

    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """Where the sites of the board are, and the hands beside it.

        Returns:
            Arrays of float64, by name.

            - "centres", [n, 2]: Ludii's coordinates of each of the board's main sites' centre, in the unit square, y
              upwards;
            - "planes", [n, 2]: its x and y in the observation;
            - "sites", [m, 2]: the centre of every site that a piece may stand on: the n above, those of hands, to the
              right of the board, and those of the board's further kinds;
            - "corners", [k, 3]: the number of a site, x and y of a corner of its outline, around each site in turn; an
              edge has its two ends, a vertex none;
            - "lines", [k, 4]: of a board of vertices x and y of both ends of each line.
        """
        return self.rules.geometry

    def site_names(self) -> Sequence[str]:
        """What each row of "sites" is called, as moves write it; no two names are equal."""
        return self.rules.site_names

    def kinds(self) -> Sequence[tuple[str, str, int]]:
        """Each kind of piece: its name, its letter in the text of a state, and its player in the initial state, or -1
        where it is nobody's or everybody's."""
        components = self.rules.components
        letters = letters_of(components)
        owners = [owner - 1 if owner in (1, 2) else -1 for _, owner in components]
        return [(name, letters[i + 1], owners[i]) for i, (name, _) in enumerate(components)]

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (str(self),)


def load(text: str) -> LudiiGame:
    """The game of a game string; importing this function registers `ludii` with OpenSpiel first."""
    game: LudiiGame = pyspiel.load_game(text)
    return game


def _rules(given: Mapping[str, Any]) -> tuple[Rules, int]:
    """The compiled game that the parameters mean, and the most moves of a match."""
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
    """Raise `LudiiError` with all reasons why a game cannot be played here."""
    if reasons := unfit(traits):
        raise LudiiError.of(traits.name, f"is not supported: {joined(reasons)}", reasons)


def _length(wanted: int, longest: int) -> int:
    if wanted < 0:
        raise LudiiError(f"max_length must be a number of moves, or 0 for Ludii's own limit, got {wanted!r}")
    return min(wanted, longest) if wanted else longest


def _actions(wanted: int, distinct_moves: int) -> int:
    if wanted < 0:
        raise LudiiError(f"max_actions must be a number of legal moves, or 0 for a guess, got {wanted!r}")
    return wanted or distinct_moves

"""The `random` bot: OpenSpiel's uniformly random one, which can be pickled here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind, nothing_but_a_limit
from agents.parameters import read_parameters
from athenan_spiel.errors import SearchError
from athenan_spiel.games import require_open_state
from athenan_spiel.play.player import seed_of_game


@dataclass(frozen=True, kw_only=True)
class RandomParameters:
    """What `load_bot("random", ...)` takes."""

    seed: int = 0


class RandomBot(pyspiel.Bot):
    """`pyspiel.make_uniform_random_bot` with a seed; `pickle` gives one as new, its seed the same.

    Args:
        game: that it plays, as it prints.
    """

    def __init__(self, game: str, player_id: int, seed: int) -> None:
        super().__init__()
        self._made_of = game, player_id, seed
        self._bot = pyspiel.make_uniform_random_bot(player_id, seed % 2**31)

    def __reduce__(self) -> tuple[type[RandomBot], tuple[str, int, int]]:
        """For `pickle`."""
        return type(self), self._made_of

    def step(self, state: pyspiel.State) -> int:
        """A legal action of `state`, each as likely as the others.

        Raises:
            SearchError: it is no state of the bot's game, no player is to choose in it, or another player is, and
                OpenSpiel would crash.
        """
        self._require_turn(state)
        action: int = self._bot.step(state)
        return action

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """The policy in `state`, and an action drawn from it.

        Raises:
            SearchError: as `step`.
        """
        self._require_turn(state)
        drawn: tuple[list[tuple[int, float]], int] = self._bot.step_with_policy(state)
        return drawn

    def provides_policy(self) -> bool:
        """True: `get_policy` and `step_with_policy` answer."""
        return True

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """(action, probability) for each legal action.

        Raises:
            SearchError: as `step`.
        """
        self._require_turn(state)
        policy: list[tuple[int, float]] = self._bot.get_policy(state)
        return policy

    def restart(self) -> None:
        """A new match begins: nothing is kept from the last."""

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`: nothing is kept from the last."""

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Another player chose `action` in `state`; the next state says so too."""

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """All players chose at once, which does not happen in the games that are played here."""

    def is_clonable(self) -> bool:
        """True: `clone` answers."""
        return True

    def clone(self) -> RandomBot:
        """A bot that goes on from here as this one would, independently of it."""
        twin = type(self)(*self._made_of)
        twin._bot = self._bot.clone()
        return twin

    def for_game(self, number: int) -> RandomBot:
        """This bot for one match of a series; see `athenan_spiel.play.player.PerGamePlayer`."""
        game, player, seed = self._made_of
        return RandomBot(game, player, seed_of_game(seed, number))

    def _require_turn(self, state: pyspiel.State) -> None:
        game, player, _ = self._made_of
        require_open_state(game, state)
        mover = state.current_player()
        if mover != player:
            raise SearchError(f"expected a state in which player {player} is to move, got one where player {mover} is")


def load_random(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> RandomBot:
    """A uniformly random player; see `RandomParameters`.

    Raises:
        AgentError: a parameter is unknown or of a wrong type.
    """
    return RandomBot(str(game), player_id, read_parameters(RandomParameters, "random", params).seed)


RANDOM = AgentKind(
    name="random",
    example="random",
    about="uniformly random actions",
    load=load_random,
    parse=nothing_but_a_limit("random"),
)

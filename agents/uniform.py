"""The `random` bot: OpenSpiel's uniformly random bot, with `pickle` support."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind, limit_only
from agents.openspiel import WrappedBot
from agents.parameters import read_parameters
from athenan_spiel.play.player import seed_of_game


@dataclass(frozen=True, kw_only=True)
class RandomParameters:
    """Parameters of `load_bot("random", ...)`."""

    seed: int = 0


class RandomBot(WrappedBot):
    """`pyspiel.make_uniform_random_bot` with a seed."""

    def __init__(self, game: str, player_id: int, seed: int) -> None:
        super().__init__(game, player_id, pyspiel.make_uniform_random_bot(player_id, seed % 2**31))
        self._made_of = game, player_id, seed

    def clone(self) -> RandomBot:
        """Returns an independent bot that draws the same actions from now on."""
        twin = type(self)(*self._made_of)
        twin._bot = self._bot.clone()
        return twin

    def for_game(self, number: int) -> RandomBot:
        """Returns this bot for one game of a series; see `athenan_spiel.play.player.PerGamePlayer`."""
        game, player, seed = self._made_of
        return RandomBot(game, player, seed_of_game(seed, number))


def load_random(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> RandomBot:
    """Returns a uniformly random player; see `RandomParameters`.

    Raises:
        AgentError: a parameter is unknown or of a wrong type.
    """
    return RandomBot(str(game), player_id, read_parameters(RandomParameters, "random", params).seed)


RANDOM = AgentKind(
    name="random",
    example="random",
    about="uniformly random actions",
    load=load_random,
    parse=limit_only("random"),
)

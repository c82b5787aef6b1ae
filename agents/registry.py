"""Bots by name, as in `pyspiel.load_bot`, for bots written in Python.

OpenSpiel's own registry takes bots written in C++ alone. This one holds the others and answers for those too, so a
caller need not know which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyspiel

from agents.alphabeta import load_alphabeta
from agents.athenan import load_athenan
from agents.human import HumanBot
from agents.ludii import load_ludii
from agents.parameters import read_parameters
from agents.uniform import load_random
from athenan_spiel.arguments import require_callable, require_kind, require_whole
from athenan_spiel.errors import AgentError, nearest, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.conditions import require_game
from athenan_spiel.play.openspiel_mcts import mcts_bot

BotFactory = Callable[[pyspiel.Game, int, Mapping[str, object]], pyspiel.Bot]
"""Makes a bot from the game, its player id and its parameters; raises `AgentError` for parameters it does not know."""


@dataclass(frozen=True, kw_only=True)
class MCTSParameters:
    """What `load_bot("mcts", ...)` takes; all else is set as `athenan_spiel.play.openspiel_mcts` says."""

    simulations: int = 1000
    """Of each move; the default is that of OpenSpiel's example."""
    seed: int = 0
    """Of the choices among equals and of the rollouts."""


@dataclass(frozen=True, kw_only=True)
class HumanParameters:
    """`load_bot("human", ...)` takes no parameters."""


def _load_mcts(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    p = read_parameters(MCTSParameters, "mcts", params)
    return mcts_bot(game, p.simulations, p.seed)


def _load_human(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    read_parameters(HumanParameters, "human", params)
    return HumanBot()


_FACTORIES: dict[str, BotFactory] = {
    "alphabeta": load_alphabeta,
    "athenan": load_athenan,
    "human": _load_human,
    "ludii": load_ludii,
    "mcts": _load_mcts,
    "random": load_random,
}


def register_bot(name: str, factory: BotFactory) -> None:
    """Let `load_bot` make bots called `name` with `factory`.

    Raises:
        AgentError: the name is taken, or no name, or the factory is no function.
    """
    require_kind("name", name, str, AgentError)
    require_callable("factory", factory, AgentError)
    if name in registered_bots():
        raise AgentError(f"a new bot needs a name of its own, got {shown(name)}, which is taken")
    _FACTORIES[name] = factory


def registered_bots() -> list[str]:
    """All names that `load_bot` knows, sorted: those registered here and OpenSpiel's own."""
    return sorted({*_FACTORIES, *pyspiel.registered_bots()})


def load_bot(
    name: str, game: pyspiel.Game | str, player_id: int, params: Mapping[str, object] | None = None
) -> pyspiel.Bot:
    """A new bot, as `pyspiel.load_bot` makes one.

    Args:
        name: one of `registered_bots()`.
        game: the game that it will play, or its string.
        player_id: the player that it will be.
        params: by name; each bot has its own.

    Raises:
        AgentError: there is no bot, player or parameter of that name, or a parameter is of a wrong type.
        UnsupportedGameError: the game is no game.
        AthenanError: what the bot's own factory finds wrong.
    """
    require_kind("name", name, str, AgentError)
    require_kind("params", params, Mapping, AgentError, or_none=True)
    params = dict(params or {})
    game = load_game(game) if isinstance(game, str) else game
    require_game(game)
    players = game.num_players()
    require_whole("player_id", player_id, AgentError)
    if not 0 <= player_id < players:
        raise AgentError(f"player_id must be from 0 to {players - 1} in {str(game)!r}, got {shown(player_id)}")
    if name in _FACTORIES:
        return _FACTORIES[name](game, player_id, params)
    if name not in pyspiel.registered_bots():
        known = registered_bots()
        raise AgentError(f"expected one of the bots {', '.join(known)}; got {shown(name)}{nearest(name, known)}")
    try:
        return pyspiel.load_bot(name, game, player_id, params)
    except (TypeError, pyspiel.SpielError) as error:
        reason = str(error).strip().splitlines()[0]
        raise AgentError(
            f"OpenSpiel's bot {name!r} cannot be made with the parameters {shown(params)}: {reason}"
        ) from None

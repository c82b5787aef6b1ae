"""Bots by name, as in `pyspiel.load_bot`, for bots written in Python.

OpenSpiel's registry supports C++ bots only. This one reads the registry of kinds (`kinds`) and falls back to
OpenSpiel's.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyspiel

from agents.kind import AgentKind, BotFactory, nothing_but_a_limit
from agents.kinds import find_kind, kind_names, register_kind
from agents.openspiel import load_openspiels_bot
from athenan_spiel.arguments import require_callable, require_kind, require_whole
from athenan_spiel.errors import AgentError, nearest, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.conditions import require_game


def register_bot(name: str, factory: BotFactory) -> None:
    """Registers `factory` for `load_bot(name)` and for the agent spec `name`; `register_kind` supports richer specs.

    Raises:
        AgentError: the name is taken or invalid, or the factory is not callable.
    """
    require_kind("name", name, str, AgentError)
    require_callable("factory", factory, AgentError)
    if name in registered_bots():
        raise AgentError(f"a new bot needs a name of its own, got {shown(name)}, which is taken")
    parse = nothing_but_a_limit(name)
    register_kind(AgentKind(name=name, example=name, about=name, load=factory, parse=parse, seeded=False))


def registered_bots() -> list[str]:
    """Returns the sorted names that `load_bot` knows: agent kinds, and OpenSpiel's bots."""
    return sorted({*kind_names(), *pyspiel.registered_bots()})


def load_bot(
    name: str, game: pyspiel.Game | str, player_id: int, params: Mapping[str, object] | None = None
) -> pyspiel.Bot:
    """Returns a new bot, as `pyspiel.load_bot` does.

    Args:
        name: one of `registered_bots()`.
        game: game or game string.
        player_id: player of the bot.
        params: parameters by name, documented in docs/using.md.

    Returns:
        A `pyspiel.Bot`.

    Raises:
        AgentError: the bot, player or parameter is unknown, or a parameter has a wrong type.
        UnsupportedGameError: the game is invalid.
        AthenanError: the bot's factory fails.
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
    if (kind := find_kind(name)) is not None:
        return kind.load(game, player_id, params)
    if name not in pyspiel.registered_bots():
        known = registered_bots()
        raise AgentError(f"expected one of the bots {', '.join(known)}; got {shown(name)}{nearest(name, known)}")
    return load_openspiels_bot(name, game, player_id, params)

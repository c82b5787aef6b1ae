"""Registry of agent kinds, and `load_bot`, which mirrors `pyspiel.load_bot` for bots written in Python.

OpenSpiel's registry supports C++ bots only. This one has the kinds of this package and those that a program registers.
Installed packages add kinds by entry points of the group `athenan_spiel.agents`, and are imported at the first use:

    [project.entry-points."athenan_spiel.agents"]
    mykind = "my_package.agents:MYKIND"

MYKIND is an `AgentKind` with the name of the entry point. Other names are looked up in OpenSpiel's registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

import pyspiel

from agents.aei import AEI
from agents.alphabeta import ALPHABETA
from agents.athenan import ATHENAN
from agents.athenan_ggp import ATHENAN_GGP
from agents.gnubg import GNUBG
from agents.gtp import GTP
from agents.human import HUMAN
from agents.kind import AgentKind, BotFactory, limit_only
from agents.ludii import LUDII
from agents.mcts import MCTS, UCT
from agents.openspiel import PYSPIEL, load_openspiels_bot
from agents.uci import UCI
from agents.uniform import RANDOM
from athenan_spiel.arguments import require_callable, require_kind, require_whole
from athenan_spiel.errors import AgentError, nearest, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.conditions import require_game

GROUP = "athenan_spiel.agents"
"""Group of entry points with the kinds of installed packages."""
BUILT_IN = (ATHENAN, ATHENAN_GGP, ALPHABETA, MCTS, UCT, PYSPIEL, LUDII, GTP, UCI, AEI, GNUBG, RANDOM, HUMAN)
"""Kinds of this package, in the order of messages."""
KINDS: dict[str, AgentKind] = {kind.name: kind for kind in BUILT_IN}
"""Built-in, registered and already imported kinds by name."""


def kind_names() -> list[str]:
    """Returns the sorted names of all kinds, including those of installed packages."""
    return sorted({*KINDS, *(entry.name for entry in entry_points(group=GROUP))})


def find_kind(name: str) -> AgentKind | None:
    """Returns the kind with this name, importing it if necessary; None if there is none.

    Raises:
        AgentError: two packages have it, or its import fails or is not an `AgentKind` of that name.
    """
    if name not in KINDS and (entries := tuple(entry_points(group=GROUP, name=name))):
        if len(entries) > 1:
            packages = " and ".join(map(_package, entries))
            raise AgentError(f"expected one package with the agent kind {name!r}, got {packages}")
        KINDS[name] = _imported(entries[0])
    return KINDS.get(name)


def _imported(entry: EntryPoint) -> AgentKind:
    source = f"agent kind {entry.name!r} of {_package(entry)}"
    try:
        kind = entry.load()
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise AgentError(f"{source} cannot be loaded from {shown(entry.value)}: {reason}") from error
    if not isinstance(kind, AgentKind):
        raise AgentError(f"{source}: expected an AgentKind at {shown(entry.value)}, got {shown(kind)}")
    if kind.name != entry.name:
        raise AgentError(f"{source}: expected a kind of that name at {shown(entry.value)}, got {shown(kind.name)}")
    return kind


def _package(entry: EntryPoint) -> str:
    return "an unnamed package" if entry.dist is None else f"the package {entry.dist.name!r}"


def register_kind(kind: AgentKind) -> None:
    """Registers an agent kind for specs and `load_bot`, in this process.

    Raises:
        AgentError: `kind` is not an `AgentKind`, or its name is taken.
    """
    require_kind("kind", kind, AgentKind, AgentError)
    if kind.name in registered_bots():
        raise AgentError(f"name of an agent kind must be new, got {shown(kind.name)}, which is taken")
    KINDS[kind.name] = kind


def register_bot(name: str, factory: BotFactory) -> None:
    """Registers `factory` for `load_bot(name)` and for the agent spec `name`; `register_kind` supports richer specs.

    Raises:
        AgentError: the name is taken or invalid, or the factory is not callable.
    """
    require_kind("name", name, str, AgentError)
    require_callable("factory", factory, AgentError)
    parse = limit_only(name)
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

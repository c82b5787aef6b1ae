"""The `mcts` bot: OpenSpiel's own MCTS, in the one setting of `athenan_spiel.play.openspiel_mcts`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.play.openspiel_mcts import mcts_bot

_NUMBER = re.compile(r"[0-9]{1,18}")
"""A number that counts something; more digits would be no number of anything here."""


@dataclass(frozen=True, kw_only=True)
class MCTSParameters:
    """What `load_bot("mcts", ...)` takes; all else is set as `athenan_spiel.play.openspiel_mcts` says."""

    simulations: int = 1000
    """Of each move; the default is that of OpenSpiel's example."""
    seed: int = 0
    """Of the choices among equals and of the rollouts."""


def load_mcts(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    """OpenSpiel's MCTS; see `MCTSParameters`. It plays either colour.

    Raises:
        AgentError: a parameter is unknown or of a wrong type.
        ConfigError: it is out of range, or OpenSpiel's MCTS does not play this game.
    """
    p = read_parameters(MCTSParameters, "mcts", params)
    return mcts_bot(game, p.simulations, p.seed)


def simulations(name: str, text: str, limit: Limit) -> int:
    """The number of simulations that the word of a kind called `name` says.

    Raises:
        AgentError: it says none, or one out of range.
    """
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= MOST:
        raise AgentError(
            f"{name} takes its simulations a move, from 1 to {MOST:,}, such as {name}:1000; got {shown(limit.word)}"
        )
    return int(text)


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    return {"simulations": simulations("mcts", text, limit)}


MCTS = AgentKind(
    name="mcts",
    example="mcts:1000",
    about="OpenSpiel's MCTS: simulations a move, one random rollout each, UCT constant 2, solver on",
    load=load_mcts,
    parse=_parse,
)

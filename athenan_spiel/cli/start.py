"""The game of a command, as its words say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from athenan_spiel.errors import ConfigError

if TYPE_CHECKING:
    import pyspiel

    from agents import AgentWord


def game_for(spec: str | None, agents: Sequence[AgentWord]) -> pyspiel.Game:
    """The game named on the command line, else that of the first run among the agents.

    Raises:
        ConfigError: neither names one.
        UnsupportedGameError: the game is unknown, or cannot be played.
        CheckpointError: the run cannot be used.
    """
    from athenan_spiel.games import load_game

    if spec is not None:
        return load_game(spec)
    learned = next((word.learned_game() for word in agents if word.bot == "athenan"), None)
    if learned is None:
        raise ConfigError("expected a game, as no agent is a run: add one such as --game connect_four")
    return load_game(learned)

"""Ludii's games as OpenSpiel games: `import ludii_bridge`, then `pyspiel.load_game("ludii(game=Surakarta)")`.

Importing it registers `ludii` with OpenSpiel and needs neither Java nor Ludii; loading a game does.

- `installation`: where Java and Ludii's jar are; `jvm` starts Java; `connection` does both when a game is loaded.
- `catalogue`: the names of games, rulesets and options.
- `transport`: the interface to Ludii; `java` is it, with `programs` and `operations` for speed and `picture` for show.
- `game`, `state`, `observer`: OpenSpiel's side.
"""

import pyspiel

from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.game import GAME_TYPE, LudiiGame
from ludii_bridge.state import LudiiState

if GAME_TYPE.short_name not in pyspiel.registered_names():
    pyspiel.register_game(GAME_TYPE, LudiiGame)

__all__ = ["LudiiError", "LudiiGame", "LudiiState", "connect"]

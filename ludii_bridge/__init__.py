"""Ludii's games as OpenSpiel games: `import ludii_bridge`, then `pyspiel.load_game("ludii(game=Surakarta)")`.

Importing the package registers `ludii` with OpenSpiel. Only loading a game needs Java and Ludii.

- `installation` finds Java and Ludii's jar, `jvm` starts Java, and `connection` uses both when a game is loaded.
- `catalogue` contains the names of games, rulesets and options.
- `transport` is the interface to Ludii. `java` implements it, with `programs` and `operations` for speed.
- `game` and `state` are OpenSpiel's side.
"""

import pyspiel

from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.game import GAME_TYPE, LudiiGame
from ludii_bridge.state import LudiiState

if GAME_TYPE.short_name not in pyspiel.registered_names():
    pyspiel.register_game(GAME_TYPE, LudiiGame)

__all__ = ["LudiiError", "LudiiGame", "LudiiState", "connect"]

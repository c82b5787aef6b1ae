"""The laws that every game here obeys, for any game of OpenSpiel: it knows `pyspiel` and nothing of this project.

`check_match` plays a random match and holds its states to the laws in `game_laws.laws`; `game_laws.looks` says how a
state can be looked at. `athenan_spiel.check_game` and the sweep over Ludii's games stand on it.
"""

from game_laws.laws import BrokenLawError, Match, check_match

__all__ = ["BrokenLawError", "Match", "check_match"]

"""OpenSpiel bots over `athenan_spiel`, and how they are found by name.

- `registry`: `load_bot`, `register_bot`, `registered_bots`, which mirror pyspiel's own and fall back on them;
- `words`: the agents of the command line, one word each, such as `runs/bt6@0.5s` or `mcts:1000`;
- `athenan`, `alphabeta`, `human`, `ludii`, `uniform`: the bots themselves, all of which can be pickled.
"""

from agents.athenan import AthenanBot
from agents.human import HumanBot
from agents.ludii import LudiiBot
from agents.registry import load_bot, register_bot, registered_bots
from agents.words import AgentWord, make_bot, parse_word
from athenan_spiel.errors import MatchAbandonedError

__all__ = [
    "AgentWord",
    "AthenanBot",
    "HumanBot",
    "LudiiBot",
    "MatchAbandonedError",
    "load_bot",
    "make_bot",
    "parse_word",
    "register_bot",
    "registered_bots",
]

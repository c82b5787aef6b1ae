"""OpenSpiel bots over `athenan_spiel`, and a registry of them by name.

- `registry`: `load_bot`, `register_bot`, `registered_bots`, which mirror pyspiel's and fall back to them;
- `specs`: agent specs of the command line, such as `runs/bt6@0.5s` or `mcts:1000`;
- `policy`: adapts a bot to a policy of OpenSpiel's Python library;
- `kind`: agent kinds, which other packages can add;
- `bot`: base class; `athenan`, `athenan_ggp`, `alphabeta`, `aei`, `gnubg`, `gtp`, `human`, `ludii`, `mcts`,
  `openspiel`, `uci`, `uniform`: the bots, all of which can be pickled.
"""

from agents.athenan import AthenanBot
from agents.gtp import GtpBot
from agents.human import HumanBot
from agents.kind import AgentKind
from agents.limits import Limit
from agents.ludii import LudiiBot
from agents.registry import load_bot, register_bot, register_kind, registered_bots
from agents.specs import AgentSpec, make_bot, parse_spec, require_programs
from agents.uci import UciBot
from athenan_spiel.errors import MatchAbandonedError

__all__ = [
    "AgentKind",
    "AgentSpec",
    "AthenanBot",
    "GtpBot",
    "HumanBot",
    "Limit",
    "LudiiBot",
    "MatchAbandonedError",
    "UciBot",
    "load_bot",
    "make_bot",
    "parse_spec",
    "register_bot",
    "register_kind",
    "registered_bots",
    "require_programs",
]

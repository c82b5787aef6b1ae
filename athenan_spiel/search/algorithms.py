"""The searches by name: for each its class, its settings, the decision that goes with it, and what a word may add.

| name | search | decision |
|---|---|---|
| `ubfm_s`, `ubfm_s(1.4)` | UBFM with completion, with UCT's term by this constant | the safest (Algorithms 12, 13) |
| `ubfm_k`, `ubfm_k(8)` | UBFM with completion, over 16 lines at most, or over so many | the safest |
| `ubfm`, `ubfm(1.4)` | the same | the best action by value (Algorithm 11) |
| `descent` | Descent with completion | the best action by value |
| `alphabeta`, `alphabeta(3)` | alpha-beta with completion, to a depth of 3 | the best action by value |
| `mcts`, `mcts(0.5)` | MCTS by UCT, with this exploration constant | the most visited action, then by value |
| `puct`, `puct(1.25)` | AlphaZero's MCTS by PUCT, with this c_init, over a network with a policy | as of `mcts` |
| `gumbel` | Gumbel AlphaZero's MCTS, over a network with a policy | of the most visited the best by priors and values |
| `exit`, `exit(0.05)` | ExIt's MCTS with playouts, with this exploration constant, likewise | as of `mcts` |
| `minimax` | depth-1 minimax (Section 3.3): one iteration of UBFM without completion | the best action by value |

Training names one by `SearchConfig.algorithm`, experiments by `PlayConfig.algorithm`, an agent's word, `load_agent` and
`evaluation.search` by a word, `solve` by `algorithm`. The names that settings and the command line take are typed in
`config.search`; a test holds that they are the ones here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import pyspiel

from athenan_spiel.config import SearchConfig
from athenan_spiel.config.search import (
    DEEPEST,
    LIMITS,
    MOST_AT_ONCE,
    OWN_SETTINGS,
    DecisionName,
    PlayName,
)
from athenan_spiel.config.settings import LARGEST_FACTOR
from athenan_spiel.errors import AgentError, ConfigError, SearchError, nearest, shown
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, best, safest, securest
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.exit import ExItMCTS
from athenan_spiel.search.gumbel import GumbelMCTS, gumbel_choice
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.proven_states import Known
from athenan_spiel.search.puct import AlphaZeroMCTS
from athenan_spiel.search.ubfm import UBFM

DEFAULT = "ubfm_k"
"""The word of who says nothing."""
USUAL_LINES = 16
"""Of `ubfm_k`, at most: there are fewer where a state has more than six actions."""

DECISIONS: Mapping[str, Decision] = MappingProxyType({"best": best, "safest": safest, "securest": securest})
"""The decisions by the names of `config.search.DecisionName`; `search` is that of the `Algorithm`."""

ARGUMENTS: Mapping[str, str] = MappingProxyType({"longest_descent": "longest", "resolved_hours": "known"})
"""What searches call those settings that they call otherwise."""


@dataclass(frozen=True)
class Number:
    """What stands in brackets behind a name.

    Attributes:
        setting: of `SearchConfig`.
        pattern: how it is written.
        meaning: what it is, for messages.
        example: of one.
    """

    setting: str
    pattern: str
    meaning: str
    example: str


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A search by name.

    Attributes:
        search: its class, called with the game, the outcome, and an argument for each of its `OWN_SETTINGS`.
        decision: which action is played.
        settings: of `SearchConfig`, what the name says.
        number: what a word may add; none: nothing.
    """

    search: Callable[..., Search]
    decision: Decision
    settings: Mapping[str, Any] = field(default_factory=dict)
    number: Number | None = None


WHOLE = r"[0-9]{1,18}"
DEPTH = Number("depth", WHOLE, f"a depth from 1 to {DEEPEST}", "3")
LINES = Number("lines", WHOLE, f"a number of lines from 1 to {MOST_AT_ONCE:,}", "8")
EXPLORATION = Number(
    "exploration_constant",
    r"[0-9]+(\.[0-9]*)?|\.[0-9]+",
    f"an exploration constant from zero to {LARGEST_FACTOR:,}",
    "0.5",
)

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "ubfm_s": Algorithm(search=UBFM, decision=safest, settings={"algorithm": "ubfm"}, number=EXPLORATION),
        "ubfm_k": Algorithm(
            search=UBFM, decision=safest, settings={"algorithm": "ubfm", "lines": USUAL_LINES}, number=LINES
        ),
        "ubfm": Algorithm(search=UBFM, decision=best, settings={"algorithm": "ubfm"}, number=EXPLORATION),
        "descent": Algorithm(search=Descent, decision=best, settings={"algorithm": "descent"}),
        "alphabeta": Algorithm(search=AlphaBeta, decision=best, settings={"algorithm": "alphabeta"}, number=DEPTH),
        "mcts": Algorithm(search=MCTS, decision=safest, settings={"algorithm": "mcts"}, number=EXPLORATION),
        "puct": Algorithm(
            search=AlphaZeroMCTS,
            decision=safest,
            settings={"algorithm": "puct"},
            number=replace(EXPLORATION, example="1.25"),
        ),
        "gumbel": Algorithm(search=GumbelMCTS, decision=gumbel_choice, settings={"algorithm": "gumbel"}),
        "exit": Algorithm(
            search=ExItMCTS,
            decision=safest,
            settings={"algorithm": "exit"},
            number=replace(EXPLORATION, example="0.05"),
        ),
        "minimax": Algorithm(
            search=UBFM, decision=best, settings={"algorithm": "ubfm", "completion": False, "iterations": 1}
        ),
    }
)
WORDS = tuple(name for name, algorithm in ALGORITHMS.items() if "iterations" not in algorithm.settings)
"""What a word may name: of these alone the limits are not said by the name."""


@dataclass(frozen=True)
class SearchWord:
    """What a word such as `mcts(0.5)` says of how moves are found.

    Attributes:
        text: the word.
        config: the settings of the search; its limits mean nothing.
    """

    text: str
    algorithm: Algorithm
    config: SearchConfig

    def make(self, game: pyspiel.Game, outcome: Callable[[pyspiel.State], float]) -> Search:
        """The search over `game` with this outcome.

        Raises:
            SearchError: the search does not take this outcome.
        """
        return make_search(game, self.config, outcome)


def parse_search(text: str) -> SearchWord:
    """What `text` says.

    Raises:
        AgentError: it names no search, or its number does not suit it.
    """
    if not isinstance(text, str):
        raise AgentError(f"expected a search, one of {', '.join(WORDS)}; got {shown(text)}")
    match = re.fullmatch(r"(?P<name>[^()]*)(?:\((?P<number>[^()]*)\))?", text)
    if match is None or match["name"] not in WORDS:
        raise AgentError(
            f"expected a search, one of {', '.join(WORDS)}; got {shown(text)}{nearest(text.partition('(')[0], WORDS)}"
        )
    algorithm = ALGORITHMS[match["name"]]
    if match["number"] is None:
        return SearchWord(text, algorithm, SearchConfig(**algorithm.settings))
    if algorithm.number is None:
        raise AgentError(f"{match['name']} takes no number; got {shown(text)}: write {match['name']!r}")
    return SearchWord(text, algorithm, _with_number(match["name"], algorithm.number, match["number"], text))


def _with_number(name: str, number: Number, digits: str, text: str) -> SearchConfig:
    problem = f"{name} takes {number.meaning}, such as {name}({number.example}); got {shown(text)}"
    if not re.fullmatch(number.pattern, digits):
        raise AgentError(problem)
    value: Any = int(digits) if number.pattern == WHOLE else float(digits)
    try:
        return SearchConfig(**{**ALGORITHMS[name].settings, number.setting: value})
    except ConfigError:
        raise AgentError(problem) from None


def decision_of(algorithm: PlayName, name: DecisionName) -> Decision:
    """The decision of this name after a search of that one."""
    return ALGORITHMS[algorithm].decision if name == "search" else DECISIONS[name]


def budget_of(config: SearchConfig) -> Budget:
    """The limits of a move's search."""
    return Budget(**{name: getattr(config, name) for name in LIMITS})


def make_search(
    game: pyspiel.Game,
    config: SearchConfig,
    outcome: Callable[[pyspiel.State], float],
    known: Known | None = None,
    most_states: int | None = None,
) -> Search:
    """The search over `game` that `config` describes; its limits are for the driver.

    Args:
        outcome: f_t, the worth of a terminal state.
        known: states proven in earlier matches, for Descent and UBFM with completion.
        most_states: that a tree holds; none: no bound.

    Raises:
        SearchError: `known` is given to a search that does not look into it, or the search does not take this outcome.
    """
    own = OWN_SETTINGS[config.algorithm]
    if known is not None and "resolved_hours" not in own:
        raise SearchError(f"states proven otherwise are for Descent and UBFM, got {config.algorithm!r}")
    values = {name: known if name == "resolved_hours" else getattr(config, name) for name in own}
    arguments = {ARGUMENTS.get(name, name): value for name, value in values.items() if value is not None}
    return ALGORITHMS[config.algorithm].search(
        game, outcome=outcome, batched=config.batched, most_states=most_states, **arguments
    )

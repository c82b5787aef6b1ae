"""Registry of searches: the class, settings, decision and optional number of each name.

| name | search | decision |
|---|---|---|
| `ubfm_s`, `ubfm_s(1.4)` | UBFM with completion, optionally with UCT's term | `safest` (Algorithms 12, 13) |
| `ubfm_k`, `ubfm_k(8)` | UBFM with completion, over at most 16 lines or the given number | `safest` |
| `ubfm`, `ubfm(1.4)` | UBFM with completion, as `ubfm_s` | best action by value (Algorithm 11) |
| `descent` | Descent with completion | best action by value |
| `alphabeta`, `alphabeta(3)` | alpha-beta (with chance expectiminimax), optionally to depth 3 | best action by value |
| `mcts`, `mcts(0.5)` | MCTS by UCT, with this exploration constant | most visited action, then by value |
| `puct`, `puct(1.25)` | AlphaZero's MCTS by PUCT, with this c_init; needs a policy | as `mcts` |
| `gumbel` | Gumbel AlphaZero's MCTS; needs a policy | among the most visited, best by priors and values |
| `exit`, `exit(0.05)` | ExIt's MCTS with playouts, with this exploration constant; needs a policy | as `mcts` |
| `minimax` | depth-1 minimax (Section 3.3): one iteration of UBFM without completion | best action by value |

Training and experiments select a search by the `algorithm` of its settings, `solve` by `algorithm`.
Agent specs, `load_agent` and `evaluation.search` use search specs such as `mcts(0.5)`. The names that settings and the
command line accept are typed in `config.search`; a test checks that they are the names here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import pyspiel

from athenan_spiel.config import SearchConfig
from athenan_spiel.config.search import (
    DEEPEST,
    LIMITS,
    MOST_AT_ONCE,
    AlphaBetaConfig,
    DecisionName,
    DescentConfig,
    ExitConfig,
    GumbelConfig,
    MctsConfig,
    MinimaxConfig,
    PlayName,
    ProverConfig,
    PuctConfig,
    UbfmConfig,
)
from athenan_spiel.config.settings import LARGEST_FACTOR
from athenan_spiel.errors import AgentError, ConfigError, SearchError, nearest, shown
from athenan_spiel.games import given_game
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.rows import require_single_values
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, best, random_outcome, safest, securest
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.exit import ExItMCTS
from athenan_spiel.search.expectiminimax import Expectiminimax
from athenan_spiel.search.gumbel import GumbelMCTS, gumbel_choice
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.proven_states import Known
from athenan_spiel.search.puct import AlphaZeroMCTS
from athenan_spiel.search.ubfm import UBFM

DEFAULT = "ubfm_k"
"""Search spec used by default."""
DEFAULT_LINES = 16
"""Default maximum number of lines of `ubfm_k`. States with more than six actions have fewer lines."""

DECISIONS: Mapping[str, Decision] = MappingProxyType({"best": best, "safest": safest, "securest": securest})
"""Decisions by the names of `config.search.DecisionName`. `search` stands for the decision of the `Algorithm`."""

ARGUMENTS: Mapping[str, str] = MappingProxyType({"longest_descent": "longest", "resolved_hours": "known"})
"""Parameter names of searches that differ from the setting's name."""


@dataclass(frozen=True)
class Number:
    """Optional number in brackets after the name of a search.

    Attributes:
        setting: field of the search's settings that the number sets.
        pattern: regular expression of the number.
        meaning: description for messages.
        example: example for messages.
    """

    setting: str
    pattern: str
    meaning: str
    example: str


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Entry of the registry of searches.

    Attributes:
        search: class of the search, called with the game, the outcome, and an argument for each of its `own_options`.
        decision: selects the action to play.
        config: settings that the name stands for.
        number: number that a spec may add; None if it takes none.
    """

    search: Callable[..., Search]
    decision: Decision
    config: SearchConfig
    number: Number | None = None


def depth_first_search(game: pyspiel.Game | str, **options: Any) -> AlphaBeta | Expectiminimax:
    """Returns alpha-beta over `game`, or expectiminimax if the game has chance. Takes the arguments of `AlphaBeta`."""
    game = given_game(game)
    require_single_values(game, "alpha-beta")
    return Expectiminimax(game, **options) if has_chance(game) else AlphaBeta(game, **options)


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
        "ubfm_s": Algorithm(search=UBFM, decision=safest, config=UbfmConfig(), number=EXPLORATION),
        "ubfm_k": Algorithm(search=UBFM, decision=safest, config=UbfmConfig(lines=DEFAULT_LINES), number=LINES),
        "ubfm": Algorithm(search=UBFM, decision=best, config=UbfmConfig(), number=EXPLORATION),
        "descent": Algorithm(search=Descent, decision=best, config=DescentConfig()),
        "alphabeta": Algorithm(search=depth_first_search, decision=best, config=AlphaBetaConfig(), number=DEPTH),
        "mcts": Algorithm(search=MCTS, decision=safest, config=MctsConfig(), number=EXPLORATION),
        "puct": Algorithm(
            search=AlphaZeroMCTS, decision=safest, config=PuctConfig(), number=replace(EXPLORATION, example="1.25")
        ),
        "gumbel": Algorithm(search=GumbelMCTS, decision=gumbel_choice, config=GumbelConfig()),
        "exit": Algorithm(
            search=ExItMCTS, decision=safest, config=ExitConfig(), number=replace(EXPLORATION, example="0.05")
        ),
        "minimax": Algorithm(search=UBFM, decision=best, config=MinimaxConfig().as_ubfm()),
    }
)
SEARCH_NAMES = tuple(name for name in ALGORITHMS if name != "minimax")
"""Names that a search spec may use: those that set no limit of the search."""


@dataclass(frozen=True)
class SearchSpec:
    """Parsed search spec, such as `mcts(0.5)`.

    Attributes:
        text: the spec.
        algorithm: entry of the registry.
        config: settings of the search. Its limits are unused.
    """

    text: str
    algorithm: Algorithm
    config: SearchConfig

    def make(self, game: pyspiel.Game, outcome: Callable[[pyspiel.State], float]) -> Search:
        """Returns the search over `game` with this outcome.

        Raises:
            SearchError: the search does not support this outcome.
        """
        return make_search(game, self.config, outcome)


def parse_search(text: str) -> SearchSpec:
    """Parses a search spec.

    Raises:
        AgentError: the spec names no search, or its number is out of range.
    """
    if not isinstance(text, str):
        raise AgentError(f"expected a search, one of {', '.join(SEARCH_NAMES)}; got {shown(text)}")
    match = re.fullmatch(r"(?P<name>[^()]*)(?:\((?P<number>[^()]*)\))?", text)
    if match is None or match["name"] not in SEARCH_NAMES:
        raise AgentError(
            f"expected a search, one of {', '.join(SEARCH_NAMES)}; got {shown(text)}"
            f"{nearest(text.partition('(')[0], SEARCH_NAMES)}"
        )
    algorithm = ALGORITHMS[match["name"]]
    if match["number"] is None:
        return SearchSpec(text, algorithm, algorithm.config)
    if algorithm.number is None:
        raise AgentError(f"{match['name']} takes no number; got {shown(text)}: write {match['name']!r}")
    return SearchSpec(text, algorithm, _with_number(match["name"], algorithm.number, match["number"], text))


def _with_number(name: str, number: Number, digits: str, text: str) -> SearchConfig:
    problem = f"{name} takes {number.meaning}, such as {name}({number.example}); got {shown(text)}"
    if not re.fullmatch(number.pattern, digits):
        raise AgentError(problem)
    value: Any = int(digits) if number.pattern == WHOLE else float(digits)
    try:
        return replace(ALGORITHMS[name].config, **{number.setting: value})
    except ConfigError:
        raise AgentError(problem) from None


def decision_of(algorithm: PlayName, name: DecisionName) -> Decision:
    """Returns the decision `name` for a search by `algorithm`."""
    return ALGORITHMS[algorithm].decision if name == "search" else DECISIONS[name]


def budget_of(config: SearchConfig) -> Budget:
    """Returns the budget of a move from the limits in `config`."""
    return Budget(**{name: getattr(config, name) for name in LIMITS})


def make_search(
    game: pyspiel.Game,
    config: SearchConfig,
    outcome: Callable[[pyspiel.State], float],
    known: Known | None = None,
    most_states: int | None = None,
) -> Search:
    """Returns the search over `game` that `config` describes. The driver applies its limits.

    Args:
        outcome: f_t, the terminal value for player 0.
        known: states proven in earlier games, for Descent and UBFM with completion.
        most_states: maximum number of states per tree; None for no limit.

    Raises:
        SearchError: `known` is given to a search that does not use it, or the search does not support this outcome.
    """
    if known is not None and not isinstance(config, ProverConfig):
        raise SearchError(f"known states require Descent or UBFM, got {config.algorithm!r}")
    own = config.own_options()
    values = {name: known if name == "resolved_hours" else getattr(config, name) for name in own}
    if values.pop("random_outcomes", False):
        values["chance_selection"] = random_outcome
    arguments = {ARGUMENTS.get(name, name): value for name, value in values.items() if value is not None}
    return ALGORITHMS[config.algorithm].search(
        game, outcome=outcome, batched=config.batched, most_states=most_states, **arguments
    )

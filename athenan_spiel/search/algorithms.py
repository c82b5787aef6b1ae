"""How an agent may think, by name: a search, and the decision that goes with it.

| name | search | decision |
|---|---|---|
| `ubfm_s` | UBFM with completion | the safest action (Algorithms 12 and 13) |
| `ubfm` | UBFM with completion | the best action by value (Algorithm 11) |
| `descent` | Descent with completion | the best action by value |
| `alphabeta`, `alphabeta(3)` | alpha-beta with completion, to a depth of 3 | the best action by value |
| `mcts`, `mcts(0.5)` | MCTS by UCT, with this exploration constant | the most visited action, then by value |

`alphabeta(1)` is the depth-1 minimax of the papers' common protocol (the article, Section 3.3).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import pyspiel

from athenan_spiel.config import SearchConfig
from athenan_spiel.errors import AgentError, nearest, shown
from athenan_spiel.search.alphabeta import DEEPEST, AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, best, safest
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.mcts import EXPLORATION_CONSTANT, MCTS
from athenan_spiel.search.proven_states import Known
from athenan_spiel.search.ubfm import UBFM

NAMES = ("ubfm_s", "ubfm", "descent", "alphabeta", "mcts")
DEFAULT = "ubfm_s"


@dataclass(frozen=True)
class ThinkerWord:
    """What is written of a way of thinking.

    Attributes:
        name: one of `NAMES`.
        number: in brackets behind it: the depth of alpha-beta, the exploration constant of MCTS.
    """

    name: str
    number: float | None = None


@dataclass(frozen=True)
class Thinker:
    """A search with the decision that goes with it."""

    search: Search
    decision: Decision


def parse_thinker(text: str) -> ThinkerWord:
    """What `text`, such as `mcts(0.5)`, says.

    Raises:
        AgentError: it is no way of thinking, or its number does not suit it.
    """
    if not isinstance(text, str):
        raise AgentError(f"expected a search, one of {', '.join(NAMES)}; got {shown(text)}")
    match = re.fullmatch(r"(?P<name>[^()]*)(?:\((?P<number>[^()]*)\))?", text)
    if match is None or match["name"] not in NAMES:
        raise AgentError(
            f"expected a search, one of {', '.join(NAMES)}; got {shown(text)}{nearest(text.partition('(')[0], NAMES)}"
        )
    name, number = match["name"], match["number"]
    if number is None:
        return ThinkerWord(name)
    if name == "alphabeta":
        if not (re.fullmatch(r"[0-9]{1,18}", number) and 1 <= int(number) <= DEEPEST):
            raise AgentError(f"alphabeta takes a depth from 1 to {DEEPEST}, such as alphabeta(3); got {shown(text)}")
    elif name == "mcts":
        if not (re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", number) and math.isfinite(float(number))):
            raise AgentError(f"mcts takes an exploration constant, zero or more, such as mcts(0.5); got {shown(text)}")
    else:
        raise AgentError(f"of the searches alphabeta and mcts alone take a number; got {shown(text)}: write {name!r}")
    return ThinkerWord(name, float(number))


def make_thinker(text: str, game: pyspiel.Game, outcome: Callable[[pyspiel.State], float]) -> Thinker:
    """The search and the decision that `text` names, for `game` and its outcome.

    Raises:
        AgentError: as `parse_thinker`.
    """
    word = parse_thinker(text)
    if word.name == "alphabeta":
        depth = None if word.number is None else int(word.number)
        return Thinker(AlphaBeta(game, outcome=outcome, depth=depth), best)
    if word.name == "mcts":
        search = (
            MCTS(game, outcome=outcome)
            if word.number is None
            else MCTS(game, outcome=outcome, exploration_constant=word.number)
        )
        return Thinker(search, safest)
    if word.name == "descent":
        return Thinker(Descent(game, outcome=outcome), best)
    return Thinker(UBFM(game, outcome=outcome), safest if word.name == "ubfm_s" else best)


def make_search(
    game: pyspiel.Game,
    config: SearchConfig,
    outcome: Callable[[pyspiel.State], float],
    known: Known | None = None,
) -> Search:
    """The search over `game` that `config` describes; its limits are for the driver.

    Args:
        outcome: f_t, the worth of a terminal state.
        known: states proven in earlier matches, for Descent and UBFM with completion.
    """
    if config.algorithm == "alphabeta":
        return AlphaBeta(game, outcome=outcome, completion=config.completion)
    if config.algorithm == "mcts":
        constant = config.exploration_constant
        return MCTS(
            game,
            outcome=outcome,
            exploration_constant=EXPLORATION_CONSTANT if constant is None else constant,
            first_play_urgency=config.first_play_urgency,
            rollouts=config.rollouts,
            virtual_loss_batch=config.virtual_loss_batch or 1,
        )
    if config.algorithm == "descent":
        longest = config.longest_descent
        return Descent(game, outcome=outcome, completion=config.completion, known=known, longest=longest)
    return UBFM(game, outcome=outcome, completion=config.completion, known=known)

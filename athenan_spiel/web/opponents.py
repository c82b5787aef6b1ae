"""Agents to choose from on a page: those named on the command line, and agents that start no program and read no file.

A page sends only a name from this list and a number of seconds. Agent specs from a page are never parsed: they could
start a program or read any folder.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspiel

from agents import AgentSpec, AthenanBot, make_bot, parse_spec
from agents.limits import LIMITS
from athenan_spiel.arguments import is_number
from athenan_spiel.errors import AgentError, BudgetError, printable, shown
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import MCTS, Budget
from athenan_spiel.search.drive import Clock
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.walk import Requests
from athenan_spiel.solving.solver import proof_search
from athenan_spiel.web.search_limits import TreeMemory

YOU = "you"
"""Name of a human player."""
ALWAYS = {
    "alphabeta": parse_spec("alphabeta"),
    "mcts": AgentSpec("mcts", "mcts", {}),
    "uct": AgentSpec("uct", "uct", {}),
    "random": parse_spec("random"),
}
"""Agents that need only the rules, by name; the page sets their time."""
OPENSPIEL_BOTS = ("mcts", "uct")
"""Agents whose trees OpenSpiel grows and limits, for one move at a time."""
_FOLDERS = re.compile(r"[^\s:=,'\"]*[/\\](?=[^\s/\\])")
"""Folders of a path in an agent spec."""
EXPLORATION_CONSTANT = math.sqrt(2)
"""Exploration constant of the search with playouts, whose values are gains in [-1, 1]."""
PROOF_FRACTION, MAX_PROOF_SECONDS = 0.25, 1.0
"""Fraction of the time per position for the proof, and its maximum in seconds; the rest is for playouts."""
MIN_MOVE_SECONDS, MAX_MOVE_SECONDS = 0.05, 60.0
"""Bounds of the time per move on a page, in seconds."""


@dataclass(frozen=True)
class Opponent:
    """Agent that a visitor may choose.

    Attributes:
        name: name on the page.
        spec: parsed agent spec.
    """

    name: str
    spec: AgentSpec

    @property
    def takes_seconds(self) -> bool:
        """Whether the page sets its time because the spec gives no limit."""
        limited = {*LIMITS, "simulations"} & self.spec.params.keys()
        return "seconds" in self.spec.kind.limits and not limited

    @property
    def analyses(self) -> bool:
        """Whether it analyses positions: an agent of this library with a network."""
        return self.spec.bot == "athenan"

    @property
    def ponders(self) -> bool:
        """Whether the spec asks for pondering."""
        return bool(self.spec.params.get("ponder"))

    def limit(self, seconds: float) -> float | None:
        """Returns its maximum time per move, in seconds; None if another limit applies.

        Args:
            seconds: time set on the page.
        """
        if self.takes_seconds:
            return seconds
        said = self.spec.params.get("seconds")
        return float(said) if is_number(said) else None  # type: ignore[arg-type]

    def make(self, game: pyspiel.Game, player_id: int, seconds: float, seed: int, memory: TreeMemory) -> pyspiel.Bot:
        """Creates its bot, with a bounded tree.

        Raises:
            AthenanError: `make_bot` fails.
        """
        spec = self.spec
        if self.takes_seconds:
            spec = dataclasses.replace(spec, params={**spec.params, "seconds": seconds})
        if spec.bot in OPENSPIEL_BOTS:
            spec = dataclasses.replace(spec, params={**spec.params, "memory_mb": memory.share_megabytes})
        bot = make_bot(spec, game, player_id, seed)
        memory.bound(bot)
        return bot


@dataclass(frozen=True)
class PlayoutAnalyst(Opponent):
    """Solver and MCTS with playouts in place of a network, for analyses of positions. It needs only the rules.

    Attributes:
        proves: whether the solver searches first.
    """

    proves: bool = True

    def make(self, game: pyspiel.Game, player_id: int, seconds: float, seed: int, memory: TreeMemory) -> pyspiel.Bot:
        """Creates its bot, with a bounded tree."""
        bot = AthenanBot(_PlayoutAgent(game, seconds, seed, proves=self.proves))
        memory.bound(bot)
        return bot


class _PlayoutAgent(Agent):
    """Agent that first tries to prove a position, then searches by playouts.

    In a game with rows or for one player, it only searches.

    Args:
        seconds: time per position, in seconds.
        seed: random seed.
        proves: whether it tries to prove positions.
    """

    def __init__(self, game: pyspiel.Game, seconds: float, seed: int, *, proves: bool) -> None:
        rng = random.Random(seed)
        outcome: Any = make_outcome("score", game, rng) if game.num_players() == 1 else gain_of(game)
        spent = 0.0
        self._prover: Agent | None = None
        if proves and game.num_players() == 2 and rows_of(game) is None:
            spent = min(PROOF_FRACTION * seconds, MAX_PROOF_SECONDS)
            search = proof_search(game, outcome)
            self._prover = Agent(game, search, ZeroEvaluator(), budget=Budget(seconds=spent), rng=rng)
        playouts = MCTS(game, exploration_constant=EXPLORATION_CONSTANT, rollouts=True, outcome=outcome)
        super().__init__(game, playouts, ZeroEvaluator(), budget=Budget(seconds=seconds - spent), rng=rng)

    def restart(self) -> None:
        """Drops both trees."""
        super().restart()
        if self._prover is not None:
            self._prover.restart()

    def bound_tree(self, states: int) -> None:
        """Divides the maximum number of states between both trees."""
        super().bound_tree(max(1, states // 2))
        if self._prover is not None:
            self._prover.bound_tree(max(1, states // 2))

    def thought(
        self,
        state: pyspiel.State,
        clock: Clock | None = None,
        *,
        root_actions: Sequence[int] | None = None,
        on_game_clock: bool = True,
    ) -> Requests[SearchResult]:
        """Searches as `Agent.thought` does; the result is that of the solver if it proves the position."""
        if self._prover is not None:
            proof = yield from self._prover.thought(state, clock, root_actions=root_actions)
            if proof.is_resolved:
                self._last, self._action, self.result = state.clone(), None, proof
                return proof
        return (yield from super().thought(state, clock, root_actions=root_actions, on_game_clock=on_game_clock))


PLAYOUTS = PlayoutAnalyst("solver and playouts", AgentSpec("solver and playouts", "mcts", {}))
"""Agent that analyses if no agent with a network does. It isn't on the list."""
PLAIN_PLAYOUTS = PlayoutAnalyst("playouts", AgentSpec("playouts", "mcts", {}), proves=False)
"""The same without proofs, whose search tries all replies. It isn't on the list."""


class Opponents:
    """Agents to choose from, in the order of the page.

    Args:
        specs: agent specs from the command line.
        game: game to play; in a game with rows alpha-beta is missing.
    """

    def __init__(self, specs: Sequence[AgentSpec] = (), game: pyspiel.Game | None = None) -> None:
        always = {**ALWAYS}
        if game is not None and rows_of(game) is not None:
            del always["alphabeta"]
        named = {spec.text: spec for spec in specs if not spec.is_human}
        self._by_name: dict[str, Opponent] = {}
        self._names: dict[str, str] = {}
        for text, spec in (named | always).items():
            name = next(name for name in _short_names(spec) if name not in self._by_name)
            self._names[text] = name
            self._by_name[name] = Opponent(name, spec)

    @property
    def names(self) -> list[str]:
        """Names on the page."""
        return list(self._by_name)

    def name_of(self, seat: str) -> str:
        """Returns the name on the page of the agent with this spec; other names of players stay."""
        return self._names.get(seat, seat)

    def find(self, name: str) -> Opponent:
        """Returns the agent with this name.

        Raises:
            AgentError: the list has no such agent.
        """
        hidden = {agent.name: agent for agent in (PLAYOUTS, PLAIN_PLAYOUTS)}
        found = hidden.get(name) or self._by_name.get(name)
        if found is None:
            raise AgentError(f"expected one of {', '.join(self.names)}, got {shown(name)}")
        return found


def short_name(text: str) -> str:
    """Returns an agent spec without the folders of its paths."""
    return _FOLDERS.sub("", text)


def _short_names(spec: AgentSpec) -> Iterator[str]:
    """Yields names for an agent: its spec with the run's name only, then with the parent folder, then numbered."""
    path = printable(str(spec.params.get("checkpoint", "")))
    name = short_name(spec.text)
    for kept in (1, 2):
        parts = Path(path).parts[-kept:]
        if path and path in spec.text:
            name = spec.text.replace(path, "/".join(part for part in parts if part != Path(path).anchor))
        yield name
    for number in itertools.count(2):
        yield f"{name} ({number})"


def require_seconds(seconds: object) -> float:
    """Returns a time per move sent by a page.

    Raises:
        BudgetError: it is not a number, or out of bounds.
    """
    if not is_number(seconds) or not MIN_MOVE_SECONDS <= seconds <= MAX_MOVE_SECONDS:  # type: ignore[operator]
        raise BudgetError(
            f"expected {MIN_MOVE_SECONDS:g} to {MAX_MOVE_SECONDS:g} seconds per move, got {shown(seconds)}"
        )
    return float(seconds)  # type: ignore[arg-type]

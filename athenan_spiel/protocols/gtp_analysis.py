"""Analysis for GUIs by GTP: arguments, lines, and the search in the background.

`lz-analyze` follows Leela Zero, `kata-analyze` KataGo:

    info move D4 visits 120 winrate 6123 value 0.2246 proven no order 0 pv D4 C3 info move ...
    info move D4 visits 120 winrate 0.612300 scoreMean 2.2 scoreLead 2.2 order 0 pv D4 C3 info move ...

1. Values are the mover's. `winrate` is the expected score, in Leela Zero's format times 10,000. A proven win, draw or
   loss is 1, 0.5 or 0.
2. `order` 0 is the move that the agent's decision selects. The others follow as in tables (`ranking`).
3. `value` is in units of the run's outcome, and `proven` is `win`, `draw`, `loss` or `no`. KataGo's format has
   `scoreMean` and `scoreLead`, in points, in their place if the outcome is the score.
4. The last line of a search that plays a move has this move as `order` 0.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import shown
from athenan_spiel.outcomes.score import Score
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.agent_search import AgentSearch
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.play.player import AskingPlayer
from athenan_spiel.protocols.gtp_position import GtpRefusal
from athenan_spiel.protocols.vertices import Vertices
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.result import SearchResult, mover_score, ranking, state_evaluation
from athenan_spiel.search.walk import principal_variation

MAX_LINE_MOVES = 40
"""Maximum number of moves of a variation."""
MAX_NUMBER = 10**9
"""Maximum number in arguments, such as an interval in centiseconds."""
INTERVAL_SECONDS = 1.0
"""Default seconds between two lines."""
MIN_INTERVAL_SECONDS = 0.1
"""Minimum seconds between two lines. The first one appears after this time."""
POLL_SECONDS = 0.05
"""Seconds between two checks for the next command."""
EXACT_MOVES = 5
"""Number of moves for which `alphabeta` finds values instead of bounds."""
_PROVEN = {1: "win", 0: "draw", -1: "loss"}
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_UNKNOWN = (
    "ownership",
    "ownershipStdev",
    "movesOwnership",
    "movesOwnershipStdev",
    "pvVisits",
    "pvEdgeVisits",
    "noResultValue",
)
"""KataGo's options for figures that a search of this library does not have."""


@dataclass
class AnalysisOptions:
    """Arguments of an analysis.

    Attributes:
        is_kata: whether lines are in KataGo's format instead of Leela Zero's.
        interval: seconds between two lines.
        max_moves: maximum number of moves of a line; None for all.
        root_info: whether a line ends with the evaluation of the position (KataGo's `rootInfo`).
        root_actions: actions to which the search is restricted by `avoid` or `allow`; None for all.
    """

    is_kata: bool = False
    interval: float = INTERVAL_SECONDS
    max_moves: int | None = None
    root_info: bool = False
    root_actions: list[int] | None = None

    @classmethod
    def read(cls, words: Sequence[str], vertices: Vertices, state: pyspiel.State, *, is_kata: bool) -> AnalysisOptions:
        """Parses the arguments after the colour.

        Raises:
            GtpRefusal: a word is unknown, a value is missing or wrong, or an option is not available.
        """
        options = cls(is_kata=is_kata)
        avoided: set[int] = set()
        allowed: set[int] | None = None
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word.isdecimal():
                rest[:0] = ["interval", word]
            elif word == "interval":
                options.interval = max(MIN_INTERVAL_SECONDS, _number(word, rest) / 100)
            elif word in ("minmoves", "maxmoves"):
                number = int(_number(word, rest))
                options.max_moves = max(1, number) if word == "maxmoves" else options.max_moves
            elif word in ("avoid", "allow"):
                actions = _moves(word, rest, vertices, state)
                if word == "avoid":
                    avoided |= actions or set()
                elif actions is not None:
                    allowed = (allowed or set()) | actions
            elif is_kata and word == "rootInfo":
                options.root_info = _flag(word, rest)
            elif is_kata and word in _UNKNOWN:
                if _flag(word, rest):
                    raise GtpRefusal(f"{word} is not available, as this agent does not estimate it: leave it out")
            else:
                known = ["a colour", "centiseconds", "interval", "minmoves", "maxmoves", "avoid", "allow"]
                expected = ", ".join(known + ["rootInfo"] * is_kata)
                raise GtpRefusal(f"expected {expected}; got {shown(word)}")
        if avoided or allowed is not None:
            legal = state.legal_actions()
            options.root_actions = [x for x in legal if x not in avoided and (allowed is None or x in allowed)]
            if not options.root_actions:
                raise GtpRefusal("avoid and allow leave no legal move")
        return options


def _next(word: str, rest: list[str]) -> str:
    if not rest:
        raise GtpRefusal(f"expected a value after {word}")
    return rest.pop(0)


def _number(word: str, rest: list[str]) -> float:
    value = _next(word, rest)
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= MAX_NUMBER:
        raise GtpRefusal(f"expected a number after {word}, got {shown(value)}")
    return number


def _flag(word: str, rest: list[str]) -> bool:
    value = _next(word, rest)
    if value.lower() not in _FLAGS:
        raise GtpRefusal(f"expected true or false after {word}, got {shown(value)}")
    return _FLAGS[value.lower()]


def _moves(word: str, rest: list[str], vertices: Vertices, state: pyspiel.State) -> set[int] | None:
    """Returns the legal actions among the vertices after `avoid` or `allow`, which are COLOUR VERTEX,... DEPTH.

    The search can be restricted in the next move only, so the depth is 1. Vertices that are not legal have no effect,
    and neither has the colour that is not to move, for which the result is None.
    """
    colour, names, depth = (_next(word, rest) for _ in range(3))
    player = vertices.player(colour)
    if player is None:
        raise GtpRefusal(f"expected black or white after {word}, got {shown(colour)}")
    if depth != "1":
        raise GtpRefusal(f"{word} restricts the next move only: expected depth 1, got {shown(depth)}")
    if player != state.current_player():
        return None
    found = (vertices.action(state, name) for name in names.split(","))
    return {action for action in found if action is not None}


@dataclass(frozen=True)
class AnalysisWriter:
    """Writer of the lines of an analysis; the module's docstring lists its guarantees.

    Attributes:
        vertices: notation of the game.
        state: searched state.
        outcome: outcome of the search's values.
        options: format and length of the lines.
    """

    vertices: Vertices
    state: pyspiel.State
    outcome: object
    options: AnalysisOptions

    def line(self, result: SearchResult) -> str:
        """Returns a search result in one line."""
        order = ranking(result, self.state)[: self.options.max_moves]
        infos = [self._info(result, i, rank) for rank, i in enumerate(order)]
        if self.options.root_info:
            mover = int(self.state.current_player())
            expected = state_evaluation(result, self.state, mover).expected_score(mover)
            infos.append(f"rootInfo visits {int(result.visits.sum())} {self._figures(result, result.value, expected)}")
        return " ".join(infos)

    def _info(self, result: SearchResult, i: int, rank: int) -> str:
        sign, value = result.node.kind.won, float(result.values[i])
        here, moves = self.state.clone(), []
        for action in principal_variation(result.node, i)[:MAX_LINE_MOVES]:
            moves.append(self.vertices.vertex(here, action))
            here.apply_action(action)
        figures = self._figures(result, value, mover_score(result, self.state, i))
        if not self.options.is_kata:
            proven = _PROVEN[sign * int(result.completions[i])] if result.resolved[i] else "no"
            figures += f" value {sign * value:.4f} proven {proven}"
        return f"info move {moves[0]} visits {int(result.visits[i])} {figures} order {rank} pv {' '.join(moves)}"

    def _figures(self, result: SearchResult, value: float, expected: float) -> str:
        """Returns `winrate`, and in KataGo's format `scoreMean` and `scoreLead` if the values are points.

        Args:
            value: value for player 0.
            expected: expected score of the player to move.
        """
        if not self.options.is_kata:
            return f"winrate {round(10_000 * expected)}"
        lead = f"{result.node.kind.won * value:.3f}"
        points = isinstance(self.outcome, Score) and self.outcome.counted
        return f"winrate {expected:.6f}" + (f" scoreMean {lead} scoreLead {lead}" if points else "")


class GtpSearch(AgentSearch[int | None]):
    """Search by an agent that yields lines of analysis.

    Args:
        agent: searches.
        state: state to search.
        writer: writes the lines; None without lines.
        player: chooses the move by the agent, as in a game; None searches until it is stopped.

    Attributes:
        result: action that the player has chosen; None without a player, or if the search was stopped.
    """

    def __init__(
        self, agent: Agent, state: pyspiel.State, writer: AnalysisWriter | None, player: AskingPlayer | None = None
    ) -> None:
        interval = LONGEST if writer is None else writer.options.interval
        super().__init__("gtp-search", agent, interval, checks_memory=player is None)
        self._next_report = min(self._interval, MIN_INTERVAL_SECONDS)
        self._state = state
        self._writer = writer
        self._root_actions = None if writer is None else writer.options.root_actions
        self._player = player
        self._line = ""
        self._has_line = threading.Event()

    def search(self) -> int | None:
        """Searches, and returns the player's move."""
        if self._player is None:
            self._analyse()
            return None
        agent = self._agent
        seconds = math.inf if agent.budget.seconds is None else agent.budget.seconds
        with without_garbage_collection():
            if self._root_actions is None:
                requests = self._player.thinks(self._state, self.clock)
                action = self.reported(requests, self._state, self._report, seconds=seconds)
                result = None if action is None else agent.result
            else:
                result = self._thought(seconds, on_game_clock=True)
        if result is None and not self.is_stopped:
            result = self._abandoned(agent.rng)
        if result is None:
            return None
        self._report(result)
        return result.action

    def run(self) -> None:
        """Runs `search`, and wakes the reader of the lines at its end."""
        super().run()
        self._has_line.set()

    def lines(self, ends: Callable[[], bool]) -> Iterator[str]:
        """Runs the search and yields its lines, the last one from its final result.

        A search without a player lasts until `ends` returns True. It waits if the position is proven or memory is
        short. A search with a player is stopped then.

        Raises:
            Exception: the search failed.
        """
        self.start()
        try:
            while not self.is_over and not ends():
                if self._has_line.wait(POLL_SECONDS) and not self.is_over:
                    self._has_line.clear()
                    yield self._line
            repeated = time.monotonic()
            while self._player is None and self.error is None and not ends():
                if time.monotonic() >= repeated + self._interval:
                    repeated = time.monotonic()
                    yield self._line
                time.sleep(POLL_SECONDS)
        finally:
            self.stop()
            self.join()
        if self.error is not None:
            raise self.error
        if self._line:
            yield self._line

    def _analyse(self) -> None:
        """Searches until it is stopped, and reports the final result."""
        agent = self._agent
        usual, search = agent.budget, agent.search
        assert self._writer is not None
        agent.budget = Budget(seconds=LONGEST)
        agent.search = search.with_exact_actions(min(EXACT_MOVES, self._writer.options.max_moves or EXACT_MOVES))
        try:
            if result := self._thought(math.inf, on_game_clock=False) or self._abandoned(self._rng):
                self._report(result)
        finally:
            agent.budget, agent.search = usual, search

    def _thought(self, seconds: float, *, on_game_clock: bool) -> SearchResult | None:
        requests = self._agent.thought(
            self._state, self.clock, root_actions=self._root_actions, on_game_clock=on_game_clock
        )
        return self.reported(requests, self._state, self._report, root_actions=self._root_actions, seconds=seconds)

    def _abandoned(self, rng: random.Random) -> SearchResult | None:
        """Returns the result of an abandoned search; None if it has found nothing."""
        root = self._agent.tree.search_root
        return None if root is None else self.found(root, self._state, self._root_actions, rng)

    def _report(self, result: SearchResult) -> None:
        if self._writer is not None:
            self._line = self._writer.line(result) + "\n"
            self._has_line.set()

"""Client for a GTP engine that plays a game.

OpenSpiel's rules decide which moves are legal and when the game ends. The engine receives earlier moves as vertices
(`vertices`) when it is asked for the next move, so it never receives the last move of a game. It reaches another
position by `undo` if that is shorter, else by `clear_board` and all moves.

Time limits are `START_SECONDS` for start-up, `ORDER_SECONDS` for commands without a search, and for a move its time
plus `GRACE_SECONDS`, or `UNLIMITED_SECONDS` without a limit. An error ends the engine; the next request restarts it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyspiel

from athenan_spiel.errors import AgentError, ProgramRefusalError, ResignedError, SearchError, shown
from athenan_spiel.games import require_open_state
from athenan_spiel.play.game_clock import clock_of
from athenan_spiel.protocols.gtp import Gtp
from athenan_spiel.protocols.vertices import vertices_of

START_SECONDS = 60.0
ORDER_SECONDS = 15.0
GRACE_SECONDS = 5.0
UNLIMITED_SECONDS = 120.0
TRIED_PLIES = 4
"""Number of random moves played to test whether an engine knows the game."""


@dataclass(frozen=True)
class EngineTime:
    """Time limit of an engine; no limit if all are None.

    Attributes:
        seconds: time per move.
        match_seconds: time for all moves of a game.
        match_increment: seconds that each own move adds to the game's clock.
    """

    seconds: float | None = None
    match_seconds: float | None = None
    match_increment: float = 0.0


class GtpEngine:
    """GTP engine, started at the first request; the module's docstring lists its time limits.

    Args:
        game: game to play.
        command: program and its options.
        limit: time limit.

    Raises:
        AgentError: the game's moves have no GTP notation.
        BudgetError: the limit is not a valid clock.
    """

    def __init__(self, game: pyspiel.Game, command: Sequence[str], limit: EngineTime) -> None:
        self._game = game
        self._command = tuple(command)
        self._limit = limit
        self._vertices = vertices_of(game)
        self._gtp: Gtp | None = None
        self._clock = clock_of(game, limit.match_seconds, limit.match_increment)
        self._begin()

    def _begin(self) -> None:
        self._sent: list[int] | None = None
        """Actions on the engine's board; None until a game is set up."""
        if self._clock is not None:
            self._clock.restart()

    def begin(self) -> None:
        """Starts a new game; an engine that has ended is restarted at the next request."""
        self._begin()

    def begin_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state`. Setting up the position takes none of the engine's time.

        Raises:
            AgentError, ProgramError: the engine fails.
        """
        self._begin()
        with self._ended_by_errors():
            self._send_position(self._running(), state)

    def check(self) -> None:
        """Checks by a few moves that the engine starts, speaks GTP and knows the game, then ends it.

        Raises:
            ProgramError: it doesn't start or answer.
            AgentError: it doesn't know the game or the time limit.
        """
        try:
            self.choose(self._test_position())
        except ResignedError:
            pass  # the engine may refuse
        except ProgramRefusalError as refusal:
            raise AgentError(f"{refusal}: does it play {str(self._game)!r}?") from None
        finally:
            self.close()
            self._begin()

    def _test_position(self) -> pyspiel.State:
        """Returns a position after a few moves, the first in column I if there is one, which Go lacks."""
        state, rng = self._game.new_initial_state(), random.Random(0)
        actions = state.legal_actions()
        action = next((x for x in actions if self._vertices.vertex(state, x)[0] in "iI"), rng.choice(actions))
        for _ in range(TRIED_PLIES):
            child = state.child(action)
            if child.is_terminal():
                break
            state, action = child, rng.choice(child.legal_actions())
        return state

    def choose(self, state: pyspiel.State) -> int:
        """Returns the engine's action in `state`.

        Raises:
            SearchError: no player is to move, or the actions of `state` don't lead there from the start.
            ResignedError: the engine resigns.
            AgentError: its answer is not a legal move, or it cannot be set up.
            ProgramError: it fails otherwise.
        """
        require_open_state(self._game, state)
        start = time.monotonic()
        with self._ended_by_errors():
            action = self._chosen(state)
        if self._clock is not None:
            self._clock.spend(time.monotonic() - start)
        return action

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        """Ends the program after an error in the block, Ctrl-C included, but not after a resignation."""
        try:
            yield
        except ResignedError:
            self._sent = None
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the program."""
        self._sent = None
        if self._gtp is not None:
            self._gtp.close()
            self._gtp = None

    def _chosen(self, state: pyspiel.State) -> int:
        engine = self._running()
        sent = self._send_position(engine, state)
        colour = self._vertices.colour(state.current_player())
        if self._clock is not None:
            self._clock.arrive(state)
        seconds = self._send_time_left(engine, colour)
        answer = engine.ask(f"genmove {colour}", seconds)
        if answer.lower() == "resign":
            raise ResignedError(f"{engine.program_name} resigns")
        action = self._vertices.action(state, answer)
        if action is None:
            raise AgentError(f"{engine.program_name} plays {shown(answer)}, which is not a legal move here")
        sent.append(action)
        return action

    def _running(self) -> Gtp:
        if self._gtp is None:
            self._gtp = Gtp(self._command, START_SECONDS)
            if self._vertices.size and self._knows("boardsize"):
                self._set_up("boardsize " + " ".join(map(str, self._vertices.size)))
        return self._gtp

    def _knows(self, command: str) -> bool:
        """Returns whether the engine lists a command; without a list, whether GTP requires it."""
        assert self._gtp is not None
        return command in self._gtp.commands or (not self._gtp.commands and "-" not in command)

    def _set_up(self, command: str) -> None:
        """Sends a command that the game needs.

        Raises:
            AgentError: the engine refuses.
        """
        assert self._gtp is not None
        try:
            self._gtp.ask(command, ORDER_SECONDS)
        except ProgramRefusalError as refusal:
            raise AgentError(f"{refusal}: it cannot be set up for {str(self._game)!r}") from None

    def _send_position(self, engine: Gtp, state: pyspiel.State) -> list[int]:
        """Sends the engine the moves to `state`. Returns the actions on its board."""
        history = [int(action) for action in state.history()]
        sent = self._undone(engine, history)
        if sent is None:
            self._set_up("clear_board")
            for command in self._vertices.setup:
                self._set_up(command)
            self._set_clock(engine)
            sent = []
        self._sent = sent
        here = self._game.new_initial_state()
        for ply, action in enumerate(history):
            if ply >= len(sent):
                player = here.current_player()
                vertex = self._vertices.vertex(here, action)
                engine.ask(f"play {self._vertices.colour(player)} {vertex}", ORDER_SECONDS)
                sent.append(action)
            here.apply_action(action)
        if str(here) != str(state):
            raise SearchError(f"expected a state to which its actions lead, got another after {shown(history)}")
        return sent

    def _undone(self, engine: Gtp, history: Sequence[int]) -> list[int] | None:
        """Takes back the actions that are not in `history`. Returns the remaining ones; None if clearing is shorter."""
        sent = self._sent
        if sent is None:
            return None
        common = next((i for i, (a, b) in enumerate(zip(sent, history, strict=False)) if a != b), None)
        common = min(len(sent), len(history)) if common is None else common
        back = len(sent) - common
        if back > common or (back and not self._knows("undo")):
            return None
        try:
            for _ in range(back):
                engine.ask("undo", ORDER_SECONDS)
                sent.pop()
        except ProgramRefusalError:
            return None
        return sent

    def _set_clock(self, engine: Gtp) -> None:
        """Sends the time limit at the start of a game.

        Raises:
            AgentError: it has fractions of a second, or an increment, which only KataGo's extension of GTP supports.
        """
        seconds, whole, increment = self._limit.seconds, self._limit.match_seconds, self._limit.match_increment
        if whole is not None and increment:
            if not self._knows("kata-time_settings"):
                raise AgentError(
                    f"{engine.program_name} knows no clock with an increment, got @{whole:.10g}s+{increment:.10g}s: "
                    f"GTP has none, and it lacks kata-time_settings; use @{whole:.10g}s/match"
                )
            self._set_up(f"kata-time_settings fischer {whole:.10g} {increment:.10g}")
        elif whole is not None and self._knows("time_settings"):
            self._set_up(f"time_settings {max(1, int(whole))} 0 0")
        elif seconds is not None and seconds == int(seconds) and self._knows("time_settings"):
            self._set_up(f"time_settings 0 {int(seconds)} 1")
        elif seconds is not None and self._knows("kgs-time_settings"):
            self._set_up(f"kgs-time_settings byoyomi 0 {seconds:g} 1")
        elif seconds is not None and self._knows("time_settings"):
            raise AgentError(
                f"{engine.program_name} counts whole seconds, got @{seconds:g}s: use @{int(seconds) + 1}s, or no "
                "limit and an engine option that makes it faster"
            )

    def _send_time_left(self, engine: Gtp, colour: str) -> float:
        """Sends the engine's remaining time. Returns how long to wait for its move."""
        seconds = self._limit.seconds
        if self._clock is not None:
            left = self._clock.left
            if self._knows("time_left"):
                engine.ask(f"time_left {colour} {max(1, int(left))} 0", ORDER_SECONDS)
            return left + GRACE_SECONDS
        if seconds is None:
            return UNLIMITED_SECONDS
        if seconds == int(seconds) and self._knows("time_left"):
            engine.ask(f"time_left {colour} {int(seconds)} 1", ORDER_SECONDS)
        return seconds + GRACE_SECONDS

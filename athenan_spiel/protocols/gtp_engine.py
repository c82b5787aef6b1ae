"""An engine that plays a game by GTP: brought to a position, told of its time, and asked for a move.

The rules are OpenSpiel's: what it takes for a legal move counts, and the end of the match. The engine is told of each
move as a vertex (`vertices`) when it is asked for the next one, so it never hears of the move that ends a match. It is
brought to another position by `undo` where that is shorter, else by `clear_board` and all moves.

It is waited for at most `START_SECONDS` at its start, `ORDER_SECONDS` for what needs no thought, and for a move its
time plus `GRACE_SECONDS`, or `UNLIMITED_SECONDS` where it has no limit. After an error it is ended, and the next
question begins a new one.
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
from athenan_spiel.play.match_clock import clock_of
from athenan_spiel.protocols.gtp import Gtp
from athenan_spiel.protocols.vertices import vertices_of

START_SECONDS = 60.0
ORDER_SECONDS = 15.0
GRACE_SECONDS = 5.0
UNLIMITED_SECONDS = 120.0
TRIED_PLIES = 4
"""Random moves that are played to see whether an engine knows the game."""


@dataclass(frozen=True)
class EngineTime:
    """How long an engine may think: `seconds` a move, or as it likes, or by a match clock.

    Attributes:
        seconds: of a move.
        match_seconds: of all its moves of a match.
        match_increment: seconds that each of its moves brings to the clock of a match once it is made.
    """

    seconds: float | None = None
    match_seconds: float | None = None
    match_increment: float = 0.0


class GtpEngine:
    """An engine, which is started when it is first asked. The file's docstring says how long it is waited for.

    Args:
        game: that it is to play.
        command: the program's file or name, then its options.
        limit: of its thinking.

    Raises:
        AgentError: the game's moves cannot be written as vertices.
        BudgetError: the limit is no match clock's.
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
        self._told: list[int] | None = None
        """The actions on the engine's board; None before its board is that of a match."""
        if self._clock is not None:
            self._clock.restart()

    def begin(self) -> None:
        """A new match begins; an engine that has ended is started again when it is asked."""
        self._begin()

    def begin_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`, where the engine is brought: what it takes to start is none of its time.

        Raises:
            AgentError, ProgramError: the engine fails.
        """
        self._begin()
        with self._ended_by_errors():
            self._brought_to(self._running(), state)

    def check(self) -> None:
        """See whether the engine starts, speaks GTP and knows the game, by a few moves of it, and end it.

        Raises:
            ProgramError: it does not start, or not answer.
            AgentError: it does not know the game, or cannot be limited so.
        """
        try:
            self.choose(self._tried())
        except ResignedError:
            pass  # it is free to
        except ProgramRefusalError as refusal:
            raise AgentError(f"{refusal}: does it play {str(self._game)!r}?") from None
        finally:
            self.close()
            self._begin()

    def _tried(self) -> pyspiel.State:
        """The position after a few moves, of which the first is in the column I, if there is one: Go has none."""
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
        """The action that the engine plays in `state`.

        Raises:
            SearchError: no player is to choose there, or its actions do not lead there from the beginning.
            ResignedError: the engine gives the match up.
            AgentError: it answers something else than a legal move, or it cannot be set up.
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
        """The program is ended by an error within, Ctrl-C being one; not where it resigns."""
        try:
            yield
        except ResignedError:
            self._told = None
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the program."""
        self._told = None
        if self._gtp is not None:
            self._gtp.close()
            self._gtp = None

    def _chosen(self, state: pyspiel.State) -> int:
        engine = self._running()
        told = self._brought_to(engine, state)
        colour = self._vertices.colour(state.current_player())
        if self._clock is not None:
            self._clock.arrive(state)
        seconds = self._tell_time(engine, colour)
        answer = engine.ask(f"genmove {colour}", seconds)
        if answer.lower() == "resign":
            raise ResignedError(f"{engine.program_name} resigns")
        action = self._vertices.action(state, answer)
        if action is None:
            raise AgentError(f"{engine.program_name} plays {shown(answer)}, which is no legal move here")
        told.append(action)
        return action

    def _running(self) -> Gtp:
        if self._gtp is None:
            self._gtp = Gtp(self._command, START_SECONDS)
            if self._vertices.size and self._knows("boardsize"):
                self._set_up("boardsize " + " ".join(map(str, self._vertices.size)))
        return self._gtp

    def _knows(self, command: str) -> bool:
        """Whether the engine says so; one that says nothing is taken to know the standard's."""
        assert self._gtp is not None
        return command in self._gtp.commands or (not self._gtp.commands and "-" not in command)

    def _set_up(self, command: str) -> None:
        """Tell the engine what it must know to play this game.

        Raises:
            AgentError: it refuses.
        """
        assert self._gtp is not None
        try:
            self._gtp.ask(command, ORDER_SECONDS)
        except ProgramRefusalError as refusal:
            raise AgentError(f"{refusal}: it cannot be set up for {str(self._game)!r}") from None

    def _brought_to(self, engine: Gtp, state: pyspiel.State) -> list[int]:
        """The actions on the engine's board, which are then those of `state`."""
        history = [int(action) for action in state.history()]
        told = self._undone(engine, history)
        if told is None:
            self._set_up("clear_board")
            for command in self._vertices.setup:
                self._set_up(command)
            self._set_clock(engine)
            told = []
        self._told = told
        here = self._game.new_initial_state()
        for ply, action in enumerate(history):
            if ply >= len(told):
                player = here.current_player()
                vertex = self._vertices.vertex(here, action)
                engine.ask(f"play {self._vertices.colour(player)} {vertex}", ORDER_SECONDS)
                told.append(action)
            here.apply_action(action)
        if str(here) != str(state):
            raise SearchError(f"expected a state to which its actions lead, got another after {shown(history)}")
        return told

    def _undone(self, engine: Gtp, history: Sequence[int]) -> list[int] | None:
        """The actions on the engine's board once those are taken back that are not in `history`; None where the board
        is better cleared."""
        told = self._told
        if told is None:
            return None
        common = next((i for i, (a, b) in enumerate(zip(told, history, strict=False)) if a != b), None)
        common = min(len(told), len(history)) if common is None else common
        back = len(told) - common
        if back > common or (back and not self._knows("undo")):
            return None
        try:
            for _ in range(back):
                engine.ask("undo", ORDER_SECONDS)
                told.pop()
        except ProgramRefusalError:
            return None
        return told

    def _set_clock(self, engine: Gtp) -> None:
        """Tell the limit, at the beginning of a match.

        Raises:
            AgentError: it is in parts of a second, which the engine does not count, or has an increment, of which only
                KataGo's extension of GTP can tell.
        """
        seconds, whole, increment = self._limit.seconds, self._limit.match_seconds, self._limit.match_increment
        if whole is not None and increment:
            if not self._knows("kata-time_settings"):
                raise AgentError(
                    f"{engine.program_name} knows no clock with an increment, got @{whole:.10g}s+{increment:.10g}s: "
                    f"GTP has none, and its kata-time_settings is missing; take @{whole:.10g}s/match"
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
                f"{engine.program_name} counts whole seconds, got @{seconds:g}s: take @{int(seconds) + 1}s, or an "
                "option of its own that makes it faster and no limit"
            )

    def _tell_time(self, engine: Gtp, colour: str) -> float:
        """Tell the engine what is left of its time; how long it is waited for."""
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

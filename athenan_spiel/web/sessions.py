"""Games of all visitors. Each game has an unguessable name, and visitors find it again under that name."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyspiel

from athenan_spiel.arena.record import MOST_LINE, SavedMatch, match_of
from athenan_spiel.errors import ArenaError, AthenanError
from athenan_spiel.play.move_tree import MoveNode, MoveTree
from athenan_spiel.web.live_game import LiveGame
from athenan_spiel.web.opponents import Opponents
from athenan_spiel.web.positions import GameLine
from athenan_spiel.web.search_limits import SearchSlots, tree_memory

MAX_SESSIONS = 100
"""Maximum number of games; the one left longest ago is dropped first."""
RELEASE_SECONDS = 60.0
"""Seconds after the last visitor has left until the search trees of a game are freed."""
MEMORY_CHECK_SECONDS = 1.0
"""Seconds between two checks of the trees' memory."""
MAX_SAVED_GAMES = 200
"""Maximum number of finished games in a session."""
MAX_UPLOAD_BYTES = 2**22
"""Maximum size of an imported file, in bytes."""


class TooManySessionsError(AthenanError, RuntimeError):
    """All games that may be kept have a visitor."""


@dataclass
class _NotedGame:
    """Finished game on the board, whose variations and comments are stored as they change.

    Attributes:
        saved: the game as it is stored.
        tree: its tree of moves.
        end: its last position.
        version: version of the tree whose notes are stored.
    """

    saved: SavedMatch
    tree: MoveTree
    end: MoveNode
    version: int = -1


class GameSession:
    """Game of one visitor, and the finished games.

    Attributes:
        match: current game.
        opponents: agents to choose from.
        saved: finished and imported games.
    """

    def __init__(self, match: LiveGame, opponents: Opponents) -> None:
        self.match = match
        self.opponents = opponents
        self.saved: list[SavedMatch] = []
        self._saved_lines: set[tuple[int, ...]] = set()
        self._noted: _NotedGame | None = None
        self._watchers = 0
        self.left_at = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """Whether a page shows the game."""
        return self._watchers > 0

    def come(self) -> None:
        """Called when a page with the game opens."""
        self._watchers += 1
        self.match.come()

    def leave(self) -> None:
        """Called when a page with the game closes."""
        self._watchers -= 1
        if not self.is_watched:
            self.left_at = time.monotonic()
            self.match.leave()

    def tick(self) -> None:
        """Continues the game, and stores it once it is finished, if it began in the initial position."""
        match = self.match
        match.tick()
        if match.is_over and not match.board.fen and match.line not in self._saved_lines:
            self._saved_lines.add(match.line)
            self._save(SavedMatch(str(match.game), match.seats, match.seats, 0, len(self.saved), 0, match.result()))
            self._noted = _NotedGame(self.saved[-1], match.board.tree, match.board.node)
        self._update_notes()

    def add(self, brought: Sequence[SavedMatch]) -> int:
        """Adds the games returned by `read`. Returns their number."""
        for saved in brought:
            self._saved_lines.add(saved.result.history)
            self._save(saved)
        return len(brought)

    def read(self, content: bytes) -> list[SavedMatch]:
        """Returns the games of a file written by `athenan eval --save` or a page, each replayed by the rules.

        Changes nothing, so any thread may call it.

        Raises:
            ArenaError: the file is invalid, or its games are of another kind.
        """
        if len(content) > MAX_UPLOAD_BYTES:
            raise ArenaError(f"expected at most {MAX_UPLOAD_BYTES:,} bytes, got {len(content):,}: split the file")
        brought = []
        for number, line in enumerate(content.splitlines(), 1):
            if not line.strip():
                continue
            if len(line) > MOST_LINE:
                raise ArenaError(f"line {number} is not a game: it is too long")
            saved = match_of(line, f"line {number}")
            if saved.game != str(self.match.game):
                raise ArenaError(f"line {number} is a game of {saved.game!r}; this page plays {self.match.game}")
            saved.require_true()
            brought.append(saved)
        if not brought:
            raise ArenaError("the file contains no games")
        return brought

    def show(self, number: int) -> None:
        """Puts a finished game on the board.

        Raises:
            ArenaError: there is no game with this number.
        """
        if not 0 <= number < len(self.saved):
            raise ArenaError(f"expected a game from 1 to {len(self.saved)}, got {number + 1}")
        saved = self.saved[number]
        board = GameLine(saved.result.history, notes=saved.notes).board(self.match.game)
        self._noted = _NotedGame(saved, board.tree, board.node, board.tree.version)
        board.show(0)
        self.match.load(board)

    def _update_notes(self) -> None:
        """Stores new variations and comments of the finished game on the board."""
        noted = self._noted
        if noted is None or noted.tree.version == noted.version:
            return
        if self.match.board.tree is not noted.tree or noted.end not in noted.tree:
            self._noted = None
            return
        noted.version = noted.tree.version
        opening = len(noted.saved.result.history) - noted.end.ply
        saved = replace(noted.saved, notes=noted.tree.notes(noted.end, opening))
        self.saved = [saved if other is noted.saved else other for other in self.saved]
        noted.saved = saved

    def _save(self, saved: SavedMatch) -> None:
        self.saved = [*self.saved, saved][-MAX_SAVED_GAMES:]
        self.match.version += 1


class GameSessions:
    """All sessions, by name.

    Trees of a game are freed `RELEASE_SECONDS` after its last visitor has left, or earlier if the trees of all games
    reach the memory limit. The game itself stays.

    Args:
        limit: memory limit of the process, in bytes; by default half of what it may use.

    Raises:
        ConfigError: the limit is too small.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._sessions: dict[str, GameSession] = {}
        self._slots = SearchSlots()
        self._memory = tree_memory(limit, self._slots.count)
        self._checked_at = 0.0
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="loading")

    def open(
        self, start: pyspiel.State, opponents: Opponents, seats: Sequence[str], seconds: float, *, rolls: bool = True
    ) -> str:
        """Starts a game. Returns the name of its session.

        Raises:
            TooManySessionsError: all games have a visitor.
        """
        if len(self._sessions) >= MAX_SESSIONS:
            left = [name for name, session in self._sessions.items() if not session.is_watched]
            if not left:
                raise TooManySessionsError(f"{MAX_SESSIONS} games are in progress; try again later")
            oldest = min(left, key=lambda name: self._sessions[name].left_at)
            match = self._sessions.pop(oldest).match
            match.leave()
            match.release()
            self._slots.release(match)
        name = secrets.token_urlsafe(16)
        match = LiveGame(start, opponents, seats, seconds, self._slots, self._workers, self._memory)
        match.rolls = rolls
        self._sessions[name] = GameSession(match, opponents)
        return name

    def find(self, name: str) -> GameSession | None:
        """Returns the session with this name; None if there is none."""
        return self._sessions.get(name)

    def tick(self) -> None:
        """Continues all games."""
        for session in self._sessions.values():
            session.tick()
        now = time.monotonic()
        if now - self._checked_at >= MEMORY_CHECK_SECONDS:
            self._checked_at = now
            self._release(now)

    def _release(self, now: float) -> None:
        """Frees the trees of games without visitors, and of others until the memory limit holds."""
        for session in self._sessions.values():
            if not session.is_watched and now - session.left_at >= RELEASE_SECONDS:
                session.match.release()
        holding = [session for session in self._sessions.values() if session.match.idle_trees]
        holding.sort(key=lambda session: (session.is_watched, session.match.used_at))
        for session in holding:
            if not self._memory.is_exceeded([tree for other in holding for tree in other.match.idle_trees]):
                return
            session.match.release()

    def close(self) -> None:
        """Stops all searches."""
        for session in self._sessions.values():
            session.match.leave()
        self._workers.shutdown(wait=False, cancel_futures=True)

"""The matches of all visitors: each has its own, under a name that nobody can guess, and finds it on coming back."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyspiel

from athenan_spiel.arena.record import MOST_LINE, SavedMatch, match_of
from athenan_spiel.errors import ArenaError, AthenanError
from athenan_spiel.web.live_match import LiveMatch
from athenan_spiel.web.opponents import Opponents
from athenan_spiel.web.places import Places
from athenan_spiel.web.tree_memory import tree_memory

MOST_VISITS = 100
"""Matches that are kept; the one that was left longest ago goes first."""
RELEASE_SECONDS = 60.0
"""Time after the last visitor of a match has left until its search trees are freed."""
MEMORY_SECONDS = 1.0
"""Time between two looks at the memory of trees."""
MOST_SAVED = 200
"""Finished matches that a visit lists."""
MOST_UPLOAD = 2**22
"""Bytes of a file of matches that a page takes."""


class TooManyVisitorsError(AthenanError, RuntimeError):
    """All matches that may be kept have a visitor."""


class Visit:
    """One visitor's match, and those that are finished.

    Attributes:
        match: on the board.
        opponents: who may be chosen.
        saved: finished matches, and those that were brought along.
    """

    def __init__(self, match: LiveMatch, opponents: Opponents) -> None:
        self.match = match
        self.opponents = opponents
        self.saved: list[SavedMatch] = []
        self._known: set[tuple[int, ...]] = set()
        self._watchers = 0
        self.left_at = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """Whether anybody looks at it."""
        return self._watchers > 0

    def come(self) -> None:
        """A page with it is opened."""
        self._watchers += 1
        self.match.come()

    def leave(self) -> None:
        """A page with it is closed."""
        self._watchers -= 1
        if not self.is_watched:
            self.left_at = time.monotonic()
            self.match.leave()

    def tick(self) -> None:
        """Let the match go on, and keep it once it is finished."""
        match = self.match
        match.tick()
        if match.is_over and match.line not in self._known:
            self._known.add(match.line)
            self._keep(SavedMatch(str(match.game), match.seats, match.seats, 0, len(self.saved), 0, match.result()))

    def bring(self, content: bytes) -> int:
        """Add the matches of a file that `athenan eval --save` or a page has written; returns their number.

        Raises:
            ArenaError: it is none, or its matches are of another game.
        """
        return self.add(self.read(content))

    def add(self, brought: Sequence[SavedMatch]) -> int:
        """Add matches that `read` gave; returns their number."""
        for saved in brought:
            self._known.add(saved.result.history)
            self._keep(saved)
        return len(brought)

    def read(self, content: bytes) -> list[SavedMatch]:
        """The matches of such a file, each replayed by the rules. It changes nothing, so any thread may call it.

        Raises:
            ArenaError: it is none, or its matches are of another game.
        """
        if len(content) > MOST_UPLOAD:
            raise ArenaError(f"expected at most {MOST_UPLOAD:,} bytes, got {len(content):,}: take a part of the file")
        brought = []
        for number, line in enumerate(content.splitlines(), 1):
            if not line.strip():
                continue
            if len(line) > MOST_LINE:
                raise ArenaError(f"line {number} is not a match: it is too long")
            saved = match_of(line, f"line {number}")
            if saved.game != str(self.match.game):
                raise ArenaError(f"line {number} is a match of {saved.game!r}, and here {self.match.game} is played")
            saved.require_true()
            brought.append(saved)
        if not brought:
            raise ArenaError("the file holds no matches")
        return brought

    def show(self, number: int) -> None:
        """Put the number-th finished match on the board, to look through it.

        Raises:
            ArenaError: there is none.
        """
        if not 0 <= number < len(self.saved):
            raise ArenaError(f"expected a match from 1 to {len(self.saved)}, got {number + 1}")
        self.match.load(self.saved[number].result.history)

    def _keep(self, saved: SavedMatch) -> None:
        self.saved = [*self.saved, saved][-MOST_SAVED:]
        self.match.version += 1


class Visits:
    """All visits, by their names.

    Trees of a match are freed `RELEASE_SECONDS` after its last visitor has left, or sooner where all matches together
    reach the memory limit. The match itself stays.

    Args:
        limit: Of the memory of this process, in bytes; None: half of what it may use.

    Raises:
        ConfigError: the limit is too small.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._visits: dict[str, Visit] = {}
        self._places = Places()
        self._memory = tree_memory(limit, self._places.count)
        self._looked = 0.0
        self._workers = ThreadPoolExecutor(2, thread_name_prefix="loading")

    def open(self, start: pyspiel.State, opponents: Opponents, seats: Sequence[str], seconds: float) -> str:
        """Begin a match; the name of its visit.

        Raises:
            TooManyVisitorsError: as it says.
        """
        if len(self._visits) >= MOST_VISITS:
            left = [name for name, visit in self._visits.items() if not visit.is_watched]
            if not left:
                raise TooManyVisitorsError(f"{MOST_VISITS} matches are being played here: come back later")
            oldest = min(left, key=lambda name: self._visits[name].left_at)
            match = self._visits.pop(oldest).match
            match.leave()
            match.release()
            self._places.leave(match)  # no tick does it any more
        name = secrets.token_urlsafe(16)
        match = LiveMatch(start, opponents, seats, seconds, self._places, self._workers, self._memory)
        self._visits[name] = Visit(match, opponents)
        return name

    def find(self, name: str) -> Visit | None:
        """The visit of that name; None where there is none, or none any more."""
        return self._visits.get(name)

    def tick(self) -> None:
        """Let all matches go on."""
        for visit in self._visits.values():
            visit.tick()
        now = time.monotonic()
        if now - self._looked >= MEMORY_SECONDS:
            self._looked = now
            self._release(now)

    def _release(self, now: float) -> None:
        """Free the trees of matches that were left, and as many others as the memory limit demands."""
        for visit in self._visits.values():
            if not visit.is_watched and now - visit.left_at >= RELEASE_SECONDS:
                visit.match.release()
        holding = [visit for visit in self._visits.values() if visit.match.idle_trees]
        holding.sort(key=lambda visit: (visit.is_watched, visit.match.used_at))
        for visit in holding:
            if not self._memory.is_exceeded([tree for other in holding for tree in other.match.idle_trees]):
                return
            visit.match.release()

    def close(self) -> None:
        """End all thinking."""
        for visit in self._visits.values():
            visit.match.leave()
        self._workers.shutdown(wait=False, cancel_futures=True)

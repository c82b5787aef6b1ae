"""A match as it goes on in a page: who sits where, whose turn it is to think, what was thought. It knows no browser.

1. All of it is called from one thread, the page's. Bots are made and think in others; `tick`, called a few times a
   second, takes what they have found.
2. An agent moves only at the end of the line: while moves that were taken back lie ahead, nobody does.
3. Of all matches together at most as many think as the machine has cores (`Places`); the others wait. Who was told to
   stop keeps its place, and nobody else of the match thinks, until it has ended.
4. `leave` ends all thinking; a visitor who comes back finds the match as it was, and it goes on.
5. Who ponders has the match's place, too, and ponders no more where there is none, or once another position is shown.
6. `release` frees all trees but those that grow now, and the agents with them. They are made again when needed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import pyspiel

from agents import AthenanBot
from athenan_spiel.play.match import Forfeit, MatchResult
from athenan_spiel.search.tree import Tree
from athenan_spiel.web.bench import Bench
from athenan_spiel.web.bot_search import SNAPSHOT_SECONDS, BotSearch, scale_of, snapshot
from athenan_spiel.web.mind import Judgement
from athenan_spiel.web.notes import Mind, Notes
from athenan_spiel.web.opponents import YOU, Opponents, require_seconds
from athenan_spiel.web.places import Places
from athenan_spiel.web.table import Table, TableError
from athenan_spiel.web.tree_memory import TreeMemory

ADVICE_SECONDS = 15.0
"""How long a position is analysed at most."""


@dataclass(frozen=True)
class Progress:
    """How far something is that a visitor waits for.

    Attributes:
        what: in words.
        share: from 0 to 1; None where nobody knows how long it takes.
        left: seconds until its end at most; None likewise.
    """

    what: str
    share: float | None = None
    left: float | None = None


class LiveMatch:
    """One visitor's match.

    Args:
        start: the position that it begins from.
        opponents: who may be chosen.
        seats: the name of who plays each player, from 0; `you` is a person.
        seconds: for a move of the agents that take their time from the page.
        places: of those that think at once.
        workers: where bots are made.
        memory: bounds their trees.

    Attributes:
        table: the board and its line of moves.
        seats, seconds: as the arguments.
        analyses: whether positions are thought about while a person is to move.
        error: what went wrong last, for the page to tell; None where nothing has.
        version: changes with whatever is to be seen.
        used_at: when anybody last began to think, by `time.monotonic`.
    """

    def __init__(
        self,
        start: pyspiel.State,
        opponents: Opponents,
        seats: Sequence[str],
        seconds: float,
        places: Places,
        workers: Executor,
        memory: TreeMemory,
    ) -> None:
        self.table = Table(start)
        self._start = start.clone()
        self._opponents = opponents
        self.seats: tuple[str, ...] = tuple(seats)
        self.seconds = seconds
        self._places = places
        self._bench = Bench(self.game, opponents, workers, memory)
        self._pondered = 0.0
        self._thinking: BotSearch | None = None
        self._ending: list[BotSearch] = []
        self._is_advice = False
        self._thought: tuple[int, ...] = ()
        self._thinker = ""
        self._notes = Notes()
        self._advised: set[tuple[int, ...]] = set()
        self._is_left = True
        self.analyses = False
        self.error: str | None = None
        self.version = 0
        self.used_at = time.monotonic()

    @property
    def game(self) -> pyspiel.Game:
        """What is played."""
        return self.table.game

    @property
    def line(self) -> tuple[int, ...]:
        """The actions that led to the board since the start of the game."""
        return tuple(self.table.state.history())

    @property
    def mind(self) -> Mind | None:
        """What was found last, of this position or of one before it on its line; None where nothing was."""
        return self._notes.mind(self.line)

    @property
    def forfeit(self) -> Forfeit | None:
        """Who has given this match up, or failed in it."""
        return self._notes.forfeits.get(self.line)

    @property
    def is_over(self) -> bool:
        """Whether nobody has a move any more."""
        return self.table.is_over or self.forfeit is not None

    @property
    def is_yours(self) -> bool:
        """Whether a person is to move."""
        return not self.is_over and self.seats[self._mover] == YOU

    @property
    def is_thinking(self) -> bool:
        """Whether anybody thinks now."""
        return self._thinking is not None

    @property
    def thinker(self) -> str | None:
        """Who thinks about a move now; None where nobody does, or a position is only analysed."""
        return None if self._thinking is None or self._is_advice else self.seats[self._mover]

    @property
    def waits(self) -> str | None:
        """What the match waits for, in words; None where it waits for nothing, or for a person."""
        if self.is_over or self.is_yours:
            return None
        name = self.seats[self._mover]
        if self.table.ahead:
            return "moves lie ahead: go forward, or go on from here"
        if not self._bench.is_made(name, self._mover):
            return f"{name} is being loaded"
        return f"{name} thinks" if self.is_thinking else "all cores are busy: waiting for one"

    @property
    def progress(self) -> Progress | None:
        """What the match waits for, and how long that will take; None where it waits for nothing, or for a person."""
        thinking = self._thinking
        if thinking is None:
            waits = self.waits
            return None if waits is None or self.table.ahead else Progress(waits)
        limit = ADVICE_SECONDS if self._is_advice else self._opponents.find(self._thinker).limit(self.seconds)
        what = f"{self._thinker} {'analyses' if self._is_advice else 'thinks'}"
        if limit is None:
            return Progress(what)
        return Progress(what, min(1.0, thinking.seconds / limit), max(0.0, limit - thinking.seconds))

    @property
    def ponders(self) -> bool:
        """Whether agents with a tree of ours think on while a person does."""
        return self._bench.ponders

    @property
    def is_pondering(self) -> bool:
        """Whether an agent does now."""
        return self._bench.pondering() is not None

    @property
    def _mover(self) -> int:
        return int(self.table.state.current_player())

    def values(self) -> list[Judgement | None]:
        """What was thought of the position after each number of moves from the start, those ahead included."""
        line = tuple(self._start.history()) + self.table.moves + self.table.ahead
        known = self._notes.judgements(line, len(self._start.history()))
        if not self.table.ahead and self.table.is_over:
            gain = float(self.table.state.returns()[0])
            known[-1] = Judgement(gain, (gain > 0) - (gain < 0) if len(self.seats) == 2 else None)
        return known

    def sit(self, seats: Sequence[str]) -> None:
        """Let others play from now on.

        Raises:
            AgentError: nobody has one of the names.
        """
        for name in seats:
            if name != YOU:
                self._opponents.find(name)
        self._stop()
        self._bench.stop_pondering()
        self.seats = tuple(seats)
        self._changed()

    def think_for(self, seconds: object) -> None:
        """Let agents that take their time from the page think so long.

        Raises:
            BudgetError: it is no such time.
        """
        self.seconds = require_seconds(seconds)
        self._stop()
        self._bench.clear()
        self._changed()

    def ponder(self, wanted: bool) -> None:
        """Let agents think on while a person does, from their next move on, or do so no more."""
        self._bench.ponders = wanted
        if not wanted:
            self._bench.stop_pondering()
        self._changed()

    def analyse(self, wanted: bool) -> None:
        """Think about positions while a person is to move, or do so no more."""
        self.analyses = wanted
        if self._is_advice:
            self._stop()
        self._changed()

    def press(self, site: int) -> None:
        """Press a site of the board; see `Table.press`. Where no person is to move, nothing happens."""
        if self.is_yours and self.table.press(site) is not None:
            self._stop()
        self._changed()

    def play(self, action: int) -> None:
        """Play a legal action for a person.

        Raises:
            TableError: it is none, or no person is to move.
        """
        if not self.is_yours:
            raise TableError("it is not your turn: wait for the agent, or take your place at this side")
        self.table.play(action)
        self._stop()
        self._changed()

    def take_back(self) -> None:
        """Take back the last move of a person and the answers to it; where two agents play, the last move.

        Raises:
            TableError: there is none.
        """
        people = [player for player, name in enumerate(self.seats) if name == YOU]
        self.table.take_back(people or range(len(self.seats)))
        self._moved()

    def show(self, ply: int) -> None:
        """Show the position after a number of moves from the start.

        Raises:
            TableError: there are not so many.
        """
        self.table.show(ply)
        self._moved()

    def go_on_from_here(self) -> None:
        """Forget the moves that lie ahead."""
        self.table.ahead = ()
        self._changed()

    def restart(self) -> None:
        """Begin again from the start."""
        self.table.restart()
        self._moved()

    def resign(self) -> None:
        """Give the match up, for the person who is to move.

        Raises:
            TableError: none is.
        """
        if not self.is_yours or len(self.seats) == 1:
            raise TableError("only who is to move can resign, in a game for two")
        self._stop()
        self.table.ahead = ()
        self._notes.forfeits[self.line] = Forfeit(self._mover, f"{YOU} resigned", resigned=True)
        self._changed()

    def result(self) -> MatchResult:
        """The finished match.

        Raises:
            TableError: it is not over.
        """
        if not self.is_over:
            raise TableError("the match is not over: play it to its end, or resign")
        return self._notes.result(self.table.state, len(self._start.history()))

    def load(self, actions: Sequence[int]) -> None:
        """Show a match of the same game from its beginning, to look through it; an agent moves only where it ends."""
        self._stop()
        self._bench.stop_pondering()
        self._start = self.game.new_initial_state()
        self.table = Table(self._start)
        for action in actions:
            self.table.play(action)
        self.table.show(0)
        self._changed()

    def come(self) -> None:
        """A visitor looks at the match."""
        self._is_left = False

    def leave(self) -> None:
        """Nobody looks at it any more."""
        self._is_left = True
        self._stop()
        self._bench.stop_pondering()

    @property
    def idle_trees(self) -> list[Tree]:
        """Trees in memory that don't grow now."""
        growing = [bot.agent.tree for bot in self._busy if isinstance(bot, AthenanBot)]
        trees = {id(tree): tree for tree in (*self._bench.trees, *self._notes.trees)}
        return [tree for tree in trees.values() if all(tree is not other for other in growing)]

    def release(self) -> None:
        """Free the trees that don't grow now; the game, its moves and their values stay."""
        self._bench.release(self._busy)
        if self._thinking is None:
            self._notes.release()
            self._advised.clear()
        self._changed()

    @property
    def _busy(self) -> list[pyspiel.Bot]:
        """Bots that think or ponder now."""
        thinking = [self._thinking] if self._thinking is not None else []
        pondering = self._bench.pondering()
        return [*(each.bot for each in (*thinking, *self._ending)), *([] if pondering is None else [pondering])]

    def tick(self) -> None:
        """Take what was found meanwhile, and let whoever is to move think."""
        if self._thinking is not None:
            self._take()
        self._ending = [thinking for thinking in self._ending if not thinking.is_over]
        if self._thinking is None and not self._ending and (self._is_left or not (self._begin() or self._pondering())):
            self._places.leave(self)

    def _take(self) -> None:
        """Take what the one who thinks has found; a move, too, if it has ended."""
        thinking = self._thinking
        assert thinking is not None
        seen = thinking.latest
        if seen is not None and thinking.tree is not None and not self._notes.knows(seen):
            state = self.table.state.clone()
            self._notes.note(Mind(self._thought, state, self._thinker, seen, thinking.scale, thinking.tree))
            self.version += 1
        if self._is_advice:
            is_spent = thinking.seconds >= ADVICE_SECONDS or (
                thinking.latest is not None and thinking.latest.is_resolved
            )
            if thinking.is_over or is_spent:
                self._stop(done=True)
            return
        if not thinking.is_over:
            return
        self._stop()
        error = thinking.error
        if thinking.action is not None:
            self._notes.spent[self._thought] = thinking.seconds
            try:
                self.table.play(thinking.action)
            except TableError as illegal:
                error = illegal
        if error is not None:
            self.error = f"{self.seats[self._mover]} failed: {_first_line(error)}"
            self._notes.forfeits[self.line] = Forfeit(self._mover, self.error)
        self._changed()

    def _begin(self) -> bool:
        """Let somebody think, if anybody has to and a place is free; whether somebody does."""
        if self.is_over:
            return False
        if self.is_yours:
            if not self.analyses or self.line in self._advised:
                return False
            name, is_advice = self._adviser(), True
        elif self.table.ahead:
            return False
        else:
            name, is_advice = self.seats[self._mover], False
        bot = self._bot(name, self._mover, is_advice)
        if bot is None or not self._places.take(self):
            return False
        self._bench.stop_pondering()
        self._is_advice, self._thought, self._thinker = is_advice, self.line, name
        self._thinking = BotSearch(bot, self.table.state)
        self._thinking.start()
        self.used_at = time.monotonic()
        self.version += 1
        return True

    def _pondering(self) -> bool:
        """Look at what somebody ponders; whether anybody does."""
        bot = self._bench.pondering()
        if bot is None:
            return False
        if not self._places.take(self):
            bot.stop_pondering()
            return False
        now = time.perf_counter()
        if now - self._pondered >= SNAPSHOT_SECONDS and not self.table.ahead:
            self._pondered = now
            seen = snapshot(bot.agent, self.table.state, random.Random(0), 0.0)
            if seen is not None:
                by, scale = f"{self._adviser()}, pondering,", scale_of(bot.agent)
                self._notes.note(Mind(self.line, self.table.state.clone(), by, seen, scale, bot.agent.tree))
                self.version += 1
        return True

    def _adviser(self) -> str:
        """Who analyses: an agent of the match that shows what it thinks, else the first that is offered."""
        return next((name for name in self.seats if name != YOU), self._opponents.names[0])

    def _bot(self, name: str, player: int, is_advice: bool) -> pyspiel.Bot | None:
        """The bot of that name; None while it is being made, or where that failed."""
        if self._bench.begin(name, player, ADVICE_SECONDS if is_advice else self.seconds, advises=is_advice):
            self.version += 1
        try:
            bot = self._bench.find(name, player, advises=is_advice)
        except Exception as error:  # a run may fail to be read in any way, and the page tells it
            self.error = f"{name} cannot play here: {_first_line(error)}"
            if is_advice:
                self.analyses = False
            else:
                self.seats = tuple(YOU if seat == name else seat for seat in self.seats)
            self._changed()
            return None
        if is_advice and bot is not None and not isinstance(bot, AthenanBot):
            self.error = f"{name} does not show what it thinks: choose another agent to analyse by"
            self.analyses = False
            self._changed()
            return None
        return bot

    def _stop(self, *, done: bool = False) -> None:
        """End what is thought, with `done` as a position that was looked at long enough."""
        if self._thinking is None:
            return
        self._thinking.stop()
        self._ending.append(self._thinking)
        self._thinking = None
        if done:
            self._advised.add(self._thought)

    def _moved(self) -> None:
        """Another position is on the board."""
        self._stop()
        self._bench.stop_pondering()
        self._changed()

    def _changed(self) -> None:
        self.version += 1


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]

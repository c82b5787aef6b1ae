"""Game on a page: players, turns, searches and analyses. Independent of the browser.

1. All methods are called from one thread, the page's. Bots are created and search in other threads; `tick`
   takes their results.
2. An agent moves at the end of a line. Where later moves exist, it moves only after a move played on the board, or
   when the visitor continues from there; its move is then the same again or a new variation.
3. Each game needs a search slot to search (`SearchSlots`). A stopped search keeps the slot until it has ended.
4. `leave` stops all searches; a visitor who returns finds the game as it was, and it continues.
5. Pondering uses the game's slot. It stops if no slot is free, or when another position is shown.
6. In a chance state nobody searches. `tick` rolls where an agent would move, or a person does.
7. A review searches each position of a line; meanwhile no agent moves, and the visitor may look at other positions.
8. `release` frees all idle trees and their agents, which are created again when needed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from weakref import WeakSet

import pyspiel

from agents import AthenanBot
from athenan_spiel.drawing.evaluations import NodeEvaluation
from athenan_spiel.games.chance import draw_outcome, first_mover
from athenan_spiel.games.rows import rows_of
from athenan_spiel.play.match import Forfeit, MatchResult
from athenan_spiel.play.move_tree import MoveError, MoveNode
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.tree import Tree
from athenan_spiel.web.advice import Advice, Question, advice_of
from athenan_spiel.web.analysis import Analysis, AnalysisLog, Judgement, final_evaluation
from athenan_spiel.web.bot_search import SNAPSHOT_SECONDS, BotSearch, snapshot
from athenan_spiel.web.bots import BotPool, Task
from athenan_spiel.web.interactive_board import InteractiveBoard
from athenan_spiel.web.opponents import PLAIN_PLAYOUTS, PLAYOUTS, YOU, Opponents, require_seconds
from athenan_spiel.web.review import GameReview
from athenan_spiel.web.search_limits import SearchSlots, TreeMemory

ANALYSIS_SECONDS = 15.0
"""Maximum time to analyse a position, in seconds."""


ADVICE_SECONDS = 2.0
"""Maximum time to search for a hint or a threat, in seconds."""
REVIEW_DELAY_SECONDS = 1.0
"""Maximum delay of a position's review, in seconds, before its search is stopped."""


@dataclass(frozen=True)
class WaitProgress:
    """Progress of what a visitor waits for.

    Attributes:
        what: description.
        share: fraction in [0, 1]; None if unknown.
        left: maximum time left, in seconds; None if unknown.
    """

    what: str
    share: float | None = None
    left: float | None = None


class LiveGame:
    """Game of one visitor.

    Args:
        start: first position.
        opponents: agents to choose from.
        seats: name or agent spec of each player, from player 0; `you` is a person.
        seconds: time per move, in seconds, of agents without a limit of their own.
        slots: limits concurrent searches.
        workers: creates the bots.
        memory: limits their trees.

    Attributes:
        board: the board and its tree of moves.
        seats: name of each player.
        seconds: as the argument.
        analyses: whether positions are analysed during a person's turn.
        rolls: whether the program rolls by itself in a chance state.
        review: latest review, in progress or finished; None before the first.
        error: last error for the page to show; None if there is none.
        version: changes with everything visible.
        used_at: start of the latest search, by `time.monotonic`.
    """

    def __init__(
        self,
        start: pyspiel.State,
        opponents: Opponents,
        seats: Sequence[str],
        seconds: float,
        slots: SearchSlots,
        workers: Executor,
        memory: TreeMemory,
    ) -> None:
        self.board = InteractiveBoard(start)
        self._rows = rows_of(self.game)
        self._first_mover = first_mover(self.game)
        self._opponents = opponents
        self.seats: tuple[str, ...] = tuple(map(opponents.name_of, seats))
        self.seconds = seconds
        self._slots = slots
        self._bots = BotPool(self.game, opponents, workers, memory)
        self._pondered_at = 0.0
        self._thinking: BotSearch | None = None
        self._stopping: list[BotSearch] = []
        self._task: Task = "play"
        self.review: GameReview | None = None
        self._asked: tuple[Question, MoveNode] | None = None
        self._advice: Advice | None = None
        self._searched_node = self.board.node
        self._searcher = ""
        self._log = AnalysisLog()
        self._analysed_nodes: WeakSet[MoveNode] = WeakSet()
        self._continues = False
        self._replaced_at: MoveNode | None = None
        self._has_no_visitor = True
        self.analyses = False
        self.rolls = True
        self._dice = random.Random()
        self.error: str | None = None
        self.version = 0
        self.used_at = time.monotonic()

    @property
    def game(self) -> pyspiel.Game:
        """The game."""
        return self.board.game

    @property
    def line(self) -> tuple[int, ...]:
        """Actions from the start of the game to the current position."""
        return tuple(self.board.state.history())

    @property
    def analysis(self) -> Analysis | None:
        """Latest analysis of this position or an earlier one on its line; None if there is none."""
        return self._log.analysis(self.line)

    @property
    def board_analysis(self) -> Analysis | None:
        """Part of the latest analysis about this position, or the whole analysis if it has none."""
        return None if self.is_over or self.board.is_chance else self._log.continued(self.line, self.board.state)

    @property
    def forfeit(self) -> Forfeit | None:
        """Forfeit or resignation in the current position."""
        return self._log.forfeits.get(self.board.node)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.board.is_over or self.forfeit is not None

    @property
    def is_yours(self) -> bool:
        """Whether a person is to move."""
        return not self.is_over and not self.board.is_chance and self.seats[self._mover] == YOU

    @property
    def may_roll(self) -> bool:
        """Whether the game waits for a roll."""
        return not self.is_over and self.board.is_chance and not self._is_paused

    @property
    def _is_paused(self) -> bool:
        """Whether agents and rolls wait for the visitor: later moves exist, or the tree is full."""
        return self.board.tree.is_full or (bool(self.board.node.children) and not self._continues)

    @property
    def is_thinking(self) -> bool:
        """Whether a search is running."""
        return self._thinking is not None

    @property
    def waiting_for(self) -> str | None:
        """Description of what the game waits for; None if it waits for nothing or for a person."""
        if self.is_over or self.is_yours:
            return None
        if self.board.tree.is_full:
            return "too many moves: delete variations"
        if self._is_paused:
            return "later moves exist: go forward, or continue from here"
        if self.board.is_chance:
            return "a roll is next"
        if self.is_reviewing:
            return "a review is in progress"
        name = self.seats[self._mover]
        if not self._bots.is_made(name, self._mover):
            return f"loading {name}"
        return f"{name} thinks" if self.is_thinking else "waiting for a free core"

    @property
    def progress(self) -> WaitProgress | None:
        """Progress of what the game waits for; None if it waits for nothing or for a person."""
        thinking = self._thinking
        if self.review is not None and self.is_reviewing:
            count, done = len(self.review.nodes), self.review.index
            spent = 0.0 if thinking is None else min(thinking.seconds, self.review.seconds)
            left = self.review.seconds * (count - done) - spent
            return WaitProgress(f"review of position {done + 1} of {count}", done / count, left)
        if thinking is None:
            waits = self.waiting_for
            return None if waits is None or self._is_paused or self.board.is_chance else WaitProgress(waits)
        limit = self._opponents.find(self._searcher).limit(self.seconds) if self._task == "play" else ANALYSIS_SECONDS
        if self._question is not None:
            limit = ADVICE_SECONDS
        what = f"{self._searcher} {'thinks' if self._task == 'play' else 'analyses'}"
        if limit is None:
            return WaitProgress(what)
        return WaitProgress(what, min(1.0, thinking.seconds / limit), max(0.0, limit - thinking.seconds))

    @property
    def ponders(self) -> bool:
        """Whether agents of this library ponder during a person's turn."""
        return self._bots.ponders

    @property
    def is_pondering(self) -> bool:
        """Whether an agent is pondering."""
        return self._bots.pondering() is not None

    @property
    def _mover(self) -> int:
        return int(self.board.state.current_player())

    @property
    def viewer(self) -> int:
        """Player for whom the values are shown: the one that moves first, with more than two the first person."""
        if self._rows is None:
            return self._first_mover
        return self.seats.index(YOU) if YOU in self.seats else 0

    def values(self) -> list[NodeEvaluation | None]:
        """Returns the value of the position after each number of moves on the current line, for the viewer."""
        node = self.board.node
        line = [self.board.tree.root, *node.path(), *node.continuation()]
        known = self._log.evaluations(line, self.viewer)
        if node is line[-1] and self.board.is_over:
            final = final_evaluation(self.board.state, self.viewer)
            before = next(filter(None, reversed(known[:-1])), final)
            known[-1] = replace(final, calibration=before.calibration) if len(self.seats) == 1 else final
        return known

    def set_seats(self, seats: Sequence[str]) -> None:
        """Changes the players.

        Raises:
            AgentError: a name is unknown.
        """
        for name in seats:
            if name != YOU:
                self._opponents.find(name)
        self._stop()
        self._bots.stop_pondering()
        self.seats = tuple(seats)
        self._changed()

    def set_seconds(self, seconds: object) -> None:
        """Sets the time per move of agents without a limit of their own.

        Raises:
            BudgetError: the time is invalid.
        """
        self.seconds = require_seconds(seconds)
        self._halt()
        self._bots.clear()
        self._changed()

    def ponder(self, wanted: bool) -> None:
        """Switches pondering on, from the agent's next move on, or off."""
        self._bots.ponders = wanted
        if not wanted:
            self._bots.stop_pondering()
        self._changed()

    def analyse(self, wanted: bool) -> None:
        """Switches the analysis during a person's turn on or off."""
        self.analyses = wanted
        if self._task == "analyse":
            self._stop()
        self._changed()

    def ask(self, question: Question) -> None:
        """Asks for a hint, or for the opponent's threat; a search answers it after `ADVICE_SECONDS` at most.

        Raises:
            MoveError: no person is to move, a review is in progress, or the game has no opponent.
        """
        if not self.is_yours:
            raise MoveError("hints and threats are for a person to move: choose this side, or another position")
        if self.is_reviewing:
            raise MoveError("a review is in progress: wait for its end, or stop it")
        if question == "threat" and len(self.seats) == 1:
            raise MoveError("a threat is a move of an opponent: this game has none")
        self._asked, self._advice = (question, self.board.node), None
        known = self.analysis
        if question == "hint" and known is not None and known.line == self.line:
            if known.result.is_resolved or known.result.seconds >= ADVICE_SECONDS:
                self._answer(known.result)
        elif question == "threat" or self._task != "analyse":
            self._halt()
        self._changed()

    @property
    def _question(self) -> Question | None:
        """Open question about the current position."""
        if self._asked is None or self._asked[1] is not self.board.node or not self.is_yours:
            return None
        return self._asked[0]

    @property
    def advice(self) -> Advice | None:
        """Answer to the last question, if it was about the current position."""
        return self._advice if self._advice is not None and self._advice.node is self.board.node else None

    def _answer(self, result: SearchResult) -> None:
        """Answers the open question."""
        assert self._asked is not None
        question, node = self._asked
        self._advice = advice_of(question, node, result, self.board.state, self.board.view)
        self._asked = None

    def start_review(self, seconds: object) -> None:
        """Starts a review of the current line, from the start to its end; agents wait until it is finished.

        Raises:
            BudgetError: the time per position is invalid.
            MoveError: there is no move, or the game has one player.
        """
        seconds = require_seconds(seconds)
        if len(self.seats) == 1:
            raise MoveError("a review compares players: this game has one")
        node = self.board.node
        nodes = [self.board.tree.root, *node.path(), *node.continuation()]
        if len(nodes) == 1:
            raise MoveError("there is no move to review: play or load a game")
        self._halt()
        self._bots.stop_pondering()
        self._bots.drop("review")
        self.review = GameReview(self.board.start(), nodes, seconds, self._log)
        self._changed()

    def stop_review(self) -> None:
        """Ends a review in progress; its judgements stay."""
        if self.is_reviewing:
            self._halt()
            self.review = None
            self._changed()

    @property
    def is_reviewing(self) -> bool:
        """Whether a review is in progress."""
        return self.review is not None and not self.review.is_over

    def judgement(self, node: MoveNode) -> Judgement | None:
        """Returns the judgement of the move to a node by a review; None without one."""
        return self._log.judgements.get(node)

    def press(self, site: int) -> None:
        """Presses a site; see `InteractiveBoard.press`. No effect unless a person is to move."""
        node = self.board.node
        if self.is_yours and self.board.press(site) is not None:
            self._played(node)
        self._changed()

    def roll_by_itself(self, wanted: bool) -> None:
        """Switches automatic rolls on or off."""
        self.rolls = wanted
        self._changed()

    def roll(self) -> None:
        """Draws an outcome.

        Raises:
            MoveError: no roll is next.
        """
        if not self.may_roll:
            raise MoveError("no roll is next: wait for a move, or continue from here")
        self.board.play(draw_outcome(self.board.state, self._dice.random()))
        self._changed()

    def _played(self, node: MoveNode) -> None:
        """Called after a person has moved at `node`. A move that replaces one taken back is the main continuation."""
        self._stop()
        if node is self._replaced_at and self.board.node is not node.children[0]:
            self.board.tree.promote(self.board.node)
        self._continues, self._replaced_at = True, None

    def play(self, action: int) -> None:
        """Plays a legal action for a person, or an outcome of real dice.

        Raises:
            MoveError: the action is illegal, or neither a person nor chance is to move.
        """
        if not self.is_yours and not self.may_roll:
            raise MoveError("it is not your turn: wait for the agent, or choose this side")
        node = self.board.node
        self.board.play(action)
        self._played(node)
        self._changed()

    def take_back(self) -> None:
        """Takes back the last move of a person and the replies; if two agents play, the last move.

        Raises:
            MoveError: there is no such move.
        """
        people = [player for player, name in enumerate(self.seats) if name == YOU]
        self.board.take_back(people or range(len(self.seats)))
        self._moved()
        self._replaced_at = self.board.node

    def show(self, ply: int) -> None:
        """Shows the position `ply` moves after the start on the current line.

        Raises:
            MoveError: the line has fewer moves.
        """
        self.board.show(ply)
        self._moved()

    def go_to(self, number: int) -> None:
        """Shows the position of the node with this number.

        Raises:
            MoveError: there is none.
        """
        self.board.go_to(self.board.tree.node(number))
        self._moved()

    def step(self, by: int) -> None:
        """Shows the position `by` moves later on the current line, or its first or last one."""
        node = self.board.node
        line = [self.board.tree.root, *node.path(), *node.continuation()]
        ply = min(max(0, node.ply + by), len(line) - 1)
        if ply != node.ply:
            self.show(ply)

    def switch_variation(self, by: int) -> None:
        """Shows the position after another move tried instead of the last one.

        Args:
            by: 1 for the next variation, -1 for the previous one; no effect if there is none.
        """
        siblings = self.board.node.siblings
        index = siblings.index(self.board.node) + by
        if 0 <= index < len(siblings):
            self.go_to(siblings[index].number)

    def promote(self) -> None:
        """Makes the variation of the current position the main continuation where it branches.

        Raises:
            MoveError: the position is on the main line.
        """
        self.board.tree.promote(self.board.node)
        self._changed()

    def delete(self) -> None:
        """Deletes the last move and all later ones, and shows the position before it.

        Raises:
            MoveError: there is no move.
        """
        self.board.delete(self.board.node)
        self._moved()

    def comment(self, number: int, text: str) -> None:
        """Sets the comment of the node with this number.

        Raises:
            MoveError: there is none, or the comment is too long.
        """
        tree = self.board.tree
        version = tree.version
        tree.set_comment(tree.node(number), text)
        if tree.version != version:
            self._changed()

    def continue_here(self) -> None:
        """Lets the agents continue from here; their moves become variations."""
        self._continues = True
        self._changed()

    def restart(self) -> None:
        """Returns to the start and drops all moves."""
        self._halt()
        self.review = None
        self.board.restart()
        self._moved()

    def resign(self) -> None:
        """Resigns for the person to move.

        Raises:
            MoveError: no person is to move.
        """
        if not self.is_yours or len(self.seats) == 1:
            raise MoveError("only the player to move can resign, in a game for two or more players")
        self._stop()
        self._log.forfeits[self.board.node] = Forfeit(self._mover, f"{YOU} resigned", resigned=True)
        self._changed()

    def result(self) -> MatchResult:
        """Returns the result of the finished game.

        Raises:
            MoveError: it is not over.
        """
        if not self.is_over:
            raise MoveError("the game is not over: finish it or resign")
        return self._log.result(self.board.state, self.board.node)

    def load(self, board: InteractiveBoard) -> None:
        """Replaces the board by another one of the same game."""
        self._halt()
        self.review = None
        self.board = board
        self._moved()

    def come(self) -> None:
        """Called when a visitor opens the game."""
        self._has_no_visitor = False

    def leave(self) -> None:
        """Called when the last visitor leaves the game."""
        self._has_no_visitor = True
        self._halt()
        self._bots.stop_pondering()

    @property
    def idle_trees(self) -> list[Tree]:
        """Trees in memory that no search is growing."""
        growing = [bot.agent.tree for bot in self._busy if isinstance(bot, AthenanBot)]
        trees = {id(tree): tree for tree in (*self._bots.trees, *self._log.trees)}
        return [tree for tree in trees.values() if all(tree is not other for other in growing)]

    def release(self) -> None:
        """Frees the idle trees; the game, its moves and values stay."""
        self._bots.release(self._busy)
        if self._thinking is None:
            self._log.release()
            self._analysed_nodes.clear()
        self._changed()

    @property
    def _busy(self) -> list[pyspiel.Bot]:
        """Bots that search or ponder."""
        thinking = [self._thinking] if self._thinking is not None else []
        pondering = self._bots.pondering()
        return [*(each.bot for each in (*thinking, *self._stopping)), *([] if pondering is None else [pondering])]

    def tick(self) -> None:
        """Takes the results of searches, and starts the next one."""
        if self._thinking is not None:
            self._take_result()
        self._stopping = [thinking for thinking in self._stopping if not thinking.is_over]
        while self.rolls and self.may_roll and not self._has_no_visitor:
            self.roll()
        if (
            self._thinking is None
            and not self._stopping
            and (self._has_no_visitor or not (self._start_search() or self._update_pondering()))
        ):
            self._slots.release(self)

    def _take_result(self) -> None:
        """Takes the snapshot of the running search, and its move if it has ended."""
        thinking = self._thinking
        assert thinking is not None
        if self._task == "review":
            self._take_review(thinking)
            return
        seen = thinking.latest
        if self._task != "threat" and seen is not None and thinking.tree is not None and not self._log.knows(seen):
            state = self.board.state.clone()
            found = Analysis(self.line, state, self._searcher, seen, thinking.tree)
            self._log.add(self._searched_node, found)
            self.version += 1
        if self._question is not None and self._task != "play":
            self._take_advice(thinking)
            return
        if self._task == "analyse":
            is_spent = thinking.seconds >= ANALYSIS_SECONDS or (
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
            self._log.spent[self._searched_node] = thinking.seconds
            try:
                self.board.play(thinking.action)
            except MoveError as illegal:
                error = illegal
        if error is not None:
            self.error = f"{self.seats[self._mover]} failed: {_first_line(error)}"
            self._log.forfeits[self.board.node] = Forfeit(self._mover, self.error)
        self._changed()

    def _take_advice(self, thinking: BotSearch) -> None:
        """Answers the open question once the search is done. It continues if the position is analysed anyway."""
        seen = thinking.latest
        if not thinking.is_over and thinking.seconds < ADVICE_SECONDS and not (seen is not None and seen.is_resolved):
            return
        if seen is None and not thinking.is_over:
            return
        if seen is None:
            self.error = f"{self._searcher} failed: {_first_line(thinking.error or MoveError('no result'))}"
            self._asked = None
        else:
            self._answer(seen)
        if self._task == "threat" or not self.analyses:
            self._halt()
        self._changed()

    def _take_review(self, thinking: BotSearch) -> None:
        """Takes the result of a position of the review once its search has ended."""
        review = self.review
        assert review is not None
        late = thinking.seconds >= review.seconds + REVIEW_DELAY_SECONDS
        if not thinking.is_over and not (late and thinking.latest is not None):
            return
        self._halt()
        if thinking.latest is None:
            self.error = f"{self._searcher} failed: {_first_line(thinking.error or MoveError('no result'))}"
            self.review = None
        else:
            review.take(thinking.latest)
        if not self.is_reviewing:
            self._bots.drop("review")
        self._changed()

    def _start_search(self) -> bool:
        """Starts a search if one is due and a slot is free. Returns whether it did."""
        if self.review is not None and not self.review.is_over:
            return self._begin_search(self._analysis_agent(), "review", 0, self.review.state)
        if self.is_over or self.board.is_chance:
            return False
        if self.is_yours:
            if self._question == "threat":
                name = self._analysis_agent()
                name = PLAIN_PLAYOUTS.name if name == PLAYOUTS.name else name
                return self._begin_search(name, "threat", self._mover, self.board.state)
            if self._question is None and (not self.analyses or self.board.node in self._analysed_nodes):
                return False
            return self._begin_search(self._analysis_agent(), "analyse", self._mover, self.board.state)
        if self._is_paused:
            return False
        return self._begin_search(self.seats[self._mover], "play", self._mover, self.board.state)

    def _begin_search(self, name: str, task: Task, player: int, state: pyspiel.State) -> bool:
        """Starts the search of an agent if it is created and a slot is free. Returns whether it did."""
        bot = self._bot(name, player, task)
        if bot is None or not self._slots.acquire(self):
            return False
        self._bots.stop_pondering()
        self._task, self._searched_node, self._searcher = task, self.board.node, name
        self._thinking = BotSearch(bot, state)
        self._thinking.start()
        self.used_at = time.monotonic()
        self.version += 1
        return True

    def _update_pondering(self) -> bool:
        """Takes the analysis of a pondering bot. Returns whether one ponders."""
        bot = self._bots.pondering()
        if bot is None:
            return False
        if not self._slots.acquire(self):
            bot.stop_pondering()
            return False
        now = time.perf_counter()
        if now - self._pondered_at >= SNAPSHOT_SECONDS and not self.board.node.children and not self.board.is_chance:
            self._pondered_at = now
            seen = snapshot(bot.agent, self.board.state, random.Random(0), 0.0)
            if seen is not None:
                by = f"{next((name for name in self.seats if name != YOU), 'the agent')}, pondering,"
                found = Analysis(self.line, self.board.state.clone(), by, seen, bot.agent.tree)
                self._log.add(self.board.node, found)
                self.version += 1
        return True

    def _analysis_agent(self) -> str:
        """Returns the first agent with a network in the game, else on the list, else `PLAYOUTS`."""
        names = [*(name for name in self.seats if name != YOU), *self._opponents.names]
        return next((name for name in names if self._opponents.find(name).analyses), PLAYOUTS.name)

    def _bot(self, name: str, player: int, task: Task) -> pyspiel.Bot | None:
        """Returns a bot; None while it is being created, or if that failed."""
        seconds = self.seconds if task == "play" else ANALYSIS_SECONDS
        if task == "review" and self.review is not None:
            seconds = self.review.seconds
        if self._bots.begin(name, player, seconds, task):
            self.version += 1
        try:
            bot = self._bots.find(name, player, task)
        except Exception as error:  # reading a run may fail in any way
            self.error = f"{name} cannot play here: {_first_line(error)}"
            if task == "play":
                self.seats = tuple(YOU if seat == name else seat for seat in self.seats)
            self._give_up(task)
            return None
        if task != "play" and bot is not None and not isinstance(bot, AthenanBot):
            self.error = f"{name} shows no analysis: choose another agent"
            self._give_up(task)
            return None
        return bot

    def _give_up(self, task: Task) -> None:
        """Ends the analysis or the review, whose agent cannot search."""
        if task == "analyse":
            self.analyses = False
        elif task == "review":
            self.review = None
        self._asked = None
        self._changed()

    def _stop(self, *, done: bool = False) -> None:
        """Stops the search of the current position; `done` marks the position as analysed. A review continues."""
        if self._task != "review":
            self._halt()
            if done:
                self._analysed_nodes.add(self._searched_node)

    def _halt(self) -> None:
        """Stops the running search, also that of a review, which starts again in the same position."""
        if self._thinking is None:
            return
        self._thinking.stop()
        self._stopping.append(self._thinking)
        self._thinking = None
        self._task = "play"

    def _moved(self) -> None:
        self._continues, self._replaced_at = False, None
        self._stop()
        self._bots.stop_pondering()
        self._changed()

    def _changed(self) -> None:
        self.version += 1


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]

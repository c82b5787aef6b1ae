"""One match: who is asked what, and how it ends.

A match asks its players in the order of OpenSpiel's own `evaluate_bots`, and checks each answer, so an illegal move is
an error that names the player and not a broken state. A player with a match clock (`match_seconds`, and
`match_increment` more after each of its moves) whose moves have taken longer than that and a tolerance
(`game_clock.TOLERANCE`) has lost on time. Such an error, or any other of a player's, may cost it the match instead.

However a match ends, nobody ponders after it. Who ponders does so against people and engines of other processes alone.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import AgentError, AthenanError, ConfigError, ResignedError, printable, shown
from athenan_spiel.evaluators.base import Evaluator, checked
from athenan_spiel.games import given_game
from athenan_spiel.games.playout import is_cut
from athenan_spiel.games.validation import mover_of
from athenan_spiel.play.driver import Driver, Stopwatch, without_garbage_collection
from athenan_spiel.play.game_clock import require_time
from athenan_spiel.play.player import (
    AskingPlayer,
    Player,
    match_increment_of,
    match_seconds_of,
    require_players,
    stop_pondering,
)
from athenan_spiel.search.walk import Questions

SHOWN = 8
"""So many actions of a list stand in an error."""


@dataclass(frozen=True)
class Forfeit:
    """How a match was lost by failing, or by being given up, and not by playing it to its end.

    Attributes:
        player_id: who failed.
        reason: in a line, what its error said.
        resigned: the player gave the match up, which is a loss as one on the board is, and no failure.
    """

    player_id: int
    reason: str
    resigned: bool = False


@dataclass(frozen=True)
class MatchResult:
    """A finished match.

    Attributes:
        history: all actions, those of the opening included.
        opening_plies: how many actions at the beginning were the opening's.
        returns: `state.returns()` at the end, one number a player; after a forfeit -1 for who failed, 1 for the other.
        seconds: what each player took for its moves, one number a player.
        forfeit: None where the match was played to its end.
        movers: who chose each action after the opening.
        move_seconds: how long it took for that, one number an action.
        cut: the game's length limit ended it (`games.playout.is_cut`).
        evaluations, questions: states that each player has asked the values of, and in how many questions, one number
            a player; 0 for a player whose questions no driver answers.
    """

    history: tuple[int, ...]
    opening_plies: int
    returns: tuple[float, ...]
    seconds: tuple[float, ...]
    forfeit: Forfeit | None = None
    movers: tuple[int, ...] = ()
    move_seconds: tuple[float, ...] = ()
    evaluations: tuple[int, ...] = ()
    questions: tuple[int, ...] = ()
    cut: bool = False

    @property
    def opening(self) -> tuple[int, ...]:
        """The actions that were played before the players were asked."""
        return self.history[: self.opening_plies]

    def points(self, player_id: int) -> float:
        """1 if `player_id` has won, 1/2 for a draw, 0 if it has lost."""
        worth = self.returns[player_id]
        return 0.5 * (1 + (worth > 0) - (worth < 0))


def play_match(game: pyspiel.Game | str, players: Sequence[Player], *, opening: Sequence[int] = ()) -> MatchResult:
    """Play one match.

    Args:
        game: the game, or its string.
        players: `players[i]` is player i: an `Agent`, a bot, or whatever has their `step`, `restart_at` and
            `inform_action`.
        opening: the first actions, of which the players are told by `restart_at` with the state after them.

    Returns:
        The match, with its history, its returns and the time that each player took.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        AgentError: a player chose an action that is not legal, has lost on time, is none, or there are not as many as
            the game has; or one ponders and another one thinks in this process.
        ConfigError: the opening holds such an action.
    """
    with without_garbage_collection():
        driver = Driver([OngoingGame(given_game(game), players, opening)])
        while driver.advance():
            pass
    ((_, result),) = driver.take_all()
    return result


class OngoingGame:
    """A match under way, which a `Driver` plays; see `play_match`.

    Args:
        forfeits: a player that chooses no legal action, or raises any other error, has lost; else the error comes out.
            One that raises `ResignedError` has lost either way.

    Attributes:
        questions: those of the players who have any, until the result.
        evaluator: that of the player who has asked last.
        watch: the match's own time, by which each player's is measured.
    """

    def __init__(
        self, game: pyspiel.Game, players: Sequence[Player], opening: Sequence[int], *, forfeits: bool = False
    ) -> None:
        require_players(game, players)
        self._players = players
        self._state = _after(game, opening)
        self._opening_plies = len(opening)
        self._forfeits = forfeits
        self._seconds = [0.0] * len(players)
        self._movers: list[int] = []
        self._move_seconds: list[float] = []
        self._evaluations = [0] * len(players)
        self._questions = [0] * len(players)
        self._asked: int | None = None
        """The player whose turn it is to do something: an error that comes meanwhile is its own."""
        self.evaluator: Evaluator | None = None
        self.watch = Stopwatch()
        self.questions = self._played()

    def _played(self) -> Questions[MatchResult]:
        try:
            yield from self._moves()
        except ResignedError as resignation:
            if self._asked is None:
                raise
            return self._result(Forfeit(self._asked, reason_of(resignation), resigned=True))
        except Exception as failure:
            if not self._forfeits or self._asked is None or isinstance(failure, MemoryError):
                raise
            return self._result(Forfeit(self._asked, reason_of(failure)))
        finally:
            stop_pondering(self._players)
        return self._result()

    def _moves(self) -> Questions[None]:
        """Ask the players until the end.

        Raises:
            AgentError: a player chose an action that is not legal, or its moves have taken longer than its clock.
        """
        state = self._state
        made = [0] * len(self._players)
        for i, player in enumerate(self._players):
            self._asked = i
            player.restart_at(state.clone())
        while not state.is_terminal():
            mover = mover_of(state)
            player = self._players[mover]
            self._asked = mover
            start = self.watch()
            if isinstance(player, AskingPlayer):
                action = yield from self._thought(player, state.clone(), mover)
            else:
                action = player.step(state.clone())
            seconds = self.watch() - start
            self._seconds[mover] += seconds
            made[mover] += 1
            clock = match_seconds_of(player), match_increment_of(player)
            require_time(_called(mover, player), self._seconds[mover], made[mover], *clock)
            if not _is_legal(state, action):
                raise AgentError(_complaint(state, _called(mover, player), action))
            for i, other in enumerate(self._players):
                self._asked = i
                if i != mover:
                    other.inform_action(state.clone(), mover, action)
            self._movers.append(mover)
            self._move_seconds.append(seconds)
            self._asked = None  # what fails in applying a legal action is the game
            state.apply_action(action)

    def _thought(self, player: AskingPlayer, state: pyspiel.State, player_id: int) -> Questions[int]:
        """The player's action. What could not be answered with other matches' questions is asked once more, alone."""
        self.evaluator = player.evaluator
        thought = player.thinks(state, self.watch)
        try:
            question = next(thought)
            while True:
                if question:
                    self._evaluations[player_id] += len(question)
                    self._questions[player_id] += 1
                try:
                    evaluation = yield question
                except Exception:
                    evaluation = checked(player.evaluator(question), question)
                question = thought.send(evaluation)
        except StopIteration as end:
            action: int = end.value
            return action

    def _result(self, forfeit: Forfeit | None = None) -> MatchResult:
        """The match as it has ended, or as somebody has lost it by a failure."""
        returns = self._state.returns()
        if forfeit is not None:
            returns = [-1.0 if i == forfeit.player_id else 1.0 for i in range(len(self._players))]
        return MatchResult(
            history=tuple(self._state.history()),
            opening_plies=self._opening_plies,
            returns=tuple(returns),
            seconds=tuple(self._seconds),
            forfeit=forfeit,
            movers=tuple(self._movers),
            move_seconds=tuple(self._move_seconds),
            evaluations=tuple(self._evaluations),
            questions=tuple(self._questions),
            cut=forfeit is None and is_cut(self._state),
        )


def reason_of(failure: Exception) -> str:
    """What an error says, on one line; its type too, where it is none that is raised to be read."""
    text = " ".join(str(failure).split())
    expected = isinstance(failure, AthenanError) or type(failure).__name__ == "LudiiError"
    return printable(text if expected and text else f"{type(failure).__name__}: {text}")


def _called(player_id: int, player: Player) -> str:
    return f"player {player_id} ({type(player).__name__})"


def _is_legal(state: pyspiel.State, action: object) -> bool:
    """Whether `action` is a whole number, and legal."""
    return isinstance(action, numbers.Integral) and action in state.legal_actions()


def _after(game: pyspiel.Game, opening: Sequence[int]) -> pyspiel.State:
    require_kind("the opening", opening, Sequence, ConfigError)
    state = game.new_initial_state()
    for action in opening:
        if not _is_legal(state, action):
            raise ConfigError(_complaint(state, "the opening", action))
        state.apply_action(action)
    return state


def _complaint(state: pyspiel.State, who: str, action: object) -> str:
    legal, history = state.legal_actions(), state.history()
    choices = ", ".join(map(str, legal[:SHOWN])) + (", ..." if len(legal) > SHOWN else "")
    past = ("..., " if len(history) > SHOWN else "") + ", ".join(map(str, history[-SHOWN:]))
    return f"{who} must choose a legal action, [{choices}], after [{past}]; got {shown(action)}"

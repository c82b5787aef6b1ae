"""Plays one game between players.

Players are called in the order of OpenSpiel's `evaluate_bots`. Each action is checked, so an illegal action raises an
error that names the player. A player with a game clock (`match_seconds`, and `match_increment` added after each of its
moves) loses on time when its moves exceed the clock by more than `game_clock.TOLERANCE`. On request an error of a
player, these two included, makes it lose the game instead of being raised.

All pondering stops when the game ends. Only an agent whose opponents run outside this process (people, engines) may
ponder.
"""

from __future__ import annotations

import numbers
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.arguments import require_kind, require_whole
from athenan_spiel.errors import AgentError, AthenanError, ConfigError, ResignedError, printable, shown
from athenan_spiel.evaluators.base import Evaluator, checked
from athenan_spiel.games import given_game
from athenan_spiel.games.chance import CHANCE, Draw, is_chance, possible_actions, random_draw
from athenan_spiel.games.playout import is_cut
from athenan_spiel.games.rows import winners_of
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
from athenan_spiel.search.walk import Requests

MAX_SHOWN_ACTIONS = 8
"""Maximum number of actions listed in an error message."""
ROUNDING = 1e-9
"""Maximum difference between mean returns that counts as a rounding error."""


@dataclass(frozen=True)
class Forfeit:
    """Loss of a game by a failure or a resignation, before the end of the game.

    Attributes:
        player_id: player that lost.
        reason: message of its error, in one line.
        resigned: whether the player resigned. A resignation counts as a normal loss, not as a failure.
    """

    player_id: int
    reason: str
    resigned: bool = False


@dataclass(frozen=True)
class MatchResult:
    """Result of one game.

    Attributes:
        history: all actions, including the opening and the outcomes of chance.
        opening_plies: number of actions of the opening.
        returns: `state.returns()` at the end, one number per player. After a forfeit it is -1 for the player that
            lost, and the others share 1.
        seconds: time of each player for its moves, in seconds.
        forfeit: loss that ended the game early; None if the game was played to its end.
        movers: player of each action after the opening; `chance.CHANCE` for an outcome of chance.
        move_seconds: time of each action after the opening, in seconds; 0 for an outcome.
        evaluations, requests: number of states and of batches for which each player requested evaluations; 0 for a
            player that isn't an `AskingPlayer`.
        cut: whether the game's length limit ended it (`games.playout.is_cut`).
    """

    history: tuple[int, ...]
    opening_plies: int
    returns: tuple[float, ...]
    seconds: tuple[float, ...]
    forfeit: Forfeit | None = None
    movers: tuple[int, ...] = ()
    move_seconds: tuple[float, ...] = ()
    evaluations: tuple[int, ...] = ()
    requests: tuple[int, ...] = ()
    cut: bool = False

    @property
    def opening(self) -> tuple[int, ...]:
        """Actions that were played before the players' first moves."""
        return self.history[: self.opening_plies]

    def points(self, *player_ids: int) -> float:
        """Returns 1 if the mean return of these players is larger than that of the others, 1/2 if equal, 0 if smaller.

        The return of a single player is compared with zero.
        """
        ours = [self.returns[player_id] for player_id in player_ids]
        theirs = [returned for player_id, returned in enumerate(self.returns) if player_id not in player_ids]
        ahead = sum(ours) / len(ours) - (sum(theirs) / len(theirs) if theirs else 0.0)
        return 0.5 if abs(ahead) <= ROUNDING else float(ahead > 0)

    @property
    def winners(self) -> tuple[int, ...]:
        """Players with the best return; none in a draw, in which all returns are equal."""
        return winners_of(self.returns)


def play_match(
    game: pyspiel.Game | str,
    players: Sequence[Player],
    *,
    opening: Sequence[int] = (),
    seed: int = 0,
    draw: Draw | None = None,
) -> MatchResult:
    """Plays one game.

    Args:
        game: game or game string.
        players: player i of the game is `players[i]`: an `Agent`, a bot, or any object with the methods `step`,
            `restart_at` and `inform_action`.
        opening: first actions, including the outcomes of chance. The players receive the state after them, and after
            the rolls that follow, through `restart_at`.
        seed: random seed of the outcomes of chance.
        draw: draws the outcome of a chance state; by default at random, with `seed`.

    Returns:
        Result of the game, with its history, its returns and the time of each player.

    Raises:
        UnsupportedGameError: the game is invalid, or violates an assumption of the algorithms.
        AgentError: a player chose an illegal action or lost on time; a player lacks a method; the number of players is
            wrong; or a player ponders while another one thinks in this process.
        ConfigError: the opening contains an illegal action.
    """
    with without_garbage_collection():
        driver = Driver([OngoingGame(given_game(game), players, opening, seed=seed, draw=draw)])
        while driver.advance():
            pass
    ((_, result),) = driver.take_all()
    return result


class OngoingGame:
    """A game in progress, which a `Driver` plays; see `play_match`.

    Args:
        game: the game.
        players: its players.
        opening: its first actions.
        forfeits: whether an illegal action or any other error of a player makes it lose the game. False raises the
            error. `ResignedError` always makes the player lose.
        seed: random seed of the outcomes of chance.
        draw: draws the outcome of a chance state; by default at random, with `seed`.

    Attributes:
        requests: generator of the players' requests, which returns the result.
        evaluator: evaluator of the player with the last request.
        watch: stopwatch of the game, which also measures the players' times.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        players: Sequence[Player],
        opening: Sequence[int],
        *,
        forfeits: bool = False,
        seed: int = 0,
        draw: Draw | None = None,
    ) -> None:
        require_players(game, players)
        require_whole("seed", seed, ConfigError)
        self._draw = draw or random_draw(random.Random(seed))
        self._players = players
        self._state = _state_after(game, opening)
        self._opening_plies = len(opening)
        self._forfeits = forfeits
        self._seconds = [0.0] * len(players)
        self._movers: list[int] = []
        self._move_seconds: list[float] = []
        self._evaluations = [0] * len(players)
        self._requests = [0] * len(players)
        self._acting: int | None = None
        """Player whose method is running, to which an exception is attributed. None while the game itself runs."""
        self.evaluator: Evaluator | None = None
        self.watch = Stopwatch()
        self.requests = self._play()

    def _play(self) -> Requests[MatchResult]:
        try:
            yield from self._moves()
        except ResignedError as resignation:
            if self._acting is None:
                raise
            return self._result(Forfeit(self._acting, reason_of(resignation), resigned=True))
        except Exception as failure:
            if not self._forfeits or self._acting is None or isinstance(failure, MemoryError):
                raise
            return self._result(Forfeit(self._acting, reason_of(failure)))
        finally:
            stop_pondering(self._players)
        return self._result()

    def _moves(self) -> Requests[None]:
        """Plays the players' moves until the game ends.

        Raises:
            AgentError: a player chose an illegal action, or exceeded its clock.
        """
        state = self._state
        self._roll()
        moves = [0] * len(self._players)
        for i, player in enumerate(self._players):
            self._acting = i
            player.restart_at(state.clone())
        while not state.is_terminal():
            mover = mover_of(state)
            player = self._players[mover]
            self._acting = mover
            start = self.watch()
            if isinstance(player, AskingPlayer):
                action = yield from self._choice_of(player, state.clone(), mover)
            else:
                action = player.step(state.clone())
            seconds = self.watch() - start
            self._seconds[mover] += seconds
            moves[mover] += 1
            clock = match_seconds_of(player), match_increment_of(player)
            require_time(_description(mover, player), self._seconds[mover], moves[mover], *clock)
            if not _is_legal(state, action):
                raise AgentError(_illegal_action_message(state, _description(mover, player), action))
            for i, other in enumerate(self._players):
                self._acting = i
                if i != mover:
                    other.inform_action(state.clone(), mover, action)
            self._movers.append(mover)
            self._move_seconds.append(seconds)
            self._acting = None  # no player causes an error in applying a legal action
            state.apply_action(action)
            self._roll()

    def _roll(self) -> None:
        """Draws the outcomes of chance before the next move."""
        while is_chance(self._state):
            self._acting = None
            self._state.apply_action(self._draw(self._state))
            self._movers.append(CHANCE)
            self._move_seconds.append(0.0)

    def _choice_of(self, player: AskingPlayer, state: pyspiel.State, player_id: int) -> Requests[int]:
        """Returns the player's action. A request whose batch failed is evaluated again, without other games' states."""
        self.evaluator = player.evaluator
        requests = player.thinks(state, self.watch)
        try:
            request = next(requests)
            while True:
                if request:
                    self._evaluations[player_id] += len(request)
                    self._requests[player_id] += 1
                try:
                    evaluation = yield request
                except Exception:
                    evaluation = checked(player.evaluator(request), request)
                request = requests.send(evaluation)
        except StopIteration as end:
            action: int = end.value
            return action

    def _result(self, forfeit: Forfeit | None = None) -> MatchResult:
        """Returns the result of the game, which `forfeit` has ended if it is given."""
        returns = self._state.returns()
        if forfeit is not None:
            returns = forfeited_returns(forfeit.player_id, len(self._players))
        return MatchResult(
            history=tuple(self._state.history()),
            opening_plies=self._opening_plies,
            returns=tuple(returns),
            seconds=tuple(self._seconds),
            forfeit=forfeit,
            movers=tuple(self._movers),
            move_seconds=tuple(self._move_seconds),
            evaluations=tuple(self._evaluations),
            requests=tuple(self._requests),
            cut=forfeit is None and is_cut(self._state),
        )


def forfeited_returns(player_id: int, players: int) -> list[float]:
    """Returns the returns of a game that `player_id` forfeited: -1 for it, and the others share 1."""
    return [-1.0 if i == player_id else 1.0 / (players - 1) for i in range(players)]


def reason_of(failure: Exception) -> str:
    """Returns the message of an error in one line, preceded by its type unless the error is one of this library."""
    text = " ".join(str(failure).split())
    expected = isinstance(failure, AthenanError) or type(failure).__name__ == "LudiiError"
    return printable(text if expected and text else f"{type(failure).__name__}: {text}")


def _description(player_id: int, player: Player) -> str:
    return f"player {player_id} ({type(player).__name__})"


def _is_legal(state: pyspiel.State, action: object) -> bool:
    """Returns whether `action` is an integer and a legal action or a possible outcome."""
    return isinstance(action, numbers.Integral) and action in possible_actions(state)


def _state_after(game: pyspiel.Game, opening: Sequence[int]) -> pyspiel.State:
    require_kind("the opening", opening, Sequence, ConfigError)
    state = game.new_initial_state()
    for action in opening:
        if not _is_legal(state, action):
            raise ConfigError(_illegal_action_message(state, "the opening", action))
        state.apply_action(action)
    return state


def _illegal_action_message(state: pyspiel.State, who: str, action: object) -> str:
    legal, history = state.legal_actions(), state.history()
    choices = ", ".join(map(str, legal[:MAX_SHOWN_ACTIONS])) + (", ..." if len(legal) > MAX_SHOWN_ACTIONS else "")
    played = ("..., " if len(history) > MAX_SHOWN_ACTIONS else "") + ", ".join(map(str, history[-MAX_SHOWN_ACTIONS:]))
    what = "an outcome of chance" if is_chance(state) else "a legal action"
    return f"{who} must choose {what}, [{choices}], after [{played}]; got {shown(action)}"

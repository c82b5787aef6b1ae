"""Texts that distinguish the states of a game, for transposition keys, and the table's rules that use them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import NamedTuple

import pyspiel
from open_spiel.python.observation import make_observation

from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.facts import last_movers
from athenan_spiel.games.facts.base import Text, Transposition

CELLS = "The rules depend only on the board and the mover, and the text shows every cell."
PLIES = "The length of a game is limited in plies."


def printed(game: pyspiel.Game) -> Text:
    """Returns the function that prints a state."""
    return str


def observed(game: pyspiel.Game) -> Text:
    """Returns a function that compresses the observation of player 0 without loss."""
    observation = make_observation(game)

    def text(state: pyspiel.State) -> Hashable:
        observation.set_from(state, 0)
        compressed: bytes = observation.compress()
        return compressed

    return text


def merged(
    reason: str, text: str = "str(state)", read: Text | None = None, *, counts_plies: bool = False
) -> Transposition:
    """Histories with equal texts share a node; `read` returns the text of a state, by default the printed state."""
    return Transposition(
        text=text,
        reason=reason,
        counts_plies=counts_plies,
        read=printed if read is None else lambda game: read,
    )


def merged_by_observation(reason: str) -> Transposition:
    """Histories with equal observations share a node, finished ones included."""
    return Transposition(text="the observation of player 0", reason=reason, read=observed, end=observed)


def apart(reason: str) -> Transposition:
    """No two histories share a node."""
    return Transposition(text="the history", reason=reason)


def by_fen(reason: str) -> Transposition:
    """Histories share a node right after a capture or a pawn's move, when no earlier position can recur."""
    text = "str(state), a FEN with its counters, right after a capture or a pawn's move; else the history"
    return merged(reason, text, quiet_fen)


def quiet_fen(state: pyspiel.State) -> Hashable | None:
    """FEN right after a capture or a pawn's move; None at other plies."""
    fen = str(state)
    return fen if fen.split(" ")[4] == "0" else None


def amazons_turn(state: pyspiel.State) -> Hashable:
    """Board, phase of the turn, and the last action within a turn."""
    phase = state.move_number() % 3
    return str(state), phase, state.history()[-1] if phase else None


def checkers_captures(state: pyspiel.State) -> Hashable:
    """Board, plies since a capture, and the legal actions right after one."""
    quiet = _since_capture(state.history())
    return str(state), quiet, None if quiet else tuple(state.legal_actions())


def lines_of_action_captures(state: pyspiel.State) -> Hashable:
    """Board and actions since the last capture."""
    history = state.history()
    return str(state), tuple(history[len(history) - _since_capture(history) :])


def _since_capture(history: list[int]) -> int:
    """Number of actions since the last capture, in games whose captures are the odd actions."""
    quiet = 0
    for action in reversed(history):
        if action % 2:
            break
        quiet += 1
    return quiet


def chinese_checkers_hops(state: pyspiel.State) -> Hashable:
    """Board, number of turns, and the actions of an unfinished turn."""
    played = state.full_history()
    movers = [x.player for x in played]
    movers.append(state.current_player())
    turns = [i for i, (a, b) in enumerate(pairwise(movers), start=1) if a != b]
    hops = tuple(x.action for x in played[turns[-1] if turns else 0 :])
    return str(state), len(turns), hops


def sorted_history(state: pyspiel.State) -> Hashable:
    """Actions played, in ascending order."""
    return tuple(sorted(state.history()))


def pig_moves(game: pyspiel.Game) -> Text:
    """Scores, turn total, the player who moves or rolls, and the number of decisions."""
    units = _UnitCount(lambda history, i: 1 if history[i] else 2)  # stop, or roll and its outcome
    return lambda state: (str(state), units.count(state.history()))


def einstein_cubes(state: pyspiel.State) -> Hashable:
    """Board, and the legal moves; in a chance state the player who moved last."""
    return str(state), last_movers.einstein(state) if is_chance(state) else tuple(state.legal_actions())


def backgammon_turns(game: pyspiel.Game) -> Text:
    """Everything printed, and the number of rolls."""

    def roll_and_moves(history: list[int], i: int) -> int:
        if history[i] < _FIRST_DOUBLE or i + 1 >= len(history):
            return 2
        first, second = history[i + 1] % 26, history[i + 1] // 26 % 26
        return 2 if _PASS in (first, second) else 3

    units = _UnitCount(roll_and_moves)
    return lambda state: (str(state), units.count(state.history()))


_FIRST_DOUBLE = 30
"""First outcome in Backgammon that is a double. A double is played twice if both dice can be used."""
_PASS = 25
"""Digit of an action in Backgammon that leaves a die unused."""


def board_of_2048(state: pyspiel.State) -> Hashable | None:
    """Tiles, legal moves and score; None in a chance state."""
    return None if is_chance(state) else (str(state), tuple(state.legal_actions()), state.player_return(0))


def maedn_dice(state: pyspiel.State) -> Hashable:
    """Board and dice; in a chance state the player who rolls."""
    return str(state), last_movers.maedn_roller(state) if is_chance(state) else None


def yacht_dice(game: pyspiel.Game) -> Text:
    """Everything printed, without dice that are rolled again, and with sorted dice if they are scored."""
    rolls = game.get_parameters()["rolls_per_turn"]
    initial = game.new_initial_state()
    all_dice = str(initial).split("\n")[1].count("0")

    def text(state: pyspiel.State) -> Hashable:
        turn, dice, roll, points = str(state).split("\n", 3)
        values = dice.split(" ")[1:]
        if is_chance(state):
            again = yacht_rolled_again(state, all_dice)
            return turn, tuple("" if again >> i & 1 else x for i, x in enumerate(values)), roll, points
        done = int(roll.split(" ")[1].partition("/")[0]) >= rolls
        return turn, tuple(sorted(values) if done else values), roll, points

    return text


def yacht_rolled_again(state: pyspiel.State, dice: int) -> int:
    """Returns the dice of Yacht that a chance state rolls, one bit each."""
    history = state.history()
    all_dice = 2**dice - 1
    return int(history[-1]) if history and history[-1] <= all_dice else all_dice


def banqi_reveals(state: pyspiel.State) -> Hashable:
    """Board, colours and mover, the pieces face down, the plies without progress, and the piece being turned."""
    told = banqi_history(state.history())
    return str(state), told.face_down, told.quiet, told.turning


class BanqiHistory(NamedTuple):
    """Information that the history of a game of Banqi adds to the text of its state.

    Attributes:
        face_down: number of pieces of each of the 14 kinds that are face down.
        quiet: plies since a capture or a turned piece.
        turning: square of the piece that chance turns; -1 in a decision.
    """

    face_down: tuple[int, ...]
    quiet: int
    turning: int


_BANQI_PIECES = (1, 2, 2, 2, 2, 2, 5) * 2
_BANQI_SQUARES = 32


def banqi_history(history: list[int]) -> BanqiHistory:
    """Reads a history: the turn of a piece is its square followed by the outcome, a move is 32 + 32 · from + to."""
    face_down = list(_BANQI_PIECES)
    occupied = [True] * _BANQI_SQUARES
    quiet, turning = 0, -1
    for action in history:
        if turning >= 0:
            face_down[action] -= 1
            quiet, turning = 0, -1
        elif action < _BANQI_SQUARES:
            turning = action
        else:
            source, target = divmod(action - _BANQI_SQUARES, _BANQI_SQUARES)
            quiet = 0 if occupied[target] else quiet + 1
            occupied[source], occupied[target] = False, True
    return BanqiHistory(tuple(face_down), quiet, turning)


def stones_and_gems_grid(game: pyspiel.Game) -> Text:
    """The serialised state without the numbers of the elements."""

    def text(state: pyspiel.State) -> Hashable:
        counters, *rows = state.serialize().split("\n")
        numbers = counters.split(",")
        del numbers[_LAST_NUMBER]
        return tuple(numbers), tuple(",".join(row.split(",")[::2]) for row in rows)

    return text


_LAST_NUMBER = 15
"""Index of the number of the newest element in a serialised state of Stones and Gems."""


class _UnitCount:
    """Counts the units of a history, such as a roll and the moves that follow it, in long histories quickly.

    The last history is cached up to its last complete unit. Another one is read from there if it continues that one.
    """

    def __init__(self, length: Callable[[list[int], int], int]) -> None:
        self._length = length
        self._last: tuple[list[int], int] = ([], 0)

    def count(self, history: list[int]) -> int:
        """Returns the number of units, a last incomplete one included."""
        start, count = self._last
        at = len(start)
        if len(history) <= at or history[:at] != start:
            at = count = 0
        end = len(history)
        while at < end:
            length = self._length(history, at)
            if at + length >= end:  # siblings share everything before
                self._last = (history[:at], count)
                return count + 1
            at += length
            count += 1
        return count

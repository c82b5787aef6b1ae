"""Client for GNU Backgammon, driven by the commands of its text mode, and its moves in OpenSpiel's `backgammon`.

A position is a tuple of 26 numbers from the view of the player on roll: item 0 is the opponent's bar, items 1 to 24 are
the points, item 25 is the own bar. Own checkers are positive, the opponent's negative; the others are borne off.

1. Each position is sent with its dice and asked for the best move. The program's board must show the same position, so
   a refused position or a late answer never becomes a move.
2. The program plays without the doubling cube. It maximises wins if the game counts only wins, else its equity with
   gammons and backgammons.
3. Its noise depends on the position and the setting only, so the same games repeat.
4. Failures raise `ProgramError`. The first reply takes at most `START_SECONDS`, a move at most `MOVE_SECONDS`.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pyspiel

from athenan_spiel.errors import AgentError, ProgramError, ProgramTimeoutError, nearest, shown
from athenan_spiel.protocols.program import Program
from athenan_spiel.protocols.waiting import lines_to, skip_to

Points = tuple[int, ...]
"""Position: 26 numbers, as in the module's docstring."""

START_SECONDS = 30.0
MOVE_SECONDS = 120.0
DEFAULT_COMMAND = "gnubg"
GAMES_FOLDER = "/usr/games"
"""Folder of Debian's games, which is not in every PATH."""
OPTIONS = ("--tty", "--quiet", "--no-rc")
"""Text mode without sound and without the user's settings."""
MAX_PLIES = 4
"""Maximum search depth, in the program's plies; it has default move filters up to this depth."""
OWN_BAR = 25
READY = "The prompt is set to"
"""Reply to `show prompt`, sent to mark the end of the replies before it."""
_OPENSPIEL_BAR = 100
"""`kBarPos` of OpenSpiel's backgammon.h."""


@dataclass(frozen=True)
class GnubgSetting:
    """Strength of GNU Backgammon's checker play.

    Attributes:
        plies: search depth; 0 evaluates the positions after each move.
        noise: standard deviation of the noise added to evaluations.
        large_filter: whether 16 moves within an equity of 0.32 are searched at 2 plies, instead of 8 within 0.16.
    """

    plies: int
    noise: float = 0.0
    large_filter: bool = False


SETTINGS: Mapping[str, GnubgSetting] = MappingProxyType(
    {
        "beginner": GnubgSetting(0, 0.06),
        "casual play": GnubgSetting(0, 0.05),
        "intermediate": GnubgSetting(0, 0.04),
        "advanced": GnubgSetting(0, 0.015),
        "expert": GnubgSetting(0),
        "world class": GnubgSetting(2),
        "supremo": GnubgSetting(2, large_filter=True),
        "grandmaster": GnubgSetting(3),
        **{str(plies): GnubgSetting(plies) for plies in range(MAX_PLIES + 1)},
    }
)
"""The program's predefined settings by its names, and settings without noise by their plies."""
DEFAULT_SETTING = "world class"
"""The program's own default."""


def setting_of(name: str) -> GnubgSetting:
    """Returns a setting by its name in any case, or by its plies.

    Raises:
        AgentError: there is none.
    """
    setting = SETTINGS.get(name.lower())
    if setting is None:
        known = ", ".join(name for name in SETTINGS if not name.isdigit())
        raise AgentError(
            f"expected plies from 0 to {MAX_PLIES} or a setting of GNU Backgammon ({known}), "
            f"got {shown(name)}{nearest(name, SETTINGS)}"
        )
    return setting


def require_backgammon(game: pyspiel.Game) -> None:
    """Checks that a game is Backgammon with 15 checkers a side.

    Raises:
        AgentError: it is another game.
    """
    if game.get_type().short_name != "backgammon" or game.get_parameters()["hyper_backgammon"]:
        raise AgentError(f"GNU Backgammon plays 'backgammon', got {str(game)!r}: use another agent")


_POINT = "(?:[1-9]|1[0-9]|2[0-4])"
_PART = rf"(?:bar|{_POINT})(?:/{_POINT}\*?)*(?:/off|/{_POINT}\*?)(?:\([2-4]\))?"
_HINT = re.compile(
    rf"1\. Cube(?:less|ful) [0-9]-ply +(?P<move>{_PART}(?: {_PART}){{0,3}}) +Eq\.: *(?P<equity>[+-][0-9]\.[0-9]{{1,9}})"
)
_NUMBER = re.compile(r"-?[0-9]{1,2}")


@dataclass(frozen=True)
class GnubgMove:
    """Best move of the program.

    Attributes:
        move: move in its notation, such as `24/18*/13` or `8/4*(2) 6/2`.
        equity: its value for the player on roll: the probability of a win minus that of a loss if only wins count.
    """

    move: str
    equity: float


class Gnubg:
    """Running GNU Backgammon; the module's docstring lists its guarantees.

    Args:
        command: program and its options; the program is searched for in PATH, then in `GAMES_FOLDER`.
        setting: strength.
        gammons: whether gammons and backgammons count more than other wins.

    Raises:
        ProgramError: it cannot be started, or is not GNU Backgammon.
    """

    def __init__(self, command: Sequence[str], setting: GnubgSetting, *, gammons: bool = False) -> None:
        name, *options = command
        path = shutil.which(name) or shutil.which(name, path=GAMES_FOLDER) or name
        self._program = Program([path, *options, *OPTIONS])
        self.name = self._program.name
        self._match_length = 0 if gammons else 1
        evaluation = "set evaluation chequerplay evaluation"
        try:
            for line in (
                "set lang C",
                "set output rawboard on",
                "set output digits 6",
                "set automatic roll off",
                "set automatic game off",
                "set player 0 human",
                "set player 1 human",
                "set cube use off",
                "set jacoby off",
                "set threads 1",
                f"{evaluation} plies {setting.plies}",
                f"{evaluation} noise {setting.noise:g}",
                f"{evaluation} deterministic on",
                f"{evaluation} cubeful off",
                f"{evaluation} prune on",
                *(["set evaluation movefilter 2 0 0 16 0.32"] if setting.large_filter else []),
                "new session" if gammons else "new match 1",
                "show prompt",
            ):
                self._program.send(line)
            skip_to(self._program, READY, START_SECONDS)
        except ProgramTimeoutError:
            self._program.close()
            raise self._program.error(
                f"does not answer as GNU Backgammon within {START_SECONDS:.3g} s", late=True
            ) from None
        except BaseException:
            self._program.close()
            raise

    def hint(self, points: Points, dice: tuple[int, int]) -> GnubgMove:
        """Returns the best move.

        Args:
            points: position in which the player on roll has a legal move.
            dice: the player's dice.

        Raises:
            ProgramTimeoutError: it has not answered in time.
            ProgramError: it has ended, has refused the position, or returned no move.
        """
        self._program.send(f"set xgid {xgid(points, dice, self._match_length)}")
        self._program.send("hint 1")
        self._program.send("show prompt")
        board: Points | None = None
        hint: GnubgMove | None = None
        for line in lines_to(self._program, READY, MOVE_SECONDS):
            if line.startswith("board:"):
                board = _read_board(line)
            elif match := _HINT.fullmatch(line):
                hint = GnubgMove(match["move"], float(match["equity"]))
        if board != points:
            raise self._program.error(f"did not set up the position {shown(points)}: its board is {shown(board)}")
        if hint is None:
            raise self._program.error(f"returned no move in the position {shown(points)} with the dice {dice}")
        return hint

    @property
    def running(self) -> bool:
        """Whether the program is running."""
        return self._program.running

    def close(self) -> None:
        """Ends the program."""
        if self._program.running:
            self._program.send("quit")
        self._program.close()


def _read_board(line: str) -> Points | None:
    """Reads the position of a `board:` line, whose format is that of the First Internet Backgammon Server."""
    numbers = line.split(":", 33)[6:32]
    if len(numbers) != 26 or not all(map(_NUMBER.fullmatch, numbers)):
        return None
    return tuple(map(int, numbers))


def xgid(points: Points, dice: tuple[int, int], match_length: int) -> str:
    """Returns the position as an XGID: the player on roll is the first player, and nobody owns the cube."""
    letters = "".join("-" if n == 0 else chr(ord("A") + n - 1) if n > 0 else chr(ord("a") - n - 1) for n in points)
    return f"XGID={letters}:0:0:1:{dice[0]}{dice[1]}:0:0:0:{match_length}:10"


def points_of(state: pyspiel.State, player: int) -> Points:
    """Returns the position of a state from the view of `player`."""
    board = state.board
    other = 1 - player
    places = range(23, -1, -1) if player == 0 else range(24)
    own = [board(player, place) - board(other, place) for place in places]
    return (-board(other, _OPENSPIEL_BAR), *own, board(player, _OPENSPIEL_BAR))


def dice_of(state: pyspiel.State) -> tuple[int, int]:
    """Returns the dice of the player on roll: the last two numbers of the observation tensor."""
    first, second = state.observation_tensor(0)[-2:]
    return int(first), int(second)


def after(points: Points, move: str) -> Points:
    """Returns the position after a move in the program's notation, from the view of the same player.

    Raises:
        ProgramError: a checker moves from where there is none.
    """
    board = list(points)
    for start, end in _segments(move):
        if board[start] <= 0:
            raise ProgramError(f"expected a legal move, got {shown(move)}")
        board[start] -= 1
        if end and board[end] == -1:
            board[end] = 0
            board[0] -= 1
        if end:
            board[end] += 1
    return tuple(board)


def _segments(move: str) -> list[tuple[int, int]]:
    """Returns the starts and ends of a move's parts, with 0 for borne-off checkers; a part may use several dice."""
    found: list[tuple[int, int]] = []
    for part in move.replace("*", "").replace("bar", str(OWN_BAR)).replace("off", "0").split():
        path, _, count = part.partition("(")
        stops = [int(stop) for stop in path.split("/")]
        found += list(itertools.pairwise(stops)) * int(count.rstrip(")") or 1)
    return found


def actions_to(state: pyspiel.State, points: Points) -> tuple[int, ...]:
    """Returns the actions of a turn that lead to a position: two in an unfinished turn with doubles, else one.

    Args:
        points: position at the end of the turn, from the view of the player on roll in `state`.

    Returns:
        The actions; empty if none lead there.
    """
    player = state.current_player()
    seen: set[Points] = set()
    for action in state.legal_actions():
        child = state.child(action)
        reached = points_of(child, player)
        if child.current_player() != player:
            if reached == points:
                return (action,)
        elif reached not in seen:  # doubles: half of the turn is left
            seen.add(reached)
            if rest := actions_to(child, points):
                return action, *rest
    return ()


def half_of(state: pyspiel.State, move: str) -> int | None:
    """Returns the first legal action that plays a part of a move for all four dice of doubles; None if there is none.

    Args:
        state: state in the second half of doubles.
        move: the program's move, as if all four dice were left.
    """
    player, (die, _) = state.current_player(), dice_of(state)
    steps = Counter(at for start, end in _segments(move) for at in range(start, end, -die))
    actions: list[int] = state.legal_actions()
    for action in actions:
        moves = state.spiel_move_to_checker_moves(player, action)
        if Counter(_point_of(player, each.pos) for each in moves if each.pos >= 0) <= steps:
            return action
    return None


def _point_of(player: int, place: int) -> int:
    """Returns the point of a place of OpenSpiel's board from the player's view."""
    return OWN_BAR if place == _OPENSPIEL_BAR else 24 - place if player == 0 else place + 1

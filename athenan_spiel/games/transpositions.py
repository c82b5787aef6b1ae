"""When two histories may share a node: transposition keys that cannot lie.

A key function maps a state to something hashable. Its promise: two unfinished states of one game with equal keys
have the same mover, legal actions and observation for player 0, and whatever is played from there, the same again
until the same returns. Then nothing later can tell their histories apart, and a proof found for one is true of both.

`str(state)` does not keep that promise. It leaves out what some rules remember: positions that must not recur, plies
since a capture, the square that a half-made move left. `TRANSPOSITIONS` says for each game what is added to the text,
and why that is all. A game that is not in it, or whose memory cannot be read from a state, gets its history as key:
its tree has no transpositions, and no lies. A finished state has no future to share, so it too keeps its history.

The reasons were read in the C++ source of OpenSpiel 2.0.2; the tests play pairs of histories with equal keys to the
end. With `ply` (the default) a key also holds the number of actions played: a graph of nodes can then have no cycle,
and depth heuristics see the right depth. Some rules count plies themselves; those games keep the ply in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

import pyspiel
from open_spiel.python.observation import make_observation

Key = Callable[[pyspiel.State], Hashable]
_Text = Callable[[pyspiel.State], Hashable | None]
"""What tells unfinished states apart besides the mover (and the ply); None where only the history does."""


@dataclass(frozen=True, kw_only=True)
class Transposition:
    """How the states of a game are told apart."""

    text: str
    """How the text in the key is obtained, in words."""
    reason: str
    """Why two histories with the same key have the same future, or what keeps histories apart."""
    counts_plies: bool = False
    """The rules count the actions played, so the ply stays in the key even with `ply=False`."""
    read: Callable[[pyspiel.Game], _Text] | None = field(default=None, repr=False, compare=False)
    """For a game, the function that reads the text off its states; None where histories are not merged."""

    @property
    def merged(self) -> bool:
        """Histories may share a node; else the key is the whole history."""
        return self.read is not None


def key_function(game: pyspiel.Game, *, ply: bool = True) -> Key:
    """The key function of `game`, by the table below; for a game that is not in it, the history.

    Args:
        game: any game. Games that wrap another are not in the table.
        ply: keep the number of actions played in the key. Without it a graph of nodes may have cycles.

    Returns:
        A function of the states of `game`, for one thread at a time. It costs microseconds, far less than the
        children of a state; `benchmarks/transpositions.py` measures both.
    """
    entry = TRANSPOSITIONS.get(game.get_type().short_name)
    if entry is None:
        return _own_key(game) or _history
    if entry.read is None:
        return _start_and_history
    text_of = entry.read(game)
    with_ply = ply or entry.counts_plies

    def key(state: pyspiel.State) -> Hashable:
        mover = state.current_player()
        text = text_of(state) if mover >= 0 else None
        if text is None:
            return _start_and_history(state)
        return (text, mover, state.move_number()) if with_ply else (text, mover)

    return key


def end_text(state: pyspiel.State) -> Hashable:
    """What finished states that look alike have in common: a key that the state says itself, or what it prints."""
    own = getattr(state, "key", None)
    return str(state) if own is None else own()


def history_key(game: pyspiel.Game) -> Key:
    """The key function that keeps all histories of `game` apart: for worths that depend on the whole match."""
    return _start_and_history if game.get_type().short_name in TRANSPOSITIONS else _history


def _own_key(game: pyspiel.Game) -> Key | None:
    """The key of a game in Python that says itself what tells its states apart, by a method `transposition_text`.

    The method gives a text for each unfinished state that keeps the promise of this module, or None where only the
    history does. Ludii's games have it.
    """
    text_of: _Text | None = getattr(game, "transposition_text", None)
    if text_of is None:
        return None

    def key(state: pyspiel.State) -> Hashable:
        mover = state.current_player()
        text = text_of(state) if mover >= 0 else None
        return _history(state) if text is None else (text, mover, state.move_number())

    return key


def _history(state: pyspiel.State) -> Hashable:
    """The actions played: the state itself, where all matches have one initial state."""
    return tuple(state.history())


def _start_and_history(state: pyspiel.State) -> Hashable:
    """The actions played and the initial state if it was a given one, as OpenSpiel would write them to a file."""
    serialized: str = state.serialize()
    return serialized


def _printed(game: pyspiel.Game) -> _Text:
    return str


def _observed(game: pyspiel.Game) -> _Text:
    """The observation of player 0, losslessly compressed: a bit for each number where all are 0 or 1."""
    observation = make_observation(game)

    def text(state: pyspiel.State) -> Hashable:
        observation.set_from(state, 0)
        compressed: bytes = observation.compress()
        return compressed

    return text


def _amazons(game: pyspiel.Game) -> _Text:
    def text(state: pyspiel.State) -> Hashable:
        phase = state.move_number() % 3
        return str(state), phase, state.history()[-1] if phase else None

    return text


def _checkers(game: pyspiel.Game) -> _Text:
    def text(state: pyspiel.State) -> Hashable:
        quiet = _since_capture(state.history())
        return str(state), quiet, None if quiet else tuple(state.legal_actions())

    return text


def _chess(game: pyspiel.Game) -> _Text:
    def text(state: pyspiel.State) -> Hashable | None:
        fen = str(state)
        return fen if fen.split(" ")[4] == "0" else None

    return text


def _chinese_checkers(game: pyspiel.Game) -> _Text:
    def text(state: pyspiel.State) -> Hashable:
        played = state.full_history()
        movers = [x.player for x in played]
        movers.append(state.current_player())
        turns = [i for i, (a, b) in enumerate(pairwise(movers), start=1) if a != b]
        hops = tuple(x.action for x in played[turns[-1] if turns else 0 :])
        return str(state), len(turns), hops

    return text


def _lines_of_action(game: pyspiel.Game) -> _Text:
    def text(state: pyspiel.State) -> Hashable:
        history = state.history()
        return str(state), tuple(history[len(history) - _since_capture(history) :])

    return text


def _morpion_solitaire(game: pyspiel.Game) -> _Text:
    return lambda state: tuple(sorted(state.history()))


def _since_capture(history: list[int]) -> int:
    """Actions since the last capture, for games whose captures are the odd actions (the last of its mixed digits)."""
    quiet = 0
    for action in reversed(history):
        if action % 2:
            break
        quiet += 1
    return quiet


_PRINTED = "str(state)"
_OBSERVATION = "the observation of player 0"
_CELLS = "The rules look at the board and the mover only, and the text shows every cell."
_PLIES = "The length of a match is limited in plies."


def _merged(
    reason: str,
    text: str = _PRINTED,
    read: Callable[[pyspiel.Game], _Text] = _printed,
    *,
    counts_plies: bool = False,
) -> Transposition:
    return Transposition(text=text, reason=reason, counts_plies=counts_plies, read=read)


def _apart(reason: str) -> Transposition:
    return Transposition(text="the history", reason=reason)


TRANSPOSITIONS: Mapping[str, Transposition] = MappingProxyType(
    {
        "amazons": _merged(
            "Between turns the board is all there is. Within a turn of three actions an amazon has left the board, or "
            "has arrived and is yet to shoot; the phase and the last action say from where.",
            "str(state), the phase of the turn, and within a turn the last action",
            _amazons,
        ),
        "antichess": _merged(
            "As Chess, without castling.",
            "str(state), a FEN with its counters, right after a capture or a pawn's move; else the history",
            _chess,
        ),
        "breakthrough": _merged(_CELLS),
        "checkers": _merged(
            "Besides the board the rules know the plies since a capture (40 make a draw), which the history shows, and "
            "the piece that must go on jumping, which the legal actions show right after a capture.",
            "str(state), the plies since a capture, and right after one the legal actions",
            _checkers,
        ),
        "chess": _merged(
            "The FEN has all but the earlier positions, which matter when one recurs. Right after a capture or a "
            "pawn's move none of them can; at other plies histories stay apart.",
            "str(state), a FEN with its counters, right after a capture or a pawn's move; else the history",
            _chess,
        ),
        "chinese_checkers": _merged(
            "Besides the board the rules know the number of turns (`max_moves` make a draw), which is not the ply as "
            "each hop is an action, and the cells that the hops of this turn came through, which are forbidden.",
            "str(state), the number of turns, and the actions of an unfinished turn",
            _chinese_checkers,
        ),
        "cliff_walking": _merged(
            "The text shows where the player stands. A match that goes on has cost one point a ply. " + _PLIES,
            counts_plies=True,
        ),
        "clobber": _merged(_CELLS),
        "connect_four": _merged(_CELLS),
        "crazyhouse": _apart(
            "A position that occurs three times is a draw. Captured pieces are dropped again, so any earlier position "
            "may recur, and the state does not show them."
        ),
        "cursor_go": _apart("As Go."),
        "dots_and_boxes": _merged(
            "The rules look at the lines, the owners of the boxes and the mover. The printed board leaves out who drew "
            "a line, and the observation shows it: so the observation is the text.",
            _OBSERVATION,
            _observed,
        ),
        "go": _apart(
            "A pass that answers a pass ends the match, ko forbids a move, and a position that recurs (superko) makes "
            "a draw. The state shows none of this, and points whose stones were captured may be played again."
        ),
        "gomoku": _merged(
            "The observation shows every stone and the mover, and the rules know no more. It is faster to read than "
            "the printed board.",
            _OBSERVATION,
            _observed,
        ),
        "havannah": _merged(
            "The observation shows every stone; groups, edges and corners follow. The last move, which the printed "
            "board marks, matters only to the swap, and is then the only stone.",
            _OBSERVATION,
            _observed,
        ),
        "hex": _merged(
            "The text shows every stone; which of them are linked to an edge follows. The swap is possible only when "
            "one black stone stands alone and White is to move."
        ),
        "hive": _apart(
            "The tile moved last may not be moved by a pillbug, and the printed state is the list of moves itself."
        ),
        "lines_of_action": _merged(
            "A position that recurs makes a draw. Captured pieces do not come back, so only positions since the last "
            "capture can recur; the moves since then, taken back from the board, give them. " + _PLIES,
            "str(state) and the actions since the last capture",
            _lines_of_action,
            counts_plies=True,
        ),
        "mancala": _merged(
            "The text shows every pit, the mover and the number of the move. " + _PLIES, counts_plies=True
        ),
        "mnk": _merged(_CELLS),
        "morpion_solitaire": _merged(
            "An action is a line. The points are the first ones and those of the lines drawn, which lines can follow "
            "depends on points and lines, and the score is the number of lines: their order does not matter.",
            "the actions played, sorted",
            _morpion_solitaire,
        ),
        "nim": _merged("The rules look at the piles and the mover, and the text shows both."),
        "nine_mens_morris": _merged(
            "The text shows the points, the mover, the men to be placed, the number of the turn (200 make a draw) and "
            "whether a capture is due. There is no rule of repetition."
        ),
        "othello": _merged(
            "The rules look at the board and the mover, and the text shows both. A pass leaves no trace."
        ),
        "oware": _apart(
            "A position that recurs ends the match. Those since the last capture count, and neither the state nor the "
            "actions show when that was."
        ),
        "pentago": _merged("The rules look at the board and the mover only. Stone and rotation are one action."),
        "quoridor": _merged("The text shows pawns, walls and walls in hand. " + _PLIES, counts_plies=True),
        "shogi": _apart(
            "A position that occurs four times ends the match, lost for a player who kept giving check. Captured "
            "pieces are dropped again, so any earlier position may recur, and the state does not show them."
        ),
        "tic_tac_toe": _merged(_CELLS),
        "twixt": _merged(
            "The observation shows pegs, links and blocked links; all else follows. Which links stand depends on the "
            "order of the pegs. The swap is possible only when one red peg stands alone.",
            _OBSERVATION,
            _observed,
        ),
        "ultimate_tic_tac_toe": _merged("The text shows the nine boards, the mover and the board to be played in."),
        "xiangqi": _merged(
            "OpenSpiel's rules look at the board and the mover, and at no repetition. " + _PLIES, counts_plies=True
        ),
        "y": _merged(
            "The observation shows every stone; groups and edges follow. The last move, which the printed board "
            "marks, does not matter.",
            _OBSERVATION,
            _observed,
        ),
    }
)
"""How the states of each supported game are told apart, by its short name; docs/transpositions.md is the same table."""

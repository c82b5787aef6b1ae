"""Texts that distinguish the states of a game, for transposition keys, and the table's rules that use them."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import pyspiel
from open_spiel.python.observation import make_observation

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
    return merged(reason, text, _quiet_fen)


def _quiet_fen(state: pyspiel.State) -> Hashable | None:
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

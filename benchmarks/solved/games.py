"""The games whose positions are solved, and how far from their end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyspiel

import athenan_spiel as ath
from solved.connect_four_solver import ConnectFourSolver
from solved.exact_solver import ExactSolver, TooManyNodesError

MOST_NODES = 50_000
"""Of a position that `ExactSolver` solves. What takes more is left out, so positions early in a match are fewer, and
easier, than those of matches."""
THIRDS = ("first third", "middle third", "last third")


@dataclass(frozen=True, kw_only=True)
class SolvedGame:
    """A game with solved positions.

    Attributes:
        name: its string.
        plies: of which a position's number is drawn; a match that ends before gives none.
        random_plies: the same for random matches.
        length: plies of a match between the MCTS players of `matches.py`, on average. Thirds of a match are counted by
            it; what comes after is of the last third.
        training_matches: of the training whose agent plays the matches of self-play.
        keeping: of a state the actions that keep its result; None where it takes too long to know.
        is_decided_at_once: whether a state says too little of who moves in it, as it is won by the next move.
    """

    name: str
    plies: range
    random_plies: range
    length: int
    training_matches: int
    keeping: Callable[[pyspiel.State], tuple[int, ...] | None]
    is_decided_at_once: Callable[[pyspiel.State], bool]

    def load(self) -> pyspiel.Game:
        """The game."""
        return ath.load_game(self.name)

    def third(self, plies: int) -> str:
        """Which of `THIRDS` a position after so many plies is in."""
        return THIRDS[min(3 * plies // self.length, 2)]


def kept_in_connect_four(state: pyspiel.State) -> tuple[int, ...]:
    """The columns that keep the result, by the bitboards."""
    solver = ConnectFourSolver()  # a new one each time, or what it keeps would fill the memory
    values = solver.move_values(*solver.position(state.history()))
    return tuple(column for column, value in values.items() if value == max(values.values()))


def kept(state: pyspiel.State) -> tuple[int, ...] | None:
    """The actions that keep the result, by the solver of all games; None where that takes more than `MOST_NODES`."""
    try:
        return ExactSolver(MOST_NODES).keeping(state)
    except TooManyNodesError:
        return None


def either_wins_in_connect_four(state: pyspiel.State) -> bool:
    """Whether either player has four in a row if the next stone is theirs."""
    solver = ConnectFourSolver()
    return solver.wins_at_once(*solver.position(state.history()))


def mover_wins(state: pyspiel.State) -> bool:
    """Whether an action ends the match and wins it for who is to move."""
    mover = state.current_player()
    children = (state.child(action) for action in state.legal_actions())
    return any(child.is_terminal() and child.returns()[mover] > 0 for child in children)


def _solved_by_alpha_beta(name: str, *, plies: range, length: int, training_matches: int) -> SolvedGame:
    return SolvedGame(
        name=name,
        plies=plies,
        random_plies=plies,
        length=length,
        training_matches=training_matches,
        keeping=kept,
        is_decided_at_once=mover_wins,
    )


_GAMES = (
    SolvedGame(
        name="connect_four",
        plies=range(12, 36),
        random_plies=range(16, 24),
        length=28,
        training_matches=200,
        keeping=kept_in_connect_four,
        is_decided_at_once=either_wins_in_connect_four,
    ),
    _solved_by_alpha_beta("hex(board_size=5)", plies=range(6, 18), length=13, training_matches=200),
    _solved_by_alpha_beta("breakthrough(rows=5,columns=5)", plies=range(4, 20), length=13, training_matches=200),
    _solved_by_alpha_beta("othello", plies=range(44, 59), length=60, training_matches=48),
    _solved_by_alpha_beta("clobber(rows=5,columns=5)", plies=range(4, 16), length=16, training_matches=200),
    _solved_by_alpha_beta("dots_and_boxes(num_rows=3,num_cols=3)", plies=range(7, 22), length=24, training_matches=200),
)
GAMES: Mapping[str, SolvedGame] = MappingProxyType({game.name: game for game in _GAMES})

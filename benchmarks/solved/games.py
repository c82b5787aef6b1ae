"""The games with solved positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import pyspiel

import athenan_spiel as ath
from solved.connect_four_solver import ConnectFourSolver
from solved.exact_solver import ExactSolver, TooManyNodesError

MOST_NODES = 50_000
"""Maximum number of nodes of `ExactSolver` per position. Harder positions are omitted, so early positions are fewer and
easier than in real games."""
THIRDS = ("first third", "middle third", "last third")


@dataclass(frozen=True, kw_only=True)
class SolvedGame:
    """A game with solved positions.

    Attributes:
        name: OpenSpiel game string.
        plies: range from which a position's number of plies is drawn; games that end before yield none.
        random_plies: the same for random games.
        length: mean plies of a game between the MCTS players of `matches.py`. It defines the thirds of a game; later
            plies belong to the last third.
        training_matches: games in the training of the agent for self-play.
        keeping: returns the actions of a state that keep its result; None if that takes too long.
        is_decided_at_once: returns whether the next move wins a state, which is then omitted.
    """

    name: str
    plies: range
    random_plies: range
    length: int
    training_matches: int
    keeping: Callable[[pyspiel.State], tuple[int, ...] | None]
    is_decided_at_once: Callable[[pyspiel.State], bool]

    def load(self) -> pyspiel.Game:
        """Loads the game."""
        return ath.load_game(self.name)

    def third(self, plies: int) -> str:
        """Returns the entry of `THIRDS` of a position after this number of plies."""
        return THIRDS[min(3 * plies // self.length, 2)]


def kept_in_connect_four(state: pyspiel.State) -> tuple[int, ...]:
    """Returns the columns that keep the result."""
    solver = ConnectFourSolver()  # a new one each time, to free the memory
    values = solver.move_values(*solver.position(state.history()))
    return tuple(column for column, value in values.items() if value == max(values.values()))


def kept(state: pyspiel.State) -> tuple[int, ...] | None:
    """Returns the actions that keep the result; None if that takes more than `MOST_NODES`."""
    try:
        return ExactSolver(MOST_NODES).keeping(state)
    except TooManyNodesError:
        return None


def either_wins_in_connect_four(state: pyspiel.State) -> bool:
    """Returns whether either player would have four in a row with the next stone."""
    solver = ConnectFourSolver()
    return solver.wins_at_once(*solver.position(state.history()))


def mover_wins(state: pyspiel.State) -> bool:
    """Returns whether an action wins the game for the mover."""
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

"""Cumulative mobility (the article, Section 6.2.3): which player had more actions to choose from during the game.

The value depends on every position of the game, not on the last alone. Two histories that meet in one position end with
different values although they continue in the same way, so the position has no value of its own. `path_dependent`
therefore makes a search keep all histories apart (no transpositions): a shared node would give one history the mobility
of the other. A network sees only positions, and learns the mean over the histories that led to each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import pyspiel

from athenan_spiel.errors import SearchError
from athenan_spiel.games.chance import CHANCE
from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.classic import gain

_Turns = tuple[tuple[int, int], ...]
"""Player and number of legal actions of each action played, outcomes of chance included."""


class TurnCounter:
    """Counts the legal actions at each turn of a game by replaying it from its first position.

    The counter caches the last game. The next game, usually its neighbour in a tree, is replayed only from where the
    two differ. The cache affects only the time.
    """

    def __init__(self) -> None:
        self._last: tuple[str, list[int], _Turns] = ("", [], ())

    def turns(self, state: pyspiel.State) -> _Turns:
        """Returns the player and the number of legal actions of each turn of the game that led to `state`.

        Raises:
            SearchError: the game started from a position that OpenSpiel does not store.
        """
        history = state.history()
        start = _start(state, len(history))
        last_start, last_history, last_turns = self._last
        shared = _shared(history, last_history) + 1 if start == last_start else 0
        turns = last_turns[: min(shared, len(history))]
        if len(turns) < len(history):
            turns += _count(state, start, history, len(turns))
            self._last = (start, history, turns)
        return turns


@dataclass(frozen=True)
class Mobility(Outcome):
    """Mobility ratio of the winner: M_1 / M_2 if player 0 has won, -M_2 / M_1 if player 1 has won, 0 for a draw.

    M_i is the mean number of legal actions of player i, over all actions of player i. An action is one of OpenSpiel's:
    each of the three parts of a turn in Amazons is one, and so is a forced pass. Outcomes of chance do not count. A
    player who never moved has M_i = 1, the minimum of a player who moves.
    """

    name: ClassVar[str] = "mobility"
    path_dependent: ClassVar[bool] = True
    _counter: TurnCounter = field(default_factory=TurnCounter, init=False, repr=False, compare=False)

    def __call__(self, state: pyspiel.State) -> float:
        """Returns the winner's mobility divided by the loser's, with the winner's sign."""
        won = gain(state)
        if not won:
            return 0.0
        first, second = mean_mobility(self._counter.turns(state))
        return first / second if won > 0 else -second / first


def mean_mobility(turns: _Turns) -> tuple[float, float]:
    """Returns M_1 and M_2. Outcomes of chance do not count."""
    total, moved = [0, 0], [0, 0]
    for player, actions in turns:
        if player != CHANCE:
            total[player] += actions
            moved[player] += 1
    first, second = (total[player] / moved[player] if moved[player] else 1.0 for player in (0, 1))
    return first, second


def _start(state: pyspiel.State, actions: int) -> str:
    """Returns OpenSpiel's serialisation of a custom initial position; empty for the game's own.

    Games written in Python have no custom initial positions, and serialise other data.
    """
    if type(state).__module__.partition(".")[0] != "pyspiel":
        return ""
    lines = state.serialize().splitlines(keepends=True)
    return "".join(lines[: len(lines) - actions])


def _count(state: pyspiel.State, start: str, history: list[int], known: int) -> _Turns:
    """Returns the turns of a game after the first `known` ones."""
    game = state.get_game()
    again = game.deserialize_state(start) if start.strip() else game.new_initial_state()
    turns = []
    for i, action in enumerate(history):
        if i >= known:
            legal = again.legal_actions()
            if action not in legal:
                break
            turns.append((again.current_player(), len(legal)))
        again.apply_action(action)
    if again.history() != history or str(again) != str(state):
        raise SearchError(
            f"mobility needs a game of {str(game)!r} that can be replayed, got one from a position "
            "that OpenSpiel does not store: use 'additive_depth'"
        )
    return tuple(turns)


def _shared(one: list[int], other: list[int]) -> int:
    """Returns the length of the common prefix of two games."""
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared

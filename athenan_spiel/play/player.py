"""Protocols of players. Every `pyspiel.Bot` and every `Agent` has the three methods of `Player`.

A player may implement further protocols:

- `AskingPlayer`: its search requests evaluations from a driver, which batches them with those of other games.
- `PerGamePlayer`: it plays any number of games at once, with a separate player for each.
- `RestrictedPlayer`: it can start a game only in certain states, and checks whether it can start in a given one.
- `PonderingPlayer`: it can think during the opponents' turns.

A player may also have these attributes:

- `elsewhere`: true if it thinks outside this process, as a person or an external engine does.
- `seconds`: its time per move, in seconds.
- `match_seconds`, `match_increment`: its game clock (`game_clock`): seconds for all moves of a game, and seconds that
  each of its moves adds.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from typing import Protocol, Self, runtime_checkable

import pyspiel

from athenan_spiel.errors import AgentError, shown
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.search.drive import Budget, Clock
from athenan_spiel.search.walk import Requests


class Player(Protocol):
    """Protocol of players, which `pyspiel.Bot` implements."""

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state`."""

    def step(self, state: pyspiel.State) -> int:
        """Returns the legal action to play in `state`, where this player is to move."""

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Informs the player that `player_id`, another player, chose `action` in `state`."""


@runtime_checkable
class AskingPlayer(Player, Protocol):
    """Player whose requests a driver may answer. Its `step` runs `thinks` and answers each request immediately."""

    @property
    def budget(self) -> Budget:
        """Budget per move."""

    @property
    def evaluator(self) -> Evaluator:
        """Evaluator of its requests. Requests of players with the same evaluator may share a batch."""

    def thinks(self, state: pyspiel.State, clock: Clock | None = None) -> Requests[int]:
        """Returns a generator that requests evaluations and returns the action that `step` would return.

        Args:
            state: state in which this player is to move.
            clock: clock for the budget's time limits; the machine's by default.
        """


@runtime_checkable
class PerGamePlayer(Player, Protocol):
    """Player that provides a separate player for each game of a series, so that games can run concurrently."""

    def for_game(self, number: int) -> Self:
        """Returns the player for one game. It shares no memory of other games with this player.

        Its random choices depend only on this player and `number`.

        Args:
            number: index of the game, from 0, among those that this player plays with one colour.
        """


@runtime_checkable
class RestrictedPlayer(Player, Protocol):
    """Player that can start a game only in certain states."""

    def require_start(self, state: pyspiel.State) -> None:
        """Checks that a game can start at `state`.

        Raises:
            AgentError: it cannot.
        """


@runtime_checkable
class PonderingPlayer(Player, Protocol):
    """Player that can think in this process during the opponents' turns."""

    @property
    def ponders(self) -> bool:
        """Whether pondering is on."""

    def stop_pondering(self) -> None:
        """Stops thinking until the next request."""


def ponders(player: Player) -> bool:
    """Returns whether the player thinks during the opponents' turns."""
    return isinstance(player, PonderingPlayer) and player.ponders


def stop_pondering(players: Iterable[Player]) -> None:
    """Stops the pondering of all players."""
    for player in players:
        if isinstance(player, PonderingPlayer):
            player.stop_pondering()


def require_own_time(players: Sequence[Player], names: Sequence[str] | None = None) -> None:
    """Checks that no player ponders while another one thinks in this process.

    Args:
        players: players of one game.
        names: their names for the message; "player 0" and so on by default.

    Raises:
        AgentError: one ponders, and another one is neither a person nor an external engine.
    """
    names = names or [f"player {i}" for i in range(len(players))]
    for i, j in itertools.permutations(range(len(players)), 2):
        if ponders(players[i]) and not getattr(players[j], "elsewhere", False):
            raise AgentError(
                f"{names[i]} ponders, which would take the time of {names[j]}, as both think in this process: "
                "turn pondering off, or play against a person or an engine (gtp:, uci:, aei:)"
            )


def seconds_of(player: Player) -> float | None:
    """Returns the time per move, in seconds, of a player that isn't an `AskingPlayer`; None without such a limit."""
    seconds: float | None = getattr(player, "seconds", None)
    return seconds


def match_seconds_of(player: Player) -> float | None:
    """Returns the seconds of the player's game clock; None without one."""
    seconds: float | None = getattr(player, "match_seconds", None)
    return seconds


def match_increment_of(player: Player) -> float:
    """Returns the seconds that each move of the player adds to its game clock; 0 without one."""
    seconds: float = getattr(player, "match_increment", 0.0)
    return seconds


def thinks_by_time(player: Player) -> bool:
    """Returns whether the player's thinking is limited in time, so that its strength depends on the machine's load."""
    if isinstance(player, AskingPlayer):
        return player.budget.timed
    return seconds_of(player) is not None or match_seconds_of(player) is not None


def player_for(player: Player, number: int) -> Player:
    """Returns the player for the game with this index: a `PerGamePlayer` makes one, others play all games."""
    return player.for_game(number) if isinstance(player, PerGamePlayer) else player


def seed_of_game(seed: int, number: int) -> int:
    """Returns the seed of a player's game with this index: `seed` for the first, else 63 bits hashed from both."""
    if number == 0:
        return seed
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def require_players(game: pyspiel.Game, players: Sequence[Player]) -> None:
    """Checks the players of a game.

    Raises:
        AgentError: their number is wrong, or one lacks a method; or as `require_own_time`.
    """
    if not isinstance(players, Sequence) or len(players) != game.num_players():
        raise AgentError(f"expected a list of {game.num_players()} players, got {shown(players)}")
    for i, player in enumerate(players):
        if not all(callable(getattr(player, name, None)) for name in ("restart_at", "step", "inform_action")):
            raise AgentError(f"expected a bot or an agent as player {i}, got {shown(player)}")
    require_own_time(players)

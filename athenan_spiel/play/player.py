"""Who plays in a match: whatever has the three methods of `Player`, as every `pyspiel.Bot` and an `Agent` have.

A player may offer more. One that thinks by a search can let a driver answer its questions, together with those of other
matches (`AskingPlayer`); one that can play many matches side by side gives each a player of its own (`MatchPlayer`);
one that cannot begin a match in every state says in which (`ParticularPlayer`).
One with an attribute `seconds` thinks so long about a move; one with `match_seconds` has a match clock (`match_clock`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

import pyspiel

from athenan_spiel.errors import AgentError, shown
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.search.drive import Budget, Clock
from athenan_spiel.search.walk import Questions


class Player(Protocol):
    """What a match needs of a player; `pyspiel.Bot` has it."""

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`."""

    def step(self, state: pyspiel.State) -> int:
        """The legal action to play in `state`, where this player is to move."""

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """`player_id`, another player, chose `action` in `state`."""


@runtime_checkable
class AskingPlayer(Player, Protocol):
    """One whose questions a driver may answer; its `step` is `thinks` with every question answered at once."""

    @property
    def budget(self) -> Budget:
        """How long it thinks about a move."""

    @property
    def evaluator(self) -> Evaluator:
        """Who is to answer; players that have the same one may be answered together."""

    def thinks(self, state: pyspiel.State, clock: Clock | None = None) -> Questions[int]:
        """`step`, as a generator of questions.

        Args:
            clock: by which the budget's seconds count; the machine's by default.
        """


@runtime_checkable
class MatchPlayer(Player, Protocol):
    """One that gives each match of a series a player of its own, so that any number may be played at once."""

    def for_match(self, number: int) -> Self:
        """This player for the match of that number, from 0, among those that it plays with one colour.

        It has no memory of another match, and what is random in it depends on this player and `number` alone.
        """


@runtime_checkable
class ParticularPlayer(Player, Protocol):
    """One that does not begin a match in every state."""

    def require_start(self, state: pyspiel.State) -> None:
        """Check that a match can begin at `state`.

        Raises:
            AgentError: it cannot.
        """


def seconds_of(player: Player) -> float | None:
    """The seconds that a player which asks no driver has for a move; None for one without such a limit."""
    seconds: float | None = getattr(player, "seconds", None)
    return seconds


def match_seconds_of(player: Player) -> float | None:
    """The seconds that a player has for all its moves of a match; None for a player without a match clock."""
    seconds: float | None = getattr(player, "match_seconds", None)
    return seconds


def thinks_by_time(player: Player) -> bool:
    """Whether seconds limit the player's thinking, which are longer where several think at once."""
    if isinstance(player, AskingPlayer):
        return player.budget.timed
    return seconds_of(player) is not None or match_seconds_of(player) is not None


def player_for(player: Player, number: int) -> Player:
    """Who plays the match of that number: the player itself, where it has none of its own for each."""
    return player.for_match(number) if isinstance(player, MatchPlayer) else player


def seed_of_match(seed: int, number: int) -> int:
    """The seed of a player's match of that number: `seed` in the first, else one of 63 bits that both decide."""
    if number == 0:
        return seed
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def require_players(game: pyspiel.Game, players: Sequence[Player]) -> None:
    """Raise `AgentError` unless `players` are as many as the game has, each with the methods of one."""
    if not isinstance(players, Sequence) or len(players) != game.num_players():
        raise AgentError(f"expected a list of {game.num_players()} players, got {shown(players)}")
    for i, player in enumerate(players):
        if not all(callable(getattr(player, name, None)) for name in ("restart_at", "step", "inform_action")):
            raise AgentError(f"expected a bot or an agent as player {i}, got {shown(player)}")

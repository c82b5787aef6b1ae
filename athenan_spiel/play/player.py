"""Who plays in a match: whatever has the three methods of `Player`, as every `pyspiel.Bot` and an `Agent` have.

A player may offer more. One that thinks by a search can let a driver answer its questions, together with those of other
matches (`AskingPlayer`); one that can play many matches side by side gives each a player of its own (`PerGamePlayer`);
one that cannot begin a match in every state says in which (`RestrictedPlayer`).
One that thinks while others do says so, and can be stopped (`PonderingPlayer`); one with a true attribute `elsewhere`
takes no time of this process, as a person or an engine that runs by itself.
One with an attribute `seconds` thinks so long about a move; one with `match_seconds` has a match clock (`game_clock`),
which brings `match_increment` more seconds after each of its moves.
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
class PerGamePlayer(Player, Protocol):
    """One that gives each match of a series a player of its own, so that any number may be played at once."""

    def for_game(self, number: int) -> Self:
        """This player for the match of that number, from 0, among those that it plays with one colour.

        It has no memory of another match, and what is random in it depends on this player and `number` alone.
        """


@runtime_checkable
class RestrictedPlayer(Player, Protocol):
    """One that does not begin a match in every state."""

    def require_start(self, state: pyspiel.State) -> None:
        """Check that a match can begin at `state`.

        Raises:
            AgentError: it cannot.
        """


@runtime_checkable
class PonderingPlayer(Player, Protocol):
    """One that can think while others do, which takes time of their process."""

    @property
    def ponders(self) -> bool:
        """Whether it does."""

    def stop_pondering(self) -> None:
        """Think no more for now."""


def ponders(player: Player) -> bool:
    """Whether the player thinks while others do."""
    return isinstance(player, PonderingPlayer) and player.ponders


def stop_pondering(players: Iterable[Player]) -> None:
    """Let none of the players think any more until it is asked."""
    for player in players:
        if isinstance(player, PonderingPlayer):
            player.stop_pondering()


def require_own_time(players: Sequence[Player], names: Sequence[str] | None = None) -> None:
    """Check that none of the players of a match thinks in the time of another one of this process.

    Args:
        names: what the message calls them; by their numbers if nothing is said.

    Raises:
        AgentError: one ponders, and another one is no person and no engine that runs by itself.
    """
    called = names or [f"player {i}" for i in range(len(players))]
    for i, j in itertools.permutations(range(len(players)), 2):
        if ponders(players[i]) and not getattr(players[j], "elsewhere", False):
            raise AgentError(
                f"{called[i]} ponders, which would take the time of {called[j]}, as both think in this process: "
                "only against a person or an engine (gtp:, uci:, aei:) an agent ponders"
            )


def seconds_of(player: Player) -> float | None:
    """The seconds that a player which asks no driver has for a move; None for one without such a limit."""
    seconds: float | None = getattr(player, "seconds", None)
    return seconds


def match_seconds_of(player: Player) -> float | None:
    """The seconds that a player has for all its moves of a match; None for a player without a match clock."""
    seconds: float | None = getattr(player, "match_seconds", None)
    return seconds


def match_increment_of(player: Player) -> float:
    """The seconds that each move of a player brings to its match clock; 0 for one without."""
    seconds: float = getattr(player, "match_increment", 0.0)
    return seconds


def thinks_by_time(player: Player) -> bool:
    """Whether seconds limit the player's thinking, which are longer where several think at once."""
    if isinstance(player, AskingPlayer):
        return player.budget.timed
    return seconds_of(player) is not None or match_seconds_of(player) is not None


def player_for(player: Player, number: int) -> Player:
    """Who plays the match of that number: the player itself, where it has none of its own for each."""
    return player.for_game(number) if isinstance(player, PerGamePlayer) else player


def seed_of_game(seed: int, number: int) -> int:
    """The seed of a player's match of that number: `seed` in the first, else one of 63 bits that both decide."""
    if number == 0:
        return seed
    digest = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def require_players(game: pyspiel.Game, players: Sequence[Player]) -> None:
    """Check the players of a match.

    Raises:
        AgentError: they are not as many as the game has, or one lacks a method; or as `require_own_time`.
    """
    if not isinstance(players, Sequence) or len(players) != game.num_players():
        raise AgentError(f"expected a list of {game.num_players()} players, got {shown(players)}")
    for i, player in enumerate(players):
        if not all(callable(getattr(player, name, None)) for name in ("restart_at", "step", "inform_action")):
            raise AgentError(f"expected a bot or an agent as player {i}, got {shown(player)}")
    require_own_time(players)

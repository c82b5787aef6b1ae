"""An agent that is measured: made before the first match, so that what is wrong with it is known by then."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import pyspiel

import agents
from athenan_spiel.play.player import ParticularPlayer, require_own_time


class Contestant:
    """Makes the bots of one agent, all alike but for the player that they are.

    A run's checkpoint is read once, here: all matches are played by it, whatever becomes of the run meanwhile.

    Args:
        seed: of each bot.

    Raises:
        AthenanError, LudiiError: the agent cannot be made, or does not play `game`.
    """

    def __init__(self, word: agents.AgentWord, game: pyspiel.Game, seed: int) -> None:
        self.word = word
        self._game = game
        self._seed = seed
        self._first = agents.make_bot(word, game, 0, seed)

    def bot(self, player_id: int) -> pyspiel.Bot:
        """A bot that has played no match yet."""
        if isinstance(self._first, agents.AthenanBot):  # plays either colour, and may have a network to share
            return self._first.clone()
        return agents.make_bot(self.word, self._game, player_id, self._seed)

    @functools.cached_property
    def players(self) -> Sequence[pyspiel.Bot]:
        """A bot for each player id, the same ones each time."""
        return [self.bot(player_id) for player_id in range(self._game.num_players())]

    def require_openings(self, openings: Iterable[Sequence[int]]) -> None:
        """Check that the agent can begin a match after each of these openings, which are legal.

        Raises:
            AgentError: it cannot.
        """
        if not isinstance(self._first, ParticularPlayer):
            return
        for opening in openings:
            state = self._game.new_initial_state()
            for action in opening:
                state.apply_action(action)
            self._first.require_start(state)

    def require_opponent(self, other: Contestant) -> None:
        """Check that this agent can meet another one in a match.

        Raises:
            AgentError: one of them ponders, which would take the time of the other one.
        """
        require_own_time([self._first, other._first], [str(self), str(other)])

    def __str__(self) -> str:
        return self.word.text

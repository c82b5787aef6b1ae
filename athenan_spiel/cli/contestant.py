"""An agent of `athenan eval`: made before the first match, so that what is wrong with it is known by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyspiel

    from agents import AgentWord


class Contestant:
    """Makes the bots of one agent, all alike but for the player that they are.

    A run's checkpoint is read once, here: all matches are played by it, whatever becomes of the run meanwhile.

    Args:
        seed: of each bot.

    Raises:
        AthenanError, LudiiError: the agent cannot be made, or does not play `game`.
    """

    def __init__(self, word: AgentWord, game: pyspiel.Game, seed: int) -> None:
        from agents import make_bot

        self.word = word
        self._game = game
        self._seed = seed
        self._first = make_bot(word, game, 0, seed)

    def bot(self, player_id: int) -> pyspiel.Bot:
        """A bot that has played no match yet."""
        from agents import AthenanBot, make_bot

        if isinstance(self._first, AthenanBot):  # plays either colour, and may have a network to share
            return self._first.clone()
        return make_bot(self.word, self._game, player_id, self._seed)

    def __str__(self) -> str:
        return self.word.text

"""Adapter from a bot to a policy of OpenSpiel's Python library, for best responses, exploitability and tables."""

from __future__ import annotations

import pyspiel
from open_spiel.python import policy

from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import AgentError, shown


class BotPolicy(policy.Policy):
    """Policy that returns a bot's probabilities of all legal actions in each state.

    The bot starts a new game at each state. With a budget in iterations the result depends only on the state, except
    for ties.

    Args:
        game: game of the bot.
        bot: bot with a policy for every player.

    Raises:
        AgentError: `bot` is not a bot, or has no policy.
    """

    def __init__(self, game: pyspiel.Game, bot: pyspiel.Bot) -> None:
        require_kind("bot", bot, pyspiel.Bot, AgentError)
        if not bot.provides_policy():
            raise AgentError(f"expected a bot with a policy, got {shown(bot)}, which has none")
        super().__init__(game, list(range(game.num_players())))
        self._bot = bot

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns the probability of each legal action of the player to move."""
        self._bot.restart_at(state)
        return dict(self._bot.get_policy(state))

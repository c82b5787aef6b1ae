"""A bot as a policy of OpenSpiel's Python library, for its tools: best responses, exploitability, tables."""

from __future__ import annotations

import pyspiel
from open_spiel.python import policy

from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import AgentError, shown


class BotPolicy(policy.Policy):
    """What a bot would play, as probabilities of all legal actions in each state of its game.

    It is asked about states in any order, so the bot begins a match at each: with a budget in iterations its answers
    depend on the state alone, but for ties.

    Args:
        game: that the bot plays.
        bot: one with a policy, for every player.

    Raises:
        AgentError: it is no bot, or has no policy.
    """

    def __init__(self, game: pyspiel.Game, bot: pyspiel.Bot) -> None:
        require_kind("bot", bot, pyspiel.Bot, AgentError)
        if not bot.provides_policy():
            raise AgentError(f"expected a bot that has a policy, got {shown(bot)}: it tells its choice alone")
        super().__init__(game, list(range(game.num_players())))
        self._bot = bot

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """The probability of each legal action of the player to move."""
        self._bot.restart_at(state)
        return dict(self._bot.get_policy(state))

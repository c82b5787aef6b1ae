"""Who may be chosen in a page: what the command line has named, and agents that begin no program and read no file.

What a page sends is a name of this list and a number of seconds. An agent's word from a page is never read: it might
begin a program, or read a folder that is none of the visitor's.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import pyspiel

from agents import AgentWord, make_bot, parse_word
from agents.limits import LIMITS
from athenan_spiel.arguments import is_number
from athenan_spiel.errors import AgentError, BudgetError, shown
from athenan_spiel.web.tree_memory import TreeMemory

YOU = "you"
"""The name of a person, who may sit at either side."""
ALWAYS = {
    "alphabeta": parse_word("alphabeta"),
    "mcts": AgentWord("mcts", "mcts", {}),
    "uct": AgentWord("uct", "uct", {}),
    "random": parse_word("random"),
}
"""Agents that know no more than the rules, by their names; their time comes from the page."""
OF_OPENSPIEL = ("mcts", "uct")
"""Agents whose trees OpenSpiel grows and bounds; they live for one move."""
LEAST_SECONDS, MOST_SECONDS = 0.05, 60.0
"""Of a move, in a page."""


@dataclass(frozen=True)
class Opponent:
    """An agent that a visitor may choose.

    Attributes:
        word: of the command line.
    """

    word: AgentWord

    @property
    def name(self) -> str:
        """As the page calls it."""
        return self.word.text

    @property
    def takes_seconds(self) -> bool:
        """Whether it thinks as long as the page says, since its word says nothing of that."""
        limited = {*LIMITS, "simulations"} & self.word.params.keys()
        return "seconds" in self.word.kind.limits and not limited

    @property
    def ponders(self) -> bool:
        """Whether its word says that it thinks on while its opponent does."""
        return bool(self.word.params.get("ponder"))

    def limit(self, seconds: float) -> float | None:
        """The seconds that it thinks about a move at most; None where something else limits it.

        Args:
            seconds: those of the page.
        """
        if self.takes_seconds:
            return seconds
        said = self.word.params.get("seconds")
        return float(said) if is_number(said) else None  # type: ignore[arg-type]

    def make(self, game: pyspiel.Game, player_id: int, seconds: float, seed: int, memory: TreeMemory) -> pyspiel.Bot:
        """Its bot, whose tree is bounded.

        Raises:
            AthenanError: what `make_bot` finds wrong.
        """
        word = self.word
        if self.takes_seconds:
            word = dataclasses.replace(word, params={**word.params, "seconds": seconds})
        if word.bot in OF_OPENSPIEL:
            word = dataclasses.replace(word, params={**word.params, "memory_mb": memory.share_megabytes})
        bot = make_bot(word, game, player_id, seed)
        memory.bound(bot)
        return bot


class Opponents:
    """The agents that may be chosen, in the order of the page.

    Args:
        words: those that the command line has named.
    """

    def __init__(self, words: Sequence[AgentWord] = ()) -> None:
        named = {word.text: word for word in words if not word.is_human}
        self._known = {text: Opponent(word) for text, word in (named | ALWAYS).items()}

    @property
    def names(self) -> list[str]:
        """As the page calls them."""
        return list(self._known)

    def find(self, name: str) -> Opponent:
        """The opponent of that name.

        Raises:
            AgentError: nobody of the list has it.
        """
        found = self._known.get(name)
        if found is None:
            raise AgentError(f"expected one of {', '.join(self.names)}, got {shown(name)}")
        return found


def require_seconds(seconds: object) -> float:
    """A time for a move that a page has sent.

    Raises:
        BudgetError: it is none, or out of bounds.
    """
    if not is_number(seconds) or not LEAST_SECONDS <= seconds <= MOST_SECONDS:  # type: ignore[operator]
        raise BudgetError(f"expected from {LEAST_SECONDS:g} to {MOST_SECONDS:g} seconds a move, got {shown(seconds)}")
    return float(seconds)  # type: ignore[arg-type]

"""Agents as the command line names them: one word each.

| word | agent |
|---|---|
| `runs/bt6` | the newest checkpoint of that run, thinking one second a move |
| `runs/bt6@0.5s`, `runs/bt6@200i` | the same, thinking half a second, or 200 search iterations, a move |
| `runs/bt6#576`, `runs/bt6#576@0.5s` | the checkpoint of that run after 576 matches |
| `runs/bt6:ubfm`, `runs/bt6:alphabeta@1s`, `runs/bt6:mcts(0.5)@200i` | the same, by this search (`search.algorithms`) |
| `alphabeta@1s`, `alphabeta(3)` | alpha-beta without a network, leaves valued by a random match; to a depth of 3 |
| `mcts:1000` | `pyspiel.MCTSBot`: 1000 simulations a move, one random rollout each, UCT constant 2, solver on |
| `ludii:UCT@1s`, `ludii:UCT@200i` | an AI of Ludii's, by its name there, thinking a second or 200 iterations a move |
| `random` | uniformly random actions |
| `human` | a person at the terminal |

A word with a slash, or one that is the name of a folder here, is a run, or one of its checkpoints
(`runs/bt6/checkpoints/000576`). A number is written in the digits 0 to 9.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyspiel

from agents.ludii import find_ai
from agents.registry import load_bot
from athenan_spiel.arguments import require_kind
from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import AgentError, nearest, shown
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.search.drive import Budget

UNDERSTOOD = (
    "a run's folder (runs/bt6, runs/bt6#576, runs/bt6@0.5s, runs/bt6:alphabeta@200i), alphabeta@1s, ludii:UCT@1s, "
    "mcts:1000, random or human"
)
_BUDGET = re.compile(r"(?P<seconds>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)s|(?P<iterations>[0-9]+)i")
_NUMBER = re.compile(r"[0-9]{1,18}")
"""A number that counts something; more digits would be no number of anything here."""
_UNSEEDED = ("human", "ludii")
_SEARCH = re.compile(r":[^/:]*$")
"""What may name a search, at the end of a run's word."""


@dataclass(frozen=True)
class AgentWord:
    """An agent's word, understood.

    Attributes:
        text: the word.
        bot: the name that `load_bot` knows the agent's bot by.
        params: what the word says of the bot's parameters.
    """

    text: str
    bot: str
    params: Mapping[str, object]

    @property
    def is_human(self) -> bool:
        """Whether a person plays."""
        return self.bot == "human"

    def learned_game(self) -> str | None:
        """The string of the game that a run's checkpoint has learned; None for an agent that is no run.

        Raises:
            CheckpointError: there is no such checkpoint, or it cannot be used.
        """
        if self.bot != "athenan":
            return None
        from athenan_spiel.training.loading import game_of  # torch comes with it

        matches = self.params.get("matches")
        return game_of(str(self.params["checkpoint"]), matches if isinstance(matches, int) else None)

    def allowing(self, code: Sequence[str]) -> AgentWord:
        """The same agent, for which outcomes "module:name" of one's own may be imported, should its run name one."""
        if self.bot != "athenan" or not code:
            return self
        return replace(self, params={**self.params, "outcome": ",".join(code)})

    def __str__(self) -> str:
        return self.text


def parse_word(text: str) -> AgentWord:
    """What `text` says. A run's folder is not looked into yet.

    Raises:
        AgentError: it is no agent's word, or names no search.
        BudgetError: the thinking time is zero.
    """
    require_kind("an agent's word", text, str, AgentError)
    scheme, _, rest = text.partition(":")
    name, at, budget = text.rpartition("@") if "@" in text else (text, "", "")
    limit = partial(_limit, text, budget) if at else dict
    if scheme == "mcts":
        return AgentWord(text, "mcts", {"simulations": _simulations(text, rest)})
    if name.startswith("ludii:"):
        return AgentWord(text, "ludii", {"ai": find_ai(name.partition(":")[2]), **limit()})
    if text in ("random", "human"):
        return AgentWord(text, text, {})
    if os.path.isdir(text):
        return AgentWord(text, "athenan", {"checkpoint": text})
    if _is_path(name) and (os.path.isdir(name) or not _SEARCH.search(name)):
        return AgentWord(text, "athenan", {**_checkpoint(name), **limit()})
    folder, colon, search = name.rpartition(":")
    if colon and _is_path(folder):
        parse_search(search)
        return AgentWord(text, "athenan", {**_checkpoint(folder), "search": search, **limit()})
    if re.fullmatch(r"alphabeta(\(.*\))?", name):
        depth = parse_search(name).config.depth
        return AgentWord(text, "alphabeta", {**({} if depth is None else {"depth": depth}), **limit()})
    known = ["random", "human", "alphabeta@1s", f"ludii:{rest or 'UCT@1s'}", f"mcts:{rest or 1000}"]
    raise AgentError(f"expected an agent: {UNDERSTOOD}; got {shown(text)}{nearest(text, known)}")


def make_bot(word: str | AgentWord, game: pyspiel.Game | str, player_id: int, seed: int = 0) -> pyspiel.Bot:
    """The bot that `word` names.

    Args:
        seed: of everything random in it, but for a person and Ludii's AIs, which take none.

    Raises:
        AgentError: it is no agent's word, or that agent does not play `game`.
        AthenanError: what `load_bot` finds wrong.
    """
    word = word if isinstance(word, AgentWord) else parse_word(word)
    params = word.params if word.bot in _UNSEEDED else {**word.params, "seed": seed}
    return load_bot(word.bot, game, player_id, params)


def _is_path(name: str) -> bool:
    """A folder that is there, or whatever has a slash, but for other programs' words such as `gtp:/usr/bin/x`."""
    folder = name.rpartition("#")[0]
    return os.path.isdir(name) or os.path.isdir(folder) or ("/" in name and not re.match(r"\w+:", name))


def parse_run(text: str) -> tuple[str, int | None]:
    """The folder that `text` says, and the number of a checkpoint in it if one follows: `runs/bt6#576`.

    Raises:
        AgentError: what follows is no number.
    """
    folder, sign, number = text.rpartition("#")
    if not sign or "/" in number or os.path.isdir(text):
        return text, None
    if not _NUMBER.fullmatch(number):
        raise AgentError(
            f"after # comes after how many matches a checkpoint was written, as in runs/bt6#576; got {shown(text)}"
        )
    return folder, int(number)


def _checkpoint(name: str) -> dict[str, object]:
    folder, matches = parse_run(name)
    return {"checkpoint": folder} if matches is None else {"checkpoint": folder, "matches": matches}


def _simulations(text: str, number: str) -> int:
    if _NUMBER.fullmatch(number) and 1 <= int(number) <= MOST:
        return int(number)
    if "@" in number:
        raise AgentError(f"mcts takes its simulations and no other budget, such as mcts:1000; got {shown(text)}")
    raise AgentError(f"mcts takes its simulations a move, from 1 to {MOST:,}, such as mcts:1000; got {shown(text)}")


def _limit(text: str, budget: str) -> dict[str, object]:
    match = _BUDGET.fullmatch(budget)
    if match is None or (match["iterations"] and not _NUMBER.fullmatch(match["iterations"])):
        raise AgentError(f"after @ comes thinking a move, as 0.5s (seconds) or 200i (iterations); got {shown(text)}")
    if match["iterations"]:
        return {"iterations": Budget(iterations=int(match["iterations"])).iterations}
    return {"seconds": Budget(seconds=float(match["seconds"])).seconds}

"""Agents as the command line names them: one word each, of a kind (`kinds`) and with a limit if need be (`limits`).

| word | agent |
|---|---|
| `runs/bt6` | the newest checkpoint of that run, thinking one second a move |
| `runs/bt6@0.5s`, `runs/bt6@200i` | the same, thinking half a second, or 200 search iterations, a move |
| `runs/bt6#576`, `runs/bt6#best` | the checkpoint of that run after 576 matches, or its best network by rating |
| `runs/bt6:ubfm`, `runs/bt6:alphabeta@1s`, `runs/bt6:mcts(0.5)@200i` | the same, by this search (`search.algorithms`) |
| `runs/bt6:ponder=true`, `runs/bt6:ubfm;ponder=true@1s` | the same, thinking on while a person or an engine does |
| `bt6.safetensors`, `bt6.safetensors:mcts(0.5)@1s` | the agent of a file that `athenan export` has written, likewise |
| `alphabeta@1s`, `alphabeta(3)` | alpha-beta without a network, leaves valued by a random match; to a depth of 3 |
| `runs/bt6@5000e`, `runs/bt6@60s/match` | 5000 states valued a move, or a match clock of 60 seconds |
| `runs/bt6@5m+2s` | a match clock of 5 minutes, and 2 seconds more after each own move |
| `mcts:1000`, `mcts@0.1s` | `pyspiel.MCTSBot`: 1000 simulations, or 0.1 s, a move, UCT constant 2, solver on |
| `uct:160`, `uct@2s` | the papers' plain UCT (`agents.uct`) |
| `pyspiel:uniform_random` | a bot of OpenSpiel's registry |
| `gtp:COMMAND@1s`, `uci:COMMAND@0.1s` | an engine that speaks GTP or UCI |
| `ludii:UCT@1s`, `ludii:UCT@200i` | an AI of Ludii's, by its name there, thinking a second or 200 iterations a move |
| `gtp:gnugo --mode gtp@1s` | an engine that speaks GTP, by its command |
| `uci:fairy-stockfish@0.1s` | an engine that speaks UCI, by its command; `uci:fairy-stockfish;Skill Level=3@5000e` |
| `aei:sharp aei@5s` | an engine that plays Arimaa (Ludii's) and speaks AEI, by its command |
| `random` | uniformly random actions |
| `human` | a person at the terminal |

A word that begins with a kind's name, alone or before a colon, a bracket or an `@`, is of that kind. Any other with a
slash, or that is the name of a folder or a file here, is a run, one of its checkpoints (`runs/bt6/checkpoints/000576`),
or an agent's file; so a folder called `random` is `./random`. A number is written in the digits 0 to 9.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyspiel

from agents.athenan import ATHENAN
from agents.kind import AgentKind
from agents.kinds import find_kind, kind_names, known_kind, known_kinds
from agents.limits import require_limit, split_limit
from agents.registry import load_bot
from agents.run_specs import Which, names_run
from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import LONGEST_NAME, AgentError, shown

_BEGINNING = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?=[:(@]|$)")
"""The name of a kind, at the beginning of a word."""
LONGEST_WORD = 10_000
"""Maximum length of an agent's word, in characters."""
LONGEST_PROGRAM = 400
"""Characters of a command that a message repeats."""


@dataclass(frozen=True)
class AgentSpec:
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

    @property
    def kind(self) -> AgentKind:
        """The kind of agents that it is of.

        Raises:
            AgentError: there is none of the bot's name, so it was not made by `parse_spec`.
        """
        kind = find_kind(self.bot)
        if kind is None:
            raise AgentError(f"expected the name of a kind of agents, got {shown(self.bot)}")
        return kind

    @property
    def program(self) -> str | None:
        """The command by which another program, an engine, is begun; None for agents that begin none."""
        return str(self.params.get("command", self.text)) if self.kind.command else None

    def learned_game(self) -> str | None:
        """The string of the game that a run or an agent's file has learned; None for an agent that is neither.

        Raises:
            CheckpointError: there is no such checkpoint, or it cannot be used.
        """
        if self.bot != "athenan":
            return None
        from athenan_spiel.training.loading import game_of  # torch comes with it

        return game_of(str(self.params["checkpoint"]), self.which)

    @property
    def which(self) -> Which:
        """The checkpoint of a run that is named; None for the newest."""
        matches = self.params.get("matches")
        return "best" if self.params.get("best") else matches if isinstance(matches, int) else None

    def allowing(self, code: Sequence[str]) -> AgentSpec:
        """The same agent, for which outcomes "module:name" of one's own, as `code` names them, may be imported."""
        if self.bot != "athenan" or not code:
            return self
        return replace(self, params={**self.params, "outcome": ",".join(code)})

    def __str__(self) -> str:
        return self.text


def parse_spec(text: str) -> AgentSpec:
    """What `text` says. A run's folder or a file is not looked into yet, nor is an engine begun.

    Args:
        text: an agent's word, such as "runs/bt6@0.5s" or "mcts:1000".

    Raises:
        AgentError: it is no agent's word, or its kind refuses what it says.
        BudgetError: the thinking time is zero.
    """
    require_kind("an agent's word", text, str, AgentError)
    if len(text) > LONGEST_WORD:
        raise AgentError(f"expected an agent of at most {LONGEST_WORD:,} characters, got {len(text):,}: {shown(text)}")
    beginning = _BEGINNING.match(text)
    name = beginning[0] if beginning else ""
    if (kind := known_kind(name)) is not None and (word := _word_of(kind, text)) is not None:
        return word
    if os.path.exists(text):
        return AgentSpec(text, ATHENAN.name, {"checkpoint": text})
    if names_run(text.rpartition("@")[0] if "@" in text else text):
        body, limit = split_limit(text, text)
        require_limit("runs/NAME", limit, ATHENAN.limits)
        return AgentSpec(text, ATHENAN.name, ATHENAN.parse(body, limit))
    if name and (kind := find_kind(name)) is not None and (word := _word_of(kind, text)) is not None:
        return word
    known = ", ".join(kind.example for kind in known_kinds())
    raise AgentError(f"expected an agent, such as {known}; got {shown(text)}{_meant(text)}")


def game_for(spec: str | None, agents: Iterable[AgentSpec]) -> pyspiel.Game:
    """Load the game string `spec`, or by default the game of the first run among the agents.

    Raises:
        AgentError: there is no game string and no run.
        UnsupportedGameError: the game is unknown, or cannot be played.
        CheckpointError: the run cannot be used.
    """
    from athenan_spiel.games import load_game

    if spec is None:
        spec = next((agent.learned_game() for agent in agents if agent.bot == ATHENAN.name), None)
    if spec is None:
        raise AgentError("expected a game, as no agent is a run: add one such as --game connect_four")
    return load_game(spec)


def _word_of(kind: AgentKind, text: str) -> AgentSpec | None:
    """`text`, which begins with the kind's name; None where something stands between it and what follows."""
    body, limit = split_limit(text, text[len(kind.name) :], command=kind.command)
    if body[:1] not in ("", "(" if kind.brackets else ":"):
        return None
    require_limit(kind.name, limit, kind.limits)
    return AgentSpec(text, kind.name, kind.parse(body if kind.brackets else body[1:], limit))


def _meant(text: str) -> str:
    """The words ": did you mean 'x'?" where a kind's name is near to what stands before a colon, a bracket or an @."""
    name = re.split("[:(@]", text, maxsplit=1)[0]
    near = difflib.get_close_matches(name[:LONGEST_NAME], kind_names(), n=1)
    return f": did you mean {shown(near[0] + text[len(name) :])}?" if near else ""


def require_programs(words: Iterable[AgentSpec], allowed: Collection[str] | None) -> None:
    """Check that words which a file names begin no program but those that the user allows.

    Args:
        allowed: commands, each as it stands in a word between the kind and the limit; None: all of them, where the
            words are the user's own.

    Raises:
        AgentError: a word begins another one; the message shows it.
    """
    for word in words:
        program = word.program
        if allowed is not None and program is not None and program not in allowed:
            readable = program.isprintable() and len(program) <= LONGEST_PROGRAM
            quoted = shlex.quote(program) if readable else shown(program)
            raise AgentError(
                f"a file names the program {shown(program)}, which is not begun for that: "
                f"if you trust it, say --allow-program {quoted}"
            )


def make_bot(word: str | AgentSpec, game: pyspiel.Game | str, player_id: int, seed: int = 0) -> pyspiel.Bot:
    """The bot that `word` names.

    Args:
        word: as text, or as `parse_spec` understands it.
        game: the game that it will play, or its string.
        player_id: the player that it will be.
        seed: of everything random in it, but for a person and Ludii's AIs, which take none.

    Raises:
        AgentError: it is no agent's word, or that agent does not play `game`.
        AthenanError: what `load_bot` finds wrong.
    """
    word = word if isinstance(word, AgentSpec) else parse_spec(word)
    params = {**word.params, "seed": seed} if word.kind.seeded else word.params
    return load_bot(word.bot, game, player_id, params)

"""Agent specs: strings that define an agent on the command line, such as `runs/bt6@0.5s`.

| spec | agent |
|---|---|
| `runs/bt6` | newest checkpoint of the run, one second per move |
| `runs/bt6@0.5s`, `runs/bt6@200i`, `runs/bt6@5000e` | with 0.5 s, 200 search iterations or 5000 evaluations per move |
| `runs/bt6@60s/match`, `runs/bt6@5m+2s` | with a game clock of 60 s, or of 5 min and 2 s added by each own move |
| `runs/bt6#576`, `runs/bt6#best` | checkpoint after 576 games, or the best network by rating |
| `runs/bt6:ubfm`, `runs/bt6:mcts(0.5)@200i` | with another search (`search.algorithms`) |
| `runs/bt6:ponder=true`, `runs/bt6:ubfm;ponder=true@1s` | also searches during the turn of a person or an engine |
| `runs/bt6:proofs=false` | without compiled proof search at the beginning of each move |
| `bt6.safetensors`, `bt6.safetensors:mcts(0.5)@1s` | agent file written by `athenan export`, with the same options |
| `athenan-ggp:60s/10s` | agent that learns the game from nothing, with a start clock and a play clock |
| `alphabeta@1s`, `alphabeta(3)` | alpha-beta with random playouts in place of a network; to a depth of 3 |
| `mcts:1000`, `mcts@0.1s` | `pyspiel.MCTSBot`: 1000 simulations, or 0.1 s, per move, UCT constant 2, with solver |
| `uct:160`, `uct@2s` | the papers' plain UCT (`agents.mcts`) |
| `pyspiel:uniform_random` | bot of OpenSpiel's registry |
| `ludii:UCT@1s`, `ludii:UCT@200i` | one of Ludii's AIs by its name, with 1 s or 200 iterations per move |
| `gtp:gnugo --mode gtp@1s` | GTP engine by its command |
| `uci:fairy-stockfish;Skill Level=3@5000e` | UCI engine by its command and options |
| `aei:sharp aei@5s` | AEI engine by its command, for Ludii's Arimaa |
| `gnubg:intermediate`, `gnubg:0` | GNU Backgammon by one of its settings, or its plies |
| `random` | uniformly random actions |
| `human` | person at the terminal |

The spec is of a kind if its name is followed by nothing, a colon, a bracket or an `@`. Otherwise a spec with a slash,
or the name of an existing file or folder, is a run, a checkpoint (`runs/bt6/checkpoints/000576`) or an agent file. A
folder called `random` is written `./random`. Numbers have the digits 0 to 9.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyspiel

from agents import registry
from agents.athenan import ATHENAN
from agents.kind import AgentKind
from agents.limits import require_limit, split_limit
from agents.run_specs import Which, names_run
from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import MAX_NAME_CHARACTERS, AgentError, shown

_KIND_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?=[:(@]|$)")
MAX_SPEC_CHARACTERS = 10_000
MAX_SHOWN_CHARACTERS = 400
"""Maximum length of a command that a message repeats."""


@dataclass(frozen=True)
class AgentSpec:
    """Parsed agent spec.

    Attributes:
        text: the spec.
        bot: name of the agent's bot for `load_bot`.
        params: parameters of the bot given by the spec.
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
        """Kind of the agent.

        Raises:
            AgentError: there is none with the bot's name.
        """
        kind = registry.find_kind(self.bot)
        if kind is None:
            raise AgentError(f"expected the name of an agent kind, got {shown(self.bot)}")
        return kind

    @property
    def program(self) -> str | None:
        """Command that starts an engine; None for other agents."""
        return str(self.params.get("command", self.text)) if self.kind.command else None

    def learned_game(self) -> str | None:
        """Returns the game string of a run or an agent file; None for other agents.

        Raises:
            CheckpointError: the checkpoint is missing or cannot be used.
        """
        if self.bot != "athenan":
            return None
        from athenan_spiel.training.loading import game_of  # imports torch

        return game_of(str(self.params["checkpoint"]), self.which)

    @property
    def which(self) -> Which:
        """Checkpoint of the run; None for the newest."""
        matches = self.params.get("matches")
        return "best" if self.params.get("best") else matches if isinstance(matches, int) else None

    def allowing(self, code: Sequence[str]) -> AgentSpec:
        """Returns the same agent with permission to import the custom outcomes `code`, each "module:name"."""
        if self.bot != "athenan" or not code:
            return self
        return replace(self, params={**self.params, "outcome": ",".join(code)})

    def __str__(self) -> str:
        return self.text


def parse_spec(text: str) -> AgentSpec:
    """Parses an agent spec, without reading a run or starting an engine.

    Args:
        text: agent spec, such as "runs/bt6@0.5s" or "mcts:1000".

    Raises:
        AgentError: `text` is not an agent spec, or its kind refuses it.
        BudgetError: a limit is zero.
    """
    require_kind("an agent spec", text, str, AgentError)
    if len(text) > MAX_SPEC_CHARACTERS:
        raise AgentError(
            f"expected an agent spec of at most {MAX_SPEC_CHARACTERS:,} characters, got {len(text):,}: {shown(text)}"
        )
    match = _KIND_NAME.match(text)
    name = match[0] if match else ""
    if (kind := registry.KINDS.get(name)) is not None and (spec := _spec_of(kind, text)) is not None:
        return spec
    if os.path.exists(text):
        return AgentSpec(text, ATHENAN.name, {"checkpoint": text})
    if names_run(text.rpartition("@")[0] if "@" in text else text):
        body, limit = split_limit(text, text)
        require_limit("runs/NAME", limit, ATHENAN.limits)
        return AgentSpec(text, ATHENAN.name, ATHENAN.parse(body, limit))
    if name and (kind := registry.find_kind(name)) is not None and (spec := _spec_of(kind, text)) is not None:
        return spec
    known = ", ".join(kind.example for kind in registry.KINDS.values())
    raise AgentError(f"expected an agent, such as {known}; got {shown(text)}{_suggestion(text)}")


def _spec_of(kind: AgentKind, text: str) -> AgentSpec | None:
    """Parses a spec that begins with the kind's name; returns None if the next character isn't a separator."""
    body, limit = split_limit(text, text[len(kind.name) :], command=kind.command)
    if body[:1] not in ("", "(" if kind.brackets else ":"):
        return None
    require_limit(kind.name, limit, kind.limits)
    return AgentSpec(text, kind.name, kind.parse(body if kind.brackets else body[1:], limit))


def _suggestion(text: str) -> str:
    name = re.split("[:(@]", text, maxsplit=1)[0]
    near = difflib.get_close_matches(name[:MAX_NAME_CHARACTERS], registry.kind_names(), n=1)
    return f": did you mean {shown(near[0] + text[len(name) :])}?" if near else ""


def game_for(game: str | None, agents: Iterable[AgentSpec]) -> pyspiel.Game:
    """Loads the game string `game`, or by default the game of the first run among the agents.

    Raises:
        AgentError: there is no game string and no run.
        UnsupportedGameError: the game is unknown, or cannot be played.
        CheckpointError: the run cannot be used.
    """
    from athenan_spiel.games import load_game

    if game is None:
        game = next((agent.learned_game() for agent in agents if agent.bot == ATHENAN.name), None)
    if game is None:
        raise AgentError("expected a game, as no agent is a run: add one such as --game connect_four")
    return load_game(game)


def require_programs(specs: Iterable[AgentSpec], allowed: Collection[str] | None) -> None:
    """Checks that the specs of a file start only programs that the user allows.

    Args:
        allowed: commands as in the specs; None allows all.

    Raises:
        AgentError: a spec starts another program.
    """
    for spec in specs:
        program = spec.program
        if allowed is not None and program is not None and program not in allowed:
            readable = program.isprintable() and len(program) <= MAX_SHOWN_CHARACTERS
            quoted = shlex.quote(program) if readable else shown(program)
            raise AgentError(
                f"a file names the program {shown(program)}, which needs your permission to start: "
                f"if you trust it, add --allow-program {quoted}"
            )


def make_bot(spec: str | AgentSpec, game: pyspiel.Game | str, player_id: int, seed: int = 0) -> pyspiel.Bot:
    """Creates the bot of an agent spec.

    Args:
        spec: text, or the result of `parse_spec`.
        game: game or game string.
        player_id: player of the bot.
        seed: random seed; ignored by agents without one, such as engines.

    Raises:
        AgentError: `spec` is invalid, or the agent doesn't play `game`.
        AthenanError: as `load_bot`.
    """
    spec = spec if isinstance(spec, AgentSpec) else parse_spec(spec)
    params = {**spec.params, "seed": seed} if spec.kind.seeded else spec.params
    return registry.load_bot(spec.bot, game, player_id, params)

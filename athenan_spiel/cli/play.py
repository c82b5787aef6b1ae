"""`athenan play`: a game between a person and an agent, in the terminal or in a browser."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from athenan_spiel.cli.console import output, progress, say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import AllowCode, LudiiMemory, Memory, allowed, parse_duration, parse_memory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.cli.web import serve_pages
from athenan_spiel.errors import ConfigError, shown

if TYPE_CHECKING:
    import pyspiel

    from agents import AgentSpec
    from athenan_spiel.play.agent import Agent
    from athenan_spiel.training.learning_agent import LearningAgent

SECONDS = 1.0
"""Default time of a hint, in seconds."""
LEARNING = "athenan-ggp"
"""Name of the bot that learns during the game."""
WEB_ONLY = {"also": (), "host": "127.0.0.1", "port": 8000, "open": False}
"""Options of the page, with their defaults."""
NOT_WITH_LEARNING = ("memory", "ponder", "web", "allow_code")
"""Options that an agent refuses that learns during the game."""
LEAST_STATES = 1000
"""Minimum number of states of a tree with a memory limit."""


@dataclass(frozen=True, kw_only=True)
class PlayArguments:
    """Play against an agent, in the terminal, or with --web in a browser.

    AGENT is a spec string, as for `athenan eval`: runs/NAME, runs/NAME#640, runs/NAME@0.5s, mcts:1000, alphabeta@1s,
    random; or human, for people in all seats. With more than two players, copies of the agent take the other seats.
    Type a move or its number. `?` lists the legal moves, `hint` prints the move of an agent, `undo` takes back your
    last move and the replies, `quit` ends the game.

    With --learn, a game takes the place of AGENT. The agent learns it from nothing, before and during the game.

    Example: athenan play runs/connect_four --seconds 0.5 --second
    Example: athenan play "hex(board_size=7)" --learn --start-clock 2m
    """

    common: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "game": ("game", "moves", "first", "second", "seat"),
        "agent": ("seconds", "memory", "ponder", "seed", "roll", "raw", "allow_code", "ludii_memory"),
        "learning (with --learn)": ("learn", "start_clock", "play_clock"),
        "browser (with --web)": ("web", "also", "host", "port", "open"),
    }
    """Options of the help, by group."""

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """Opponent; with --learn, an OpenSpiel game string."""
    game: str | None = None
    """OpenSpiel game string; default: the game of the run."""
    moves: Annotated[tuple[str, ...], tyro.conf.arg(metavar="MOVE [MOVE ...]")] = ()
    """Moves that lead to the initial position, as OpenSpiel writes them or by number; default: no moves."""
    seconds: float | None = None
    """Time per move of the agent, in seconds; default: as in the spec string, else 1."""
    memory: Memory = None
    """Memory limit of this process, such as 2g. At the limit the agent's tree stops growing, and the agent moves before
    its time ends; default: no limit, with --web half of the available memory."""
    ponder: tyro.conf.FlagCreatePairsOff[bool] = False
    """Let the agent search during your turn, as runs/NAME:ponder=true does. Runs and alphabeta only."""
    first: tyro.conf.FlagCreatePairsOff[bool] = False
    """You move first, which is the default; `--second` swaps sides. If a roll decides who begins, you are player 0."""
    second: tyro.conf.FlagCreatePairsOff[bool] = False
    """The agent moves first. In a game for one player it plays the game."""
    seat: Annotated[tuple[int, ...], tyro.conf.arg(metavar="PLAYER [PLAYER ...]")] = ()
    """Your player id, from 0, or those of several people; the agent plays the others. Default: the first to move."""
    seed: int | None = None
    """Random seed of the choice between equal moves and of the rolls; default: 0, with different rolls in each game."""
    roll: Literal["auto", "ask"] = "auto"
    """Source of the rolls of a game with chance: `auto`, the program; `ask`, you, with Enter or the outcome of real
    dice."""
    raw: tyro.conf.FlagCreatePairsOff[bool] = False
    """Show values in units of the outcome instead of expected scores in percent."""
    learn: tyro.conf.FlagCreatePairsOff[bool] = False
    """Play against an agent that learns the game from nothing, first during the start clock and then during all
    turns."""
    start_clock: str | None = None
    """Time of the training before the first move, such as 60s or 5m; default: 60s."""
    play_clock: str | None = None
    """Time per move of the agent, such as 10s; default: 10s."""
    web: tyro.conf.FlagCreatePairsOff[bool] = False
    """Play in a browser, with a board to click and the analysis of the agent."""
    also: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Further agents to choose from on the page, besides alphabeta, mcts, uct and random."""
    host: str = "127.0.0.1"
    """Address of the page. Visitors from other machines need the printed token."""
    port: int = 8000
    """Port of the page."""
    open: tyro.conf.FlagCreatePairsOff[bool] = False
    """Open the page in the browser of this machine."""
    allow_code: AllowCode = ()
    """Custom outcome of the run, which may be imported. Without it, the gain times the run's scale is used."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan play` with these words; returns the exit code."""
    arguments = parse(PlayArguments, words, "athenan play")
    if arguments.first and arguments.second:
        raise ConfigError("expected --first or --second, got both")
    if arguments.seat and (arguments.first or arguments.second):
        raise ConfigError("expected --seat, --first or --second, got more than one")
    from agents import MatchAbandonedError, make_bot, parse_spec
    from agents.specs import game_for
    from athenan_spiel.cli.terminal_match import TerminalMatch
    from athenan_spiel.games.chance import has_chance
    from athenan_spiel.games.moves import position

    game_string: str | None
    if arguments.learn:
        spec, game_string = _learning(arguments), arguments.agent
    elif arguments.start_clock is not None or arguments.play_clock is not None:
        raise ConfigError("--start-clock and --play-clock are for --learn: add it and a game, or leave them out")
    else:
        spec, game_string = _with_seconds(parse_spec(arguments.agent), arguments.seconds), arguments.game
        spec = spec.allowing(allowed(arguments.allow_code))
    if spec.bot == LEARNING:
        _require_for_learning(arguments)
    if arguments.second and spec.is_human:
        raise ConfigError("expected an agent that moves first with --second, got 'human': leave --second out")
    game = game_for(game_string, [spec])
    start = position(game, arguments.moves)
    people = _people(start, spec, arguments)
    others = [player for player in range(game.num_players()) if player not in people]
    if arguments.web:
        _require_for_web(arguments, start)
    elif extra := [name for name, default in WEB_ONLY.items() if getattr(arguments, name) != default]:
        raise ConfigError(f"--{extra[0]} is for a page: add --web, or leave it out")
    if arguments.roll != "auto" and not has_chance(game):
        raise ConfigError(f"--roll is for games with chance, got {shown(str(game))}: leave it out")
    seed = 0 if arguments.seed is None else arguments.seed
    with progress().status("loading the agent"):
        agent = None if spec.is_human else make_bot(spec, game, others[0] if others else 0, seed)
        if arguments.memory is not None and not arguments.web:
            _limit_memory(agent, spec, parse_memory(arguments.memory), len(others) or 1)
        if arguments.ponder:
            _let_ponder(agent, spec, game, others)
    if arguments.web:
        _serve(arguments, start, people)
        return DONE
    with _trained(agent, spec):
        match = TerminalMatch(
            start,
            {} if agent is None else _in_seats(agent, spec, game, others, seed),
            advise=_adviser(game, agent, arguments.seconds, seed),
            dice=random.Random(arguments.seed),
            asks=arguments.roll == "ask",
            width=output().width,
            raw=arguments.raw,
        )
        try:
            print(match.ending(match.play()))
        except MatchAbandonedError as reason:
            print(f"\n{reason}")
    return DONE


def _learning(arguments: PlayArguments) -> AgentSpec:
    """Return the agent of `--learn`.

    Raises:
        ConfigError: an option is for other agents, or a clock is not a duration.
    """
    from agents import AgentSpec

    if arguments.game is not None:
        raise ConfigError(f"--learn takes the game in place of an agent: athenan play {arguments.game!r} --learn")
    if arguments.seconds is not None:
        raise ConfigError("--seconds is for other agents: use --play-clock with --learn")
    clocks = {"start_clock": arguments.start_clock, "play_clock": arguments.play_clock}
    params = {name: parse_duration(text) for name, text in clocks.items() if text is not None}
    return AgentSpec(LEARNING, LEARNING, params)


def _require_for_learning(arguments: PlayArguments) -> None:
    """Raise `ConfigError` for options that an agent does not support that learns during the game."""
    for name in NOT_WITH_LEARNING:
        if getattr(arguments, name):
            option = name.replace("_", "-")
            raise ConfigError(f"--{option} is not for an agent that learns during the game: leave it out")


@contextlib.contextmanager
def _trained(agent: pyspiel.Bot | None, spec: AgentSpec) -> Iterator[None]:
    """Context in which an agent that learns during the game has run its start clock; its training ends with it."""
    if agent is None or spec.bot != LEARNING:
        yield
        return
    from athenan_spiel.system.stopping import StopRequests

    learning: LearningAgent = agent.agent
    with StopRequests() as stops:  # a signal must not interrupt `close`
        try:
            with stops.droppable():
                _train_first(learning)
                yield
        finally:
            learning.close()


def _train_first(agent: LearningAgent) -> None:
    """Run the start clock, and show the progress."""

    def text() -> str:
        return f"learned {agent.progress.games:,} games with {agent.progress.evaluations:,} evaluations"

    say(f"learning for {agent.start_seconds:g} s before the first move")
    with Waiting("learning", agent.start_seconds) as waiting:
        agent.train_first(lambda _: waiting.update(text()))
    say(text())


def _require_for_web(arguments: PlayArguments, start: pyspiel.State) -> None:
    """Raise `ConfigError` for options that a page does not support."""
    from agents import parse_spec
    from athenan_spiel.web.opponents import require_seconds
    from athenan_spiel.web.server import require_web

    require_web()
    for text in arguments.also:
        parse_spec(text)
    if arguments.seconds is not None:
        require_seconds(arguments.seconds)
    if start.is_terminal():
        raise ConfigError("the game is over after these moves: give fewer")
    if arguments.raw:
        raise ConfigError("--raw is for the terminal: a page has the switch Raw values")


def _serve(arguments: PlayArguments, start: pyspiel.State, people: Sequence[int]) -> None:
    """Serve a page with the game; the agent takes its time from the page, unless its spec sets a limit."""
    from agents import parse_spec
    from athenan_spiel.web.opponents import YOU
    from athenan_spiel.web.site import Offer, SiteContent

    spec = parse_spec(arguments.agent).allowing(allowed(arguments.allow_code))
    if arguments.ponder:
        spec = dataclasses.replace(spec, params={**spec.params, "ponder": True})
    seats = [YOU if player in people else spec.text for player in range(start.num_players())]
    words = [spec, *(parse_spec(text).allowing(allowed(arguments.allow_code)) for text in arguments.also)]
    offer = Offer(
        start, words, seats, SECONDS if arguments.seconds is None else arguments.seconds, arguments.roll == "auto"
    )
    serve_pages(SiteContent(offer=offer), arguments.host, arguments.port, opens=arguments.open, memory=arguments.memory)


def _with_seconds(spec: AgentSpec, seconds: float | None) -> AgentSpec:
    """Return `spec` with the time per move of `--seconds`, if that was given."""
    if seconds is None or spec.is_human:
        return spec
    from agents.limits import LIMITS

    if "seconds" not in spec.kind.limits:
        raise ConfigError(f"--seconds needs an agent with a time limit, got {shown(spec.text)}: leave it out")
    if {*LIMITS, "simulations"} & spec.params.keys():
        raise ConfigError(f"expected --seconds or a limit in the agent spec, got both with {shown(spec.text)}")
    return dataclasses.replace(spec, params={**spec.params, "seconds": seconds})


def _limit_memory(agent: pyspiel.Bot | None, spec: AgentSpec, size: int, copies: int) -> None:
    """Limit the trees of the agent's copies and of the adviser for hints, each to an equal part of the memory."""
    from agents import AthenanBot
    from athenan_spiel.search.sizes import node_bytes, sample_trees
    from athenan_spiel.solving.solver import resident_megabytes
    from athenan_spiel.system.machine import megabytes

    if not isinstance(agent, AthenanBot):
        raise ConfigError(f"--memory needs a run or alphabeta as the agent, got {shown(spec.text)}: leave it out")
    search, in_use = agent.agent.search, resident_megabytes() * 1e6
    state = node_bytes(sample_trees(search, priors=search.tells_policy))
    least = in_use + (copies + 1) * LEAST_STATES * state
    if size < least:
        raise ConfigError(f"--memory must be at least {megabytes(least)} for this agent, got {megabytes(size)}")
    agent.agent.bound_tree(int((size - in_use) / (copies + 1) / state))


def _let_ponder(agent: pyspiel.Bot | None, spec: AgentSpec, game: pyspiel.Game, others: Sequence[int]) -> None:
    """Let the agent search during the turns of a person."""
    from agents import AthenanBot

    if not isinstance(agent, AthenanBot):
        raise ConfigError(f"--ponder needs a run or alphabeta as the agent, got {shown(spec.text)}: leave it out")
    if game.num_players() == 1:
        raise ConfigError(f"--ponder is for games for two players, got {str(game)!r}: leave it out")
    if len(others) > 1:
        raise ConfigError(f"--ponder needs a single agent in the game, got {len(others)}: leave it out, or add --seat")
    agent.agent.ponders = True


def _people(start: pyspiel.State, spec: AgentSpec, arguments: PlayArguments) -> list[int]:
    """Return the players that are people; the first player to move is the mover of `start`, or 0 if a roll decides.

    Raises:
        ConfigError: the game has no such seat, or none is left for the agent; or `--second` has several meanings.
    """
    from athenan_spiel.games.chance import mover_after_chance

    players, seats, game = start.num_players(), sorted(set(arguments.seat)), shown(str(start.get_game()))
    if seats and spec.is_human:
        raise ConfigError("--seat needs an agent for the other seats, got 'human', who takes all of them: leave it out")
    for seat in seats:
        if not 0 <= seat < players:
            raise ConfigError(f"--seat must be a player from 0 to {players - 1} of {game}, got {shown(seat)}")
    if len(seats) == players > 1:
        raise ConfigError(f"--seat leaves no seat of {game} to the agent: give fewer, or play against human")
    if arguments.second and players > 2:
        raise ConfigError(f"--second is for games for one or two players, got {game}: use --seat")
    if seats:
        return seats
    if players == 1:
        return [] if arguments.second else [0]
    if spec.is_human:
        return list(range(players))
    mover = mover_after_chance(start) or 0
    return [1 - mover if arguments.second else mover]


def _in_seats(
    agent: pyspiel.Bot, spec: AgentSpec, game: pyspiel.Game, others: Sequence[int], seed: int
) -> dict[int, pyspiel.Bot]:
    """Return a bot for each of the seats `others`: `agent` for the first one, copies of it for the rest."""
    from agents import AthenanBot, make_bot

    def another(player: int) -> pyspiel.Bot:
        return agent.clone() if isinstance(agent, AthenanBot) else make_bot(spec, game, player, seed)

    return {player: agent if player == others[0] else another(player) for player in others}


def _adviser(game: pyspiel.Game, agent: pyspiel.Bot | None, seconds: float | None, seed: int) -> Callable[[], Agent]:
    """Return a function that creates the agent for hints: like the opponent if it has values.

    Otherwise it is alpha-beta, or in a game with rows MCTS, both over random playouts.
    """
    from agents import AthenanBot, load_bot
    from athenan_spiel.evaluators.simple import RolloutEvaluator
    from athenan_spiel.games.rows import rows_of
    from athenan_spiel.outcomes.rows import gain_of
    from athenan_spiel.play.agent import Agent
    from athenan_spiel.search import MCTS, Budget

    if isinstance(agent, AthenanBot):
        another = agent.clone().agent
        another.ponders = False  # it plays no game
        return lambda: another
    budget = SECONDS if seconds is None else seconds
    if rows_of(game) is not None:
        playouts = RolloutEvaluator(gain_of(game), seed % 2**64)
        return lambda: Agent(game, MCTS(game), playouts, budget=Budget(seconds=budget), rng=random.Random(seed))
    return lambda: load_bot("alphabeta", game, 0, {"seconds": budget, "seed": seed}).agent

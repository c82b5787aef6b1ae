"""`athenan eval`: matches of one agent against others, with both colours, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from athenan_spiel.cli.console import output, print_json, progress, say
from athenan_spiel.cli.durations import parse_duration
from athenan_spiel.cli.eval_alone import play_alone, table_of
from athenan_spiel.cli.eval_series import comparison_table, conditions, details_table, play_all_series, sides_table
from athenan_spiel.cli.exit_codes import BAD_INPUT, DONE, STOPPED
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.own_code import AllowCode, AllowProgram, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.start import game_for
from athenan_spiel.cli.workers import Cluster, on_cluster, with_address
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.system.stopping import StopRequests

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.arena.contestant import Contestant
    from athenan_spiel.arena.opening_sets import OpeningSet
    from athenan_spiel.arena.record import MatchWriter
    from athenan_spiel.arena.sprt import Sprt


MOST_MATCHES = 100_000
"""Of a series: more are not what was meant."""
MOST_AT_ONCE = 256
"""Matches at once."""


@dataclass(frozen=True, kw_only=True)
class EvalArguments:
    """Let AGENT play matches against other agents: every random opening twice, colours exchanged. In a game for one
    player each agent plays by itself, and scores are compared.

    An agent is one word: runs/NAME, runs/NAME#640 (its checkpoint after 640 matches), runs/NAME@0.5s (seconds a move),
    runs/NAME@200i (search iterations a move), runs/NAME@60s/match (a match clock), runs/NAME@5m+2s (one with an
    increment), mcts:1000, mcts@0.1s (OpenSpiel's), uct:160 (the papers'), gtp:COMMAND, uci:COMMAND, random;
    docs/using.md has them all. They are loaded before the first match. One that fails later, or chooses no legal move,
    forfeits that match, and the next begins. A match whose process dies or hangs has failed: it counts nowhere else.

    Example: athenan eval runs/connect_four@0.1s --against mcts:100 mcts:1000 --save matches.jsonl
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """The agent that is measured."""
    against: Annotated[tuple[str, ...], tyro.conf.arg(metavar="AGENT [AGENT ...]")] = ()
    """Its opponents, one series of matches each; in a game for one player there need not be any."""
    matches: int = 100
    """Matches against each opponent, half with each colour; so many are declared, unless --sprt ends a series."""
    opening_plies: int | None = None
    """Random actions at the beginning of a match; by default 2, and in a game for one player none."""
    openings: str | None = None
    """A file with a line of moves for each opening; or `balanced`: random ones that a search finds near equal."""
    judge: str | None = None
    """Who says what is balanced: a run, or alphabeta@200i; by default UBFM over random playouts."""
    limit: str | None = None
    """Thinking a move of all agents that can take it, in place of their own: 0.1s, 200i (iterations) or 5000e."""
    sprt: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="ELO0 ELO1")] = None
    """Stop a series once a sequential test accepts that the agent is ELO0 or that it is ELO1 points ahead, each wrongly
    with a probability of 5 %; --matches is then the most."""
    save: str | None = None
    """A new file for the matches, a line each, which `athenan replay` shows."""
    game: str | None = None
    """An OpenSpiel game string; not needed where one of the agents is a run."""
    seed: int = 0
    """Of the openings and the agents."""
    allow_code: AllowCode = ()
    """An outcome of yours that a run was trained with; without this, the run's is the gain times its scale."""
    allow_program: AllowProgram = ()
    """Begin no program but this one, for words that come from a file; without it, all that the words name."""
    ludii_memory: LudiiMemory = None
    matches_at_once: int | None = None
    """Matches that are played at once; 1: one after the other. By default, with seconds a move as many as there are
    cores, each in a process of its own (one of Ludii's games, as each process has its own Java); with iterations as
    many as make the networks fast."""
    cluster: Cluster = None
    """Play on a Ray cluster: auto for that which runs on this machine, HOST:PORT for one that it is a node of; without
    ADDRESS a local one. Programs and what agents' words name must be on all its machines."""
    stall_time: Annotated[str, tyro.conf.arg(metavar="TIME")] = "10m"
    """Time without a move or a batch of evaluations after which the process of a match is killed; the match counts as
    failed, and the others go on. The time limits of agents that think alone, as mcts does, are added."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only load the agents and draw the openings: what is wrong with them is said, and no match is played."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan eval` with these words; returns the exit code."""
    arguments = parse(EvalArguments, with_address(words), "athenan eval")
    from agents import parse_word, require_programs
    from athenan_spiel.arena.contestant import Contestant
    from athenan_spiel.arena.record import MatchWriter
    from athenan_spiel.arena.sprt import Sprt

    stall_seconds = parse_duration(arguments.stall_time)
    code = allowed(arguments.allow_code)
    parsed = [parse_word(word) for word in (arguments.agent, *arguments.against)]
    require_programs(parsed, arguments.allow_program or None)
    for word in parsed:
        if word.is_human:
            raise ConfigError(f"expected agents that play by themselves, got {word.text!r}: use `athenan play`")
    unlimited: tuple[str, ...] = ()
    if arguments.limit is not None:
        from athenan_spiel.arena.equal_limit import limited

        under = limited({word.text: word.text for word in parsed}, arguments.limit)
        parsed = [parse_word(under.words[word.text]) for word in parsed]
        unlimited = under.without
    agents = [word.allowing(code) for word in parsed]
    game = game_for(arguments.game, agents)
    alone = game.num_players() == 1
    if not alone and not arguments.against:
        raise ConfigError("expected at least one agent after --against, got none")
    plies = _checked_opening_plies(game, arguments)
    test = None if arguments.sprt is None else Sprt(elo0=arguments.sprt[0], elo1=arguments.sprt[1])
    if alone and (arguments.sprt or arguments.openings):
        raise ConfigError("--sprt and --openings are for games for two players: leave them out")
    save = None if arguments.save is None else MatchWriter(arguments.save, game, arguments.seed)
    with progress().status("loading the agents"):
        contestants = [Contestant(word, game, arguments.seed + (i > 0 and not alone)) for i, word in enumerate(agents)]
    for opponent in contestants[1:] if not alone else []:
        contestants[0].require_opponent(opponent)
    with progress().status("choosing openings"):
        chosen = None if alone else _openings(game, arguments, plies, contestants)
    if arguments.check:
        say(f"ready to play {game}: {', '.join(map(str, contestants))}")
        return DONE
    done = _Done()
    with StopRequests() as stops:
        try:
            with stops.droppable():
                _play(game, arguments, plies, contestants, chosen, test, save, stall_seconds, done)
        except BaseException as raised:
            done.failure = raised  # the finished matches are printed before it is raised
        _report(game, arguments, plies, done, chosen, unlimited)  # a signal is only noted now
    measured = _all_measured(done)
    if done.failure is None:
        return DONE if measured else BAD_INPUT
    if isinstance(done.failure, KeyboardInterrupt):
        say("stopped: the matches that were finished are counted")
        return STOPPED
    raise done.failure


@dataclass
class _Done:
    """What was played.

    Attributes:
        results: a `Comparison` for each opponent; in a game for one player `Scores` for each agent.
        unplayed: the series of which all matches have failed, and why.
        failure: what ended the evaluation too early.
    """

    results: list[Any] = field(default_factory=list)
    unplayed: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    failure: BaseException | None = None

    @property
    def failed(self) -> list[tuple[str, int, Sequence[str]]]:
        """Series with failed matches: their name, the number of all their matches, and the reasons."""
        from athenan_spiel.arena import Scores

        found = [(name, len(reasons), reasons) for name, reasons in self.unplayed]
        for one in self.results:
            if isinstance(one, Scores):
                found.append((one.agent, len(one.results) + len(one.failures), one.failures))
            else:
                failures = one.series.failures
                found.append(
                    (f"{one.contender} against {one.opponent}", one.series.tally.matches + len(failures), failures)
                )
        return [row for row in found if row[2]]


def _play(
    game: pyspiel.Game,
    arguments: EvalArguments,
    plies: int,
    contestants: Sequence[Contestant],
    chosen: OpeningSet | None,
    test: Sprt | None,
    save: MatchWriter | None,
    stall_seconds: float,
    done: _Done,
) -> None:
    """Play all matches, and add to `done` what comes of them."""
    at_once = arguments.matches_at_once
    lists = done.results, done.unplayed
    with on_cluster(arguments.cluster, [str(game)]) as site:
        if chosen is None:
            count, seed = arguments.matches, arguments.seed
            play_alone(game, contestants, count, plies, seed, at_once, *lists, save, stall_seconds, site)
        else:
            play_all_series(game, contestants, chosen, at_once, *lists, test, save, stall_seconds, site)


def _all_measured(done: _Done) -> bool:
    """Say which matches failed, who forfeited matches, and why; False where a whole series says nothing of play."""
    from athenan_spiel.arena import Scores

    measured = not done.unplayed
    for name, count, reasons in done.failed:
        say(f"{name}: {len(reasons)} of {count} matches failed, the first as {reasons[0]}")
    for comparison in done.results:
        if isinstance(comparison, Scores):
            continue
        count = comparison.series.tally.matches
        for name, forfeited, reason in comparison.forfeited():
            measured &= forfeited < count
            versus = f"{comparison.contender} against {comparison.opponent}"
            say(f"{versus}: {name} forfeited {forfeited} of {count} matches, the first as {reason}")
    return measured


def _openings(
    game: pyspiel.Game, arguments: EvalArguments, plies: int, contestants: Sequence[Contestant]
) -> OpeningSet:
    """The openings that the words ask for, after which all contestants can begin."""
    from athenan_spiel.arena.opening_sets import opening_set
    from athenan_spiel.arena.tournament_settings import openings_from

    config = openings_from(arguments.openings, arguments.judge, plies)
    found = opening_set(game, config, arguments.matches // 2, arguments.seed)
    for contestant in contestants:
        contestant.require_openings(found.openings)
    return found


def _report(
    game: pyspiel.Game,
    arguments: EvalArguments,
    plies: int,
    done: _Done,
    chosen: OpeningSet | None,
    unlimited: Sequence[str],
) -> None:
    """Print what was played until the end or until a failure."""
    alone = game.num_players() == 1
    results, failure = done.results, done.failure
    if arguments.json:
        reason = "stopped" if isinstance(failure, KeyboardInterrupt) else str(failure) or type(failure).__name__
        print_json(
            {
                "game": str(game),
                "opening_plies": plies if arguments.openings in (None, "balanced") else None,
                "seed": arguments.seed,
                "finished": failure is None,
                "reason": None if failure is None else reason,
                "scores" if alone else "comparisons": [one.to_json() for one in results],
                "without_result": [{"series": name, "failed": list(why)} for name, why in done.unplayed],
                "openings": None if chosen is None else chosen.told,
                "limit": arguments.limit,
                "without_limit": list(unlimited),
            }
        )
    elif results:
        if chosen is None:
            output().print(table_of(game, results))
            return
        output().print(comparison_table(game, results))
        output().print(sides_table(results))
        output().print(details_table(results))
        print(conditions(arguments.matches, results, chosen.told, arguments.limit, unlimited))


def _checked_opening_plies(game: pyspiel.Game, arguments: EvalArguments) -> int:
    """How many plies the openings have, in a game that has enough different ones."""
    from athenan_spiel.play.openings import lone_openings, series_openings

    if arguments.matches > MOST_MATCHES:
        raise ConfigError(f"matches must be at most {MOST_MATCHES}, got {shown(arguments.matches)}")
    at_once = arguments.matches_at_once
    if at_once is not None and not 1 <= at_once <= MOST_AT_ONCE:
        raise ConfigError(f"--matches-at-once must be from 1 to {MOST_AT_ONCE}, got {shown(at_once)}")
    alone = game.num_players() == 1
    plies = arguments.opening_plies if arguments.opening_plies is not None else 0 if alone else 2
    random_ones = arguments.openings is None
    if alone:
        lone_openings(game, arguments.matches, plies, arguments.seed)
    else:
        series_openings(game, arguments.matches, plies if random_ones else 0, arguments.seed)
    return plies

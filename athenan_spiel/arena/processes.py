"""Plays the games of one or several series in worker processes.

1. Results are those of `play_together` in one process, because a game depends on its number only. Games that share
   batches are played side by side in one process, in the same groups for any number of processes.
2. If moves are limited by seconds, each process plays one game at a time, so that no game uses another one's core.
3. A network uses its process's share of the cores.
4. A player that ponders needs a second core.
5. This process plays all games if a player cannot be pickled, or if it is a daemon of `multiprocessing`, which must not
   start processes. It also plays games whose players or game a worker process cannot create.
6. With `on_failure` at least one worker process is used. If a process dies (native code, memory) or makes no progress
   for too long, its game has failed and the others continue. If it played several games, each of them is played again
   alone, so only games that end a process a second time fail.
"""

from __future__ import annotations

import functools
import io
import multiprocessing
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyspiel

from athenan_spiel.config import EngineConfig
from athenan_spiel.errors import AgentError, AthenanError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.play.match import MatchResult, reason_of
from athenan_spiel.play.player import (
    AskingPlayer,
    Player,
    match_increment_of,
    match_seconds_of,
    ponders,
    require_own_time,
    seconds_of,
)
from athenan_spiel.play.series import Fixture, Sides, agents_of, parts, play_together, sides_by_agent
from athenan_spiel.system.cluster import Cluster
from athenan_spiel.system.machine import cores, free_memory
from athenan_spiel.system.tasks import LossPolicy, do_tasks

PROCESS_BYTES = 1_000_000_000
"""Memory estimate of a process with its libraries and two trees, in bytes."""
LONG_SECONDS = 20.0
"""Minimum total time of all games for which starting processes, a few seconds each, pays off."""
SECONDS_AN_ITERATION = 1e-4
SECONDS_AN_EVALUATION = 1.5e-5
"""Rough duration of an iteration and an evaluation of a search with a network."""
MOVES = 20
"""Rough minimum number of moves per game."""
SILENT_SECONDS = 600.0
"""Time without a move or a batch of evaluations after which a process is killed, beyond the time limits."""
ALIVE_SECONDS = 1.0
"""Time between two reports that a process is making progress."""
AGENTS_KEPT = 4
"""Maximum number of loaded agents per process."""


@dataclass(frozen=True)
class Encounter:
    """A series of games to play.

    Attributes:
        sides: the players. An agent's two players are sent to a process together and keep their shared objects.
        matches: the remaining games.
    """

    game: pyspiel.Game
    sides: Sides
    matches: Sequence[Fixture]


def play_all(
    encounters: Sequence[Encounter],
    on_result: Callable[[int, Fixture, MatchResult], None],
    *,
    forfeits: bool,
    at_once: int | None = None,
    wanted: Callable[[int], bool] = lambda index: True,
    cluster: Cluster | None = None,
    on_failure: Callable[[int, Fixture, str], None] | None = None,
    silent_seconds: float = SILENT_SECONDS,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Play the games of several series, in several processes where that is faster; series start in their order.

    Args:
        on_result: called with the index of the series, the fixture and the result of each finished game.
        forfeits: as for `play_together`.
        at_once: maximum number of concurrent games in all processes; None: chosen by the machine and the players.
        wanted: called with the index of a series before each part of its games; if it returns False, the rest of the
            series is not played.
        cluster: the cluster that plays; None: this machine.
        on_failure: called with the index of the series, the fixture and the reason if the process of a game died or
            hung; the game has no result. None: the first such game raises.
        silent_seconds: with `on_failure`, time without a move or a batch of evaluations after which a process is
            killed. The longest time limit of a move or a game is added for players that think without the driver.
        stop: called regularly while other processes play; if it returns True, games in progress are dropped.

    Raises:
        AgentError: as `play_together`; in another process for any error of a player or the game. Also if a player
            cannot be sent to the cluster, or ponders during the time of another player.
        ExperimentError: a process ended by itself, could not be started or ran out of memory; with `on_failure`,
            `tasks.MAX_LOSSES_IN_A_ROW` processes ended in a row without a result.
        KeyboardInterrupt: Ctrl-C was pressed, or `stop` returned True.
    """
    for encounter in encounters:
        for players in encounter.sides:
            require_own_time(players)
    split = [parts(encounter.sides, encounter.matches, at_once) for encounter in encounters]
    processes = _processes(encounters, split, at_once, cluster)
    share = max(1, cores() // processes) if cluster is None else 1
    isolated = on_failure is not None and cluster is None and _may_start_processes()
    agents = _pickled_agents(encounters, share) if processes > 1 or cluster is not None or isolated else None
    if agents is None and cluster is not None:
        raise AgentError("a player cannot be sent to the cluster: leave out --cluster")

    def play_here(index: int, part: Sequence[Fixture]) -> None:
        if wanted(index):
            encounter, tell = encounters[index], functools.partial(on_result, index)
            play_together(encounter.game, encounter.sides, part, tell, forfeits=forfeits)

    if agents is None:
        for index, together in enumerate(split):
            for part in together:
                play_here(index, part)
        return
    tasks = [
        PlayTask(index, str(encounter.game), players, part, forfeits, shows_life=isolated)
        for index, (encounter, together, players) in enumerate(zip(encounters, split, agents, strict=True))
        for part in together
    ]
    ended: set[tuple[int, int]] = set()
    returned: list[PlayTask] = []  # tasks whose players or game a worker process cannot create

    def on_report(task: PlayTask, report: Any) -> None:
        if isinstance(report, str):
            if cluster is not None:
                raise AgentError(f"the cluster cannot play it: {report}")
            returned.append(task)
        elif report is not None:
            fixture, result = report
            ended.add((task.index, fixture.index))
            on_result(task.index, fixture, result)

    def on_lost(task: PlayTask, reason: str) -> Sequence[PlayTask]:
        assert on_failure is not None, "else nothing is lost"
        left = [fixture for fixture in task.matches if (task.index, fixture.index) not in ended]
        if len(left) == 1:
            on_failure(task.index, left[0], reason)
            return ()
        return [replace(task, matches=[fixture]) for fixture in left]

    do_tasks(
        tasks,
        processes,
        on_report,
        lambda task: None,
        wanted=lambda task: wanted(task.index),
        cluster=cluster,
        losses=LossPolicy(on_lost, silent_seconds + _longest_step(encounters)) if isolated else None,
        stop=stop,
    )
    for task in returned:
        play_here(task.index, task.matches)


def _may_start_processes() -> bool:
    return not multiprocessing.current_process().daemon


def _processes(
    encounters: Sequence[Encounter],
    split: Sequence[Sequence[Sequence[Fixture]]],
    at_once: int | None,
    cluster: Cluster | None,
) -> int:
    most = max(1, sum(map(len, split)))
    if at_once is not None:
        largest = max((len(together[0]) for together in split if together), default=1)
        wanted = max(1, at_once // largest)
        return wanted if cluster is not None else min(most, wanted)
    if cluster is not None:
        return cluster.processors
    move_seconds = [max(_seconds(player) for side in e.sides for player in side) for e in encounters]
    seconds = sum(move * MOVES * len(e.matches) for move, e in zip(move_seconds, encounters, strict=True))
    if seconds < LONG_SECONDS or any(_needs_scarce_resource(e.game, e.sides) for e in encounters):
        return 1
    free = free_memory()
    by_memory = most if free is None else max(1, free // PROCESS_BYTES)
    pondering = any(ponders(player) for e in encounters for side in e.sides for player in side)
    by_cores = max(1, cores() // 2) if pondering else cores()
    return min(most, by_cores, by_memory)


def _seconds(player: Player) -> float:
    """Returns the rough time of a move; 0 if the player doesn't report its limits."""
    match_seconds = match_seconds_of(player)
    limits = [None if match_seconds is None else match_seconds / MOVES + match_increment_of(player)]
    if isinstance(player, AskingPlayer):
        budget = player.budget
        limits += [
            budget.seconds,
            budget.network_seconds,
            None if budget.iterations is None else budget.iterations * SECONDS_AN_ITERATION,
            None if budget.evaluations is None else budget.evaluations * SECONDS_AN_EVALUATION,
        ]
    else:
        limits.append(seconds_of(player))
    return min((limit for limit in limits if limit is not None), default=0.0)


def _longest_step(encounters: Sequence[Encounter]) -> float:
    """Returns the longest time without progress that the time limits allow; 0 without such limits."""
    players = [
        player for e in encounters for side in e.sides for player in side if not isinstance(player, AskingPlayer)
    ]
    return max(
        (limit for p in players for limit in (seconds_of(p), match_seconds_of(p)) if limit is not None), default=0
    )


def _needs_scarce_resource(game: pyspiel.Game, sides: Sides) -> bool:
    """Whether each process would need a scarce resource: Java with its memory, or a GPU's memory."""
    if game.get_type().short_name.startswith("ludii"):
        return True
    evaluators = [player.evaluator for side in sides for player in side if isinstance(player, AskingPlayer)]
    return any(isinstance(e, NetworkEvaluator) and e.engine.config.name == "cuda" for e in evaluators)


@dataclass(frozen=True)
class PlayTask:
    """A task that plays some games side by side.

    It reports (fixture, result) of each game. With `shows_life`, it also reports None about once a second while it
    makes progress. If the players or the game cannot be created, it reports the reason as text.

    Attributes:
        index: index of the series.
        agents: pickled players of each agent, one per colour.
        shows_life: whether it reports progress.
    """

    keeps_results: ClassVar[bool] = False  # the caller stores what was reported
    processes_option: ClassVar[str] = "--matches-at-once"
    index: int
    game: str
    agents: tuple[bytes, ...]
    matches: Sequence[Fixture]
    forfeits: bool
    shows_life: bool = False

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        """Play all games; returns False if `stop` ended it after a game."""
        reported_at = time.monotonic()

        def on_step() -> None:
            nonlocal reported_at
            if self.shows_life and time.monotonic() - reported_at > ALIVE_SECONDS:
                reported_at = time.monotonic()
                report(None)

        try:
            game = _game(self.game)
            sides = sides_by_agent([_players(agent, self.game) for agent in self.agents])
        except MemoryError:
            raise
        except Exception as error:
            report(reason_of(error))
            return True

        def play(on_game: Callable[[Any], None]) -> None:
            def on_result(fixture: Fixture, result: MatchResult) -> None:
                on_game((fixture, result))

            try:
                play_together(game, sides, self.matches, on_result, forfeits=self.forfeits, on_step=on_step)
            except (_StoppedError, AthenanError, MemoryError, OSError):
                raise
            except Exception as error:
                raise AgentError(reason_of(error)) from error

        return play_until_stopped(play, report, stop)


def play_until_stopped(
    play: Callable[[Callable[[Any], None]], None], report: Callable[[Any], None], stop: Callable[[], bool]
) -> bool:
    """Call `play(on_game)`, and report each game; returns False if `stop` ended it after a game."""

    def on_game(game: Any) -> None:
        report(game)
        if stop():
            raise _StoppedError

    try:
        play(on_game)
    except _StoppedError:
        return False
    return True


class _StoppedError(Exception):
    pass


class _Pickler(pickle.Pickler):
    """Limits the threads of pickled networks."""

    def __init__(self, file: io.BytesIO, threads: int) -> None:
        super().__init__(file)
        self._threads = threads

    def reducer_override(self, thing: object) -> Any:
        if not isinstance(thing, NetworkEvaluator):
            return NotImplemented
        make, arguments = thing.__reduce__()
        return make, tuple(
            replace(x, threads=min(self._threads, x.threads or self._threads)) if isinstance(x, EngineConfig) else x
            for x in arguments
        )


def _pickled_agents(encounters: Sequence[Encounter], threads: int) -> list[tuple[bytes, ...]] | None:
    """Returns the pickled agents of each series; None if one cannot be pickled.

    An agent that plays several series is pickled once, if its players are the same objects in all of them.
    """
    known: dict[tuple[int, ...], bytes] = {}

    def pickled(players: Sequence[Player]) -> bytes:
        identity = tuple(map(id, players))
        if identity not in known:
            file = io.BytesIO()
            _Pickler(file, threads).dump(players)
            # The number keeps agents apart that pickle equally; unpickling ignores what follows.
            known[identity] = file.getvalue() + b" %d" % len(known)
        return known[identity]

    try:
        return [tuple(map(pickled, agents_of(encounter.sides))) for encounter in encounters]
    except Exception:
        return None


@functools.lru_cache(maxsize=1)
def _game(spec: str) -> pyspiel.Game:
    """Loads the game once per process."""
    return load_game(spec)


@functools.lru_cache(maxsize=AGENTS_KEPT)
def _players(agent: bytes, spec: str) -> Sequence[Player]:
    """Creates an agent's players once per process, and runs their networks once, so that no first move is slower."""
    players: Sequence[Player] = pickle.loads(agent)
    for player in players:
        if isinstance(player, AskingPlayer):
            player.evaluator([_game(spec).new_initial_state()])
    return players

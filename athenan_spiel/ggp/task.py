"""One game of a general game playing series: a training, then a tournament against the opponents.

    games/GAME/run/           the training, a `TrainingTask` of an experiment
    games/GAME/matches/       a tournament of the trained agent against each opponent
    games/GAME/result.json    the row of the report, once both have ended
    games/GAME/failure.json   the reason, if the game failed

1. A game with a result or a failure is finished. Everything else continues where it stopped, also after a kill.
2. An error of the game, the training or an agent is a failure of this game only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import athenan_spiel
from athenan_spiel.arena.comparison import PairResult
from athenan_spiel.arena.opening_sets import opening_set
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.standings import Standings
from athenan_spiel.arena.tournament import run_tournament
from athenan_spiel.arena.tournament_settings import OpeningsConfig, Tournament, named
from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.errors import CheckpointError, ExperimentError, UnsupportedGameError
from athenan_spiel.experiments.run import shared_cores
from athenan_spiel.experiments.training import TrainingTask, is_finished, require_same_training, stage_path
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.extensions import category_of, recommended_ai
from athenan_spiel.ggp.rows import FAILURE, MATCHES, MAX_REASON, RESULT, RUN, read_row, write_row
from athenan_spiel.ggp.settings import STAGES, GgpSettings
from athenan_spiel.play.match import reason_of
from athenan_spiel.play.openings import games_per_opening
from athenan_spiel.play.series import Tally, points_of
from athenan_spiel.system.files import locked, remove
from athenan_spiel.system.machine import cores, gigabytes, memory, processor
from athenan_spiel.system.portable import peak_memory, resident_memory
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.curves import CurvePoint, RunCurves
from athenan_spiel.training.presets import preset
from athenan_spiel.training.run_folder import CONFIG, RunFolder

AGENT = "athenan"
"""Name of the trained agent in the tournaments."""
MAX_CURVE_POINTS = 40
"""Maximum number of points of the learning curve in a row."""
MEMORY_POLL_SECONDS = 1.0
MEMORY_FACTOR = 1.25
"""Memory at which the process of a training is killed, relative to its budget."""
REPORT_SECONDS = 30.0
"""Maximum time between two reports during games, in seconds: a game may take longer than `run.SILENT_SECONDS`."""
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Errors of the system that would also fail the other games."""
LOCK = ".lock"
PATIENCE_SECONDS = 60.0
"""Maximum time to wait for the process of a killed series, in seconds."""

Phase = Literal["training", "games", "finished", "failed"]


@dataclass(frozen=True)
class GameProgress:
    """Progress of one game.

    Attributes:
        done: fraction of the phase, in [0, 1].
        reason: reason of the failure, if the game failed.
        seconds_left: estimated time until the end of the phase, in seconds; None if unknown.
        points: points made so far against each opponent, and the number of games.
    """

    phase: Phase
    done: float = 0.0
    reason: str = ""
    seconds_left: float | None = None
    points: Mapping[str, tuple[float, int]] = field(default_factory=dict)


class _StoppedError(Exception):
    pass


@dataclass(frozen=True)
class GameTask:
    """A task that trains an agent for a game, which then plays against the opponents. It reports `GameProgress`.

    Attributes:
        folder: folder of the game.
        processes: number of concurrent tasks on a machine, which share its cores and its memory.
    """

    keeps_results: ClassVar[bool] = True
    processes_option: ClassVar[str] = "--processes"
    folder: Path
    game: str
    settings: GgpSettings
    processes: int

    def run(self, report: Callable[[GameProgress], None], stop: Callable[[], bool]) -> bool:
        """Trains and plays; returns False if `stop` ended it, with all work saved.

        Raises:
            ExperimentError: another process works on the game.
            CheckpointError, OSError: a file cannot be written, for example on a full disk.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as held:
            _lock(self.folder / LOCK, held)
            return self._run(report, stop)

    def _run(self, report: Callable[[GameProgress], None], stop: Callable[[], bool]) -> bool:
        if (known := read_row(self.folder, self.game)) is not None:  # a cluster may run a task twice
            report(progress_of(known))
            return True
        try:
            was_started = (self.folder / RUN / CONFIG).exists()
            with self._limited_memory():
                report(GameProgress("training"))
                self._require_game()
                if not self._train(report, stop):
                    return False
            peak = None if was_started else peak_memory()  # another process had a part of the training
            row = self._row(self._play(report, stop), peak)
            write_row(self.folder / RESULT, row)
            report(progress_of(row))
        except _StoppedError:
            return False
        except OSError:
            raise
        except Exception as error:
            if _is_of_the_disk(error):
                raise
            fail(self, reason_of(error))
            report(GameProgress("failed", 1.0, reason_of(error)))
        return True

    def _require_game(self) -> None:
        """Checks what can be checked before the training.

        Raises:
            AthenanError: the game cannot be trained, has no opponents, or the openings do not suit it.
        """
        game = load_game(self.game)  # an error has no name of a file here
        if game.num_players() == 1:
            raise UnsupportedGameError("it is for one player, so it has no opponents: use `athenan train`")
        opening_set(game, OpeningsConfig(plies=self.settings.opening_plies), 1, self.settings.seed)

    @contextlib.contextmanager
    def _limited_memory(self) -> Iterator[None]:
        """Context that ends this process when it needs more than `memory_limit`. The failure is recorded before."""
        limit, ended = memory_limit(self.settings, self.processes), threading.Event()

        def watch() -> None:
            while not ended.wait(MEMORY_POLL_SECONDS):
                used = resident_memory()
                if used is not None and limit is not None and used > limit:
                    fail(self, f"it needed more than {gigabytes(limit)} of memory")
                    os._exit(1)

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _train(self, report: Callable[[GameProgress], None], stop: Callable[[], bool]) -> bool:
        run = self.folder / RUN
        config = training_config(self.settings, self.game, self.processes)
        if is_finished(run, len(STAGES)):
            wanted = str(load_game(self.game)), config
            require_same_training(run, RunFolder(run).settings(), wanted, fits=True)
            return True
        if (run / CONFIG).exists() and RunFolder(run).newest() is None:  # killed before it kept what it had measured
            remove(run)
        task = TrainingTask(run, self.game, config, STAGES, fits=True)
        seconds = self.settings.training_seconds(self.game)
        return task.run(
            lambda done: report(GameProgress("training", done, seconds_left=max(0.0, 1 - done) * seconds)), stop
        )

    def _play(self, report: Callable[[GameProgress], None], stop: Callable[[], bool]) -> Standings:
        tournament = tournament_of(self.settings, self.game, self.folder)
        points: dict[str, tuple[float, int]] = {}
        started: tuple[float, int] | None = None
        last, reported_at = GameProgress("games"), time.monotonic()

        def on_match(match: SavedMatch) -> None:
            pairing = match.pairing(tournament.pairs())
            assert pairing is not None, "the folder has checked it"
            _, opponent, colour = pairing
            made, games = points.get(opponent, (0.0, 0))
            points[opponent] = made + points_of(match.result, colour), games + 1

        def progress(done: int, total: int) -> None:
            nonlocal started, last, reported_at
            started, reported_at = started or (time.monotonic(), done), time.monotonic()
            new = done - started[1]
            left = (reported_at - started[0]) / new * (total - done) if new else None
            last = GameProgress("games", done / total, seconds_left=left, points=dict(points))
            report(last)
            if stop():
                raise _StoppedError

        def is_stopped() -> bool:
            nonlocal reported_at
            if time.monotonic() - reported_at > REPORT_SECONDS:  # `run_tournament` kills a game that hangs
                reported_at = time.monotonic()
                report(last)
            return stop()

        try:
            standings = run_tournament(
                tournament,
                self.folder / MATCHES,
                matches_at_once=1,
                progress=progress,
                on_match=on_match,
                stop=is_stopped,
            )
        except KeyboardInterrupt:
            raise _StoppedError from None
        assert standings is not None, "it was played"
        if len(standings.pairs) < len(tournament.pairs()):
            raise ExperimentError(f"no game against an opponent was finished, as {standings.failures[0].reason}")
        return standings

    def _row(self, standings: Standings, peak: int | None) -> dict[str, Any]:
        header = read_header(stage_path(self.folder / RUN, len(STAGES)))
        game, counters, fit = load_game(header.game), header.counters, header.fit or {}
        curves = RunCurves(self.folder / RUN)
        while curves.update():
            pass
        return {
            "game": self.game,
            "trained_as": header.game,
            "category": category_of(game),
            "players": game.num_players(),
            "chance": has_chance(game),
            "actions": game.num_distinct_actions(),
            "tensor": list(Encoder(game, edges=header.config.encoding.edges).shape),
            "branching": fit.get("branching"),
            "length": fit.get("length"),
            "filters": header.config.network.filters,
            "outcome": header.config.outcome,
            "training_games": counters.matches,
            "undecided_training_games": curves.undecided,
            "cut_training_games": curves.cut_off,
            "training_seconds": round(counters.seconds, 3),
            "sessions": curves.sessions,
            "evaluations_per_second": round(counters.evaluations / max(counters.seconds, 1e-9), 1),
            "samples": counters.states_learned,
            "peak_megabytes": None if peak is None else round(peak / 1e6, 1),
            "failed_games": len(standings.failures),
            "forfeits": sum(count for count, _ in standings.reasons.values()),
            "problems": _problems(standings),
            "first_player_points": _first_player_points(standings),
            "pairs": [pair.to_json() for _, pair in standings.pairs],
            "choice": curves.choice,
            "loss": [(round(point.at.hours * 3600, 1), point.value) for point in _thinned(curves.loss.points)],
            "machine": machine(),
            "processes": self.processes,
            "version": athenan_spiel.__version__,
        }


def _thinned(points: Sequence[CurvePoint]) -> Sequence[CurvePoint]:
    """Returns at most `MAX_CURVE_POINTS` points of a curve, at equal distances from its last one."""
    step = max(1, math.ceil(len(points) / MAX_CURVE_POINTS))
    return points[::-step][::-1]


def _problems(standings: Standings) -> list[str]:
    """Returns a line for each agent that forfeited games, and one for games without a result."""
    lines = [
        f"{name} forfeited {count} game{'s' * (count > 1)}, the first as {reason}"
        for name, (count, reason) in standings.reasons.items()
    ]
    if failures := standings.failures:
        count = len(failures)
        lines.append(f"{count} game{'s' * (count > 1)} had no result, the first as {failures[0].reason}")
    return [line[:MAX_REASON] for line in lines]


def _first_player_points(standings: Standings) -> float | None:
    """Returns the points of the player who moved first, in [0, 1]; None with more than two players."""
    total = Tally()
    for _, pair in standings.pairs:
        if isinstance(pair, PairResult):
            second = pair.moving_second
            total += pair.moving_first + Tally(second.losses, second.draws, second.wins)
    return total.points if total.matches else None


def machine() -> str:
    """Returns a description of this machine: processor, cores and memory."""
    installed = memory()
    size = "" if installed is None else f", {gigabytes(installed)}"
    return f"{processor()}, {cores()} core{'s' * (cores() > 1)}{size}"


def memory_limit(settings: GgpSettings, processes: int) -> int | None:
    """Returns the memory, in bytes, at which the process of a training is killed; None if the machine's is unknown.

    It is a little more than the budget of the training, which may be exceeded for a moment. Without a budget it is the
    machine's memory, divided by `processes`, so a game that grows doesn't end the others.
    """
    if settings.memory is not None:
        return round(MEMORY_FACTOR * settings.memory)
    installed = memory()
    return None if installed is None else installed // processes


def progress_of(row: Mapping[str, Any]) -> GameProgress:
    """Returns the progress of a finished game with this row."""
    if "reason" in row:
        return GameProgress("failed", 1.0, row["reason"])
    points = {pair["opponent"]: (pair["points"] * pair["matches"], pair["matches"]) for pair in row["pairs"]}
    return GameProgress("finished", 1.0, points=points)


def training_config(settings: GgpSettings, game: str, processes: int) -> TrainingConfig:
    """Returns the settings of a training, before they are fitted to the game."""
    memory = MemoryConfig() if settings.memory is None else MemoryConfig(bytes=settings.memory)
    config = dataclasses.replace(
        preset("quick"), seconds=settings.training_seconds(game), seed=settings.seed, memory=memory
    )
    return shared_cores(config, processes)


def tournament_of(settings: GgpSettings, game: str, folder: Path) -> Tournament:
    """Returns the tournament of the trained agent of `game` against the opponents."""
    trained_as = read_header(stage_path(folder / RUN, len(STAGES))).game
    loaded = load_game(trained_as)
    recommended = "" if settings.opponents else recommended_ai(loaded)
    each = games_per_opening(loaded)
    return Tournament(
        name=AGENT,
        games=(trained_as,),
        agents={AGENT: f"{(folder / RUN).as_posix()}@{settings.move_seconds:g}s"},
        pool=named(settings.opponents_of(game, recommended), "opponents"),
        matches=-(-settings.matches // each) * each,
        openings=OpeningsConfig(plies=settings.opening_plies),
        seed=settings.seed,
    )


def fail(task: GameTask, reason: str) -> None:
    """Records the failure of a game.

    Raises:
        OSError: it cannot be written.
    """
    task.folder.mkdir(parents=True, exist_ok=True)
    write_row(task.folder / FAILURE, {"game": task.game, "reason": reason[:MAX_REASON]})


def _is_of_the_disk(error: Exception) -> bool:
    """Returns whether the disk is the cause of a training's error, and not the game."""
    cause: BaseException | None = error if isinstance(error, CheckpointError) else None
    while isinstance(cause, CheckpointError):
        cause = cause.__context__
    return isinstance(cause, OSError) and cause.errno in DISK_ERRORS


def _lock(path: Path, held: contextlib.ExitStack) -> None:
    """Locks the game for this process. After a kill, the process of the killed series may need a moment to end.

    Raises:
        ExperimentError: another process keeps it locked.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            held.enter_context(locked(path))
        except BlockingIOError:
            if time.monotonic() > until:
                raise ExperimentError(f"another process works in {path.parent}: wait for it, or stop it") from None
            time.sleep(0.1)
        else:
            return

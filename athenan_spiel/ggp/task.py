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
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from athenan_spiel.arena.standings import Standings
from athenan_spiel.arena.tournament import run_tournament
from athenan_spiel.arena.tournament_settings import OpeningsConfig, Tournament, named
from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.experiments.run import shared_cores
from athenan_spiel.experiments.training import TrainingTask, is_finished, stage_path
from athenan_spiel.games import load_game
from athenan_spiel.ggp.settings import STAGES, GgpSettings
from athenan_spiel.play.match import reason_of
from athenan_spiel.play.openings import games_per_opening
from athenan_spiel.system.files import parse_json, read_file, replace_durably
from athenan_spiel.system.portable import peak_memory
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.presets import preset

RUN, MATCHES, RESULT, FAILURE = "run", "matches", "result.json", "failure.json"
AGENT = "athenan"
"""Name of the trained agent in the tournaments."""
MAX_ROW_BYTES = 2**20
"""Maximum size of a result or failure, in bytes."""

Phase = Literal["training", "games", "finished", "failed"]


@dataclass(frozen=True)
class GameProgress:
    """Progress of one game.

    Attributes:
        done: fraction of the phase, in [0, 1].
        reason: reason of the failure, if the game failed.
    """

    phase: Phase
    done: float = 0.0
    reason: str = ""


class _StoppedError(Exception):
    pass


@dataclass(frozen=True)
class GameTask:
    """A task that trains an agent for a game, which then plays against the opponents. It reports `GameProgress`.

    Attributes:
        folder: folder of the game.
        processes: number of concurrent tasks, which share the cores.
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
            OSError: a file cannot be written, for example on a full disk.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            report(GameProgress("training"))
            load_game(self.game)  # raises the reason of a game that cannot be trained, without the name of a file
            if not self._train(report, stop):
                return False
            write_row(self.folder / RESULT, self._row(self._play(report, stop)))
            report(GameProgress("finished", 1.0))
        except _StoppedError:
            return False
        except OSError:
            raise
        except Exception as error:
            fail(self, reason_of(error))
            report(GameProgress("failed", 1.0, reason_of(error)))
        return True

    def _train(self, report: Callable[[GameProgress], None], stop: Callable[[], bool]) -> bool:
        run = self.folder / RUN
        if is_finished(run, len(STAGES)):
            return True
        config = training_config(self.settings, self.game, self.processes)
        task = TrainingTask(run, self.game, config, STAGES, fits=True)
        return task.run(lambda done: report(GameProgress("training", done)), stop)

    def _play(self, report: Callable[[GameProgress], None], stop: Callable[[], bool]) -> Standings:
        def progress(done: int, total: int) -> None:
            report(GameProgress("games", done / total))
            if stop():
                raise _StoppedError

        tournament = tournament_of(self.settings, self.game, self.folder)
        standings = run_tournament(tournament, self.folder / MATCHES, matches_at_once=1, progress=progress)
        assert standings is not None, "it was played"
        return standings

    def _row(self, standings: Standings) -> dict[str, Any]:
        header = read_header(stage_path(self.folder / RUN, len(STAGES)))
        game, counters, fit, peak = load_game(header.game), header.counters, header.fit or {}, peak_memory()
        return {
            "game": self.game,
            "trained_as": header.game,
            "players": game.num_players(),
            "actions": game.num_distinct_actions(),
            "tensor": list(game.observation_tensor_shape()),
            "branching": fit.get("branching"),
            "length": fit.get("length"),
            "filters": header.config.network.filters,
            "outcome": header.config.outcome,
            "training_games": counters.matches,
            "training_seconds": round(counters.seconds, 3),
            "evaluations_per_second": round(counters.evaluations / max(counters.seconds, 1e-9), 1),
            "samples": counters.states_learned,
            "peak_megabytes": None if peak is None else round(peak / 1e6, 1),
            "failed_games": len(standings.failures),
            "pairs": [pair.to_json() for _, pair in standings.pairs],
        }


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
    each = games_per_opening(load_game(trained_as))
    return Tournament(
        name=AGENT,
        games=(trained_as,),
        agents={AGENT: f"{(folder / RUN).as_posix()}@{settings.move_seconds:g}s"},
        pool=named(settings.opponents_of(game), "opponents"),
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
    write_row(task.folder / FAILURE, {"game": task.game, "reason": reason})


def write_row(path: Path, row: Mapping[str, Any]) -> None:
    """Writes a result or a failure.

    Raises:
        OSError: it cannot be written.
    """
    replace_durably(path, (json.dumps(row) + "\n").encode())


def read_row(folder: Path, game: str) -> dict[str, Any] | None:
    """Returns the result or failure of a game; None if it is not finished. A damaged file counts as none."""
    for name in (RESULT, FAILURE):
        with contextlib.suppress(OSError, ValueError):
            row = parse_json(read_file(folder / name, MAX_ROW_BYTES))
            if isinstance(row, dict) and row.get("game") == game:
                return row
    return None

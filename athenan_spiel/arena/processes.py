"""The matches of a series in several processes.

1. What comes out is what `play_together` gives in one process: a match depends on its number alone. Matches that gain
   by it are played side by side within a process, the same ones whatever the number of processes.
2. Where seconds limit a move, each process plays one match at a time, so that no match thinks on another's core.
3. A network computes with its share of the cores.
4. Players that `pickle` does not take stay in this process, which then plays all matches.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyspiel

from athenan_spiel.config import EngineConfig
from athenan_spiel.errors import AgentError, AthenanError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.play.match import MatchResult, reason_of
from athenan_spiel.play.player import AskingPlayer
from athenan_spiel.play.series import Fixture, Sides, parts, play_together
from athenan_spiel.search.drive import Budget
from athenan_spiel.system.machine import cores, free_memory
from athenan_spiel.system.workers import do_tasks

PROCESS_BYTES = 1_000_000_000
"""Memory that a process may need, with its libraries and two trees."""
LONG_SECONDS = 20.0
"""Where all matches are over sooner than this, processes are not worth their start, of a few seconds each."""
SECONDS_AN_ITERATION = 1e-4
SECONDS_AN_EVALUATION = 1.5e-5
"""Of a search with a network, roughly."""
MOVES = 20
"""Of a match, at least, in most games."""


def play_everywhere(
    game: pyspiel.Game,
    sides: Sides,
    matches: Sequence[Fixture],
    on_result: Callable[[Fixture, MatchResult], None],
    *,
    forfeits: bool,
    at_once: int | None = None,
) -> None:
    """Play these matches, in several processes where that is faster.

    Args:
        forfeits, on_result: as for `play_together`.
        at_once: how many matches are played at once, in all processes; none: as the machine and the players let it.

    Raises:
        AgentError: as `play_together`; in another process any error of a player or the game.
        ExperimentError: a process ended by itself or could not be started, or its memory ran out.
        KeyboardInterrupt: Ctrl-C came.
    """
    together = parts(sides, matches, at_once)
    processes = _processes(game, sides, together, at_once)
    players = _pickled(sides, max(1, cores() // processes)) if processes > 1 else None
    if players is None:
        for part in together:
            play_together(game, sides, part, on_result, forfeits=forfeits)
        return
    tasks = [PlayTask(str(game), players, part, forfeits) for part in together]
    do_tasks(tasks, processes, lambda task, played: on_result(*played), lambda task: None)


def _processes(game: pyspiel.Game, sides: Sides, together: Sequence[Sequence[Fixture]], at_once: int | None) -> int:
    """How many processes play."""
    most = len(together)
    if at_once is not None:
        return min(most, max(1, at_once // len(together[0])))
    asking = [player for side in sides for player in side if isinstance(player, AskingPlayer)]
    matches = sum(map(len, together))
    seconds = max((_seconds(player.budget) for player in asking), default=0.0)
    if seconds * MOVES * matches < LONG_SECONDS or _needs_much(game, sides):
        return 1
    free = free_memory()
    return min(most, cores(), most if free is None else max(1, free // PROCESS_BYTES))


def _seconds(budget: Budget) -> float:
    """How long a move takes, roughly."""
    limits = [
        budget.seconds,
        budget.network_seconds,
        None if budget.iterations is None else budget.iterations * SECONDS_AN_ITERATION,
        None if budget.evaluations is None else budget.evaluations * SECONDS_AN_EVALUATION,
    ]
    return min(limit for limit in limits if limit is not None)


def _needs_much(game: pyspiel.Game, sides: Sides) -> bool:
    """Whether each process would need what a machine has few of: Java with its memory, or a graphics card's."""
    if game.get_type().short_name.startswith("ludii"):
        return True
    evaluators = [player.evaluator for side in sides for player in side if isinstance(player, AskingPlayer)]
    return any(isinstance(e, NetworkEvaluator) and e.engine.config.name == "cuda" for e in evaluators)


@dataclass(frozen=True)
class PlayTask:
    """To play some matches side by side. Reports each with its result.

    Attributes:
        players: the sides, pickled.
    """

    keeps: ClassVar[bool] = False  # what was reported is with who asked
    processes_option: ClassVar[str] = "--matches-at-once"
    game: str
    players: bytes
    matches: Sequence[Fixture]
    forfeits: bool

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        """Play them all, or until `stop` as one has ended."""

        def on_result(fixture: Fixture, result: MatchResult) -> None:
            report((fixture, result))
            if stop():
                raise _StoppedError

        try:
            game, sides = _loaded(self.game, self.players)
            play_together(game, sides, self.matches, on_result, forfeits=self.forfeits)
        except _StoppedError:
            return False
        except (AthenanError, MemoryError, OSError):
            raise
        except Exception as error:
            raise AgentError(reason_of(error)) from error
        return True


class _StoppedError(Exception):
    """The matches were asked to stop."""


class _Pickler(pickle.Pickler):
    """Lets a network compute with at most so many threads where it is sent."""

    def __init__(self, file: io.BytesIO, threads: int) -> None:
        super().__init__(file)
        self._threads = threads

    def reducer_override(self, thing: object) -> Any:
        if not isinstance(thing, NetworkEvaluator):
            return NotImplemented
        make, made_of = thing.__reduce__()
        return make, tuple(self._sharing(x) if isinstance(x, EngineConfig) else x for x in made_of)

    def _sharing(self, config: EngineConfig) -> EngineConfig:
        return replace(config, threads=min(self._threads, config.threads or self._threads))


def _pickled(sides: Sides, threads: int) -> bytes | None:
    """The players as another process takes them; None where one cannot be sent."""
    file = io.BytesIO()
    try:
        _Pickler(file, threads).dump(sides)
    except Exception:
        return None
    return file.getvalue()


@functools.lru_cache(maxsize=1)
def _loaded(game: str, players: bytes) -> tuple[pyspiel.Game, Sides]:
    """The game and the players of all tasks of a series, made once in a process."""
    return load_game(game), pickle.loads(players)

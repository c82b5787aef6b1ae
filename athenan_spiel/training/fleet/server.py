"""The process that values states for all actors, as the fleet sees it: begun when it is needed, again if it is lost."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import LearningError
from athenan_spiel.outcomes import Kind
from athenan_spiel.system.processes import begin, context
from athenan_spiel.system.stopping import SIGNALS
from athenan_spiel.training.fleet.board import ActorState, Board, total
from athenan_spiel.training.fleet.inference import Desk, DeskPlan, ServerTask, serve

ATTEMPTS = 3
"""So often it is begun if it ends as it begins: what has ended one may be gone for the next."""


class Server:
    """The process; `running` begins it.

    Args:
        board: of the actors, with one place more than there are of them.
        row: the shape of an encoded state, and how many numbers a network answers to one.

    Raises:
        LearningError: there is no memory for what the processes share.
    """

    def __init__(
        self,
        game: str,
        config: TrainingConfig,
        outcome: Mapping[str, Any],
        kind: Kind | None,
        board: Board,
        row: tuple[tuple[int, ...], int],
    ) -> None:
        shape, width = row
        self._folder = tempfile.TemporaryDirectory(prefix="athenan-")  # of a socket that others cannot reach
        memory = Desk.memory(config.workers.count, shape, width)
        key = secrets.token_bytes(32)
        plan = DeskPlan(memory.name, config.workers.count, shape, width, "", key)
        self._desk = Desk(plan, memory)
        self._task = ServerTask(game, config, dict(outcome), kind, board.plan, plan)
        self._board = board
        self._gone = ActorState()
        self._begun = 0
        self._process: SpawnProcess | None = None
        self._pipe: Connection | None = None

    def running(self) -> DeskPlan:
        """Where the places are of a process that answers; it is begun if there is none.

        Raises:
            LearningError: it could not be begun, or has ended as it began, `ATTEMPTS` times.
        """
        for _ in range(ATTEMPTS):
            if self._process is not None and self._process.is_alive():
                return self._task.desk
            self.end()
            if self._begins():
                return self._task.desk
        raise LearningError("the process that values states for the workers ended as it began")

    def told(self) -> ActorState:
        """The sums of what the process and those before it have told."""
        return total([self._gone, self._board.state(self._task.config.workers.count)])

    def close(self) -> None:
        """End the process, and drop what it shares."""
        with contextlib.ExitStack() as rest:
            rest.callback(self._folder.cleanup)
            rest.callback(self._desk.close)
            self.end()

    def _begins(self) -> bool:
        """Begin it; whether it answers, and has not ended as it began."""
        self._begun += 1
        self._gone = self.told()
        self._board.forget(self._task.config.workers.count)
        address = str(Path(self._folder.name) / f"desk-{self._begun}")
        desk = DeskPlan(**{**vars(self._task.desk), "address": address})
        self._task = ServerTask(**{**vars(self._task), "desk": desk})
        self._pipe, theirs = context().Pipe()
        try:
            self._process = begin(serve, self._task, theirs, daemon=True, deaf_to=SIGNALS)
        except OSError as error:
            raise LearningError(f"the process that values states could not be started: {error.strerror}") from None
        finally:
            theirs.close()
        try:
            self._pipe.recv()
        except (EOFError, OSError):
            self.end()
            return False
        return True

    def end(self) -> None:
        """End the process; the next `running` begins another one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

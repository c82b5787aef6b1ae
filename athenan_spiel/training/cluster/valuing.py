"""What values states for the actors of a node, where they do not do so themselves (`workers.inference`).

1. It is an actor of Ray's, pinned to the node, with a `Server`: the process, the board of weights and the desk in
   shared memory that a fleet on one machine has.
2. It lays the weights that it is sent onto the board, and tells what the process has told there.
3. `stop` ends the process and drops the shared memory. When this one is ended without that, the process ends by itself,
   and another one drops the memory (`shared.dropped_without_us`), as Ray ends all processes of this one's group.
"""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.engines import make_engine
from athenan_spiel.errors import AthenanError
from athenan_spiel.system.cluster import Surroundings
from athenan_spiel.training.fleet.board import ActorState, Board
from athenan_spiel.training.fleet.inference import DeskPlan
from athenan_spiel.training.fleet.matches import Failed
from athenan_spiel.training.fleet.server import Server
from athenan_spiel.training.fleet.shared import dropped_without_us
from athenan_spiel.training.model import Weights

Arrays = Mapping[str, NDArray[np.generic]]
"""Weights as they are sent."""


@dataclass(frozen=True)
class ValuingTask:
    """What it is told when it is made; may be sent to another machine.

    Attributes:
        config: of the run, but `workers.count`: how many actors have places at the desk.
        outcome, kind, surroundings, on_gpu: as of `PlayingTask`.
        row: the shape of an encoded state, and how many numbers a network answers to one.
    """

    game: str
    config: TrainingConfig
    outcome: Mapping[str, Any]
    kind: bytes
    row: tuple[tuple[int, ...], int]
    surroundings: Surroundings
    on_gpu: bool


class Valuing:
    """To be made a Ray actor. `begin` comes first."""

    def __init__(self, task: ValuingTask) -> None:
        self._task = task
        self._board: Board | None = None
        self._server: Server | None = None
        self._dropping: subprocess.Popen[bytes] | None = None

    def begin(self, weights: Arrays, version: int, progress: float) -> DeskPlan | Failed:
        """Begin the process; where actors of this node can ask it."""
        task = self._task
        if not task.on_gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
        task.surroundings.enter()
        try:
            make_engine(task.config.engine, task.row[0])  # says so where its device or its package is missing
            tensors = _tensors(weights)
            self._board = Board.new(task.config.workers.count + 1, tensors)  # the last place is the server's
            self._board.publish(version, tensors, progress)
            kind = pickle.loads(task.kind)
            self._server = Server(task.game, task.config, task.outcome, kind, self._board, task.row)
            plan = self._server.running()
            self._dropping = dropped_without_us(self._board.plan.name, plan.name)
            return plan
        except (AthenanError, MemoryError) as error:
            self.stop()
            return Failed.by(error)

    def publish(self, weights: Arrays, version: int, progress: float) -> ActorState:
        """Answer with these weights from now on; what the process has told."""
        assert self._board is not None, "begin comes first"
        assert self._server is not None, "and it went well"
        self._board.publish(version, _tensors(weights), progress)
        return self._server.told()

    def stop(self) -> None:
        """End the process, and drop what it shares."""
        if self._server is not None:
            self._server.close()
        if self._board is not None:
            self._board.close()
        if self._dropping is not None and self._dropping.stdin is not None:
            self._dropping.stdin.close()
            self._dropping.wait()
        self._server = self._board = self._dropping = None


def _tensors(weights: Arrays) -> Weights:
    return {name: torch.tensor(array) for name, array in weights.items()}

"""What the learner and its actors share without sending it: the newest weights, and how far each of them is.

1. It is a block of shared memory without a lock, as a process may be killed at any moment. Each number in it has one
   writer; a number of eight bytes is old or new.
2. Weights are written into one of two places in turn, with their version and a checksum. A reader whose copy does not
   have its checksum was overtaken, and reads again.
3. `close` of who made it drops the block; if that is killed, Python's tracker of resources does.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.training.fleet.shared import attached, let_go, shared_memory
from athenan_spiel.training.model import Weights

_ALIGNED = 64
_MARKS = 16
"""Bytes of a version and a checksum."""


@dataclass(frozen=True)
class ActorState:
    """What an actor has told on the board, or the process that values states for all of them.

    Attributes:
        beat: when it was last at work, as `time.monotonic` says; 0: never.
        version: of the weights that it plays with.
        alive, plies_in_play: matches in play, and actions found in them.
        plies, evaluations, calls: actions, states valued and calls of its network so far.
        busy, waited: seconds of processor time, and seconds in which it waited for the learner.
    """

    beat: float = 0.0
    version: float = 0.0
    alive: float = 0.0
    plies_in_play: float = 0.0
    plies: float = 0.0
    evaluations: float = 0.0
    calls: float = 0.0
    busy: float = 0.0
    waited: float = 0.0


def total(states: Iterable[ActorState]) -> ActorState:
    """The sums of all that these have told."""
    found = list(states)
    return ActorState(*(sum(getattr(state, field.name) for state in found) for field in fields(ActorState)))


def difference(state: ActorState, before: ActorState) -> ActorState:
    """What was told between the two."""
    return ActorState(*(getattr(state, field.name) - getattr(before, field.name) for field in fields(ActorState)))


@dataclass(frozen=True)
class BoardPlan:
    """Where a board is, and what lies where in it; may be sent to another process.

    Attributes:
        name: of the shared memory.
        actors: how many have a place on it.
        tensors: name, type and shape of each of the weights, in their order.
    """

    name: str
    actors: int
    tensors: tuple[tuple[str, str, tuple[int, ...]], ...]


class Board:
    """The board of a learner, or an actor's view of it; `close` when it is of no more use.

    Args:
        plan: of a board that there is.
        memory: that of a new board, which this object then owns.

    Raises:
        OSError: there is no such board.
    """

    def __init__(self, plan: BoardPlan, memory: SharedMemory | None = None) -> None:
        self.plan = plan
        self._is_own = memory is not None
        self._memory = attached(plan.name) if memory is None else memory
        learner, learned, actors, *places, _ = _offsets(plan)
        buffer, size = self._memory.buf, _bytes_of(plan)
        self._learner = np.ndarray((2,), np.float64, buffer, learner)
        self._learned = np.ndarray((plan.actors,), np.float64, buffer, learned)
        self._actors = np.ndarray((plan.actors, len(fields(ActorState))), np.float64, buffer, actors)
        self._marks = [np.ndarray((2,), np.int64, buffer, place) for place in places]
        self._weights = [np.ndarray((size,), np.uint8, buffer, place + _MARKS) for place in places]
        self._turn = 0

    @classmethod
    def new(cls, actors: int, weights: Weights) -> Board:
        """A board for so many actors, and for weights such as these.

        Raises:
            LearningError: there is no memory for it.
        """
        tensors = tuple((name, _array(tensor).dtype.str, tuple(tensor.shape)) for name, tensor in weights.items())
        memory = shared_memory(_offsets(BoardPlan("", actors, tensors))[-1])
        return cls(BoardPlan(memory.name, actors, tensors), memory)

    # What the learner writes

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Let these be the newest weights.

        Args:
            version: more than the one before.
            progress: how much of the run lies behind, in [0, 1].
        """
        marks, target, start = self._marks[self._turn], self._weights[self._turn], 0
        for name, _, _ in self.plan.tensors:
            array = _array(weights[name]).reshape(-1).view(np.uint8)
            target[start : start + array.size] = array
            start += array.size
        marks[:] = version, zlib.crc32(target.data)
        self._learner[:] = version, progress
        self._turn = 1 - self._turn

    def count_learned(self, actor: int) -> None:
        """One more record of this actor is learned, or dropped."""
        self._learned[actor] += 1

    def forget(self, actor: int) -> None:
        """Another process takes the place of this actor."""
        self._learned[actor] = 0
        self._actors[actor] = 0

    # What an actor writes

    def tell(self, actor: int, state: ActorState) -> None:
        """Let this be what is known of an actor."""
        self._actors[actor] = [getattr(state, field.name) for field in fields(state)]

    # What either reads

    @property
    def version(self) -> int:
        """Of the newest weights; 0 before the first."""
        return int(self._learner[0])

    @property
    def progress(self) -> float:
        """How much of the run lay behind when they were published."""
        return float(self._learner[1])

    def learned(self, actor: int) -> int:
        """How many records of this actor are learned, or dropped."""
        return int(self._learned[actor])

    def state(self, actor: int) -> ActorState:
        """What this actor has told."""
        return ActorState(*self._actors[actor].tolist())

    def read(self) -> tuple[int, dict[str, torch.Tensor]]:
        """The newest weights, a copy, with their version; there must be some."""
        while True:
            version = self.version
            for marks, weights in zip(self._marks, self._weights, strict=True):
                found, checksum = marks.tolist()
                copy = weights.copy() if found == version else None
                if copy is not None and zlib.crc32(copy.data) == checksum:
                    return version, self._tensors(copy)

    def close(self) -> None:
        """Let go of the memory; who made the board drops it for all.

        It may be called again, as where a Ctrl-C broke it off.
        """
        for view in ("_learner", "_learned", "_actors", "_marks", "_weights"):
            self.__dict__.pop(view, None)
        let_go(self._memory, drop=self._is_own)

    def _tensors(self, copy: NDArray[np.uint8]) -> dict[str, torch.Tensor]:
        found, start = {}, 0
        for name, kind, shape in self.plan.tensors:
            end = start + _size(kind, shape)
            found[name] = torch.from_numpy(copy[start:end].view(kind).reshape(shape))
            start = end
        return found


def _array(tensor: torch.Tensor) -> NDArray[np.generic]:
    array: NDArray[np.generic] = tensor.detach().cpu().contiguous().numpy()
    return array


def _size(kind: str, shape: tuple[int, ...]) -> int:
    return int(np.dtype(kind).itemsize * np.prod(shape, dtype=np.int64))


def _bytes_of(plan: BoardPlan) -> int:
    """Of all weights."""
    return sum(_size(kind, shape) for _, kind, shape in plan.tensors)


def _offsets(plan: BoardPlan) -> list[int]:
    """Where these begin: the learner's numbers, its numbers on each actor, the actors' own, two places of weights; and
    where all ends."""
    sizes = (16, 8 * plan.actors, 8 * len(fields(ActorState)) * plan.actors, *[_MARKS + _bytes_of(plan)] * 2)
    offsets = [0]
    for size in sizes:
        offsets.append(-(-(offsets[-1] + size) // _ALIGNED) * _ALIGNED)
    return offsets

"""Shared memory of the learner and its actors: the newest weights, and the counters of each actor.

1. It has no lock, as a process may be killed at any moment. Each number in it has one writer, and a reader sees its old
   or its new value.
2. Weights are written to two buffers in turn, with their version and a checksum. A reader whose copy does not match its
   checksum was overtaken, and reads again.
3. `close` by the process that made it frees the memory; if that is killed, Python's resource tracker does.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, fields
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.training.actors.messages import ActorState
from athenan_spiel.training.actors.shared_memory import attached, release, shared_memory
from athenan_spiel.training.model import Weights

_ALIGNED = 64
_MARKS = 16
"""Size of a version and a checksum, in bytes."""


@dataclass(frozen=True)
class WeightsPlan:
    """Where shared weights are; may be sent to another process.

    Attributes:
        name: of the shared memory.
        actors: number of actors that have counters in it.
        tensors: name, type and shape of each of the weights, in their order.
    """

    name: str
    actors: int
    tensors: tuple[tuple[str, str, tuple[int, ...]], ...]


class SharedWeights:
    """The shared memory, made by `new` or opened by another process; `close` comes last.

    Args:
        plan: where it is.
        memory: new memory, which this object then owns.

    Raises:
        OSError: there is no such memory.
    """

    def __init__(self, plan: WeightsPlan, memory: SharedMemory | None = None) -> None:
        self.plan = plan
        self._is_own = memory is not None
        self._memory = attached(plan.name) if memory is None else memory
        learner, actors, *buffers, _ = _offsets(plan)
        buffer, size = self._memory.buf, _bytes_of(plan)
        self._learner = np.ndarray((2,), np.float64, buffer, learner)
        self._actors = np.ndarray((plan.actors, len(fields(ActorState))), np.float64, buffer, actors)
        self._marks = [np.ndarray((2,), np.int64, buffer, start) for start in buffers]
        self._weights = [np.ndarray((size,), np.uint8, buffer, start + _MARKS) for start in buffers]
        self._turn = 0

    @classmethod
    def new(cls, actors: int, weights: Weights) -> SharedWeights:
        """Makes shared memory for the counters of `actors` actors, and for weights of the same shapes as `weights`.

        Raises:
            LearningError: there is no memory for it.
        """
        tensors = tuple((name, _array(tensor).dtype.str, tuple(tensor.shape)) for name, tensor in weights.items())
        memory = shared_memory(_offsets(WeightsPlan("", actors, tensors))[-1])
        return cls(WeightsPlan(memory.name, actors, tensors), memory)

    # Written by the learner

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Makes these the newest weights.

        Args:
            version: more than the one before.
            progress: fraction of the run completed, in [0, 1].
        """
        marks, target, start = self._marks[self._turn], self._weights[self._turn], 0
        for name, _, _ in self.plan.tensors:
            array = _array(weights[name]).reshape(-1).view(np.uint8)
            target[start : start + array.size] = array
            start += array.size
        marks[:] = version, zlib.crc32(target.data)
        self._learner[:] = version, progress
        self._turn = 1 - self._turn

    def forget(self, actor: int) -> None:
        """Sets the counters of an actor to zero, before another process replaces it."""
        self._actors[actor] = 0

    # Written by an actor

    def tell(self, actor: int, state: ActorState) -> None:
        """Reports the counters of an actor."""
        self._actors[actor] = [getattr(state, field.name) for field in fields(state)]

    # Read by both

    @property
    def version(self) -> int:
        """Version of the newest weights; 0 before the first."""
        return int(self._learner[0])

    @property
    def progress(self) -> float:
        """Fraction of the run that was completed when they were published."""
        return float(self._learner[1])

    def state(self, actor: int) -> ActorState:
        """The counters of an actor."""
        return ActorState(*self._actors[actor].tolist())

    def read(self) -> tuple[int, dict[str, torch.Tensor]]:
        """Returns the version and a copy of the newest weights; there must be some."""
        while True:
            version = self.version
            for marks, weights in zip(self._marks, self._weights, strict=True):
                found, checksum = marks.tolist()
                copy = weights.copy() if found == version else None
                if copy is not None and zlib.crc32(copy.data) == checksum:
                    return version, self._tensors(copy)

    def close(self) -> None:
        """Closes the memory; the process that made it frees it for all.

        It may be called again, for example if Ctrl-C has interrupted it.
        """
        for view in ("_learner", "_actors", "_marks", "_weights"):
            self.__dict__.pop(view, None)
        release(self._memory, drop=self._is_own)

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


def _bytes_of(plan: WeightsPlan) -> int:
    """Size of all weights."""
    return sum(_size(kind, shape) for _, kind, shape in plan.tensors)


def _offsets(plan: WeightsPlan) -> list[int]:
    """Offsets of the learner's numbers, the actors' counters and two buffers of weights, and the size of all."""
    sizes = (16, 8 * len(fields(ActorState)) * plan.actors, *[_MARKS + _bytes_of(plan)] * 2)
    offsets = [0]
    for size in sizes:
        offsets.append(-(-(offsets[-1] + size) // _ALIGNED) * _ALIGNED)
    return offsets

"""Shared memory of the trainer and its actors: the newest weights, and the counters of each actor.

1. There is no lock, as a process may be killed at any moment. Each number has one writer, and a reader sees its old or
   its new value.
2. Weights are written to two buffers in turn, with their version and a checksum. If a copy does not match its checksum,
   the buffer was overwritten meanwhile, and the reader tries again.
3. The process that allocated the memory frees it by `close`. If that process is killed, Python's resource tracker frees
   the memory.
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
"""Alignment of each part, in bytes."""
_MARKS = 16
"""Size of a version and a checksum, in bytes."""


@dataclass(frozen=True)
class WeightsPlan:
    """Location and layout of shared weights. Can be pickled for another process.

    Attributes:
        name: name of the shared memory.
        actors: number of actors with counters.
        tensors: name, data type and shape of each tensor, in the order of the network.
    """

    name: str
    actors: int
    tensors: tuple[tuple[str, str, tuple[int, ...]], ...]


class SharedWeights:
    """Weights and counters in shared memory. `new` allocates it; other processes open it by its plan.

    Args:
        plan: location and layout.
        memory: newly allocated memory, which this object then owns; None: memory of another process.

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
        """Allocates shared memory for the counters of `actors` actors, and for weights with the shapes of `weights`.

        Raises:
            LearningError: there is not enough memory.
        """
        tensors = tuple((name, _array(tensor).dtype.str, tuple(tensor.shape)) for name, tensor in weights.items())
        memory = shared_memory(_offsets(WeightsPlan("", actors, tensors))[-1])
        return cls(WeightsPlan(memory.name, actors, tensors), memory)

    # Written by the learner

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Writes the newest weights.

        Args:
            version: version of the weights; it must increase.
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
        """Sets the counters of an actor to 0, before another process replaces it."""
        self._actors[actor] = 0

    # Written by an actor

    def tell(self, actor: int, state: ActorState) -> None:
        """Reports the counters of an actor."""
        self._actors[actor] = [getattr(state, field.name) for field in fields(state)]

    # Read by both

    @property
    def version(self) -> int:
        """Version of the newest weights; 0 if there are none yet."""
        return int(self._learner[0])

    @property
    def progress(self) -> float:
        """Fraction of the run completed when they were published, in [0, 1]."""
        return float(self._learner[1])

    def state(self, actor: int) -> ActorState:
        """Returns the counters of an actor."""
        return ActorState(*self._actors[actor].tolist())

    def read(self) -> tuple[int, dict[str, torch.Tensor]]:
        """Returns the version and a copy of the newest weights. At least one version must have been published."""
        while True:
            version = self.version
            for marks, weights in zip(self._marks, self._weights, strict=True):
                found, checksum = marks.tolist()
                copy = weights.copy() if found == version else None
                if copy is not None and zlib.crc32(copy.data) == checksum:
                    return version, self._tensors(copy)

    def close(self) -> None:
        """Closes the memory; the process that allocated it also frees it.

        May be called again, for example after an interruption by Ctrl-C.
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
    """Returns the size of all weights, in bytes."""
    return sum(_size(kind, shape) for _, kind, shape in plan.tensors)


def _offsets(plan: WeightsPlan) -> list[int]:
    """Returns the offsets of the learner's numbers, the actors' counters and the two buffers, and the total size."""
    sizes = (16, 8 * len(fields(ActorState)) * plan.actors, *[_MARKS + _bytes_of(plan)] * 2)
    offsets = [0]
    for size in sizes:
        offsets.append(-(-(offsets[-1] + size) // _ALIGNED) * _ALIGNED)
    return offsets

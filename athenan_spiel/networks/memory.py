"""Memory that a network needs, measured before it is created.

Two passes evaluate two and three states. The bytes of the live tensors are counted after each operation. Every
tensor's size depends linearly on the number of states, so the two passes determine the sizes for any number. The
process grows by more, because freed blocks fragment the heap and kernels have buffers.

The weights of the passes are zeros. Large ones are torch's fake tensors, which have shapes but no data, so nothing is
allocated or computed. They import `torch._dynamo`, which takes a second, so small weights are real.

In play, the weights exist twice: in the module and in the engine's copy. Learning needs a third copy, the gradients,
Adam's two moments, and while a checkpoint is written a copy of the moments.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from athenan_spiel.config import NetworkConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks.architectures import ValueNetwork, empty_network
from athenan_spiel.networks.policy import PolicyShape
from athenan_spiel.system.machine import free_memory, gigabytes
from athenan_spiel.system.stopping import postponed

COPIES_TO_PLAY = 2
COPIES_TO_LEARN = 7
"""Number of arrays as large as the weights, in play, and in learning without the gradients."""
HEAP_BLOCK_BYTES = 32 << 20
"""Size up to which glibc allocates blocks from its heap. It returns larger blocks to the system when they are freed."""
HEAP_FACTOR = 3.0
BLOCK_FACTOR = 1.5
"""Growth of the process per byte of live tensors, for tensors in the heap and for larger ones. Measured in learning: up
to 2.4 and 1.35."""
REAL_BYTES = 64 << 20
"""Size of all weights up to which the passes that are measured are real."""
FEW_STATES = (2, 3)
"""Numbers of states in these passes. With one state, some tensors would need no copy."""


def playing_bytes(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None = None) -> int:
    """Returns the bytes that a network needs to play, without activations.

    Args:
        shape: shape of an encoded state.
        config: architecture and sizes.
        policy: actions of the game, if the network has a policy.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    return COPIES_TO_PLAY * _weight_bytes(_meta_network(shape, config, policy))


def learning_bytes(
    shape: Sequence[int],
    config: NetworkConfig,
    batch_size: int,
    policy: PolicyShape | None = None,
    *,
    device: str = "cpu",
    bfloat16: bool = False,
) -> int:
    """Returns the bytes that a network needs to learn from minibatches of `batch_size` states.

    Args:
        shape: shape of an encoded state.
        config: architecture and sizes.
        batch_size: number of states in a minibatch.
        policy: actions of the game, if the network has a policy.
        device: "cpu" or "cuda", where the network learns.
        bfloat16: whether the forward and backward pass use bfloat16.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    weights = COPIES_TO_LEARN * _weight_bytes(_meta_network(shape, config, policy))
    on_gpu = device != "cpu"
    return weights + _peak_bytes(
        tuple(shape), config, policy, batch_size, learns=True, on_gpu=on_gpu, bfloat16=bfloat16
    )


def valuing_bytes(
    shape: Sequence[int], config: NetworkConfig, batch_size: int, policy: PolicyShape | None = None
) -> int:
    """Returns the bytes of the activations while `batch_size` states are evaluated in one batch.

    Raises:
        ConfigError: the architecture does not fit the shape.
    """
    return _peak_bytes(tuple(shape), config, policy, batch_size, learns=False)


def require_memory(needed: int, purpose: str, device: str = "cpu") -> None:
    """Raises `ConfigError` if the device has less free memory than the bytes `needed` for `purpose`."""
    on_gpu = device == "cuda" and torch.cuda.is_available()
    free = torch.cuda.mem_get_info()[0] if on_gpu else free_memory()
    if free is not None and needed > free:
        raise ConfigError(
            f"this network needs {gigabytes(needed)} {purpose}, and {gigabytes(free)} are free: use fewer "
            f"network.filters, neurons or layers{', or a smaller learner.batch_size' if purpose == 'to learn' else ''}"
        )


def _meta_network(shape: Sequence[int], config: NetworkConfig, policy: PolicyShape | None) -> ValueNetwork:
    with torch.device("meta"):
        return empty_network(shape, config, policy)


def _weight_bytes(network: ValueNetwork) -> int:
    return sum(weight.nbytes for weight in network.parameters())


@functools.cache
def _peak_bytes(
    shape: tuple[int, ...],
    config: NetworkConfig,
    policy: PolicyShape | None,
    batch_size: int,
    *,
    learns: bool,
    on_gpu: bool = False,
    bfloat16: bool = False,
) -> int:
    """Returns the growth of a process by a forward pass or, if the network learns, by a gradient step."""
    network = _meta_network(shape, config, policy)
    network.train(learns and not on_gpu)  # selects Winograd's filtering
    few, more = (_live_tensors(network, count, learns=learns, bfloat16=bfloat16) for count in FEW_STATES)
    in_heap = 0 if on_gpu else HEAP_BLOCK_BYTES
    growth = []
    for size, larger in zip(few.sizes, more.sizes, strict=True):
        nbytes = size + (larger - size) * (batch_size - FEW_STATES[0])
        growth.append(int(nbytes * (HEAP_FACTOR if nbytes < in_heap else BLOCK_FACTOR)))
    return max(itertools.accumulate(sign * growth[tensor] for sign, tensor in few.changes), default=0)


def _live_tensors(network: ValueNetwork, count: int, *, learns: bool, bfloat16: bool) -> _LiveTensors:
    """Returns the tensors of a pass of `count` states."""
    with contextlib.ExitStack() as contexts:
        contexts.enter_context(postponed())
        if _weight_bytes(network) > REAL_BYTES:
            from torch._subclasses.fake_tensor import FakeTensorMode

            contexts.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        contexts.enter_context(torch.set_grad_enabled(learns))
        tensors = {
            name: torch.zeros(tensor.shape, dtype=tensor.dtype, requires_grad=tensor.requires_grad)
            for name, tensor in [*network.named_parameters(), *network.named_buffers()]
        }
        weights = [tensor for tensor in tensors.values() if tensor.requires_grad]
        live = _LiveTensors(tensors.values())
        with live:
            if learns:  # the gradients of the step before exist until the backward pass
                for weight in weights:
                    weight.grad = torch.zeros_like(weight)
            states = torch.zeros(count, *network.shape)
            if len(network.shape) == 3:
                states = states.contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                answers = functional_call(network, tensors, (states,))
            if learns:
                for weight in weights:
                    weight.grad = None
                answers.float().square().sum().backward()
    return live


class _LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context that notes when each tensor is created and freed. Views are not noted.

    Args:
        others: tensors that are not counted.

    Attributes:
        sizes: bytes of each tensor, in the order of their creation.
        changes: 1 and the index of a tensor that is created, -1 and that of one that is freed, in order.
    """

    def __init__(self, others: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = weakref.WeakSet(tensor.untyped_storage() for tensor in others)
        self.sizes: list[int] = []
        self.changes: list[tuple[int, int]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler to leave `__torch_dispatch__` out of it

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and (storage := tensor.untyped_storage()) not in self._known:
                self._known.add(storage)
                self.changes.append((1, len(self.sizes)))
                weakref.finalize(storage, self.changes.append, (-1, len(self.sizes)))
                self.sizes.append(storage.nbytes())
        return result

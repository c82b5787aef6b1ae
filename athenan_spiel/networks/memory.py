"""Memory that a network needs, measured before it is created.

A pass of the network runs on torch's fake tensors, which have shapes but no data: nothing is allocated, computed or
drawn at random. The bytes of the live tensors are counted after each operation; they are those of real tensors. The
process grows by more, because freed blocks fragment the heap and kernels have buffers.

In play, the weights exist twice: in the module and in the engine's copy. Learning needs a third copy, the gradients,
Adam's two moments, and while a checkpoint is written a copy of the moments.

The first pass of a process imports `torch._dynamo`, as every optimiser of torch does; that takes about a second.
"""

from __future__ import annotations

import functools
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
    from torch._subclasses.fake_tensor import FakeTensorMode  # imports sympy, in half a second

    network = _meta_network(shape, config, policy)
    network.train(learns and not on_gpu)  # selects Winograd's filtering
    with postponed(), FakeTensorMode(allow_non_fake_inputs=True), torch.set_grad_enabled(learns):
        tensors = {
            name: torch.empty_like(tensor, device="cpu", requires_grad=tensor.requires_grad)
            for name, tensor in [*network.named_parameters(), *network.named_buffers()]
        }
        weights = [tensor for tensor in tensors.values() if tensor.requires_grad]
        with _LiveTensors(tensors.values(), in_heap=not on_gpu) as live:
            if learns:  # the gradients of the step before exist until the backward pass
                for weight in weights:
                    weight.grad = torch.empty_like(weight)
            states = torch.empty(batch_size, *shape)
            if len(shape) == 3:
                states = states.contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                answers = functional_call(network, tensors, (states,))
            if learns:
                for weight in weights:
                    weight.grad = None
                answers.float().square().sum().backward()
    return int(live.peak)


class _LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context that counts the bytes that tensors take until they are freed. Views take none.

    Args:
        others: tensors that are not counted.
        in_heap: whether small tensors come from the heap of a process.

    Attributes:
        peak: maximum number of bytes at a time.
    """

    def __init__(self, others: Iterable[torch.Tensor], *, in_heap: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known = weakref.WeakSet(tensor.untyped_storage() for tensor in others)
        self._heap_block = HEAP_BLOCK_BYTES if in_heap else 0
        self._bytes = 0
        self.peak = 0

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and (storage := tensor.untyped_storage()) not in self._known:
                self._known.add(storage)
                nbytes = storage.nbytes()
                nbytes = int(nbytes * (HEAP_FACTOR if nbytes < self._heap_block else BLOCK_FACTOR))
                weakref.finalize(storage, self._add, -nbytes)
                self._add(nbytes)
        return result

    def _add(self, nbytes: int) -> None:
        self._bytes += nbytes
        self.peak = max(self.peak, self._bytes)

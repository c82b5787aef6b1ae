"""The rival's network: the trunk of this library's `c`, with a value and a logit per action.

Three convolutions of 64 filters, padded so that at least 2 x 2 cells remain, and a dense layer of 100 neurons, all with
ReLU, as in `athenan_spiel.networks.architectures`; then a linear layer for the logits, and one with tanh for the value
of the mover. Weights are a dict of float32 arrays.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FILTERS, CONVOLUTIONS, NEURONS, KERNEL = 64, 3, 100, 3
OUTPUT_GAIN = 0.1
Weights = dict[str, jax.Array]


def paddings(shape: tuple[int, ...]) -> list[str]:
    """Returns the padding of each convolution for planes [H, W, C]."""
    bare = min(CONVOLUTIONS, max(0, (min(shape[:2]) - 2) // 2))
    return ["SAME"] * (CONVOLUTIONS - bare) + ["VALID"] * bare


def make(shape: tuple[int, ...], actions: int, key: jax.Array) -> Weights:
    """Returns new weights by He's initialisation, smaller in the outputs."""
    bare = paddings(shape).count("VALID")
    flat = (shape[0] - 2 * bare) * (shape[1] - 2 * bare) * FILTERS
    sizes: dict[str, tuple[int, ...]] = {
        f"convolution{i}": (KERNEL, KERNEL, FILTERS if i else shape[2], FILTERS) for i in range(CONVOLUTIONS)
    }
    sizes |= {"dense": (flat, NEURONS), "logits": (NEURONS, actions), "value": (NEURONS, 1)}
    weights = {}
    for name, size in sizes.items():
        key, drawn = jax.random.split(key)
        gain = OUTPUT_GAIN if name in ("logits", "value") else 1.0
        weights[name] = gain * math.sqrt(2 / math.prod(size[:-1])) * jax.random.normal(drawn, size)
        weights[f"{name}.bias"] = jnp.zeros(size[-1])
    return weights


def apply(weights: Weights, planes: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Maps planes bool [N, H, W, C] to logits [N, A] and values [N] of the mover."""
    x = planes.astype(jnp.float32)
    for i, padding in enumerate(paddings(planes.shape[1:])):
        x = jax.nn.relu(_convolution(x, weights[f"convolution{i}"], padding) + weights[f"convolution{i}.bias"])
    x = jax.nn.relu(_linear(weights, "dense", x.reshape(len(x), -1)))
    return _linear(weights, "logits", x), jnp.tanh(_linear(weights, "value", x)[:, 0])


def _convolution(x: jax.Array, kernel: jax.Array, padding: str) -> jax.Array:
    """A convolution as one matrix product: on a CPU, the gradient of XLA's own takes more than twice as long."""
    if padding == "SAME":
        x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    height, width = x.shape[1] - KERNEL + 1, x.shape[2] - KERNEL + 1
    windows = [x[:, i : i + height, j : j + width] for i in range(KERNEL) for j in range(KERNEL)]
    return jnp.concatenate(windows, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])


def _linear(weights: Weights, name: str, x: jax.Array) -> jax.Array:
    return x @ weights[name] + weights[f"{name}.bias"]


def count(weights: Weights) -> int:
    """Returns the number of weights."""
    return sum(array.size for array in weights.values())


def save(weights: Weights, file: Path) -> None:
    """Writes the weights atomically."""
    beside = file.with_name(f"new-{file.name}")
    arrays: dict[str, Any] = {name: np.asarray(array) for name, array in weights.items()}
    np.savez(beside, **arrays)
    beside.replace(file)


def load(file: Path, shape: tuple[int, ...], actions: int) -> Weights:
    """Reads weights; nothing in the file is executed.

    Raises:
        OSError: the file can't be read.
        ValueError: the file is damaged, or belongs to another network.
    """
    expected = make(shape, actions, jax.random.PRNGKey(0))
    try:
        with np.load(file, allow_pickle=False) as arrays:
            found = {name: jnp.asarray(arrays[name], jnp.float32) for name in arrays.files}
    except (AttributeError, EOFError, TypeError, ValueError, zipfile.BadZipFile):
        raise ValueError(f"expected an archive of arrays, got {file}") from None
    if {name: array.shape for name, array in found.items()} != {name: x.shape for name, x in expected.items()}:
        raise ValueError(f"expected the weights of a network for {shape} and {actions} actions in {file}")
    return found

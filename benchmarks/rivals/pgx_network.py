"""The rival's network: the trunk of this library's `c`, a value and a logit for each action.

Three convolutions of 64 filters, of which as many are padded as must be for 2 x 2 to be left of the board, and a dense
layer of 100 neurons, all with ReLU, as `athenan_spiel.networks.architectures` has it; then one linear layer for the
logits, and one with tanh for the value of who is to move. Weights are a dict of float32 arrays.
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
    """Which convolutions are padded, for planes [H, W, C]."""
    bare = min(CONVOLUTIONS, max(0, (min(shape[:2]) - 2) // 2))
    return ["SAME"] * (CONVOLUTIONS - bare) + ["VALID"] * bare


def make(shape: tuple[int, ...], actions: int, key: jax.Array) -> Weights:
    """Fresh weights by He's initialisation, smaller in the outputs."""
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
    """Planes bool [N, H, W, C] to logits [N, A] and values [N] of who is to move."""
    x = planes.astype(jnp.float32)
    for i, padding in enumerate(paddings(planes.shape[1:])):
        x = jax.nn.relu(_convolution(x, weights[f"convolution{i}"], padding) + weights[f"convolution{i}.bias"])
    x = jax.nn.relu(_linear(weights, "dense", x.reshape(len(x), -1)))
    return _linear(weights, "logits", x), jnp.tanh(_linear(weights, "value", x)[:, 0])


def _convolution(x: jax.Array, kernel: jax.Array, padding: str) -> jax.Array:
    """As one product of matrices: on a CPU the gradient of XLA's own convolution took more than twice as long."""
    if padding == "SAME":
        x = jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    height, width = x.shape[1] - KERNEL + 1, x.shape[2] - KERNEL + 1
    windows = [x[:, i : i + height, j : j + width] for i in range(KERNEL) for j in range(KERNEL)]
    return jnp.concatenate(windows, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])


def _linear(weights: Weights, name: str, x: jax.Array) -> jax.Array:
    return x @ weights[name] + weights[f"{name}.bias"]


def count(weights: Weights) -> int:
    """How many numbers there are to learn."""
    return sum(array.size for array in weights.values())


def save(weights: Weights, file: Path) -> None:
    """Write the weights to `file`, whole or not at all."""
    beside = file.with_name(f"new-{file.name}")
    arrays: dict[str, Any] = {name: np.asarray(array) for name, array in weights.items()}
    np.savez(beside, **arrays)
    beside.replace(file)


def load(file: Path, shape: tuple[int, ...], actions: int) -> Weights:
    """The weights in `file`; nothing in it is executed.

    Raises:
        OSError: there is no such file.
        ValueError: it is damaged, or has other weights than a network of this shape.
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

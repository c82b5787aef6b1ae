"""Default numbers of threads, and the fastest arithmetic of a processor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from athenan_spiel.errors import ConfigError
from athenan_spiel.system.machine import cores

MAX_THREADS_PER_CORE = 64
"""Maximum number of threads per usable core.

More threads only wait, and some 100,000 end the process. Settings from a machine with more cores still work on one with
a few.
"""


def most_threads() -> int:
    """Returns the maximum number of threads on this machine."""
    return MAX_THREADS_PER_CORE * cores()


def require_threads(setting: str, count: int | None) -> None:
    """Raises `ConfigError` with the setting's name if `count` exceeds this machine's maximum number of threads."""
    if count is not None and count > most_threads():
        raise ConfigError.at(
            setting,
            f"must be at most {most_threads()} on this machine, {MAX_THREADS_PER_CORE} for each of its {cores()} "
            f"cores, got {count!r}",
        )


def half_of_the_cores() -> int:
    """Returns half of the usable processor cores, at least one: the default number of threads."""
    return max(1, cores() // 2)


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Context manager that sets torch's number of threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def has_matrix_units() -> bool:
    """Returns whether the processor has matrix units for bfloat16 (AMX).

    Without them networks are faster in float32, forwards and backwards, even on a processor with vector instructions
    for bfloat16. `athenan bench` and `benchmarks/learner.py` measure both.
    """
    import torch

    # An older torch cannot be asked, and then float32 is always right.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("amx_bf16"))

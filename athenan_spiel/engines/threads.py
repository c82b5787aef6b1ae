"""Default numbers of threads, and the arithmetic that a processor is fast in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from athenan_spiel.errors import ConfigError
from athenan_spiel.system.machine import cores

MOST_PER_CORE = 64
"""Threads for each core that this process may use. What is more only waits, and some 100,000 end the process; settings
from a machine with more cores are still taken by one with a few."""


def most_threads() -> int:
    """The largest number of threads that this machine takes."""
    return MOST_PER_CORE * cores()


def require_threads(setting: str, count: int | None) -> None:
    """Raise `ConfigError` naming the setting if it asks for more threads than this machine takes."""
    if count is not None and count > most_threads():
        raise ConfigError.at(
            setting,
            f"must be at most {most_threads()} on this machine, {MOST_PER_CORE} for each of its {cores()} cores, "
            f"got {count!r}",
        )


def half_of_the_cores() -> int:
    """Half of the processor cores that this process may use, at least one: the default number of threads."""
    return max(1, cores() // 2)


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch compute with `count` threads within."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def has_matrix_units() -> bool:
    """Whether the processor has matrix units for bfloat16 (AMX).

    Without them networks are faster in float32, forwards and backwards, even where the processor has vector
    instructions for bfloat16: `athenan bench` and `benchmarks/learner.py` measure both.
    """
    import torch

    # An older torch cannot be asked, and then float32 is always right.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("amx_bf16"))

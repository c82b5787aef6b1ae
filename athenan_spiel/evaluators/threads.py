"""How many threads compute, where nothing else is said."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


def half_of_the_cores() -> int:
    """Half of the processor cores that this process may use, at least one: the default number of threads."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


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

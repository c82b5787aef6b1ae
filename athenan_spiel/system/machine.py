"""Processor cores and memory available to this process, and the model of the processor."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from athenan_spiel.system.portable import sysconf_bytes

MEMINFO = Path("/proc/meminfo")
OWN_GROUPS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
"""Files of Linux with the memory, the control groups of this process, and their limits."""
CPUINFO = Path("/proc/cpuinfo")
"""File of Linux that describes the processor."""
INSTRUCTIONS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_bf16": "AMX BF16",
    "amx_int8": "AMX INT8",
    "asimd": "NEON",
    "sve": "SVE",
    "bf16": "BF16",
}
"""Instruction sets that speed up networks: Linux's name of each, and the usual one."""
_NO_LIMIT = 2**60
"""Number of bytes that control groups of version 1 exceed if there is no limit; no machine has that many."""


NICE = 10
"""Niceness of a process that yields to others; at most 19."""
_share: int | None = None
"""Maximum number of cores of this process, set by `limit_cores`; None: no limit."""


def cores() -> int:
    """Return the number of processor cores that this process may use, at least 1."""
    return within_limit(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def limit_cores(count: int) -> None:
    """Limit this process to `count` cores: `cores` returns at most that number from now on."""
    global _share
    _share = max(1, count)


def within_limit(count: int) -> int:
    """Return the number of cores, out of `count`, that this process may use; see `limit_cores`."""
    return count if _share is None else min(count, _share)


def is_limited() -> bool:
    """Return whether `limit_cores` has limited this process."""
    return _share is not None


def yield_to_others() -> None:
    """Lower the priority of this process, if the system supports it."""
    if hasattr(os, "nice"):
        os.nice(NICE)


def memory() -> int | None:
    """Return the memory that this process may use, in bytes; None if unknown."""
    return min([*_installed(), *(limit for limit, _ in _limits())], default=None)


def free_memory() -> int | None:
    """Return the free memory that this process may use, in bytes; None if unknown."""
    return min([*_available(), *(max(0, limit - used) for limit, used in _limits())], default=None)


def processor() -> str:
    """Return the model of the processor, or else its architecture."""
    return _cpuinfo("model name") or platform.processor() or platform.machine()


def instructions() -> list[str]:
    """Return the names of those `INSTRUCTIONS` that the processor has; empty if unknown.

    A 64-bit ARM processor always has `asimd`, even if the system does not list it.
    """
    found = set(_cpuinfo("flags", "Features").split())
    if platform.machine().lower() in ("arm64", "aarch64"):
        found.add("asimd")
    return [name for flag, name in INSTRUCTIONS.items() if flag in found]


def _cpuinfo(*names: str) -> str:
    """Return the value of the first line of `CPUINFO` with one of these names; empty if there is none."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    split = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in split if name.strip() in names), "")


def gigabytes(count: float) -> str:
    """Return a number of bytes as text, such as 1.5 GB."""
    return f"{count / 1e9:,.1f} GB"


def megabytes(count: float) -> str:
    """Return a number of bytes, rounded up, as an option value such as 800m."""
    return f"{-(-count // 1_000_000):.0f}m"


def _installed() -> list[int]:
    return _pages("SC_PHYS_PAGES")


def _available() -> list[int]:
    """Return the free memory of the machine, including caches of files."""
    try:
        lines = MEMINFO.read_text(encoding="utf-8").splitlines()
        return [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return _pages("SC_AVPHYS_PAGES")


def _pages(name: str) -> list[int]:
    count = sysconf_bytes(name)
    return [] if count is None else [count]


def _limits() -> Iterator[tuple[int, int]]:
    """Yield limit and use, in bytes, of each control group of this process, such as a container's."""
    for group, limit, used, reclaimable in _groups():
        try:
            allowed = int((group / limit).read_text(encoding="utf-8"))
            in_use = int((group / used).read_text(encoding="utf-8"))
            stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="utf-8").splitlines())
        except (OSError, ValueError):  # no such group, or no limit, written as "max"
            continue
        if allowed < _NO_LIMIT:
            yield allowed, in_use - int(stat.get(reclaimable, 0))


def _groups() -> Iterator[tuple[Path, str, str, str]]:
    """Yield the folder of each control group of this process and of its parents, with the names of its files."""
    try:
        lines = OWN_GROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        parts = Path(path.lstrip("/"))
        for inner in (parts, *parts.parents):
            if "memory" in controllers.split(","):
                yield (
                    GROUPS / "memory" / inner,
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "total_inactive_file",
                )
            elif not controllers:
                yield GROUPS / inner, "memory.max", "memory.current", "inactive_file"

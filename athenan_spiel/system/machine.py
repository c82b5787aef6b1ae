"""What of this machine a process may use, processor cores and memory, and what its processor is."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from pathlib import Path

from athenan_spiel.system.portable import pages

MEMINFO = Path("/proc/meminfo")
OWN_GROUPS = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")
"""Where Linux says what memory there is, in which control groups this process is, and what they may use."""
CPUINFO = Path("/proc/cpuinfo")
"""Where it says what processor there is."""
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
"""Instruction sets that networks are computed faster with, by the names that Linux has for them."""
_NO_LIMIT = 2**60
"""More bytes than any machine has: what control groups of version 1 say where they have no limit."""


NICE = 10
"""How far below others a process is that yields to them; the least is 19."""
_share: int | None = None
"""Of the cores, for a process that has not all of them to itself."""


def cores() -> int:
    """The processor cores that this process may use, at least one."""
    return own_share(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def use_cores(count: int) -> None:
    """Let this process, which others run beside, use no more than so many cores: `cores` says so from here on."""
    global _share
    _share = max(1, count)


def own_share(count: int) -> int:
    """How many of so many cores, of this machine or of a cluster, are for this process: see `use_cores`."""
    return count if _share is None else min(count, _share)


def runs_beside() -> bool:
    """Whether others run beside this process, which was told by `use_cores` what it may use."""
    return _share is not None


def yield_to_others() -> None:
    """Let this process compute only with what others of normal priority leave of the cores, where systems have that."""
    if hasattr(os, "nice"):
        os.nice(NICE)


def memory() -> int | None:
    """The bytes of memory that this process may use in all; None where the system does not say."""
    return min([*_installed(), *(limit for limit, _ in _limits())], default=None)


def free_memory() -> int | None:
    """The bytes of memory that this process may still use; None where the system does not say."""
    return min([*_available(), *(max(0, limit - used) for limit, used in _limits())], default=None)


def processor() -> str:
    """The model of the processor, or else its architecture."""
    return _of_processor("model name") or platform.processor() or platform.machine()


def instructions() -> list[str]:
    """Those of `INSTRUCTIONS` that the processor has, as people call them; none where the system does not say.

    A processor of 64 bits by ARM has `asimd` whatever the system says.
    """
    found = set(_of_processor("flags", "Features").split())
    if platform.machine().lower() in ("arm64", "aarch64"):
        found.add("asimd")
    return [name for flag, name in INSTRUCTIONS.items() if flag in found]


def _of_processor(*names: str) -> str:
    """What the first line of one of these names says of the first core."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    split = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in split if name.strip() in names), "")


def gigabytes(count: float) -> str:
    """So many bytes as people say them."""
    return f"{count / 1e9:,.1f} GB"


def megabytes(count: float) -> str:
    """So many bytes, rounded up, as sizes are given on the command line."""
    return f"{-(-count // 1_000_000):.0f}m"


def _installed() -> list[int]:
    return _pages("SC_PHYS_PAGES")


def _available() -> list[int]:
    """What is free, or held by files that can be read again, of the whole machine."""
    try:
        lines = MEMINFO.read_text(encoding="utf-8").splitlines()
        return [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError, IndexError):
        return _pages("SC_AVPHYS_PAGES")


def _pages(name: str) -> list[int]:
    count = pages(name)
    return [] if count is None else [count]


def _limits() -> Iterator[tuple[int, int]]:
    """(bytes allowed, bytes used) of the control groups, as containers are, that this process is in."""
    for group, limit, used, reclaimable in _groups():
        try:
            allowed = int((group / limit).read_text(encoding="utf-8"))
            taken = int((group / used).read_text(encoding="utf-8"))
            stat = dict(line.split() for line in (group / "memory.stat").read_text(encoding="utf-8").splitlines())
        except (OSError, ValueError):  # no such group here, or no limit, which is the word "max"
            continue
        if allowed < _NO_LIMIT:
            yield allowed, taken - int(stat.get(reclaimable, 0))


def _groups() -> Iterator[tuple[Path, str, str, str]]:
    """The folders of this process's groups and of those around them, and the names of what stands there."""
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

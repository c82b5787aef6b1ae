"""Cases of each kind by number: drawn from a seed, tried in a sandbox, and counted."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import calls
import command_lines
import folders
import kills
from sandbox import Sandbox

BY_SUBPROCESS = 20
"""One command line of so many is tried by a new interpreter; the others by `main` in a fork."""


@dataclass(frozen=True)
class Tried:
    """A case that was tried.

    Attributes:
        weight: what it counts for; a life counts for its kills.
        shown: what the case was.
        ended: how it ended, in a few words.
        faults: what it broke, each a kind and what was seen.
    """

    number: int
    weight: int
    shown: str
    ended: str
    faults: tuple[str, ...]


@dataclass
class Count:
    """What is known of the cases of a kind."""

    kind: str
    cases: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)

    def add(self, tried: Tried) -> None:
        """Count a case."""
        self.cases += tried.weight
        self.ends[tried.ended] += 1
        self.faults.update({fault.partition(":")[0] for fault in tried.faults})

    def __str__(self) -> str:
        known = {
            "tracebacks": ("traceback",),
            "hangs over 10 s": ("hang",),
            "crashes": ("crash", "memory"),
            "writes outside": ("outside",),
            "times code was run": ("code",),
        }
        if self.kind == "kills":
            known["checkpointed matches lost"] = ("lost",)
            known["final weights that differ"] = ("bits",)
        told = [f"{sum(self.faults[name] for name in names)} {what}" for what, names in known.items()]
        named = {name for names in known.values() for name in names}
        others = sum(count for name, count in self.faults.items() if name not in named)
        return f"{self.cases:,} {self.kind.replace('-', ' ')}: {', '.join(told)}, {others} other faults"


class Campaign:
    """Tries cases in sandboxes below `root`, in `processes` at once.

    Args:
        template: what each sandbox begins with; `template.make_template` makes it.
        seed: of all cases.
    """

    def __init__(self, root: Path, template: Path, seed: int, processes: int) -> None:
        self._root = root
        self._template = template
        self._seed = seed
        self._processes = processes

    def run(self, kind: str, *, cases: int, seconds: float, first: int = 0) -> Iterator[Tried]:
        """Try the cases of `kind` from the number `first` on, until there are so many or the time is up."""
        done, number, end = 0, first, time.monotonic() + seconds
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(self._processes, mp_context=context) as pool:
            one = partial(_try, kind, self._root, self._template, self._seed)
            while done < cases and time.monotonic() < end:
                # The weight of a life is known when it is over; so a few cases at a time.
                left = min(cases - done, 20 * self._processes) if kind != "kills" else self._processes
                for tried in pool.map(one, range(number, number + left)):
                    done += tried.weight
                    yield tried
                number += left


def _try(kind: str, root: Path, template: Path, seed: int, number: int) -> Tried:
    """Draw the case and try it in a new sandbox."""
    place = partial(Sandbox, root / f"box{os.getpid()}", template)
    return _TRY[kind](number, random.Random(f"{seed} {kind} {number}"), place)


def _line(number: int, rng: random.Random, place: Callable[[], Sandbox]) -> Tried:
    line = command_lines.draw(rng)
    ended, faults = command_lines.try_line(line, place(), in_process=number % BY_SUBPROCESS != BY_SUBPROCESS - 1)
    return Tried(number, 1, str(line), f"code {ended.code}", tuple(faults))


def _call(number: int, rng: random.Random, place: Callable[[], Sandbox]) -> Tried:
    call = calls.draw(rng)
    ended, faults = calls.try_call(call, place())
    return Tried(number, 1, call, f"code {ended.code}", tuple(faults))


def _folder(number: int, rng: random.Random, place: Callable[[], Sandbox]) -> Tried:
    crafted = folders.draw(rng)
    ended, faults, done = folders.try_folder(crafted, place())
    return Tried(number, 1, f"{crafted.line} [{'; '.join(done)}]", f"code {ended.code}", tuple(faults))


def _life(number: int, rng: random.Random, place: Callable[[], Sandbox]) -> Tried:
    name = list(kills.SETTINGS)[number % len(kills.SETTINGS)]
    if name not in _undisturbed:
        _undisturbed[name] = kills.undisturbed(name, place())
    life = kills.live(name, _undisturbed[name], rng, place())
    return Tried(number, life.kills, f"{name}: {life}", f"{life.kills} kills", tuple(life.faults))


_undisturbed: dict[str, kills.Undisturbed] = {}
"""By name, as this process has trained them."""
_TRY: dict[str, Callable[[int, random.Random, Callable[[], Sandbox]], Tried]] = {
    "command-lines": _line,
    "calls": _call,
    "folders": _folder,
    "kills": _life,
}
KINDS = tuple(_TRY)
"""The kinds of cases."""

"""Measures the network by batch size on each engine of this machine."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator

from athenan_spiel.config import EngineConfig, EngineName, Precision
from athenan_spiel.engines import Engine, half_of_the_cores, make_engine, torch_threads
from athenan_spiel.errors import ConfigError
from athenan_spiel.measuring.report import NetworkSpeed
from athenan_spiel.measuring.subject import Subject

BATCHES = (1, 4, 16, 64, 256, 1024)
MIN_CALLS = 3
MAX_CALL_SECONDS = 2.0
"""Time of a call above which larger batches are left out."""
ENGINES: tuple[EngineName, ...] = ("cuda", "openvino", "torch")
PRECISIONS: tuple[Precision, ...] = ("bfloat16", "float32")


def network_speeds(subject: Subject, seconds: float, say: Callable[[str], object]) -> Iterator[NetworkSpeed]:
    """Measures for about `seconds` in total.

    Args:
        say: called with a description of the next measurement.
    """
    network, positions = subject.learner.network, subject.positions(BATCHES[-1])
    threads = subject.config.engine.threads or half_of_the_cores()
    with torch_threads(threads):
        engines = engines_here(dataclasses.replace(subject.config.engine, threads=threads), network.shape)
        each = seconds / len(engines) / len(BATCHES)
        for engine in engines:
            engine.load(network)
            for batch in BATCHES:
                say(f"the network on {engine.name}, {batch} states at once")
                taken = _seconds_of(lambda: engine.infer(positions[:batch]), each)  # noqa: B023 - called at once
                yield NetworkSpeed(engine=engine.name, threads=threads, batch=batch, states_per_second=batch / taken)
                if taken > MAX_CALL_SECONDS:
                    break


def engines_here(config: EngineConfig, shape: tuple[int, ...]) -> list[Engine]:
    """Returns every available engine in every available precision; those of torch always exist."""
    engines = []
    for name in ENGINES:
        for precision in PRECISIONS:
            try:
                engines.append(make_engine(dataclasses.replace(config, name=name, precision=precision), shape))
            except ConfigError:  # the device, the package or the precision is missing
                continue
    return engines


def _seconds_of(work: Callable[[], object], seconds: float) -> float:
    """Returns the median time of a call. The first call counts only if it takes longer than `MAX_CALL_SECONDS`."""
    start = time.perf_counter()
    work()
    first = time.perf_counter() - start
    if first > MAX_CALL_SECONDS:
        return first
    end, taken = time.perf_counter() + seconds, list[float]()
    while len(taken) < MIN_CALLS or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)

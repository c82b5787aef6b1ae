"""Speed of the chosen inference engine compared with eager torch in float32.

Uses the papers' network for Hex 11 x 11 (three convolutions of 64 filters without padding, 100 neurons; the article,
Section 3.3.1) and the network that `auto` chooses for Connect Four. Prints microseconds per batch and states per second
of both engines, which alternate within one run; the time from new weights to the first values; and the difference of
the values from torch's. The aim is a ratio of 4 at batch 100 of Hex.

    python benchmarks/engines.py             # about a minute
    python benchmarks/engines.py --quick     # a few seconds, to check that it runs
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, NetworkConfig
from athenan_spiel.engines import Engine, half_of_the_cores, make_engine
from athenan_spiel.networks import ValueNetwork, make_network
from common import make_parser, seconds_of

GAMES = {"Hex 11 x 11": ((10, 11, 11), NetworkConfig(architecture="c")), "Connect Four": ((4, 6, 7), NetworkConfig())}
BATCHES = (1, 7, 30, 100, 800)


def in_turns(works: list[Callable[[], object]], seconds: float) -> list[float]:
    """Returns the median time of a call of each function, called in blocks that alternate for `seconds` in total."""
    times: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + seconds
    while not times[0] or time.perf_counter() < end:
        for work, taken in zip(works, times, strict=True):
            time.sleep(0.005)  # until the other engine's threads have stopped waiting actively
            work()
            taken += [seconds_of(work) for _ in range(5)]
    return [float(np.median(taken)) for taken in times]


def print_speeds(plain: Engine, chosen: Engine, positions: NDArray[np.float32], seconds: float) -> None:
    """Prints a line per batch size."""
    heads = (f"{plain.name}, us", f"{chosen.name}, us")
    print(f"{'batch':>6} {heads[0]:>20} {'states/s':>10} {heads[1]:>24} {'states/s':>10} {'ratio':>7}")
    for rows in BATCHES:
        batch = positions[:rows]
        slow, fast = in_turns([lambda b=batch: plain.infer(b), lambda b=batch: chosen.infer(b)], seconds)  # type: ignore[misc]
        print(
            f"{rows:6} {slow * 1e6:20.0f} {rows / slow:10.0f} {fast * 1e6:24.0f} {rows / fast:10.0f} {slow / fast:7.1f}"
        )


def print_refresh(chosen: Engine, network: ValueNetwork, positions: NDArray[np.float32], times: int) -> None:
    """Prints the time of `load`, and the extra time of the first batch of a size."""
    loads, firsts = [], []
    for _ in range(times):
        loads.append(seconds_of(lambda: chosen.load(network)))
        chosen.infer(positions[:1])
        first, second = (seconds_of(lambda: chosen.infer(positions[:100])) for _ in range(2))
        firsts.append(first - second)
    print(f"new weights: {np.median(loads) * 1e3:.1f} ms, first batch of a size: {np.median(firsts) * 1e3:+.1f} ms")


def print_errors(plain: Engine, chosen: Engine, positions: NDArray[np.float32]) -> None:
    """Prints the difference of the chosen engine's values from the plain engine's."""
    expected, values = plain.infer(positions), chosen.infer(positions)
    error = np.sqrt(np.mean((values - expected) ** 2)) / expected.std()
    distinct = len(np.unique(values))
    print(f"error / spread of the values: {error:.1e}; distinct values: {distinct} of {len(positions)} states")


def main() -> None:
    """Prints the tables."""
    parser = make_parser(__doc__)
    parser.add_argument("--engine", choices=["auto", "openvino", "cuda"], default="auto")
    parser.add_argument("--threads", type=int, help="threads per engine (default: half of the cores)")
    parser.add_argument("--quick", action="store_true", help="shortest measurements")
    arguments = parser.parse_args()
    seconds, times = (0.05, 2) if arguments.quick else (5.0, 20)
    threads = arguments.threads or half_of_the_cores()
    for name, (shape, config) in GAMES.items():
        network = make_network(shape, config, bounded=True, seed=0)
        plain = make_engine(EngineConfig(name="torch", precision="float32", threads=threads), shape)
        chosen = make_engine(EngineConfig(name=arguments.engine, threads=threads), shape)
        for engine in (plain, chosen):
            engine.load(network)
        positions = (np.random.default_rng(0).random((max(BATCHES), *shape)) < 0.3).astype(np.float32)
        print(f"\n{name}: {network.description}; {threads} threads")
        print_speeds(plain, chosen, positions, seconds)
        print_refresh(chosen, network, positions, times)
        print_errors(plain, chosen, positions)


if __name__ == "__main__":
    main()

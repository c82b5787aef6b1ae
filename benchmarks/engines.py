"""How much faster the chosen engine is than eager torch in float32, batch by batch, and what new weights cost it.

For the papers' network at Hex 11 x 11 (3 convolutions of 64 filters without padding, 100 neurons; the article,
Section 3.3.1) and for the network that `auto` makes of Connect Four: microseconds per batch and states per second of
both engines, in turns within one run so that both see the same machine; then the time from new weights to the
first values by them, and how far the values are from torch's. The figure to reach is a ratio of 4 at batch 100
in the first table.

    python benchmarks/engines.py             # about a minute
    python benchmarks/engines.py --quick     # some seconds: does it run?

`--onnxruntime` adds a line about ONNX Runtime, the other candidate, where it and onnx are installed. It computes in
float32 only, and was left for OpenVINO's bfloat16.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from athenan_spiel.config import EngineConfig, NetworkConfig
from athenan_spiel.engines import Engine, half_of_the_cores, make_engine
from athenan_spiel.networks import ValueNetwork, make_network

GAMES = {"Hex 11 x 11": ((10, 11, 11), NetworkConfig(architecture="c")), "Connect Four": ((4, 6, 7), NetworkConfig())}
BATCHES = (1, 7, 30, 100, 800)


def seconds_of(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(works: list[Callable[[], object]], seconds: float) -> list[float]:
    """The median time of a call of each, called in blocks that alternate for `seconds` in all."""
    times: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + seconds
    while not times[0] or time.perf_counter() < end:
        for work, taken in zip(works, times, strict=True):
            time.sleep(0.005)  # until the other engine's threads have stopped waiting actively
            work()
            taken += [seconds_of(work) for _ in range(5)]
    return [float(np.median(taken)) for taken in times]


def print_speeds(plain: Engine, chosen: Engine, positions: NDArray[np.float32], seconds: float) -> None:
    """One line for each batch size."""
    heads = (f"{plain.name}, us", f"{chosen.name}, us")
    print(f"{'batch':>6} {heads[0]:>20} {'states/s':>10} {heads[1]:>24} {'states/s':>10} {'ratio':>7}")
    for rows in BATCHES:
        batch = positions[:rows]
        slow, fast = in_turns([lambda b=batch: plain.infer(b), lambda b=batch: chosen.infer(b)], seconds)  # type: ignore[misc]
        print(
            f"{rows:6} {slow * 1e6:20.0f} {rows / slow:10.0f} {fast * 1e6:24.0f} {rows / fast:10.0f} {slow / fast:7.1f}"
        )


def print_onnxruntime(network: ValueNetwork, positions: NDArray[np.float32], threads: int, seconds: float) -> None:
    """What ONNX Runtime makes of the network at batch 100."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/network.onnx"
        example = (torch.from_numpy(positions[:100]),)
        axes = {"positions": {0: "batch"}}
        torch.onnx.export(network.eval(), example, path, input_names=["positions"], dynamic_axes=axes, dynamo=False)
        model = Path(path).read_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    (taken,) = in_turns([lambda: session.run(None, {"positions": positions[:100]})], seconds)
    print(f"onnxruntime float32 at batch 100: {taken * 1e6:.0f} us, {100 / taken:.0f} states/s")


def print_refresh(chosen: Engine, network: ValueNetwork, positions: NDArray[np.float32], times: int) -> None:
    """What new weights cost: `load`, and by how much the first batch of a size is slower than the next."""
    loads, firsts = [], []
    for _ in range(times):
        loads.append(seconds_of(lambda: chosen.load(network)))
        chosen.infer(positions[:1])
        first, second = (seconds_of(lambda: chosen.infer(positions[:100])) for _ in range(2))
        firsts.append(first - second)
    print(f"new weights: {np.median(loads) * 1e3:.1f} ms, first batch of a size: {np.median(firsts) * 1e3:+.1f} ms")


def print_errors(plain: Engine, chosen: Engine, positions: NDArray[np.float32]) -> None:
    """How far the chosen engine's values are from the plain one's."""
    expected, values = plain.infer(positions), chosen.infer(positions)
    error = np.sqrt(np.mean((values - expected) ** 2)) / expected.std()
    distinct = len(np.unique(values))
    print(f"error / spread of the values: {error:.1e}; distinct values: {distinct} of {len(positions)} states")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["auto", "openvino", "cuda"], default="auto")
    parser.add_argument("--threads", type=int, default=None, help="of every engine (default: half of the cores)")
    parser.add_argument("--onnxruntime", action="store_true", help="measure that one, too")
    parser.add_argument("--quick", action="store_true", help="measure next to nothing")
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
        if arguments.onnxruntime:
            print_onnxruntime(network, positions, threads, seconds)
        print_refresh(chosen, network, positions, times)
        print_errors(plain, chosen, positions)


if __name__ == "__main__":
    main()

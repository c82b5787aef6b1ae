"""When a second learner would pay: the time of a gradient step of one learner and of two, each with half the minibatch.

Both run on this machine, joined by torch's DistributedDataParallel over gloo, and learn random states of the game, in
the arithmetic of a training. One learner with twice the threads is what two are to be compared with on one machine.
Printed are the median step, the same without the exchange of gradients, that exchange alone (one all-reduce of as many
numbers), and the bytes that each learner sends in a step. Over the network of a cluster the exchange takes longer:
so a second learner pays where a step of half the minibatch saves more than those bytes take.

    python benchmarks/learners_ddp.py                                        # Connect Four with quick, half a minute
    python benchmarks/learners_ddp.py "hex(board_size=11)" --steps 20 -- --preset hex_11
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from athenan_spiel.cli.bench import BenchArguments
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.settings import settings_to_start_from
from athenan_spiel.config import TrainingConfig, WarmUpConfig
from athenan_spiel.games import load_game
from athenan_spiel.learning.learner import BETA1, uses_bfloat16
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.system.processes import begin, context

GIGABIT = 1e9 / 8
"""Bytes a second of a network of one gigabit."""


@dataclass(frozen=True)
class Task:
    """One of some learners.

    Attributes:
        learners: how many there are.
        threads: of each.
        place: a file by which they find each other.
    """

    game: str
    config: TrainingConfig
    learners: int
    threads: int
    steps: int
    place: str


@dataclass(frozen=True)
class Seconds:
    """Medians.

    Attributes:
        step: a whole step.
        alone: without the exchange of gradients.
        exchange: that alone.
        bytes: of all gradients.
    """

    step: float
    alone: float
    exchange: float
    bytes: int


def learn(task: Task, rank: int, report: Connection) -> None:
    """Be one of the learners, and report what it takes."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    torch.set_num_threads(task.threads)
    dist.init_process_group("gloo", init_method=f"file://{task.place}", rank=rank, world_size=task.learners)
    config = task.config.learner
    rows = max(1, config.batch_size // task.learners)
    subject = Subject(load_game(task.game), task.config)
    network = subject.learner.network.train()
    states = torch.from_numpy(subject.positions(rows))
    if states.ndim == 4:
        states = states.contiguous(memory_format=torch.channels_last)
    values = torch.rand(rows, 1) * 2 - 1
    model = DistributedDataParallel(network) if task.learners > 1 else network
    optimizer = torch.optim.Adam(
        network.parameters(), config.learning_rate, (BETA1, config.beta2), config.epsilon, 2 * config.l2, fused=True
    )
    bfloat16 = uses_bfloat16(config.precision, torch.device("cpu"))

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            answers = model(states).float().reshape(rows, -1)
        loss = (answers - values).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def alone() -> None:
        with model.no_sync() if isinstance(model, DistributedDataParallel) else contextlib.nullcontext():
            step()

    size = sum(parameter.numel() for parameter in network.parameters())
    gradients = torch.zeros(size)
    found = Seconds(
        step=median(step, task.steps),
        alone=median(alone, task.steps),
        exchange=median(lambda: dist.all_reduce(gradients), task.steps) if task.learners > 1 else 0.0,
        bytes=gradients.nbytes,
    )
    report.send(found)
    dist.destroy_process_group()


def median(call: Callable[[], object], times: int) -> float:
    """The seconds that it takes, after some that do not count."""
    found = []
    for _ in range(times + 3):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return statistics.median(found[3:])


def measured(game: str, config: TrainingConfig, learners: int, threads: int, steps: int) -> Seconds:
    """What the slowest of so many learners takes."""
    with tempfile.TemporaryDirectory(prefix="athenan-") as folder:
        task = Task(game, config, learners, threads, steps, f"{folder}/meet")
        processes, reports = [], []
        for rank in range(learners):
            mine, theirs = context().Pipe(duplex=False)
            processes.append(begin(learn, task, rank, theirs, daemon=True))
            theirs.close()
            reports.append(mine)
        found: list[Seconds] = [report.recv() for report in reports]
        for process in processes:
            process.join()
    return max(found, key=lambda seconds: seconds.step)


def main() -> None:
    """Measure and print."""
    usage = "%(prog)s [arguments] [-- settings, as of athenan bench]"
    parser = argparse.ArgumentParser(
        usage=usage, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", nargs="?", default="connect_four", help="an OpenSpiel game string")
    parser.add_argument("--threads", type=int, default=1, help="of each learner (default 1)")
    parser.add_argument("--steps", type=int, default=100, help="that are measured (default 100)")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    config = settings(arguments.game, options)
    batch, threads = config.learner.batch_size, arguments.threads
    print(f"{arguments.game}: a minibatch of {batch} states; {os.cpu_count()} cores")
    found = {}
    for learners, each in ((1, threads), (2, threads), (1, 2 * threads)):
        found[learners, each] = f = measured(arguments.game, config, learners, each, arguments.steps)
        exchange = f", exchange {1000 * f.exchange:.2f}, each sends {f.bytes:,} bytes" if learners > 1 else ""
        print(
            f"  {learners} of {each} threads: {1000 * f.step:8.2f} ms a step, "
            f"{1000 * f.alone:.2f} without the exchange{exchange}",
            flush=True,
        )
    one, two, wide = found[1, threads], found[2, threads], found[1, 2 * threads]
    saved = one.step - two.alone
    print(
        f"two ÷ one: {one.step / two.step:.2f} times as fast; one of {2 * threads} threads: {one.step / wide.step:.2f}"
    )
    if saved > 0:
        print(
            f"half the minibatch saves {1000 * saved:.2f} ms a step: two pay where {two.bytes:,} bytes are exchanged "
            f"sooner, at more than {two.bytes / saved / GIGABIT:.2f} gigabits a second"
        )
    else:
        print("half the minibatch takes no less time: two learners pay nowhere")


def settings(name: str, words: Sequence[str]) -> TrainingConfig:
    """The settings of a training, as `athenan bench` makes them of such words."""
    start = settings_to_start_from(words)
    config = parse(BenchArguments, [name, *words], "learners_ddp.py", BenchArguments(settings=start)).settings
    return dataclasses.replace(config, warm_up=WarmUpConfig())


if __name__ == "__main__":
    main()

"""Time of a gradient step of one learner, and of two learners with half the minibatch each.

The learners run on this machine, connected by torch's DistributedDataParallel over gloo, and learn random states of the
game with the precision of a training. On one machine the alternative is one learner with twice the threads. Prints the
median time of a step, of a step without the exchange of gradients, and of the exchange (one all-reduce of as many
numbers), and the bytes that each learner sends per step. The exchange takes longer over the network of a cluster. A
second learner pays if a step of half the minibatch saves more time than the exchange takes. The optimiser is
Adam, whatever `learner.optimizer` is.

    python benchmarks/learners_ddp.py                                        # Connect Four with quick, half a minute
    python benchmarks/learners_ddp.py "hex(board_size=11)" --steps 20 -- --preset hex_11
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from athenan_spiel.config import TrainingConfig, WarmUpConfig
from athenan_spiel.games import load_game
from athenan_spiel.learning.learner import BETA1, uses_bfloat16
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.system.processes import spawn_context, start_process
from common import make_parser, parse_with_options, seconds_of
from trainings import settings_of

GIGABIT = 1e9 / 8
"""Bytes per second of a network with one gigabit per second."""


@dataclass(frozen=True)
class Task:
    """Arguments of each learner.

    Attributes:
        learners: number of learners.
        threads: threads per learner.
        place: file in which the learners exchange their addresses.
    """

    game: str
    config: TrainingConfig
    learners: int
    threads: int
    steps: int
    place: str


@dataclass(frozen=True)
class Seconds:
    """Median times of a learner.

    Attributes:
        step: gradient step.
        alone: gradient step without the exchange of gradients.
        exchange: exchange of gradients.
        bytes: size of all gradients.
    """

    step: float
    alone: float
    exchange: float
    bytes: int


def learn(task: Task, rank: int, report: Connection) -> None:
    """Runs a learner, and sends its times to `report`."""
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
    """Returns the median time of a call, in seconds, after three calls that aren't counted."""
    return statistics.median([seconds_of(call) for _ in range(times + 3)][3:])


def measured(game: str, config: TrainingConfig, learners: int, threads: int, steps: int) -> Seconds:
    """Runs the learners in processes; returns the times of the slowest."""
    with tempfile.TemporaryDirectory(prefix="athenan-") as folder:
        task = Task(game, config, learners, threads, steps, f"{folder}/meet")
        processes, reports = [], []
        for rank in range(learners):
            mine, theirs = spawn_context().Pipe(duplex=False)
            processes.append(start_process(learn, task, rank, theirs, daemon=True))
            theirs.close()
            reports.append(mine)
        found: list[Seconds] = [report.recv() for report in reports]
        for process in processes:
            process.join()
    return max(found, key=lambda seconds: seconds.step)


def main() -> None:
    """Prints a line per group of learners, and the comparison."""
    parser = make_parser(__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", help="OpenSpiel game string")
    parser.add_argument("--threads", type=int, default=1, help="threads per learner (default 1)")
    parser.add_argument("--steps", type=int, default=100, help="measured steps (default 100)")
    arguments, options = parse_with_options(parser)
    config = settings_of("learners_ddp.py", arguments.game, options)
    config = dataclasses.replace(config, warm_up=WarmUpConfig())
    batch, threads = config.learner.batch_size, arguments.threads
    print(f"{arguments.game}: minibatches of {batch} states; {os.cpu_count()} cores")
    found = {}
    for learners, each in ((1, threads), (2, threads), (1, 2 * threads)):
        found[learners, each] = f = measured(arguments.game, config, learners, each, arguments.steps)
        exchange = f", exchange {1000 * f.exchange:.2f}, each sends {f.bytes:,} bytes" if learners > 1 else ""
        print(
            f"  {learners} of {each} threads: {1000 * f.step:8.2f} ms per step, "
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
            f"half the minibatch saves {1000 * saved:.2f} ms per step: two learners pay if {two.bytes:,} bytes are "
            f"exchanged in less, at more than {two.bytes / saved / GIGABIT:.2f} gigabits per second"
        )
    else:
        print("half the minibatch takes no less time: a second learner never pays")


if __name__ == "__main__":
    main()

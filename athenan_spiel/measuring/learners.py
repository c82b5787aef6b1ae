"""Measures the learner in each precision, relative to products of large matrices."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from athenan_spiel.config import Precision, ReplayConfig
from athenan_spiel.engines import half_of_the_cores, torch_threads
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay import Batch, PlainReplay
from athenan_spiel.measuring.report import LearnerSpeed
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.networks import ValueNetwork
from athenan_spiel.training.model import new_network
from athenan_spiel.training.preflight import learning_device

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16")
MATRIX_SHARE = 0.2
"""Fraction of the time for products of large matrices."""
SIZE = 1024
"""Rows and columns of the large matrices."""


def learner_speeds(subject: Subject, seconds: float, say: Callable[[str], object]) -> Iterator[LearnerSpeed]:
    """Measures for about `seconds` in total.

    Args:
        say: called with a description of the next measurement.
    """
    config, side, each = subject.config, subject.learner, seconds / len(PRECISIONS)
    device = torch.device(learning_device(config.engine))
    threads = config.learner.threads or half_of_the_cores()
    replay = filled_replay(subject)
    for precision in PRECISIONS:
        say(f"learning in {precision}")
        network = new_network(side.game, side.encoder, config, side.outcome, side.policy)
        operations = _operations(network)
        learner = Learner(network, dataclasses.replace(config.learner, precision=precision), device)
        batches = _endless_batches(replay, config.learner.batch_size)
        learner.learn(_batches_for(batches, 0.0))  # allocates memory and compiles kernels
        learned = learner.learn(_batches_for(batches, (1 - MATRIX_SHARE) * each))
        rate = learned.states / learned.seconds
        say(f"products of matrices in {precision}")
        with torch_threads(threads):
            matrix_flops = _matrix_flops(getattr(torch, precision), device, MATRIX_SHARE * each)
        yield LearnerSpeed(
            precision=precision,
            threads=threads,
            batch=config.learner.batch_size,
            states_per_second=rate,
            flops=operations * rate,
            matrix_flops=matrix_flops,
            matrix_share=operations * rate / matrix_flops,
        )


def filled_replay(subject: Subject) -> PlainReplay:
    """Returns a replay of at least one minibatch of random states. Each phase learns all of them."""
    targets = subject.targets
    times = math.ceil(subject.config.learner.batch_size / len(targets))
    replay = PlainReplay(
        ReplayConfig(method="plain", states=times * len(targets), sampling=1.0), np.random.default_rng(0)
    )
    for _ in range(times):
        replay.add(targets)
    return replay


def _endless_batches(replay: PlainReplay, batch_size: int) -> Iterator[Batch]:
    while True:
        yield from replay.sample(batch_size)


def _batches_for(batches: Iterator[Batch], seconds: float) -> Iterator[Batch]:
    """Yields batches until `seconds` have passed, at least one."""
    end = time.perf_counter() + seconds
    yield next(batches)
    while time.perf_counter() < end:
        yield next(batches)


def _operations(network: ValueNetwork) -> float:
    """Returns the floating-point operations per training sample in matrix products, forward and backward."""
    rows = 2
    with FlopCounterMode(display=False) as counter:
        network(torch.zeros(rows, *network.shape)).sum().backward()
    network.zero_grad(set_to_none=True)
    return float(counter.get_total_flops()) / rows


def _matrix_flops(kind: torch.dtype, device: torch.device, seconds: float) -> float:
    """Returns the floating-point operations per second of the fastest product of two large matrices."""
    a, b = (torch.rand(SIZE, SIZE, device=device).to(kind) for _ in range(2))
    fastest, end = math.inf, time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        product = a @ b
        if product.is_cuda:
            torch.cuda.synchronize()
        fastest = min(fastest, time.perf_counter() - start)
        if time.perf_counter() >= end:
            return 2 * SIZE**3 / fastest

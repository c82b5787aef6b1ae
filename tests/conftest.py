"""What all tests share: signals that can be heard, small finished runs, and why marked tests are skipped."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from athenan_spiel.system import processes
from athenan_spiel.system.stopping import SIGNALS

if "PYTEST_XDIST_WORKER" in os.environ:  # the parallel processes share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")
SLOW_MARKERS = {"browser": "starts a browser", "ray": "starts a Ray cluster"}
"""Markers whose tests are slow, with the reason."""


@pytest.fixture(scope="session", autouse=True)
def _signals_as_at_a_terminal() -> Iterator[None]:
    """What runs the tests may ignore Ctrl-C or SIGHUP, and what is ignored stays so; the tests send them."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def one_torch_thread() -> Iterator[None]:
    """Networks as small as those of the tests are slower with more, much slower on a busy machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def forked_workers() -> Iterator[None]:
    """Forks the workers of the library on Linux, because a spawned one imports torch for seconds."""
    from forking import start_server, worker_context

    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            start_server()
            patch.setattr(processes, "spawn_context", worker_context)
        yield


@pytest.fixture(scope="module")
def forked_programs() -> Iterator[None]:
    """Forks the programs whose command is that of `forking.program` on Linux."""
    from forking import served_programs

    with served_programs():
        yield


@pytest.fixture(scope="module")
def signals_kept() -> Iterator[None]:
    """Ray hears signals as long as the process lives; here no longer than the tests that want it."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run of Tic-Tac-Toe with the settings `TINY`, to be left as it is."""
    from training_runs import TIC_TAC_TOE, TINY

    from athenan_spiel.training import train

    return train(TIC_TAC_TOE, TINY, tmp_path_factory.mktemp("run") / "ttt").folder


@pytest.fixture(scope="session")
def tiny_experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished experiment of `experiment_runs.TINY`, to be left as it is."""
    from experiment_runs import MATCHES, TRAININGS, Recorder, run_tiny

    folder = tmp_path_factory.mktemp("experiments") / "tiny"
    recorder = Recorder()
    results = run_tiny(folder, recorder=recorder)
    assert results.complete
    assert len(recorder.trained) == TRAININGS
    assert recorder.training_counts[-1] == (TRAININGS, TRAININGS)
    assert recorder.match_counts[-1] == (MATCHES, MATCHES)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two matches of Tic-Tac-Toe, which the tests of a module share and may go on with."""
    from command_line import TINY

    from athenan_spiel.cli.main import main

    folder = tmp_path_factory.mktemp("runs") / "ttt"
    assert main(["train", "tic_tac_toe", "--matches", "2", "--folder", str(folder), *TINY]) == 0
    return folder


def _missing_for_a_browser() -> str:
    from installed import CHROMIUM

    for package in ("nicegui", "playwright"):
        if importlib.util.find_spec(package) is None:
            return f"needs {package}, which is not installed: pip install {package}"
    return "" if CHROMIUM else "needs Chromium: `apt install chromium`"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for marker, reason in SLOW_MARKERS.items():
        for item in items:
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.slow(reason=reason))
    if importlib.util.find_spec("ray") is None:
        _skip(items, "ray", "needs Ray, which is not installed: pip install 'athenan-spiel[ray]'")
    if missing := _missing_for_a_browser():
        _skip(items, "browser", missing)
    if any(item.get_closest_marker("cuda") for item in items):
        import torch

        if not torch.cuda.is_available():
            _skip(items, "cuda", "needs a CUDA device, and torch finds none")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # hundreds of thousands of objects of modules and tests, which every full collection would visit


def _skip(items: list[pytest.Item], marker: str, reason: str) -> None:
    for item in items:
        if item.get_closest_marker(marker):
            item.add_marker(pytest.mark.skip(reason=reason))

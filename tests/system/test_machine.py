"""What a machine has, read from files as Linux writes them, and what runs ask of it."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import EngineConfig, LearnerConfig, NetworkConfig, ReplayConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import choice, make_engine, most_threads
from athenan_spiel.errors import ConfigError
from athenan_spiel.learning import warm_up
from athenan_spiel.networks import learning_bytes, make_network, memory, playing_bytes, valuing_bytes
from athenan_spiel.outcomes import Gain
from athenan_spiel.system import machine
from athenan_spiel.training import PRESETS, load_agent, preflight, train

GROUP_FILES = {
    "0::/": ("", "memory.max", "memory.current", "inactive_file"),
    "0::/box/inner": ("box", "memory.max", "memory.current", "inactive_file"),
    "4:cpu,memory:/box": ("memory/box", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


@pytest.fixture
def linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that `machine` reads, none of them there yet."""
    for name in ("MEMINFO", "OWN_GROUPS", "GROUPS"):
        monkeypatch.setattr(machine, name, tmp_path / name)
    return tmp_path


def write_group(linux: Path, line: str, limit: str, used: int = 0, inactive: int = 0) -> None:
    folder, limit_name, used_name, inactive_name = GROUP_FILES[line]
    group = linux / "GROUPS" / folder
    group.mkdir(parents=True, exist_ok=True)
    (linux / "OWN_GROUPS").write_text(f"9:pids:/elsewhere\n{line}\n")
    (group / limit_name).write_text(f"{limit}\n")
    (group / used_name).write_text(f"{used}\n")
    (group / "memory.stat").write_text(f"anon 5\n{inactive_name} {inactive}\n")


def test_there_is_a_core_and_some_memory() -> None:
    assert machine.cores() >= 1
    free, every = machine.free_memory(), machine.memory()
    assert free is not None
    assert every is not None
    assert 0 < free <= every


def test_a_processor_is_named_with_what_it_computes_networks_by(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "CPUINFO", linux / "CPUINFO")
    assert (machine.instructions(), bool(machine.processor())) == ([], True)
    (linux / "CPUINFO").write_text(
        "processor\t: 0\nmodel name\t: A: 3\nflags\t\t: fpu amx_bf16 avx2\n\nmodel name\t: B\n"
    )
    assert (machine.processor(), machine.instructions()) == ("A: 3", ["AVX2", "AMX BF16"])
    (linux / "CPUINFO").write_text("processor\t: 0\nFeatures\t: fp asimd sve\n")
    assert machine.instructions() == ["NEON", "SVE"]


def test_free_memory_is_what_the_system_calls_available(linux: Path) -> None:
    (linux / "MEMINFO").write_text("MemTotal:       24000000 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n")
    assert machine.free_memory() == 20_000_000 * 1024


@pytest.mark.parametrize("text", ["", "MemAvailable:\n", "MemAvailable: much kB\n"])
def test_where_the_system_writes_nothing_it_is_asked(linux: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    if text:
        (linux / "MEMINFO").write_text(text)
    monkeypatch.setattr(os, "sysconf", {"SC_AVPHYS_PAGES": 10, "SC_PHYS_PAGES": 100, "SC_PAGE_SIZE": 4096}.__getitem__)
    assert (machine.free_memory() or 40_960, machine.memory()) == (40_960, 409_600)


def test_where_nobody_says_it_is_not_known(linux: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> int:
        raise ValueError(f"unrecognized configuration name {name}")

    monkeypatch.setattr(os, "sysconf", unknown)
    assert machine.free_memory() is None
    assert machine.memory() is None
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    memory.require_memory(10**30, "to learn")


@pytest.mark.parametrize("line", GROUP_FILES)
def test_a_container_has_less_than_the_machine(linux: Path, line: str) -> None:
    write_group(linux, line, "1000000", used=700_000, inactive=200_000)
    assert machine.memory() == 1_000_000
    assert machine.free_memory() == 500_000
    write_group(linux, line, "1000000", used=1_200_000)
    assert machine.free_memory() == 0


@pytest.mark.parametrize("limit", ["max", str(2**63 - 4096), ""])
def test_a_container_without_a_limit_has_what_the_machine_has(linux: Path, limit: str) -> None:
    (linux / "MEMINFO").write_text("MemAvailable: 1000 kB\n")
    write_group(linux, "0::/", limit)
    assert machine.free_memory() == 1_024_000


@pytest.mark.parametrize("architecture", ["c", "r1", "r2", "r3", "mlp"])
def test_the_memory_of_a_network_is_computed_from_its_settings(architecture: str) -> None:
    ratio = 4 if architecture in ("r1", "r2", "r3") else None
    config = NetworkConfig(architecture=architecture, filters=8, layers=2, neurons=20, squeeze_excitation=ratio)
    network = make_network((3, 9, 9), config, bounded=False, seed=0)
    weights = sum(parameter.nbytes for parameter in network.parameters())
    assert playing_bytes((3, 9, 9), config) == 2 * weights
    generator = torch.get_rng_state()
    one, two = (learning_bytes((3, 9, 9), config, batch_size) for batch_size in (100, 200))
    assert 8 * weights < one < two
    assert valuing_bytes((3, 9, 9), config, 200) < two - 7 * weights
    assert torch.equal(torch.get_rng_state(), generator)


def test_in_bfloat16_and_on_a_gpu_less_is_left() -> None:
    config = NetworkConfig(architecture="r1", layers=1)
    in_float32, in_bfloat16 = (learning_bytes((3, 9, 9), config, 100, bfloat16=bfloat16) for bfloat16 in (False, True))
    assert in_bfloat16 < in_float32
    on_gpu = learning_bytes((3, 9, 9), config, 100, device="cuda")
    assert learning_bytes((3, 9, 9), config, 100, device="cuda", bfloat16=True) < on_gpu < in_float32


@pytest.mark.parametrize(("name", "other"), [("REAL_BYTES", 0), ("FEW_STATES", (100, 101))])
def test_sizes_do_not_depend_on_the_passes(name: str, other: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake tensors are as large as real ones, and passes of few states predict those of many."""

    def sizes() -> list[int]:
        memory._peak_bytes.cache_clear()
        return [
            learning_bytes((3, 9, 9), NetworkConfig(architecture=architecture), count, bfloat16=bfloat16)
            for architecture in ("c", "r1", "mlp")
            for count in (1, 2, 100)
            for bfloat16 in (False, True)
        ]

    real = sizes()
    monkeypatch.setattr(memory, name, other)
    assert sizes() == real


LEARNING = """
import json, sys
import numpy as np
from athenan_spiel.config import LearnerConfig, NetworkConfig
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.labels import Labels, Policies
from athenan_spiel.learning.replay import Batch
from athenan_spiel.networks import PolicyShape, learning_bytes, make_network

def status(name):
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name))

def learn(config, rows):
    network = make_network(shape, config, bounded=True, seed=0, policy=policy)
    learner = Learner(network, LearnerConfig(precision=precision))
    policies = Policies.of([(range(9), [1 / 9] * 9)] * rows) if policy else None
    batch = Batch(np.zeros((rows, np.prod(shape)), np.float32), Labels(np.zeros(rows, np.float32), policies=policies))
    learner.learn([batch] * 3)
    return sum(weight.nbytes for weight in network.parameters())

settings, shape, rows, precision = json.loads(sys.argv[1])
config, policy = NetworkConfig(**settings), PolicyShape(9) if "policy" in settings else None
learn(NetworkConfig(**settings | {"filters": 4, "neurons": 4}), 4)
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forgets the peak
weights = learn(config, rows)
peak = status("VmHWM")
needed = learning_bytes(shape, config, rows, policy, bfloat16=precision == "bfloat16")
print(peak - before, needed - 4 * weights)  # without the engine's and the checkpoint's copies
"""


@pytest.mark.slow(reason="learns with large networks in processes of their own")
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is reset by Linux's /proc")
@pytest.mark.parametrize(
    ("settings", "shape", "rows", "precision"),
    [
        ({"architecture": "mlp", "neurons": 1000}, (200,), 4096, "float32"),
        ({"architecture": "mlp", "neurons": 6000}, (500,), 256, "bfloat16"),
        ({"architecture": "c"}, (4, 9, 9), 512, "float32"),
        ({"architecture": "c", "policy": "dense"}, (6, 11, 11), 2048, "float32"),
        ({"architecture": "r1", "policy": "auto"}, (4, 9, 9), 1024, "bfloat16"),
        ({"architecture": "r2"}, (4, 9, 9), 512, "float32"),
        ({"architecture": "r3", "filters": 373, "neurons": 4453, "squeeze_excitation": 16}, (4, 9, 9), 64, "float32"),
    ],
)
def test_a_learner_takes_about_the_memory_that_is_measured(
    settings: dict[str, object], shape: tuple[int, ...], rows: int, precision: str
) -> None:
    argument = json.dumps([settings, shape, rows, precision])
    printed = subprocess.run([sys.executable, "-c", LEARNING, argument], capture_output=True, text=True, check=True)
    taken, needed = map(int, printed.stdout.split())
    assert 0.9 * taken <= needed < 2 * taken, (taken, needed)


def test_the_memory_of_a_gpu_is_asked_for_where_the_network_learns_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (10**9, 2 * 10**9))
    memory.require_memory(10**9, "to learn", "cuda")
    with pytest.raises(ConfigError, match=r"^this network needs 1.1 GB to learn, and 1.0 GB are free"):
        memory.require_memory(1_100_000_000, "to learn", "cuda")


def test_computing_it_takes_no_memory() -> None:
    config = NetworkConfig(architecture="r2", filters=100_000, neurons=100_000, layers=2)
    assert learning_bytes((3, 19, 19), config, 10**6) > 10**15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"network": NetworkConfig(architecture="mlp", neurons=100_000)},
            r"^this network needs 6\d\d\.\d GB to learn, and 7.0 GB are free: use fewer network.filters, neurons "
            r"or layers, or a smaller learner.batch_size$",
        ),
        (
            {"network": NetworkConfig(architecture="r1", filters=100_000)},
            r"^this network needs 1\d,\d\d\d\.\d GB to learn",
        ),
        (
            {"network": NetworkConfig(architecture="r1", filters=64), "learner": LearnerConfig(batch_size=10**6)},
            r"^this network needs \d\d\.\d GB to learn",
        ),
        (
            {"learner": LearnerConfig(threads=300)},
            r"^learner.threads must be at most 128 on this machine, 64 for each of its 2 cores, got 300$",
        ),
        (
            {"engine": EngineConfig(threads=300)},
            r"^engine.threads must be at most 128 on this machine, 64 for each of its 2 cores, got 300$",
        ),
        (
            {"replay": ReplayConfig(megabytes=30_000)},
            r"^replay.megabytes must be at most 8,000, the memory of this machine, got 30000$",
        ),
    ],
)
def test_a_run_that_needs_more_than_there_is_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], message: str
) -> None:
    monkeypatch.setattr("athenan_spiel.engines.threads.cores", lambda: 2)
    monkeypatch.setattr(preflight, "memory", lambda: 8 * 10**9)
    monkeypatch.setattr(memory, "free_memory", lambda: 7 * 10**9)
    config = dataclasses.replace(TINY, **change)
    with pytest.raises(ConfigError, match=message):
        train(TIC_TAC_TOE, config, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_agents_network_needs_room_too(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    message = r"^this network needs 0.0 GB to play, and 0.0 GB are free: use fewer network.filters, neurons or layers$"
    with pytest.raises(ConfigError, match=message):
        load_agent(tiny_run)


def test_an_agent_of_a_larger_machine_takes_the_threads_that_there_are(
    tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int | None] = []
    monkeypatch.setattr(choice, "most_threads", lambda: 1)
    monkeypatch.setattr("torch.set_num_threads", made.append)
    load_agent(tiny_run, engine=EngineConfig(name="torch", threads=1000))
    assert made == [1]
    made.clear()
    make_engine(EngineConfig(name="torch"), (3, 3, 3))
    assert made == []
    assert most_threads() == 64 * machine.cores()


def test_a_warm_up_takes_no_more_processes_than_serve() -> None:
    encoder = Encoder(TIC_TAC_TOE)
    ends = warm_up.RandomStates(TIC_TAC_TOE, Gain(), encoder, states=10, seed=0, processes=1000)
    assert ends._processes == 8 * machine.cores()


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_the_presets_for_any_game_fit_into_a_usual_machine(name: str) -> None:
    """Those of single sections take what the papers' graphics cards had."""
    config = PRESETS[name]
    assert learning_bytes((6, 11, 11), config.network, config.learner.batch_size, bfloat16=True) < 8 * 10**9
    assert learning_bytes((6, 11, 11), config.network, config.learner.batch_size) < 20 * 10**9


def test_a_process_that_yields_comes_after_others() -> None:
    program = "import os; from athenan_spiel.system import machine; machine.yield_to_others(); print(os.nice(0))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(said) == min(19, os.nice(0) + machine.NICE)


def test_a_system_without_priorities_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "nice")
    machine.yield_to_others()

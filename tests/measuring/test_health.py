"""What is found of a machine, what is said where something is missing or broken, and that neither ends the look."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from athenan_spiel.measuring import health
from athenan_spiel.measuring.health import NEEDED, OPTIONAL, CheckResult, can_train, findings
from athenan_spiel.system import machine

ROOT = Path(__file__).resolve().parents[2]


def finding(what: str) -> CheckResult:
    return next(x for x in findings() if x.what == what)


def test_here_a_training_can_be_done() -> None:
    found = findings()
    assert can_train(found)
    assert {x.what for x in found if x.needed} == {"athenan_spiel", "Python", *NEEDED, "engine", "learning"}
    engine = next(x for x in found if x.what == "engine")
    assert re.match(r"(openvino|cuda) (bfloat16|float32)", engine.text)


def test_the_tested_versions_are_those_of_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {name.lower().replace("-", "_"): version for name, _, version in (line.partition("==") for line in lines)}
    tested = {name: version for name, (_, version) in NEEDED.items()}
    tested |= {name: version for name, (_, version, _) in OPTIONAL.items()}
    assert tested == {name: pins[name] for name in tested}


def test_the_needed_packages_are_those_of_the_project() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = project.partition("dependencies = [")[2].partition("]")[0]
    assert set(re.findall(r'"([\w-]+)', needed)) == set(NEEDED)
    for name, (extra, _, _) in OPTIONAL.items():
        assert re.search(rf'^{extra} = \[.*"{name}', project, re.MULTILINE)


def test_a_missing_package_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "NEEDED", {"openvino": ("no_such_module", "2026.4.1")})
    found = findings()
    assert not can_train(found)
    missing = next(x for x in found if x.what == "openvino")
    assert (missing.state, missing.text) == ("missing", "pip install openvino==2026.4.1")


@pytest.mark.parametrize(
    "program",
    ["raise ImportError('libgomp.so.1: cannot open \\x1b[2J\\nand more')", "1 / 0", "raise OSError(2, 'gone')"],
)
def test_a_broken_package_is_a_line(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_here.py").write_text(program, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(health, "NEEDED", {"scipy": ("broken_here", "1.17.1")})
    broken = finding("scipy")
    assert broken.state == "broken"
    assert broken.text.endswith(": pip install --force-reinstall scipy==1.17.1")
    assert broken.text.isprintable()


def test_what_a_broken_torch_takes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = {x.what: x for x in findings()}
    assert found["torch"].state == "missing"
    for what in ("CUDA", "engine", "learning"):
        assert found[what].state == "broken", what
    assert found["this folder"].state == "found"


def test_another_version_than_the_tested_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"numpy": "1.9"}.get(name, "2.13.0+cpu"))
    assert finding("numpy").text == "1.9; tested with 2.4.6"
    assert finding("torch").text == "2.13.0+cpu"


def test_an_extra_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(health.importlib.util, "find_spec", lambda name: None if name in OPTIONAL else find(name))
    ray = finding("ray")
    assert (ray.state, ray.needed) == ("missing", False)
    assert ray.text == "for trainings on a cluster: pip install 'athenan-spiel[ray]'"


def test_a_cuda_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "A device")
    assert health._cuda().startswith("A device, CUDA ")
    assert health._learning() == "on the CUDA device"


def test_matrix_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for there, start in ((True, "bfloat16"), (False, "float32")):
        monkeypatch.setattr("athenan_spiel.engines.threads.has_matrix_units", lambda there=there: there)
        assert health._learning().startswith(start)


def test_little_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "SHARED", tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=64_000_000, free=60_000_000))
    shared = finding("shared memory")
    assert shared.state == "missing"
    assert shared.text.endswith("little for workers with large networks: docker run --shm-size=1g, or --workers 0")
    monkeypatch.setattr(health, "SHARED", tmp_path / "none")
    assert finding("shared memory").state == "found"


def test_a_system_that_says_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory", lambda: None)
    monkeypatch.setattr(machine, "instructions", list)
    monkeypatch.setattr(sys, "platform", "darwin")
    found = {x.what: x for x in findings()}
    assert found["memory"].state == "missing"
    assert found["processor"].text.endswith("this system does not report its instruction sets")
    assert found["system"].text.endswith("tested only on Linux, x86_64 (docs/platforms.md)")


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = health.writable("data", tmp_path / "new" / "deep", "jars")
    assert made.state == "found"
    assert "can be created" in made.text
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert health.writable("data", tmp_path / "new", "jars") == CheckResult(
        what="data",
        state="missing",
        needed=False,
        text=f"{tmp_path} cannot be written, and jars: make it writable, or use another folder",
    )


def test_a_current_folder_that_is_gone_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> Path:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(health.Path, "cwd", gone)
    assert finding("this folder").state == "broken"

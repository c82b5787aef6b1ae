"""No file makes the library import code: a run or an experiment from elsewhere can bring a module of its own."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from experiment_runs import TINY as TINY_EXPERIMENT
from forking import athenan
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.errors import ConfigError
from athenan_spiel.training import settings_from_toml, settings_to_toml

TRAP = """
import pathlib
pathlib.Path(__file__).with_name("sprung").touch()
from athenan_spiel.outcomes import gain as worth
"""
SPRUNG = "sprung"
TWO_MATCHES = ["--matches", "2", "--matches-at-once", "1"]
WARNED = "is custom code named in a file, which is not imported by itself"


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of Tic-Tac-Toe, its agent's file, and the module that its outcome is said to be in."""
    folder = tmp_path_factory.mktemp("downloads")
    (folder / "trap.py").write_text(TRAP)
    sys.path.insert(0, str(folder))
    try:
        ath.train("tic_tac_toe", dataclasses.replace(TINY, outcome="trap:worth", matches=1), folder / "run")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("trap")
    ath.export_agent(folder / "run", folder / "agent")
    for name in ("jpype", "matplotlib", "onnx", "onnxruntime", "sitecustomize"):
        (folder / f"{name}.py").write_text(TRAP)
    (folder / "experiment.toml").write_text(TINY_EXPERIMENT.replace("[training]", '[training]\noutcome = "trap:worth"'))
    return folder


@pytest.fixture
def folder(downloaded: Path) -> Path:
    """It, with the trap set."""
    (downloaded / SPRUNG).unlink(missing_ok=True)
    return downloaded


def real_athenan(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script `athenan` in `folder`, which its interpreter must not import from."""
    start = "import sys; from athenan_spiel.cli.main import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-P", "-c", start, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(ath.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["resume", "run", "--matches", "1"],
        ["train", "tic_tac_toe", "--config", "run/config.toml", "--folder", "other", "--matches", "1"],
        ["experiment", "experiment.toml", "--check"],
        ["experiment", "experiment.toml", "--processes", "2"],
    ],
    ids=lambda words: " ".join(words[:1] + words[-1:]),
)
def test_what_needs_the_code_is_refused_and_imports_nothing(folder: Path, words: list[str]) -> None:
    before = sorted(folder.rglob("*"))
    done = athenan(*words, folder=folder, stdin="quit\n")
    assert done.returncode == 2
    assert WARNED in done.stderr
    assert "--allow-code trap:worth" in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert sorted(folder.rglob("*")) == before, "neither the trap nor a folder"


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "run@1i", "--against", "random", *TWO_MATCHES],
        ["eval", "agent@1i", "--against", "random", *TWO_MATCHES],
        ["export", "run", "--file", "again", "--overwrite"],
        ["play", "run", "--seconds", "0.01"],
        ["solve", "tic_tac_toe", "--run", "run", "--iterations", "10"],
        ["ludii"],
    ],
    ids=lambda words: words[0],
)
def test_what_can_do_without_the_code_does(folder: Path, words: list[str]) -> None:
    done = athenan(*words, folder=folder, stdin="quit\n")
    assert done.returncode in (0, 3), done.stderr
    assert not (folder / SPRUNG).exists()


@pytest.mark.parametrize(
    "words",
    [
        ["resume", "run", "--matches", "1", "--allow-code", "trap:worth"],
        ["eval", "run@1i", "--against", "random", *TWO_MATCHES, "--allow-code", "trap:worth"],
        ["eval", "agent@1i", "--against", "random", *TWO_MATCHES, "--allow-code", "trap:worth"],
        ["play", "run", "--seconds", "0.01", "--allow-code", "trap:worth"],
        ["solve", "tic_tac_toe", "--run", "run", "--iterations", "10", "--allow-code", "trap:worth"],
        ["train", "tic_tac_toe", "--folder", "another", "--matches", "1", "--outcome", "trap:worth"],
        ["experiment", "experiment.toml", "--check", "--allow-code", "trap:worth"],
    ],
    ids=lambda words: words[0],
)
def test_what_the_user_names_is_imported_from_the_current_folder(folder: Path, words: list[str]) -> None:
    done = athenan(*words, folder=folder, stdin="quit\n")
    assert done.returncode in (0, 3), done.stderr
    assert (folder / SPRUNG).exists()


@pytest.mark.parametrize("name", ["trap", "trap:", ":worth", "../trap:worth", "trap:worth:x", ""])
def test_only_a_module_and_a_name_can_be_allowed(folder: Path, name: str) -> None:
    done = athenan("resume", "run", "--allow-code", name, folder=folder)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "expected code as module:name" in done.stderr


def test_settings_from_a_file_name_no_code_that_the_caller_does_not() -> None:
    text = settings_to_toml("tic_tac_toe", dataclasses.replace(TINY, outcome="trap:worth"))
    with pytest.raises(ConfigError, match=WARNED):
        settings_from_toml(text)
    assert settings_from_toml(text, allow_code=("trap:worth",))[1].outcome == "trap:worth"


@pytest.mark.parametrize(
    "allowed", [True, pytest.param(False, marks=pytest.mark.slow("a second process, seven seconds on two cores"))]
)
def test_the_script_imports_only_what_the_user_names_from_the_current_folder(folder: Path, allowed: bool) -> None:
    words = ["--allow-code", "trap:worth"] if allowed else []
    done = real_athenan(folder, "eval", "agent@1i", "--against", "random", *TWO_MATCHES, *words)
    assert done.returncode == 0, done.stderr
    assert (folder / SPRUNG).exists() == allowed


def test_running_the_package_imports_nothing_from_the_current_folder(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "athenan_spiel", "ludii"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(ath.__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert not (folder / SPRUNG).exists()

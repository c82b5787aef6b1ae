"""The built wheel and sdist: what is in them, and that the wheel without this folder trains, measures and plays.

They are built by the backend of pyproject.toml in this environment, so no network is needed; what the wheel depends on
is lent by this environment, but for the packages of this project. A slow test installs all into an empty environment.
"""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_string
from pathlib import Path

import pytest
from command_line import TINY

import athenan_spiel
from athenan_spiel.cli.main import COMMANDS

pytestmark = pytest.mark.slow(reason="builds the wheel and the sdist and installs them")

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("agents", "athenan_spiel", "ludii_bridge")
TRAINED = ["train", "tic_tac_toe", "--matches", "2", "--folder", "runs/ttt", *TINY]
BUILDS = "import sys; from hatchling import build; print(getattr(build, sys.argv[1])(sys.argv[2]))"


def build(what: str, source: Path, folder: Path) -> Path:
    """The wheel (`build_wheel`) or the sdist (`build_sdist`) of the project in `source`."""
    folder.mkdir(exist_ok=True)
    said = subprocess.run([sys.executable, "-c", BUILDS, what, str(folder)], cwd=source, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return folder / said.stdout.split()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("build_sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def contents(wheel: Path) -> dict[str, int]:
    """The files of a wheel, each with the checksum of what is in it."""
    with zipfile.ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist()}


def in_the_packages() -> set[str]:
    """The files of the packages here, but for what Python leaves there."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts}


def test_the_wheel_holds_the_packages_with_their_data_and_nothing_else(wheel: Path) -> None:
    names = set(contents(wheel))
    beside = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert names - beside == in_the_packages()
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert {"athenan_spiel/web/board.js", "ludii_bridge/games.csv"} <= names
    assert {name.partition("/")[2] for name in beside} == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_the_sdist_builds_the_same_wheel(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert {"tests", "docs", "examples", "benchmarks", "README.md", "CHANGELOG.md", "constraints.txt"} <= {
        item.name for item in source.iterdir()
    }
    again = contents(build("build_wheel", source, tmp_path / "wheel"))
    assert again == contents(wheel)


def test_the_metadata_say_what_it_needs_and_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(name).decode())
    assert (metadata["Name"], metadata["Version"]) == ("athenan-spiel", athenan_spiel.__version__)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()
    extras = set(metadata.get_all("Provides-Extra"))
    assert {"ludii", "web", "ray", "onnx", "all"} <= extras
    assert "Typing :: Typed" in metadata.get_all("Classifier")


@dataclass(frozen=True)
class Installed:
    """An environment in which the wheel is installed, and an empty folder to be in."""

    programs: Path
    folder: Path

    def run(self, program: str, *words: str, stdin: str = "") -> str:
        """What a program of the environment writes."""
        process = subprocess.run(
            [str(self.programs / program), *words],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            text=True,
            env=_without_paths(os.environ),
        )
        assert process.returncode == 0, process.stderr
        return process.stdout


def _without_paths(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("PYTHON")}


def environment(folder: Path) -> tuple[Path, Path]:
    """An empty virtual environment: the folder of its programs, and that of its packages."""
    venv.EnvBuilder(with_pip=False, symlinks=os.name == "posix").create(folder)
    place = {"base": str(folder), "platbase": str(folder)}
    return Path(sysconfig.get_path("scripts", "venv", place)), Path(sysconfig.get_path("purelib", "venv", place))


def pip(programs: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """This environment's pip, for another one."""
    command = [sys.executable, "-m", "pip", "--quiet", "--python", str(programs / "python"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=_without_paths(os.environ))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    place = tmp_path_factory.mktemp("installed")
    programs, packages = environment(place / "venv")
    said = pip(programs, "install", "--no-deps", "--no-index", "--no-compile", str(wheel))
    assert said.returncode == 0, said.stderr
    # A path in such a file is searched, and files of that kind in it are not read: they would lead to this folder.
    lent = [path for path in site.getsitepackages() if Path(path).is_dir()]
    (packages / "lent.pth").write_text("\n".join(lent), encoding="utf-8")
    (place / "empty").mkdir()
    return Installed(programs, place / "empty")


TELLS = """
import json, sys
import agents, athenan_spiel, ludii_bridge
from athenan_spiel.cli.main import main
assert main(["games", "tic_tac"]) == 0
assert main(["games", "--ludii", "surakarta"]) == 0
import athenan_spiel.web.pages
print(json.dumps([package.__file__ for package in (agents, athenan_spiel, ludii_bridge)]))
"""


def test_installed_it_is_itself_and_finds_its_data(installed: Installed) -> None:
    files = json.loads(installed.run("python", "-c", TELLS).splitlines()[-1])
    assert all(Path(file).is_relative_to(installed.programs.parent) for file in files)
    assert installed.run("python", "-W", "error", "-c", "import athenan_spiel") == ""
    told = installed.run("athenan", "--help")
    assert all(f"\n  {command} " in told for command in COMMANDS)


def test_installed_it_trains_measures_and_plays(installed: Installed) -> None:
    trains_measures_and_plays(installed)


def trains_measures_and_plays(installed: Installed) -> None:
    installed.run("athenan", *TRAINED)
    assert (installed.folder / "runs" / "ttt" / "config.toml").is_file()
    against = json.loads(
        installed.run("athenan", "eval", "runs/ttt@1i", "--against", "random", "--matches", "2", "--json")
    )
    assert against
    said = installed.run("athenan", "play", "runs/ttt", "--seconds", "0.01", stdin="x(1,1)\n")
    assert said.endswith("game ended by the end of the input\n")
    assert json.loads(installed.run("athenan", "doctor", "--json"))["can_train"]


@pytest.mark.slow(reason="installs all that the wheel needs from the package index, and needs the network")
@pytest.mark.parametrize("what", ["wheel", "sdist"])
def test_in_an_empty_environment(what: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    constraints = ["--constraint", str(ROOT / "constraints.txt")]
    programs, packages = environment(tmp_path / "venv")
    if pip(programs, "download", "--no-deps", "--dest", str(tmp_path), *constraints, "docstring_parser").returncode:
        pytest.skip("needs the network: the package index does not answer")
    said = pip(programs, "install", *constraints, str(request.getfixturevalue(what)))
    assert said.returncode == 0, said.stderr
    assert not any(str(ROOT) in path.read_text(encoding="utf-8") for path in packages.glob("*.pth"))
    (tmp_path / "empty").mkdir()
    trains_measures_and_plays(Installed(programs, tmp_path / "empty"))

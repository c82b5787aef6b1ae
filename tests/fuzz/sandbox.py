"""The place of one case: a folder to work in, a home, and surroundings that must stay as they are.

ROOT/work/      the current folder: a run, an experiment, odd files, and modules that must not be imported
ROOT/home/      the user's home
ROOT/outside/   what links lead to; nothing there may change
ROOT/tmp/       for temporary files
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

CANARY = "canary_module"
"""A module that lies wherever an import might look, and that only files name."""
NAMED = "own_worth"
"""A module of the user's own, which may be imported by lines that name it themselves."""
_CANARY_CODE = "import os, pathlib\npathlib.Path(os.environ['CANARY']).write_text(__file__)\n"
_OWN_CODE = "def worth(state):\n    return 2 * state.returns()[0]\n"
_EXPERIMENT = """\
name = "tiny"
games = ["tic_tac_toe"]
repetitions = 1

[protocol]
stages = 1
matches = 2
resamples = 20

[training]
matches = 2
matches_at_once = 2
network = {architecture = "mlp", layers = 1, neurons = 8}
engine = {name = "torch", precision = "float32"}
learner = {batch_size = 32, precision = "float32"}

[training.search]
iterations = 1

[variants.descent]

[variants.ubfm]
search.algorithm = "ubfm"
"""


class Sandbox:
    """One case's place below `root`, which is made new.

    Args:
        template: a folder of the runs and experiments that the case starts with; copied to `work`.
    """

    def __init__(self, root: Path, template: Path) -> None:
        self.root = root
        self.work, self.home, self.outside, self.tmp = (root / name for name in ("work", "home", "outside", "tmp"))
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        shutil.copytree(template, self.work, symlinks=True)
        for folder in (self.home, self.tmp, self.outside / "folder"):
            folder.mkdir(parents=True)
        (self.outside / "secret.txt").write_text("the secret\n")
        (self.outside / "folder" / "inner.txt").write_text("inner\n")
        shutil.copytree(template / "runs", self.outside / "runs", symlinks=True)
        _odd_files(self.work)
        for place in (self.work, self.work / "runs", self.work / "runs" / "ttt"):
            (place / f"{CANARY}.py").write_text(_CANARY_CODE)
        (self.work / f"{NAMED}.py").write_text(_OWN_CODE)

    def environment(self) -> dict[str, str]:
        """The environment of a case: little of the user's, with one thread, so that equal runs are equal."""
        return {
            "PATH": os.environ.get("PATH", ""),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "MPLCONFIGDIR": str(self.tmp),
            "CANARY": str(self.root / "code_was_run"),
            "OMP_NUM_THREADS": "1",
            "https_proxy": "http://127.0.0.1:9",  # nobody listens there
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        }

    def code_was_run(self) -> str | None:
        """The canary that was imported or unpickled, if one was."""
        path = self.root / "code_was_run"
        return path.read_text() if path.exists() else None

    def snapshot(self) -> dict[str, str]:
        """What is in `work`, `home` and `outside`: each path's kind, and its content."""
        return {
            str(path.relative_to(self.root)): _described(path)
            for top in (self.work, self.home, self.outside)
            for path in _all_below(top)
        }


def make_experiment(template: Path) -> None:
    """Write the experiment's file that belongs to the template of runs."""
    (template / "exp.toml").write_text(_EXPERIMENT)


def changed(before: dict[str, str], after: dict[str, str], allowed: Iterable[str]) -> list[str]:
    """The paths that differ, but for those at or below one of `allowed`, and new ones above; relative to the root."""
    allowed = tuple(allowed)
    return sorted(
        path
        for path in {*before, *after}
        if before.get(path) != after.get(path)
        and not any(path == place or path.startswith(f"{place}/") for place in allowed)
        and not (path not in before and any(place.startswith(f"{path}/") for place in allowed))
    )


def _odd_files(work: Path) -> None:
    """What a user may name by mistake, and a stranger on purpose."""
    os.mkfifo(work / "fifo")
    (work / "loop").symlink_to("loop")
    (work / "link_out").symlink_to("../outside/runs/ttt")
    (work / "zero").symlink_to("/dev/zero")
    (work / "empty.toml").touch()
    (work / "binary.bin").write_bytes(bytes(range(256)) * 4)
    (work / "latin1.toml").write_bytes('name = "\xe4"\n'.encode("latin-1"))
    (work / "nested.toml").write_text("name = " + "[" * 5000 + "]" * 5000 + "\n")
    (work / "digits.toml").write_text("matches = " + "9" * 5000 + "\n")
    (work / "evil.toml").write_text(_EXPERIMENT.replace('name = "tiny"', 'name = "../../evil"'))
    (work / "code.toml").write_text(_EXPERIMENT.replace("[training]", f'[training]\noutcome = "{CANARY}:worth"', 1))
    (work / "folder.toml").mkdir()
    with (work / "huge.toml").open("wb") as file:
        file.truncate(20 * 2**30)


def _all_below(folder: Path) -> Iterable[Path]:
    for place, folders, files in os.walk(folder):
        yield from (Path(place) / name for name in [*folders, *files])


def _described(path: Path) -> str:
    try:
        seen = path.lstat()
    except OSError:
        return "gone"
    kind = stat.S_IFMT(seen.st_mode)
    if kind == stat.S_IFLNK:
        return f"link to {os.readlink(path)}"
    if kind != stat.S_IFREG or seen.st_size > 2**24:
        return f"{kind:o} of {seen.st_size if kind == stat.S_IFREG else 0} bytes"
    return hashlib.sha256(path.read_bytes()).hexdigest()

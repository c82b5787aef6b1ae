"""Crafted folders of runs and experiments: links, devices, huge and damaged files, and content whose checksums hold."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hostile
from command_lines import Line, try_line
from contents import VALUES, dumps, edit, edit_arrays, sign, signed, toml_value
from forked import Ended
from sandbox import CANARY, NAMED, Sandbox

RUN = "runs/ttt"
EXPERIMENT = "runs/exp"
LINES = (
    ("resume", RUN, "--matches", "2"),
    ("resume", RUN, "--matches", "2"),
    ("resume", RUN, "--matches", "2"),
    ("resume", RUN),
    ("resume", RUN, "--time", "0.1s"),
    ("eval", f"{RUN}@2i", "--against", "random", "--matches", "2"),
    ("eval", "random", "--against", f"{RUN}#2@1i", "--matches", "2", "--json"),
    ("play", RUN, "--second", "--seconds", "0.01"),
    ("solve", "tic_tac_toe", "--run", RUN, "--iterations", "3"),
    ("train", "tic_tac_toe", "--config", f"{RUN}/config.toml", "--matches", "2", "--folder", "runs/new"),
)
"""What is done with a crafted run."""
EXPERIMENT_LINES = (
    ("experiment", "exp.toml", "--folder", EXPERIMENT, "--report"),
    ("experiment", "exp.toml", "--folder", EXPERIMENT, "--processes", "1"),
    ("experiment", f"{EXPERIMENT}/experiment.toml", "--check"),
)
"""What is done with a crafted experiment."""
_EXCHANGES = (
    *("link to itself", "link out", "link to a folder out", "link to nothing", "link to kept", "hard link"),
    *("device", "fifo", "socket", "folder", "file", "sparse", "removed"),
)


@dataclass(frozen=True)
class Crafted:
    """What is done to a folder, and what is then done with it.

    Attributes:
        seed: of the craft.
        experiment: whether it is an experiment's folder.
    """

    seed: str
    line: Line
    experiment: bool

    def __str__(self) -> str:
        return f"{self.line}"


def draw(rng: random.Random) -> Crafted:
    """A folder to craft."""
    experiment = rng.random() < 0.12
    words = rng.choice(EXPERIMENT_LINES if experiment else LINES)
    return Crafted(str(rng.random()), Line(words, b"0\n1\n2\n"), experiment)


def try_folder(crafted: Crafted, sandbox: Sandbox) -> tuple[Ended, list[str], list[str]]:
    """Craft the folder in its sandbox and use it: how that ended, what it broke, and what had been crafted."""
    rng = random.Random(crafted.seed)
    craft = Craft(rng, sandbox.work / (EXPERIMENT if crafted.experiment else RUN), sandbox)
    for _ in range(rng.choice((1, 1, 1, 2))):
        craft.step()
    ended, faults = try_line(crafted.line, sandbox)
    return ended, faults, craft.done


class Craft:
    """Does one hostile thing after another to the folder of a run or an experiment; `done` says what."""

    def __init__(self, rng: random.Random, folder: Path, sandbox: Sandbox) -> None:
        self.done: list[str] = []
        self._rng = rng
        self._folder = folder
        self._sandbox = sandbox

    def step(self) -> None:
        """Do one thing."""
        rng = self._rng
        kinds: tuple[tuple[float, Callable[[], str]], ...] = (
            (2, self._exchange),
            (2, self._damage),
            (4, self._edit_json),
            (3, self._edit_toml),
            (7, self._edit_arrays),
            (2, self._edit_lines),
            (2, self._plant),
        )
        (kind,) = rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
        try:
            self.done.append(f"{kind.__name__.strip('_')}: {kind()}")
        except Exception as error:  # what was crafted before is in the way
            self.done.append(f"{kind.__name__.strip('_')} could not: {error}"[:200])

    def _files(self, *names: str) -> list[Path]:
        """The regular files below the folder that are called so; all if no name is given."""
        found = [
            Path(place) / name
            for place, _, files in os.walk(self._folder)
            for name in files
            if not names or name in names
        ]
        return sorted(
            path for path in found if path.is_file() and not path.is_symlink() and path.stat().st_size < 2**24
        )

    def _checkpoint_file(self, name: str) -> Path:
        """A file of a checkpoint, mostly of the newest, which is the one that is read."""
        files = self._files(name)
        if not files:
            raise ValueError(f"no {name}")
        return files[-1] if self._rng.random() < 0.8 else self._rng.choice(files)

    def _exchange(self) -> str:
        """Put something else in the place of a file or a folder."""
        rng = self._rng
        paths = [*self._files(), *(path for path in sorted(self._folder.rglob("*")) if path.is_dir())]
        path = rng.choice(
            [*paths, self._folder / "metrics.jsonl", self._folder / ".lock", self._folder / "tensorboard"]
        )
        kept = path.with_name(f"{path.name}.kept")
        if path.exists():
            path.rename(kept)
        kind = rng.choice(_EXCHANGES)
        outside = self._sandbox.outside
        if kind == "link to itself":
            path.symlink_to(path.name)
        elif kind == "link out":
            path.symlink_to(
                outside / rng.choice(("secret.txt", "new.txt", "runs/ttt/metrics.jsonl", "runs/ttt/config.toml"))
            )
        elif kind == "link to a folder out":
            path.symlink_to(
                outside / rng.choice(("folder", "runs/ttt", "runs/ttt/checkpoints", "runs/ttt/checkpoints/000006"))
            )
        elif kind == "link to nothing":
            path.symlink_to(outside / "nothing")
        elif kind == "fifo":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to(
                rng.choice(("/dev/zero", "/dev/random", "/dev/stdin", "/dev/full", "/proc/self/mem", "/dev/tty"))
            )
        elif kind == "socket":
            _bind(path)
        elif kind == "folder":
            path.mkdir()
        elif kind == "file":
            path.write_bytes(rng.choice((b"", b"x", b"\xff" * 100)))
        elif kind == "sparse":
            with path.open("wb") as file:
                file.truncate(rng.choice((2**31, 2**34, 2**36)))
        elif kind == "link to kept":
            path.symlink_to(kept.name)
        elif kind == "hard link":
            os.link(outside / "secret.txt", path)
        return f"{path.relative_to(self._folder)} by {kind}"

    def _damage(self) -> str:
        """Flip bits, cut, swap or copy."""
        rng = self._rng
        path = rng.choice(self._files())
        data = bytearray(path.read_bytes())
        kind = rng.choice(("bits", "cut", "swap", "grow", "zeros"))
        if kind == "bits" and data:
            for _ in range(rng.randint(1, 5)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            data = data[: rng.randint(0, len(data))]
        elif kind == "swap":
            other = rng.choice(self._files())
            data, theirs = bytearray(other.read_bytes()), data
            other.write_bytes(theirs)
        elif kind == "grow":
            data += rng.randbytes(rng.randint(1, 1000))
        else:
            data = bytearray(len(data))
        path.write_bytes(data)
        signs = rng.random() < 0.5
        if signs:
            sign(path.parent)
        return f"{kind} in {path.relative_to(self._folder)}{', signed' if signs else ''}"

    def _edit_json(self) -> str:
        """Change what `state.json` says, and sign it."""
        names = ("experiment.json",) if self._folder.name == "exp" and self._rng.random() < 0.5 else ("state.json",)
        path = self._checkpoint_file(*names)
        state = json.loads(path.read_text())
        said = edit(self._rng, state, VALUES)
        if self._rng.random() < 0.1:
            text = self._rng.choice(
                ("[" * 5000 + "]" * 5000, "9" * 5000, "{" * 100_000, '{"a":' * 3000, "NaN", "\ufeff{}", "[]", "null")
            )
            path.write_text(text)
            return f"{path.name} is {text[:20]}..."
        path.write_text(dumps(signed(state)))
        return f"{path.name} {said}"

    def _edit_toml(self) -> str:
        """Change a value of `config.toml`, or its text."""
        rng = self._rng
        path = rng.choice(self._files("config.toml", "experiment.toml"))
        lines = path.read_text().splitlines()
        settings = [i for i, line in enumerate(lines) if " = " in line]
        i = rng.choice(settings)
        name = lines[i].partition(" = ")[0]
        kind = rng.random()
        if kind < 0.6:
            value = rng.choice([toml_value(value) for value in VALUES] + [hostile.number(rng), "[" * 5000 + "]" * 5000])
            lines[i] = f"{name} = {value}"
        elif kind < 0.8:
            (i,) = [i for i in settings if lines[i].startswith(rng.choice(("game = ", "outcome = ")))][:1] or [i]
            value = rng.choice(
                (hostile.game(rng), f"{CANARY}:worth", f"{NAMED}:worth", "os:system", "../x:y", ":", "a:b:c")
            )
            lines[i] = f"{lines[i].partition(' = ')[0]} = {toml_value(value)}"
        elif kind < 0.9:
            lines.insert(
                i,
                rng.choice(
                    (
                        "[a" + ".a" * 5000 + "]",
                        "a." * 20_000 + "b = 1",
                        "x = 1",
                        '"""',
                        "\\",
                        "[[a]]",
                        lines[i],
                        "é = 1",
                        "a = {a = {",
                    )
                ),
            )
        else:
            del lines[i]
        path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass") + rng.choice((b"", b"\n", b"\n\xff", b"\0")))
        return f"{path.relative_to(self._folder)} line {i}: {lines[i][:60] if i < len(lines) else ''!r}"

    def _edit_arrays(self) -> str:
        """Change the arrays of a checkpoint; resolved states are there in some runs alone."""
        names = ("weights", "weights", "optimizer", "optimizer", "replay", "replay", "resolved")
        return edit_arrays(self._rng, self._checkpoint_file(f"{self._rng.choice(names)}.safetensors"))

    def _edit_lines(self) -> str:
        """Change a line of `metrics.jsonl` or `matches.jsonl`."""
        rng = self._rng
        path = rng.choice(self._files("metrics.jsonl", "matches.jsonl"))
        lines = path.read_bytes().splitlines(keepends=True)
        i = rng.randrange(len(lines))
        kind = rng.choice(("value", "value", "text", "delete", "copy", "cut", "long", "many", "empty"))
        if kind == "value":
            row = json.loads(lines[i])
            edit(rng, row, VALUES)
            lines[i] = json.dumps(row).encode() + b"\n" if "\ud800" not in repr(row) else b"{}\n"
        elif kind == "text":
            lines[i] = rng.choice(
                (
                    b"\n",
                    b"\xff\xfe\n",
                    b"[" * 5000 + b"\n",
                    b"9" * 5000 + b"\n",
                    b"{}\n",
                    b"null\n",
                    b"5\n",
                    b"\0" * 100,
                    b"NaN\n",
                )
            )
        elif kind == "delete":
            del lines[i:]
        elif kind == "copy":
            lines.insert(rng.randrange(len(lines)), lines[i])
        elif kind == "cut":
            lines[-1] = lines[-1][: len(lines[-1]) // 2]
        elif kind == "long":
            lines[i] = b'{"event": "' + b"x" * 10**7 + b'"}\n'
        elif kind == "many":
            lines = lines * 2000
        else:
            lines = []
        path.write_bytes(b"".join(lines))
        return f"{path.name} {kind}"

    def _plant(self) -> str:
        """Put something new into the folder, where its names have a meaning."""
        rng = self._rng
        names = (
            *(
                "checkpoints/999999",
                "checkpoints/٣",
                "checkpoints/-1",
                "checkpoints/1e9",
                "checkpoints/" + "9" * 200,
                "checkpoints/000008",
            ),
            *(
                ".writing-x",
                ".writing-config.toml",
                "checkpoints/.writing-000008",
                "checkpoints/.writing-replaced-000008",
                "checkpoints/000000",
            ),
            *(
                ".writing-state.json",
                "checkpoints/000006/.writing-state.json",
                "tensorboard/events.out.tfevents.1",
                "plots",
                "report.md",
            ),
            *(
                "networks/000002",
                "milestones/000002",
                "report.csv",
                "trainings/x",
                "checkpoints/000006/extra",
                "torch.py",
                "json.py",
                f"{CANARY}.py",
            ),
        )
        path = self._folder / rng.choice(names)
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = rng.choice(("folder", "file", "link to a folder", "link to a file", "fifo", "copy", "link to nothing"))
        if kind == "folder":
            path.mkdir()
        elif kind == "file":
            path.write_bytes(b"x")
        elif kind == "link to a folder":
            path.symlink_to(self._sandbox.outside / rng.choice(("folder", "runs/ttt/checkpoints/000006")))
        elif kind == "link to a file":
            path.symlink_to(self._sandbox.outside / "secret.txt")
        elif kind == "link to nothing":
            path.symlink_to(self._sandbox.outside / "nothing")
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            shutil.copytree(self._folder / "checkpoints" / "000006", path)
        return f"{path.relative_to(self._folder)} {kind}"[:150]


def _bind(path: Path) -> None:
    """Make a socket, whose path may be no longer than some hundred letters, so from its folder."""
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)

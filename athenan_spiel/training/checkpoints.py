"""A checkpoint: a folder that holds the whole state of a run after some number of matches.

`weights.safetensors`, `optimizer.pt`, `replay.npz`, in a run that keeps resolved states `resolved.npz`, and
`state.json` with everything else and the checksums of the others. Promises:

1. A folder under its final name is whole: it is written under a temporary name, every file of it is flushed to disk,
   then it is renamed. A kill at any moment leaves either no such folder or a whole one.
2. What is damaged, foreign or of a newer format is noticed before any of it is used.
3. Nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import math
import os
import pickle
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray

import athenan_spiel
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict

T = TypeVar("T")

FORMAT = "athenan_spiel checkpoint"
VERSION = 2
"""Grows when an older library could misread what a newer one writes. Since 2 there may be resolved states."""
UNFINISHED = ".writing-"
"""What the names of folders and files begin with that are not whole yet."""
WEIGHTS, OPTIMIZER, REPLAY, STATE = "weights.safetensors", "optimizer.pt", "replay.npz", "state.json"
RESOLVED = "resolved.npz"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counters:
    """How far a run has come."""

    matches: int = 0
    rounds: int = 0
    seconds: float = 0.0
    """Time used, rounds that were cut off included."""
    evaluations: int = 0
    """States valued in the rounds that were learned."""
    states_learned: int = 0
    evaluated_at: int = 0
    """Matches learned when the last evaluation against another player ended."""
    warm_up_states: int = 0
    """Random terminal states learned before the first match."""
    resolved_since: float = 0.0
    """Training time when the memory of resolved states was last emptied."""

    def __post_init__(self) -> None:
        for name, count in dataclasses.asdict(self).items():
            kinds = (int, float) if name in ("seconds", "resolved_since") else (int,)
            if type(count) not in kinds or not 0 <= count < math.inf:
                raise TypeError(f"{name} must be a number that counts, got {count!r}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Header:
    """What `state.json` says, but for versions and checksums."""

    game: str
    config: TrainingConfig
    outcome: dict[str, Any]
    """The constants of `config.outcome`, as `Outcome.parameters`."""
    counters: Counters
    generators: dict[str, dict[str, Any]]
    """State of each numpy bit generator, by its purpose."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """The state of a run at the end of a round."""

    header: Header
    weights: dict[str, torch.Tensor]
    optimizer: dict[str, Any]
    replay: Mapping[str, NDArray[Any]]
    resolved: Mapping[str, NDArray[Any]] | None = None
    """The memory of resolved states; None where none are kept."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write `checkpoint` below `folder` under the number of its matches; returns its path.

    That number must be new there, but for 0, which a warm-up saves again and again. A kill between the two renames
    that this takes leaves no checkpoint, and the warm-up begins again.

    Raises:
        OSError: it could not be written, because the disk is full for one; what was begun is removed again.
    """
    final = folder / f"{checkpoint.header.counters.matches:06d}"
    unfinished = folder / f"{UNFINISHED}{final.name}"
    replaced = folder / f"{UNFINISHED}replaced-{final.name}"
    arrays: Any = checkpoint.replay
    resolved: Any = checkpoint.resolved
    for leftover in (unfinished, replaced):
        shutil.rmtree(leftover, ignore_errors=True)  # a kill may have left one
    try:
        unfinished.mkdir(parents=True)
        sums = {
            WEIGHTS: write_durably(unfinished / WEIGHTS, lambda f: f.write(safetensors.torch.save(checkpoint.weights))),
            OPTIMIZER: write_durably(unfinished / OPTIMIZER, lambda f: f.write(_optimizer_bytes(checkpoint.optimizer))),
            REPLAY: write_durably(unfinished / REPLAY, lambda f: np.savez(f, **arrays)),
        }
        if resolved is not None:
            sums[RESOLVED] = write_durably(unfinished / RESOLVED, lambda f: np.savez(f, **resolved))
        write_durably(unfinished / STATE, lambda f: f.write(_state_bytes(checkpoint.header, sums)))
        sync_folder(unfinished)
        if checkpoint.header.counters.matches == 0 and final.exists():
            final.rename(replaced)
        unfinished.rename(final)
        sync_folder(folder)
        shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        if replaced.exists() and not final.exists():
            replaced.rename(final)
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return final


def rewrite_header(path: Path, header: Header) -> None:
    """Replace what `state.json` of the whole checkpoint `path` says, leaving weights, optimiser and replay as they are.

    Raises:
        OSError: it could not be written; the old one is still there.
    """
    sums = _read_state(path)["sha256"]
    replace_durably(path / STATE, _state_bytes(header, sums))


def replace_durably(path: Path, data: bytes) -> None:
    """Make `data` the content of the file `path`, so that a kill at any moment leaves the old content or the new."""
    unfinished = path.with_name(UNFINISHED + path.name)
    try:
        write_durably(unfinished, lambda f: f.write(data))
        unfinished.replace(path)
        sync_folder(path.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_durably(path: Path, write: Callable[[BinaryIO], object]) -> str:
    """Make a file by `write`, flush it to disk, and return the SHA-256 of its content."""
    with path.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    return sha256(path)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(path: Path) -> None:
    """Flush the names in the folder `path` to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_header(path: Path) -> Header:
    """What the checkpoint in the folder `path` says of itself.

    Raises:
        CheckpointError: it is missing, damaged, foreign, or of a newer format.
    """
    state = _read_state(path)
    try:
        return Header(
            game=_of_type(str, state["game"]),
            config=config_from_dict(state["config"]),
            outcome=_of_type(dict, state["outcome"]),
            counters=Counters(**state["counters"]),
            generators=_of_type(dict, state["generators"]),
        )
    except (KeyError, TypeError, AttributeError, ConfigError) as error:
        raise damaged(path, f"{STATE} has unexpected content ({error})") from None


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The network's weights in the checkpoint `path`.

    Raises:
        CheckpointError: as `read_header`.
    """
    with _understood(path, WEIGHTS) as file:
        return safetensors.torch.load_file(file)


def read_checkpoint(path: Path) -> Checkpoint:
    """The whole checkpoint in the folder `path`.

    Raises:
        CheckpointError: as `read_header`, or it keeps no more than a network.
    """
    header = read_header(path)
    if not any((path / name).exists() for name in (OPTIMIZER, REPLAY)):
        raise CheckpointError(
            f"checkpoint {path} keeps the network alone, as in a finished experiment or a milestone: it can be played, "
            "but not resumed"
        )
    weights = read_weights(path)
    with _understood(path, OPTIMIZER) as file:
        optimizer = torch.load(file, map_location="cpu", weights_only=True)
    with _understood(path, REPLAY) as file, np.load(file, allow_pickle=False) as arrays:
        replay = dict(arrays)
    resolved = None
    if RESOLVED in _read_state(path)["sha256"]:
        with _understood(path, RESOLVED) as file, np.load(file, allow_pickle=False) as arrays:
            resolved = dict(arrays)
    return Checkpoint(header=header, weights=weights, optimizer=optimizer, replay=replay, resolved=resolved)


def damaged(path: Path, problem: str) -> CheckpointError:
    """The error for a checkpoint that cannot be read."""
    return CheckpointError(f"checkpoint {path} is damaged: {problem}")


def _of_type(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value


def _read_state(path: Path) -> dict[str, Any]:
    try:
        text = (path / STATE).read_bytes()
    except OSError as error:
        raise damaged(path, f"{STATE} cannot be read ({error.strerror})") from None
    try:
        state = json.loads(text)
    except ValueError:
        raise damaged(path, f"{STATE} is not valid JSON ({len(text)} bytes); it may be truncated") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(f"{path / STATE} was not written by athenan_spiel: expected format {FORMAT!r}")
    version = state.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise CheckpointError(
            f"checkpoint {path} has format version {version!r}, and this athenan_spiel ({athenan_spiel.__version__}) "
            f"reads up to {VERSION}: install a newer athenan_spiel"
        )
    return state


def _state_bytes(header: Header, sums: Mapping[str, str]) -> bytes:
    state = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": _library_versions(),
        "game": header.game,
        "config": config_to_dict(header.config),
        "outcome": header.outcome,
        "counters": dataclasses.asdict(header.counters),
        "generators": header.generators,
        "sha256": dict(sums),
    }
    return json.dumps(state, indent=1).encode()


def _library_versions() -> dict[str, str]:
    others = {name: metadata.version(name) for name in ("torch", "open_spiel", "numpy", "safetensors")}
    return {"athenan_spiel": athenan_spiel.__version__, "python": platform.python_version(), **others}


def _optimizer_bytes(state: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()  # torch would hide the OSError of a full disk
    torch.save(state, buffer)
    return buffer.getvalue()


@contextlib.contextmanager
def _understood(path: Path, name: str) -> Iterator[Path]:
    """The path of the checkpoint's file `name`, whose content is what was written; reading it may yet go wrong."""
    sums = _read_state(path).get("sha256")
    try:
        found = sha256(path / name)
        size = (path / name).stat().st_size
    except OSError as error:
        raise damaged(path, f"{name} cannot be read ({error.strerror})") from None
    if not isinstance(sums, dict) or sums.get(name) != found:
        raise damaged(path, f"{name} ({size} bytes) does not match its checksum; it may be truncated")
    try:
        yield path / name
    except (OSError, ValueError, RuntimeError, safetensors.SafetensorError, pickle.UnpicklingError) as error:
        raise damaged(path, f"{name} has unexpected content ({type(error).__name__})") from error

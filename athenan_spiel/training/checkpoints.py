"""Checkpoint: a folder with the complete state of a run after some number of games.

It contains `weights`, `optimizer`, `replay` and, if proven states are kept, `resolved`, all `.safetensors`, and
`state.json` with everything else and the checksums of the others. Guarantees:

1. A folder under its final name is complete. It is written under a temporary name, its files are flushed to disk, then
   it is renamed. A kill leaves either no such folder or a complete one.
2. Damage, even of a single bit, files of another program and newer formats are detected before anything is used.
3. Infinite and NaN weights count as damage. They are never written (see `Learner`).
4. Nothing is unpickled or imported, no link out of the folder is followed, and sizes are limited by the constants
   below. A checksum does not prove who wrote a file, so content is validated regardless.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import torch

import athenan_spiel
from athenan_spiel.config import TrainingConfig
from athenan_spiel.encoding.stored_arrays import Arrays, read_arrays, write_arrays
from athenan_spiel.errors import CheckpointError, shown
from athenan_spiel.outcomes.calibration import CalibrationTally
from athenan_spiel.system.files import (
    UNFINISHED,
    opened,
    parse_json,
    read_file,
    remove,
    replace_durably,
    require_folder,
    sha256,
    write_durably,
)
from athenan_spiel.system.portable import sync_folder
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict

T = TypeVar("T")
Tensors = Mapping[str, torch.Tensor]

FORMAT = "athenan_spiel checkpoint"
VERSION = 4
"""Format version. 2 added resolved states, 3 the checksum of `state.json`; in 4 all arrays have the safetensors format.

Networks of all versions can play."""
RESUMABLE_VERSION = 4
"""Oldest version from which a run can be resumed."""
WEIGHTS, OPTIMIZER, REPLAY, RESOLVED = (f"{n}.safetensors" for n in ("weights", "optimizer", "replay", "resolved"))
STATE = "state.json"
CHECKSUM = "checksum"
"""Key of `state.json`: the SHA-256 of its other content."""
MOST_STATE = 2**20
"""Maximum size of `state.json`, in bytes."""
MOST_WEIGHTS = 2**31
"""Maximum size of `weights.safetensors`, in bytes: 500 million weights."""
MOST_OPTIMIZER = 2 * MOST_WEIGHTS + 2**20
"""Maximum size of `optimizer.safetensors`, in bytes: Adam has two moments per weight."""
MOST_RESOLVED = 2**28
"""Maximum size of `resolved.safetensors`, in bytes: twice the size of 4,000,000 states."""
MOST_COUNT = 2**53
"""Maximum of a counter; larger integers are not exact as floats."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counters:
    """Progress of a run."""

    matches: int = 0
    rounds: int = 0
    seconds: float = 0.0
    """Training time in seconds, interrupted rounds included."""
    evaluations: int = 0
    """Evaluations in learned games."""
    states_learned: int = 0
    evaluated_at: int = 0
    """Number of games learned by the network of the last completed evaluation."""
    warm_up_states: int = 0
    """States of random games learned before the first game."""
    warm_ups_ended: int = 0
    """1 after the end of the warm-up, else 0."""
    resolved_since: float = 0.0
    """Training time when the proven states were last dropped, in seconds."""

    def __post_init__(self) -> None:
        for name, count in dataclasses.asdict(self).items():
            kinds = (int, float) if name in ("seconds", "resolved_since") else (int,)
            if type(count) not in kinds or not 0 <= count <= MOST_COUNT:
                raise TypeError(f"{name} must be a counter, got {shown(count)}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Header:
    """Content of `state.json` without versions and checksums."""

    game: str
    config: TrainingConfig
    outcome: dict[str, Any]
    """Constants of `config.outcome` (`Outcome.parameters`)."""
    counters: Counters
    generators: dict[str, dict[str, Any]]
    """State of each numpy bit generator, by purpose."""
    fit: dict[str, Any] | None = None
    """Measurements that the settings were fitted to (`fitting.Fit`); None if they were not fitted."""
    calibration: CalibrationTally = dataclasses.field(default_factory=CalibrationTally)
    """Values of positions and the results of their games; empty before the first game."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """State of a run between two rounds."""

    header: Header
    weights: Tensors
    optimizer: Tensors
    """Adam's moments (`Learner.state_dict`)."""
    replay: Arrays
    resolved: Arrays | None = None
    """Proven states; None if they are not kept."""


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write `checkpoint` into `folder`, named by its number of games, and return its path.

    Only checkpoint 0, saved repeatedly by a warm-up, may exist already. It is replaced by two renames; a kill between
    them leaves no checkpoint, and the warm-up starts again.

    Raises:
        OSError: writing failed, for example on a full disk; the folder is unchanged.
    """
    final = folder / f"{checkpoint.header.counters.matches:06d}"
    unfinished = folder / f"{UNFINISHED}{final.name}"
    replaced = folder / f"{UNFINISHED}replaced-{final.name}"
    try:
        require_folder(folder)
        for leftover in (unfinished, replaced):
            remove(leftover)  # a kill may have left one
        unfinished.mkdir(parents=True)
        sums = {
            WEIGHTS: _write_arrays(unfinished / WEIGHTS, _arrays(checkpoint.weights)),
            OPTIMIZER: _write_arrays(unfinished / OPTIMIZER, _arrays(checkpoint.optimizer)),
            REPLAY: _write_arrays(unfinished / REPLAY, checkpoint.replay),
        }
        if checkpoint.resolved is not None:
            sums[RESOLVED] = _write_arrays(unfinished / RESOLVED, checkpoint.resolved)
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


def write_network(path: Path, header: Header, weights: Tensors) -> None:
    """Write header and weights into the new folder `path`, in the format of a milestone.

    Raises:
        OSError: writing failed, or `path` exists.
    """
    path.mkdir()
    sums = {WEIGHTS: _write_arrays(path / WEIGHTS, _arrays(weights))}
    write_durably(path / STATE, lambda f: f.write(_state_bytes(header, sums)))
    sync_folder(path)


def rewrite_header(path: Path, header: Header) -> None:
    """Replace `state.json` of the checkpoint `path`, leaving weights, optimiser and replay unchanged.

    Raises:
        OSError: writing failed; the old file is unchanged.
    """
    sums = _read_state(path)["sha256"]
    replace_durably(path / STATE, _state_bytes(header, sums))


def read_header(path: Path) -> Header:
    """Returns the header of the checkpoint `path`.

    Raises:
        CheckpointError: the checkpoint is missing, damaged, of another program, or of a newer format.
    """
    return _header(path, _read_state(path))


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Returns the weights of the network in the checkpoint `path`.

    Raises:
        CheckpointError: as `read_header`.
    """
    return _weights(path, _read_state(path))


def read_checkpoint(path: Path) -> Checkpoint:
    """Returns the checkpoint `path`.

    Raises:
        CheckpointError: as `read_header`, or the checkpoint contains only a network, or its format is older than
            `RESUMABLE_VERSION`.
    """
    state = _read_state(path)
    header = _header(path, state)
    if state["version"] < RESUMABLE_VERSION:
        raise CheckpointError(
            f"checkpoint {path} has format version {state['version']}, which this athenan_spiel "
            f"({athenan_spiel.__version__}) can play, but not resume: begin a new run",
            path=path,
        )
    if not any(os.path.lexists(path / name) for name in (OPTIMIZER, REPLAY)):
        raise CheckpointError(
            f"checkpoint {path} contains only a network, as in a finished experiment or a milestone: it can play, "
            "but not resume",
            path=path,
        )
    weights = _weights(path, state)
    optimizer = _tensors(_read_arrays(path, state, OPTIMIZER, MOST_OPTIMIZER))
    most_replay = (
        int(2e6 * header.config.replay.megabytes) + 2**28
    )  # twice the limit, as the newest game is always kept
    replay = _read_arrays(path, state, REPLAY, most_replay)
    resolved = _read_arrays(path, state, RESOLVED, MOST_RESOLVED) if RESOLVED in state["sha256"] else None
    return Checkpoint(header=header, weights=weights, optimizer=optimizer, replay=replay, resolved=resolved)


def damaged(path: Path, problem: str) -> CheckpointError:
    """Returns the error for a checkpoint that cannot be read."""
    return CheckpointError(f"checkpoint {path} is damaged: {problem}", path=path)


def _of_type(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value


def _read_state(path: Path) -> dict[str, Any]:
    """Returns the content of `state.json` after checking its format and checksum."""
    try:
        require_folder(path)
    except OSError as error:
        raise damaged(path, str(error.strerror)) from None
    try:
        text = read_file(path / STATE, MOST_STATE)
    except OSError as error:
        raise damaged(path, f"{STATE} cannot be read ({error.strerror})") from None
    try:
        state = parse_json(text)
    except ValueError as error:
        raise damaged(path, f"{STATE} is not valid JSON ({len(text)} bytes: {error}); it may be truncated") from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise CheckpointError(
            f"{path / STATE} was not written by athenan_spiel: expected format {FORMAT!r}", path=path / STATE
        )
    version = state.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise CheckpointError(
            f"checkpoint {path} has format version {shown(version)}, and this athenan_spiel "
            f"({athenan_spiel.__version__}) reads up to {VERSION}: install a newer athenan_spiel",
            path=path,
        )
    found = state.pop(CHECKSUM, None)
    if (version >= 3 or found is not None) and found != checksum(state):
        raise damaged(path, f"{STATE} does not match its own checksum; a bit of it may have changed")
    return state


def _header(path: Path, state: dict[str, Any]) -> Header:
    try:
        return Header(
            game=_of_type(str, state["game"]),
            config=config_from_dict(state["config"]),
            outcome=_of_type(dict, state["outcome"]),
            counters=Counters(**state["counters"]),
            generators=_of_type(dict, state["generators"]),
            fit=None if state.get("fit") is None else _of_type(dict, state["fit"]),
            calibration=read_calibration(state),
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise damaged(path, f"{STATE} has unexpected content ({error})") from None


def read_calibration(state: Mapping[str, Any]) -> CalibrationTally:
    """Returns the calibration in the content of a file; an empty one for a file of an earlier version.

    Raises:
        ValueError: it is invalid.
    """
    content = state.get("calibration")
    return CalibrationTally() if content is None else CalibrationTally.from_json(content)


def _weights(path: Path, state: dict[str, Any]) -> dict[str, torch.Tensor]:
    weights = _tensors(_read_arrays(path, state, WEIGHTS, MOST_WEIGHTS))
    if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise damaged(path, f"{WEIGHTS} contains infinite or NaN weights")
    return weights


def _arrays(tensors: Tensors) -> Arrays:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _tensors(arrays: Arrays) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _write_arrays(path: Path, arrays: Arrays) -> str:
    return write_durably(path, functools.partial(write_arrays, arrays=arrays))


def _state_bytes(header: Header, sums: Mapping[str, str]) -> bytes:
    return signed(
        {
            "format": FORMAT,
            "version": VERSION,
            "libraries": library_versions(),
            "game": header.game,
            "config": config_to_dict(header.config),
            "outcome": header.outcome,
            "counters": dataclasses.asdict(header.counters),
            "generators": header.generators,
            "fit": header.fit,
            "calibration": header.calibration.to_json(),
            "sha256": dict(sums),
        }
    )


def signed(state: Mapping[str, Any]) -> bytes:
    """Returns `state` with its checksum as JSON text."""
    rest = {name: value for name, value in state.items() if name != CHECKSUM}
    return json.dumps(rest | {CHECKSUM: checksum(rest)}, indent=1).encode()


def checksum(state: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of `state`, which must not contain a checksum."""
    return hashlib.sha256(json.dumps(state, indent=1).encode()).hexdigest()


def library_versions() -> dict[str, str]:
    """Returns the versions of this library and of those that its files depend on."""
    others = {name: metadata.version(name) for name in ("torch", "open_spiel", "numpy", "safetensors")}
    return {"athenan_spiel": athenan_spiel.__version__, "python": platform.python_version(), **others}


def _read_arrays(path: Path, state: Mapping[str, Any], name: str, most_bytes: int) -> dict[str, Any]:
    """Returns the arrays of a file after checking its size and checksum."""
    sums = state.get("sha256")
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(opened(path / name, most_bytes))
            found = sha256(file)
            size = file.tell()
        except OSError as error:
            raise damaged(path, f"{name} cannot be read ({error.strerror})") from None
        if not isinstance(sums, dict) or sums.get(name) != found:
            raise damaged(path, f"{name} ({size} bytes) does not match its checksum; it may be truncated")
        file.seek(0)
        try:
            return read_arrays(file)
        except Exception as error:  # the reader raises various errors for invalid content
            raise damaged(path, f"{name} has unexpected content ({type(error).__name__})") from error

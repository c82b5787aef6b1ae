"""A checkpoint: a folder that holds the whole state of a run after some number of matches.

`weights`, `optimizer`, `replay` and, in a run that keeps proven states, `resolved`, all of them `.safetensors`, and
`state.json` with everything else and the checksums of the others. Promises:

1. A folder under its final name is whole: it is written under a temporary name, every file of it is flushed to disk,
   then it is renamed. A kill at any moment leaves either no such folder or a whole one.
2. What is damaged, foreign or of a newer format is noticed before any of it is used. A single flipped bit is, in
   whichever file.
3. Weights that are infinite or NaN are damage, wherever they come from: none are written (see `Learner`).
4. Nothing is unpickled, imported or followed out of the folder, and nothing is read beyond the bounds below. Checksums
   say that a file is what was written, not that it was written here: content is checked as if none of them held.
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
"""Grows when an older library could misread what a newer one writes, or a newer one must tell what an older one wrote.
Since 2 there may be resolved states, since 3 `state.json` holds a checksum of itself, since 4 all arrays are in the
safetensors format. Networks of all versions can be played; runs can be resumed since 4."""
RESUMABLE_VERSION = 4
WEIGHTS, OPTIMIZER, REPLAY, RESOLVED = (f"{n}.safetensors" for n in ("weights", "optimizer", "replay", "resolved"))
STATE = "state.json"
CHECKSUM = "checksum"
"""Key of `state.json`: the SHA-256 of all else in it."""
MOST_STATE = 2**20
"""Bytes of `state.json` that are read at most."""
MOST_WEIGHTS = 2**31
"""Bytes of `weights.safetensors` that are read at most: 500 million weights."""
MOST_OPTIMIZER = 2 * MOST_WEIGHTS + 2**20
"""Adam keeps two numbers for each weight."""
MOST_RESOLVED = 2**28
"""Bytes of `resolved.safetensors` that are read at most: 4,000,000 states take half of them."""
MOST_COUNT = 2**53
"""Whole numbers up to here are exact as floats, too."""


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
    """Matches that the network had learned which was evaluated last, as far as that has ended."""
    warm_up_states: int = 0
    """Random terminal states learned before the first match."""
    resolved_since: float = 0.0
    """Training time when the memory of resolved states was last emptied."""

    def __post_init__(self) -> None:
        for name, count in dataclasses.asdict(self).items():
            kinds = (int, float) if name in ("seconds", "resolved_since") else (int,)
            if type(count) not in kinds or not 0 <= count <= MOST_COUNT:
                raise TypeError(f"{name} must be a number that counts, got {shown(count)}")


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
    fit: dict[str, Any] | None = None
    """What the settings were fitted to, as `time_budget.Fit`; None if they were not."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """The state of a run at the end of a round."""

    header: Header
    weights: Tensors
    optimizer: Tensors
    """Adam's moments, as `Learner.state_dict`."""
    replay: Arrays
    resolved: Arrays | None = None
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
    """Write what of a checkpoint can be played into the new folder `path`, as a milestone keeps it.

    Raises:
        OSError: it could not be written, or there is something of that name.
    """
    path.mkdir()
    sums = {WEIGHTS: _write_arrays(path / WEIGHTS, _arrays(weights))}
    write_durably(path / STATE, lambda f: f.write(_state_bytes(header, sums)))
    sync_folder(path)


def rewrite_header(path: Path, header: Header) -> None:
    """Replace what `state.json` of the whole checkpoint `path` says, leaving weights, optimiser and replay as they are.

    Raises:
        OSError: it could not be written; the old one is still there.
    """
    sums = _read_state(path)["sha256"]
    replace_durably(path / STATE, _state_bytes(header, sums))


def read_header(path: Path) -> Header:
    """What the checkpoint in the folder `path` says of itself.

    Raises:
        CheckpointError: it is missing, damaged, foreign, or of a newer format.
    """
    return _header(path, _read_state(path))


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """The network's weights in the checkpoint `path`.

    Raises:
        CheckpointError: as `read_header`.
    """
    return _weights(path, _read_state(path))


def read_checkpoint(path: Path) -> Checkpoint:
    """The whole checkpoint in the folder `path`.

    Raises:
        CheckpointError: as `read_header`, or it keeps no more than a network, or is of a format before
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
            f"checkpoint {path} keeps the network alone, as in a finished experiment or a milestone: it can be played, "
            "but not resumed",
            path=path,
        )
    weights = _weights(path, state)
    optimizer = _tensors(_read_arrays(path, state, OPTIMIZER, MOST_OPTIMIZER))
    most_replay = int(2e6 * header.config.replay.megabytes) + 2**28  # twice the limit, as the newest match always stays
    replay = _read_arrays(path, state, REPLAY, most_replay)
    resolved = _read_arrays(path, state, RESOLVED, MOST_RESOLVED) if RESOLVED in state["sha256"] else None
    return Checkpoint(header=header, weights=weights, optimizer=optimizer, replay=replay, resolved=resolved)


def damaged(path: Path, problem: str) -> CheckpointError:
    """The error for a checkpoint that cannot be read."""
    return CheckpointError(f"checkpoint {path} is damaged: {problem}", path=path)


def _of_type(kind: type[T], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {value!r}")
    return value


def _read_state(path: Path) -> dict[str, Any]:
    """What `state.json` holds, after the checks of its format and its checksum."""
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
        )
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise damaged(path, f"{STATE} has unexpected content ({error})") from None


def _weights(path: Path, state: dict[str, Any]) -> dict[str, torch.Tensor]:
    weights = _tensors(_read_arrays(path, state, WEIGHTS, MOST_WEIGHTS))
    if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise damaged(path, f"{WEIGHTS} holds numbers that are infinite or NaN")
    return weights


def _arrays(tensors: Tensors) -> Arrays:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def _tensors(arrays: Arrays) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _write_arrays(path: Path, arrays: Arrays) -> str:
    """Writes a new file durably and returns its checksum."""
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
            "sha256": dict(sums),
        }
    )


def signed(state: Mapping[str, Any]) -> bytes:
    """The text of a `state.json` that holds `state` and its checksum."""
    rest = {name: value for name, value in state.items() if name != CHECKSUM}
    return json.dumps(rest | {CHECKSUM: checksum(rest)}, indent=1).encode()


def checksum(state: Mapping[str, Any]) -> str:
    """The checksum of an object that holds none."""
    return hashlib.sha256(json.dumps(state, indent=1).encode()).hexdigest()


def library_versions() -> dict[str, str]:
    """The versions of this library, and of those that what it writes depends on."""
    others = {name: metadata.version(name) for name in ("torch", "open_spiel", "numpy", "safetensors")}
    return {"athenan_spiel": athenan_spiel.__version__, "python": platform.python_version(), **others}


def _read_arrays(path: Path, state: Mapping[str, Any], name: str, most_bytes: int) -> dict[str, Any]:
    """Returns the arrays in the file `name` of the checkpoint `path`, after the check of its size and checksum."""
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
        except Exception as error:  # anything that the reader raises for content it does not expect
            raise damaged(path, f"{name} has unexpected content ({type(error).__name__})") from error

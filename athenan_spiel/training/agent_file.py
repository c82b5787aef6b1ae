"""Agent file: a safetensors file with everything needed to play.

The tensors are the weights of the network. The header's metadata has one entry, `athenan_spiel`, a JSON text with the
game, the settings of the training, the constants of the outcome, the default search, the progress of the training, and
the measured strength. Settings of the machine (`MACHINE`), paths and commands are not stored.

The guarantees of checkpoints (`checkpoints`) hold, except that the file may be a link: a file is complete or does not
exist, a single changed bit is detected, no code is executed or imported, and content is validated regardless of
checksums.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import safetensors.torch
import torch

import athenan_spiel
from athenan_spiel.config import EngineConfig, Precision, TrainingConfig
from athenan_spiel.errors import AgentError, CheckpointError, ConfigError, shown
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.system.files import opened, parse_json
from athenan_spiel.training.checkpoints import (
    CHECKSUM,
    MOST_WEIGHTS,
    Counters,
    Header,
    checksum,
    library_versions,
    read_calibration,
    signed,
)
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict

FORMAT = "athenan_spiel agent"
VERSION = 1
"""Format version."""
KEY = "athenan_spiel"
"""Key of the metadata."""
SUFFIX = ".safetensors"
MOST_HEADER = 2**20
"""Maximum size of the header, in bytes; typical headers have a few thousand."""
MOST_STRENGTHS = 100
"""Maximum number of opponents with a measured strength."""
MACHINE = ("evaluation", "workers", "memory")
"""Tables of settings that don't affect play and depend on the machine of the training."""
_LENGTH = 8
"""Size of the first field of the file, in bytes: the header's length as a little-endian integer."""
_COUNTERS = ("matches", "seconds", "evaluations", "states_learned")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgentHeader(Header):
    """Content of an agent file without versions and checksums. It has no generators.

    Attributes:
        search: spec of the default search.
        strength: scores of the network in evaluations during training, as described in `agent_file_bytes`.
    """

    search: str
    strength: Sequence[Mapping[str, Any]] = ()


def agent_file_bytes(header: AgentHeader, weights: Mapping[str, torch.Tensor]) -> bytes:
    """Returns the content of an agent file.

    Args:
        header: the header. Each item of `strength` is an object of JSON values with `opponent`, `agent` (search and
            limit per move), `matches` (number of games the network had learned), `wins`, `draws`, `losses`, `points`,
            `low`, `high`, `confidence` and `opening_plies`.
        weights: float32 weights of the network.
    """
    tensors = {name: tensor.contiguous() for name, tensor in weights.items()}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": library_versions(),
        "game": header.game,
        "search": header.search,
        "outcome": header.outcome,
        "counters": {name: getattr(header.counters, name) for name in _COUNTERS},
        "strength": [*header.strength],
        "calibration": header.calibration.to_json(),
        "settings": _portable_settings(header.config),
        "sha256": hashlib.sha256(_body(safetensors.torch.save(tensors))).hexdigest(),
    }
    return safetensors.torch.save(tensors, {KEY: signed(content).decode()})


def read_agent_header(path: Path) -> AgentHeader:
    """Returns the header of the agent file `path`, which may be a link.

    Raises:
        CheckpointError: the file is missing, damaged, of another program or of a newer format.
    """
    with _opened(path) as (file, size):
        return _header(path, _content(path, file, size))


def read_agent_file(path: Path) -> tuple[AgentHeader, dict[str, torch.Tensor]]:
    """Returns the header of the agent file `path`, and the weights of the network.

    Raises:
        CheckpointError: as `read_agent_header`.
    """
    with _opened(path) as (file, size):
        content = _content(path, file, size)
        header = _header(path, content)
        file.seek(0)
        data = file.read(size)
    if hashlib.sha256(_body(data)).hexdigest() != content.get("sha256"):
        raise _damaged(path, f"its weights ({len(_body(data)):,} bytes) do not match their checksum")
    try:
        weights = safetensors.torch.load(data)
        plain = all(tensor.dtype == torch.float32 for tensor in weights.values())
        finite = plain and all(bool(torch.isfinite(tensor).all()) for tensor in weights.values())
    except Exception as error:  # safetensors raises various errors for invalid content
        raise _damaged(path, f"its tensors cannot be read ({type(error).__name__})") from error
    if not finite:
        raise _damaged(path, "its weights are not all finite float32 numbers")
    return header, weights


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Opens the file; yields it and its size."""
    try:
        with opened(path, MOST_HEADER + MOST_WEIGHTS, follow=True) as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise CheckpointError(f"the agent file {path} cannot be read: {error.strerror}", path=path) from None


def _content(path: Path, file: BinaryIO, size: int) -> dict[str, Any]:
    """Returns the object in the header's metadata after checking its format and checksum."""
    length = int.from_bytes(file.read(_LENGTH), "little")
    if not 2 <= length <= size - _LENGTH:
        raise _foreign(path)
    if length > MOST_HEADER:
        raise _damaged(path, f"its header has {length:,} bytes, more than the {MOST_HEADER:,} that are read")
    try:
        metadata = parse_json(file.read(length))["__metadata__"]
        content = parse_json(metadata[KEY])
    except (ValueError, KeyError, TypeError):
        raise _foreign(path) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _foreign(path)
    version = content.get("version")
    if type(version) is not int or version > VERSION:
        raise CheckpointError(
            f"the agent file {path} has format version {shown(version)}, and this athenan_spiel "
            f"({athenan_spiel.__version__}) reads up to {VERSION}: install a newer athenan_spiel",
            path=path,
        )
    if content.pop(CHECKSUM, None) != checksum(content):
        raise _damaged(path, "its header does not match its own checksum; a bit of it may have changed")
    return content


def _header(path: Path, content: Mapping[str, Any]) -> AgentHeader:
    try:
        strength = content["strength"]
        if not isinstance(strength, list) or len(strength) > MOST_STRENGTHS:
            raise TypeError(f"strength must be a list of at most {MOST_STRENGTHS} items, got {shown(strength)}")
        if not (isinstance(content["game"], str) and isinstance(content["outcome"], dict)):
            raise TypeError("game must be a string, and outcome an object")
        parse_search(content["search"])
        return AgentHeader(
            game=content["game"],
            config=config_from_dict(content["settings"]),
            outcome=content["outcome"],
            counters=Counters(**{name: content["counters"][name] for name in _COUNTERS}),
            generators={},
            search=content["search"],
            strength=tuple(strength),
            calibration=read_calibration(content),
        )
    except (KeyError, TypeError, AttributeError, ConfigError, AgentError, ValueError, OverflowError) as error:
        raise _damaged(path, f"its header has unexpected content ({error})") from None


def _portable_settings(config: TrainingConfig) -> dict[str, Any]:
    """Returns the settings for the file. An engine that a machine may lack becomes "auto"; float32 stays float32."""
    name = config.engine.name if config.engine.name in ("torch", "openvino") else "auto"
    precision: Precision = "float32" if config.engine.precision == "float32" else "auto"
    engine = EngineConfig(name=name, precision=precision)
    table = config_to_dict(dataclasses.replace(config, engine=engine))
    return {key: value for key, value in table.items() if key not in MACHINE}


def _body(data: bytes) -> bytes:
    """Returns the data of a safetensors file after its header."""
    return data[_LENGTH + int.from_bytes(data[:_LENGTH], "little") :]


def _foreign(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is not an agent file: expected one written by `athenan export`", path=path)


def _damaged(path: Path, problem: str) -> CheckpointError:
    return CheckpointError(f"the agent file {path} is damaged: {problem}", path=path)

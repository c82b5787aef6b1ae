"""An agent as one file, to be shared: safetensors, whose header says all that play needs.

The tensors are the weights of the network. The header's metadata has one text, `athenan_spiel`, which is JSON: the
game, the settings of the training (encoding, network, outcome and search among them), the constants of the outcome, the
search that plays where nothing is said of it, how far the training had come, and its strength where that was measured.
Of the settings those are left out that are the machine's (`MACHINE`), as are paths and commands.

What checkpoints promise holds here, too (`checkpoints`): a file is whole or not there, one changed bit is noticed,
nothing is executed, imported or followed, and all content is checked as if the checksums did not hold.
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
    signed,
)
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict

FORMAT = "athenan_spiel agent"
VERSION = 1
"""Grows as that of checkpoints does."""
KEY = "athenan_spiel"
"""Of the metadata in the header of the safetensors."""
SUFFIX = ".safetensors"
MOST_HEADER = 2**20
"""Bytes of the header that are read at most; those of an agent are some thousand."""
MOST_STRENGTHS = 100
"""Opponents against which a strength is told."""
MACHINE = ("evaluation", "workers", "memory")
"""Tables of the settings that say nothing of play, and much of the machine."""
_LENGTH = 8
"""Bytes that say how long the header is: first in the file, the lowest first."""
_COUNTERS = ("matches", "seconds", "evaluations", "states_learned")


@dataclasses.dataclass(frozen=True, kw_only=True)
class AgentHeader(Header):
    """What an agent's file says, but for versions and checksums; of generators it has none.

    Attributes:
        search: the word of the search that plays where nothing is said of it.
        strength: what the network scored while it was trained, against each opponent, as `agent_file_bytes` has it.
    """

    search: str
    strength: Sequence[Mapping[str, Any]] = ()


def agent_file_bytes(header: AgentHeader, weights: Mapping[str, torch.Tensor]) -> bytes:
    """The content of an agent's file.

    Args:
        header: of its counters those are written that tell how far training had come; each strength is an object of
            JSON values with `opponent`, `agent` (search and limit of a move), `matches` (that the network had learned),
            `wins`, `draws`, `losses`, `points`, `low`, `high`, `confidence` and `opening_plies`.
        weights: float32, of the network.
    """
    tensors = {name: tensor.contiguous() for name, tensor in weights.items()}
    told = {
        "format": FORMAT,
        "version": VERSION,
        "libraries": library_versions(),
        "game": header.game,
        "search": header.search,
        "outcome": header.outcome,
        "counters": {name: getattr(header.counters, name) for name in _COUNTERS},
        "strength": [*header.strength],
        "settings": _shared(header.config),
        "sha256": hashlib.sha256(_body(safetensors.torch.save(tensors))).hexdigest(),
    }
    return safetensors.torch.save(tensors, {KEY: signed(told).decode()})


def read_agent_header(path: Path) -> AgentHeader:
    """What the agent's file `path` says of itself; it may be a link.

    Raises:
        CheckpointError: it is missing, damaged, foreign or of a newer format.
    """
    with _opened(path) as (file, size):
        return _header(path, _told(path, file, size))


def read_agent_file(path: Path) -> tuple[AgentHeader, dict[str, torch.Tensor]]:
    """The same, and the weights of the network.

    Raises:
        CheckpointError: as `read_agent_header`.
    """
    with _opened(path) as (file, size):
        told = _told(path, file, size)
        header = _header(path, told)
        file.seek(0)
        data = file.read(size)
    if hashlib.sha256(_body(data)).hexdigest() != told.get("sha256"):
        raise _damaged(path, f"its weights ({len(_body(data)):,} bytes) do not match their checksum")
    try:
        weights = safetensors.torch.load(data)
        plain = all(tensor.dtype == torch.float32 for tensor in weights.values())
        finite = plain and all(bool(torch.isfinite(tensor).all()) for tensor in weights.values())
    except Exception as error:  # whatever safetensors raises for tensors that do not fill the file
        raise _damaged(path, f"its tensors cannot be read ({type(error).__name__})") from error
    if not finite:
        raise _damaged(path, "its weights are not all finite numbers of float32")
    return header, weights


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The file, and how many bytes it has."""
    try:
        with opened(path, MOST_HEADER + MOST_WEIGHTS, follow=True) as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise CheckpointError(f"the agent's file {path} cannot be read: {error.strerror}", path=path) from None


def _told(path: Path, file: BinaryIO, size: int) -> dict[str, Any]:
    """The object in the header's metadata, after the checks of its format and its checksum."""
    length = int.from_bytes(file.read(_LENGTH), "little")
    if not 2 <= length <= size - _LENGTH:
        raise _foreign(path)
    if length > MOST_HEADER:
        raise _damaged(path, f"its header has {length:,} bytes, more than the {MOST_HEADER:,} that are read")
    try:
        metadata = parse_json(file.read(length))["__metadata__"]
        told = parse_json(metadata[KEY])
    except (ValueError, KeyError, TypeError):
        raise _foreign(path) from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise _foreign(path)
    version = told.get("version")
    if type(version) is not int or version > VERSION:
        raise CheckpointError(
            f"the agent's file {path} has format version {shown(version)}, and this athenan_spiel "
            f"({athenan_spiel.__version__}) reads up to {VERSION}: install a newer athenan_spiel",
            path=path,
        )
    if told.pop(CHECKSUM, None) != checksum(told):
        raise _damaged(path, "its header does not match its own checksum; a bit of it may have changed")
    return told


def _header(path: Path, told: Mapping[str, Any]) -> AgentHeader:
    try:
        strength = told["strength"]
        if not isinstance(strength, list) or len(strength) > MOST_STRENGTHS:
            raise TypeError(f"strength must be a list of at most {MOST_STRENGTHS}, got {shown(strength)}")
        if not (isinstance(told["game"], str) and isinstance(told["outcome"], dict)):
            raise TypeError("game must be a text, and outcome an object")
        parse_search(told["search"])
        return AgentHeader(
            game=told["game"],
            config=config_from_dict(told["settings"]),
            outcome=told["outcome"],
            counters=Counters(**{name: told["counters"][name] for name in _COUNTERS}),
            generators={},
            search=told["search"],
            strength=tuple(strength),
        )
    except (KeyError, TypeError, AttributeError, ConfigError, AgentError, ValueError, OverflowError) as error:
        raise _damaged(path, f"its header has unexpected content ({error})") from None


def _shared(config: TrainingConfig) -> dict[str, Any]:
    """The settings that are shared. The engine is one that any machine has, in float32 if it was in the training."""
    name = config.engine.name if config.engine.name in ("torch", "openvino") else "auto"
    precision: Precision = "float32" if config.engine.precision == "float32" else "auto"
    engine = EngineConfig(name=name, precision=precision)
    table = config_to_dict(dataclasses.replace(config, engine=engine))
    return {key: value for key, value in table.items() if key not in MACHINE}


def _body(data: bytes) -> bytes:
    """The numbers of a safetensors file, which are what follows its header."""
    return data[_LENGTH + int.from_bytes(data[:_LENGTH], "little") :]


def _foreign(path: Path) -> CheckpointError:
    return CheckpointError(f"{path} is no file of an agent: expected one that `athenan export` has written", path=path)


def _damaged(path: Path, problem: str) -> CheckpointError:
    return CheckpointError(f"the agent's file {path} is damaged: {problem}", path=path)

"""Agents' files as nobody has exported them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from athenan_spiel.training.agent_file import KEY, AgentHeader, agent_file_bytes
from athenan_spiel.training.checkpoints import Counters, signed

Tensors = Mapping[str, Any]
"""The part of a header that lists the tensors."""


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """What a file tells, the listing of its tensors, and their numbers."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    told = json.loads(header.pop("__metadata__")[KEY])
    return told, header, data[8 + length :]


def joined(told: Any, tensors: Tensors, body: bytes, *, key: str = KEY) -> bytes:
    """The content of a file, as a hostile hand would put it together: its checksums are right."""
    if isinstance(told, dict):
        told = json.loads(signed({**told, "sha256": hashlib.sha256(body).hexdigest()}))
    return with_header({"__metadata__": {key: json.dumps(told, indent=1)}, **tensors}, body)


def with_header(header: Any, body: bytes) -> bytes:
    """A safetensors file with any header."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def edit_agent(path: Path, **changes: Any) -> None:
    """Change what an agent's file tells."""
    told, tensors, body = parts(path.read_bytes())
    path.write_bytes(joined({**told, **changes}, tensors, body))


def sample_agent(config: Any) -> bytes:
    """The file of an agent of Tic-Tac-Toe, whose weights no network has."""
    header = AgentHeader(
        game="tic_tac_toe()",
        config=config,
        outcome={"longest": 9, "exact": True, "scale": 5.0},
        counters=Counters(matches=12, seconds=1.5),
        generators={},
        search="ubfm_k",
    )
    return agent_file_bytes(header, {"layer.weight": torch.arange(6.0).reshape(2, 3), "layer.bias": torch.zeros(2)})

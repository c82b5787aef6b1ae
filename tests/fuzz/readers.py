"""The readers of text and bytes that come from elsewhere, each with what it may raise and samples of what it reads."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from agent_files import joined, parts, sample_agent, with_header
from contents import signed
from training_runs import TINY

from agents import parse_spec
from athenan_spiel.cli.options import parse_duration
from athenan_spiel.encoding.stored_arrays import read_arrays
from athenan_spiel.errors import AgentError, AthenanError, CheckpointError, ConfigError, UnsupportedGameError
from athenan_spiel.experiments import ExperimentFile
from athenan_spiel.games import load_game
from athenan_spiel.games.spec import read_spec
from athenan_spiel.protocols import sgf
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.system.files import parse_json, parse_toml
from athenan_spiel.training.agent_file import KEY, read_agent_file, read_agent_header
from athenan_spiel.training.checkpoints import FORMAT, STATE, VERSION, read_header
from athenan_spiel.training.settings_file import config_to_dict, key_lines, settings_from_toml, settings_to_toml


@dataclass(frozen=True)
class Reader:
    """A reader of one of the two kinds of input.

    Attributes:
        read: the function.
        raises: what it raises for input that it cannot read; nothing else.
        samples: input that it reads, to be damaged.
    """

    read: Callable[[Any], object]
    raises: type[Exception] | tuple[type[Exception], ...]
    samples: tuple[Any, ...]


def _state(text: str) -> object:
    """Read the header of a checkpoint whose `state.json` is `text`, with the checksum of what it says."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):  # then it is read as it is
        text = json.dumps(signed({**json.loads(text), "checksum": ""}), indent=1)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / STATE).write_text(text, encoding="utf-8", errors="surrogatepass")
        return read_header(Path(folder))


def _agent(data: bytes) -> object:
    """Read an agent's file, as it is, and with the checksums of what it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent"
        path.write_bytes(data)
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError, struct.error):
            path.write_bytes(joined(*parts(data)))
        return read_agent_file(path)


def _agent_header(text: str) -> object:
    """Read the header of an agent's file that tells `text`, with the checksum of what it says."""
    told: object = None
    with contextlib.suppress(ValueError, RecursionError):  # then it is read as it is
        told = json.loads(text)
    if isinstance(told, dict):
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            text = json.dumps(signed({**told, "checksum": ""}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent"
        path.write_bytes(with_header({"__metadata__": {KEY: text}}, b""))
        return read_agent_header(path)


def _lines(text: str) -> object:
    """The keys of a text, if it is TOML."""
    try:
        parse_toml(text)
    except ValueError:
        return None
    return list(key_lines(text))


_SETTINGS = settings_to_toml("hex(board_size=5)", TINY)
_STATE = {
    "format": FORMAT,
    "version": VERSION,
    "game": "tic_tac_toe()",
    "config": config_to_dict(TINY),
    "outcome": {"longest": 9, "exact": True, "scale": 5.0},
    "counters": {"matches": 12, "seconds": 1.5},
    "generators": {"learner": {"bit_generator": "PCG64", "state": {"state": 1, "inc": 3}}},
    "sha256": {},
}
_EXPERIMENT = """\
name = "tiny"
games = ["tic_tac_toe"]
repetitions = 1
[protocol]
stages = 1
matches = 2
[training]
matches = 4
search = {iterations = 2}
[variants.descent]
[variants.ubfm]
search.algorithm = "ubfm"
play = {algorithm = "mcts", iterations = 5}
"""
_SGF = "(;FF[4]GM[11]SZ[5:5]KM[]C[a (;\\] b](;Black[a1];PL[W];W[c3](;B[b2])(;AB[d4:e5]))(;PL[B]))"
TEXTS: dict[str, Reader] = {
    "settings": Reader(settings_from_toml, ConfigError, (_SETTINGS,)),
    "experiment": Reader(lambda text: ExperimentFile(text, "tiny.toml"), ConfigError, (_EXPERIMENT,)),
    "word": Reader(
        parse_spec,
        AthenanError,
        ("runs/x#48:mcts(0.5)@0.5s", "mcts:1000", "alphabeta(3)@200i", "ludii:UCT@1s", "random"),
    ),
    "search": Reader(parse_search, AgentError, ("ubfm_s", "alphabeta(3)", "mcts(0.5)")),
    "game": Reader(read_spec, UnsupportedGameError, ("hex(board_size=5,swap=True)", "misere(game=tic_tac_toe())")),
    "duration": Reader(parse_duration, ConfigError, ("1d2h30m1.5s", "90")),
    "json": Reader(parse_json, ValueError, (json.dumps(_STATE),)),
    "sgf": Reader(functools.partial(sgf.read, load_game("hex(board_size=5)")), ConfigError, (_SGF,)),
    "toml": Reader(parse_toml, ValueError, (_SETTINGS, _EXPERIMENT)),
    "keys": Reader(_lines, (), (_SETTINGS, _EXPERIMENT)),
    "state": Reader(_state, CheckpointError, (json.dumps(_STATE),)),
    "agent's header": Reader(_agent_header, CheckpointError, (json.dumps(parts(sample_agent(TINY))[0]),)),
}
"""Readers of text."""
BYTES: dict[str, Reader] = {
    "arrays": Reader(
        lambda data: read_arrays(io.BytesIO(data)),
        (ValueError, OSError),
        (safetensors.numpy.save({"a": np.zeros((2, 3), np.float32), "b": np.arange(4)}), safetensors.numpy.save({})),
    ),
    "agent": Reader(_agent, CheckpointError, (sample_agent(TINY),)),
}
"""Readers of bytes."""

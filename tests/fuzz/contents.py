"""Content of checkpoints that nobody wrote by training, with the checksums that make it look so."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import pickle
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from sandbox import CANARY

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, -0.0, 2**31, 2**63, -(2**63), 2**200, 10**4000, 1e308, "", "x", "none"),
    *("x" * 5000, [], {}, [[]], [1] * 100, {"a": 1}, {"": {}}, f"{CANARY}:worth", "../../outside", "/etc/passwd"),
    *("\0", "\ud800", "٣", "NaN", "tic_tac_toe(", "hex(board_size=1000)", "ludii(game=Hex)", "nim(pile_sizes=1)"),
    *("chess", "go(board_size=19)"),
)
"""What may stand in the place of a value of JSON."""


_TYPES = ("f8", "f2", "i1", "u8", "?", "u2", "i8")
_HEADER_VALUES = (*VALUES, "F64", "BF16", "I8", "F8_E4M3", [0, 4], [4, 0], [0, 2**63], [2**40, 2], [-1], [2**31, 2**31])
_PICKLES = (b"\x80\xff.", b"\x80\x02" + b"(" * 10**5 + b".", b"\x80\x02cos\nsystem\n(S'id'\ntR.", b"")


def edit_arrays(rng: random.Random, path: Path) -> str:
    """Change arrays of the safetensors file `path`, or its header, or write another format, and sign it."""
    kind = rng.choice(("arrays", "arrays", "header", "header", "other"))
    if kind == "arrays":
        said = _edit_arrays(rng, path)
    elif kind == "header":
        said = _edit_header(rng, path)
    else:
        said = "another format"
        path.write_bytes(rng.choice((*_PICKLES, pickle.dumps(Bomb()), b"PK\5\6" + bytes(18), _npz_of_a_bomb())))
    sign(path.parent)
    return f"{path.name} {said}"[:150]


def _edit_arrays(rng: random.Random, path: Path) -> str:
    arrays: dict[str, Any] = safetensors.numpy.load_file(path)
    if not arrays:
        return "has no arrays"
    name = rng.choice(sorted(arrays))
    kind = rng.choice(("dtype", "shape", "drop", "add", "values", "empty", "all"))
    if kind == "dtype":
        with np.errstate(invalid="ignore"):
            arrays[name] = arrays[name].astype(rng.choice(_TYPES))
    elif kind == "shape":
        arrays[name] = _of_another_shape(rng, arrays[name])
    elif kind == "drop":
        del arrays[name]
    elif kind == "add":
        arrays[rng.choice(("x", "../../evil", "/evil", "", "states", "a" * 5000, "0.x", "9.step"))] = np.zeros(3)
    elif kind == "values":
        arrays[name] = _odd_values(rng, arrays[name])
    elif kind == "all":
        arrays = {key: _odd_values(rng, value) for key, value in arrays.items()}
    else:
        arrays = {}
    contiguous = {key: np.array(array, order="C") for key, array in arrays.items()}
    path.write_bytes(safetensors.numpy.save(contiguous))
    return f"{name}: {kind}"


def _edit_header(rng: random.Random, path: Path) -> str:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    said = kind = rng.choice(("header", "length", "nested", "values", "names", "metadata", "empty"))
    if kind == "header":
        said += " " + edit(rng, header, _HEADER_VALUES)
    elif kind == "values":
        rest = rng.choice((b"\xff" * len(rest), rng.randbytes(len(rest)), b"\0\0\x80\x7f" * (len(rest) // 4), b""))
    elif kind == "names":
        header = {rng.choice((key, f"{key}.x", "../x")): value for key, value in header.items()}
    elif kind == "metadata":
        header["__metadata__"] = rng.choice(({"a": "b" * 10**6}, {"a": 1}, [], {"format": "pickle"}))
    elif kind == "empty":
        header, rest = {}, b""
    text = b"[" * 5000 if kind == "nested" else dumps(header).encode("utf-8", "surrogatepass")
    size = rng.choice((0, 1, 2**40, 2**63, 2**64 - 1, len(text) + 8)) if kind == "length" else len(text)
    path.write_bytes(struct.pack("<Q", size) + text + rest)
    return said


class Bomb:
    """Unpickled, it writes the canary's file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("echo unpickled > $CANARY",)


def sign(checkpoint: Path) -> None:
    """Recompute the checksums that `state.json` holds, so that what was crafted comes through."""
    path = checkpoint / "state.json"
    if not path.is_file() or path.is_symlink():
        return
    try:
        state = json.loads(path.read_text())
        sums = state["sha256"]
        for name in sums:
            file = checkpoint / name
            if file.is_file() and file.stat().st_size < 2**24:  # and no FIFO or endless file that was crafted before
                sums[name] = hashlib.sha256(file.read_bytes()).hexdigest()
        path.write_text(dumps(signed(state)))
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return  # what was crafted before is in the way


def signed(state: Any) -> Any:
    """`state` with the checksum of itself, where it has one."""
    if not isinstance(state, dict) or "checksum" not in state:
        return state
    rest = {name: value for name, value in state.items() if name != "checksum"}
    return {**rest, "checksum": hashlib.sha256(dumps(rest).encode()).hexdigest()}


def edit(rng: random.Random, table: Any, values: tuple[Any, ...]) -> str:
    """Change one value somewhere in a nested table, remove or add one; says where."""
    places = list(_places(table, ()))
    if not places:
        return "has no place"
    where, holder, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.12:
        del holder[key]
        return f"without {'.'.join(where)}"
    value = copy.deepcopy(rng.choice(values))
    if kind < 0.2 and isinstance(holder, dict):
        key = rng.choice(("x", "", "__class__", "self", "é"))
    elif kind < 0.3 and isinstance(holder[key], int | float):
        value = holder[key] * rng.choice((-1, 2, 10**6, 0.5)) + rng.choice((0, 1))
    holder[key] = value
    return f"{'.'.join(where)} = {repr(value)[:40] if not isinstance(value, int) or value < 10**100 else 'many digits'}"


def _places(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, str(key)), value, key
        yield from _places(inner, (*path, str(key)))


def toml_value(value: Any) -> str:
    """A value of JSON, as TOML writes it or nearly so."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return dumps(value) if value is not None else "null"


def dumps(value: Any) -> str:
    """JSON as the library writes it, numbers of any length included."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(value, indent=1)
    finally:
        sys.set_int_max_str_digits(before)


def _npz_of_a_bomb() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=np.array([Bomb()], dtype=object))
    return buffer.getvalue()


def _of_another_shape(rng: random.Random, array: Any) -> Any:
    shapes = [array[None], array.reshape(-1), np.zeros(()), np.zeros((0, 3, 0))]
    if array.ndim:
        shapes += [array[:0], array[: len(array) // 2], np.concatenate([array, array])]
    return rng.choice(shapes)


def _odd_values(rng: random.Random, array: Any) -> Any:
    if array.dtype.kind == "f":
        return np.full_like(array, rng.choice((np.nan, np.inf, -1e30, 1e30, 0)))
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        return np.full_like(array, rng.choice((info.max, info.min, 1, 0, info.max // 2)))
    return array[::-1].copy() if array.ndim else array

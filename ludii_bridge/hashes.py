"""The SHA-256 of Ludii's jars: known hashes, and that of the installed jar, stored next to it.

Java executes the content of a jar. For an unknown hash, the user compares it with a trusted source.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ludii_bridge.errors import LudiiError

KNOWN: Mapping[str, str] = {
    "c26a595220fa136ec7a528ae41d46f5a7944f0353062ae0dc765a2c3aa0bd426": "1.3.12",
    "248a8bde801f347bc380a4957fdb48012b4bdf234a5591c9bf7479913d73068e": "1.3.14",
}
"""Versions of Ludii by the hash of the jar, from package recipes for Nix: 1.3.14 from nixpkgs
(pkgs/by-name/lu/ludii), 1.3.12 from a user's collection. Ludii publishes no hashes."""
SUFFIX = ".sha256"
"""Suffix of the file with the hash, in the format of `sha256sum --check`."""
_HASH = re.compile(r"[0-9a-f]{64}", re.IGNORECASE | re.ASCII)
_MOST_BYTES = 1000
"""Maximum size of the file with the hash."""


def as_hash(text: str) -> str:
    """Returns a hash in lower case.

    Raises:
        LudiiError: `text` is no SHA-256.
    """
    if not _HASH.fullmatch(text):
        shown = text if len(text) <= 100 else f"{text[:97]}..."
        raise LudiiError(f"expected a SHA-256 of 64 hexadecimal digits, got {shown!r}")
    return text.lower()


def sha256_of(path: Path) -> str:
    """Returns the SHA-256 of a file in hexadecimal, cached until the file changes.

    Raises:
        OSError: it cannot be read.
    """
    stamp = path.stat()
    return _sha256(path.absolute(), stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=8)
def _sha256(path: Path, _modified: int, _size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_known(sha256: str) -> bool:
    """Returns whether this is the hash of a known jar."""
    return sha256 in KNOWN


def said_of(sha256: str) -> str:
    """Returns a description of the hash."""
    version = KNOWN.get(sha256)
    return f"SHA-256 {sha256}, " + ("which is unknown" if version is None else f"known as Ludii {version}'s")


def keep(jar: Path, sha256: str) -> None:
    """Stores the hash of a jar next to it.

    Raises:
        OSError: it cannot be written.
    """
    beside = _beside(jar)
    part = beside.with_name(f"{beside.name}.part")
    part.unlink(missing_ok=True)
    with part.open("x", encoding="ascii") as file:
        file.write(f"{sha256}  {jar.name}\n")
    part.replace(beside)


def require_unchanged(jar: Path) -> None:
    """Checks that `jar` has not changed since its installation, if its hash is stored.

    Raises:
        LudiiError: it has changed, or the stored hash can't be read.
    """
    beside = _beside(jar)
    if not beside.exists():
        return
    try:
        with beside.open("rb") as file:
            kept = file.read(_MOST_BYTES).decode("ascii", "replace").partition(" ")[0]
        found = sha256_of(jar)
    except OSError as error:
        raise LudiiError(f"cannot read {error.filename!r}: {error.strerror}") from error
    if kept.lower() != found:
        raise LudiiError(
            f"{str(jar)!r} was changed since it was installed (its SHA-256 is {found}): if that was you, remove "
            f"{beside.name} beside it; else install it again"
        )


def _beside(jar: Path) -> Path:
    return jar.with_name(jar.name + SUFFIX)

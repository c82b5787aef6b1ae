"""The SHA-256 of Ludii's jars: those that are known, and that of the jar that was installed, kept beside it.

Java runs whatever a jar holds, so a jar is worth as much as what vouches for it. A jar of a known hash is the one that
the bridge was tested with. Of another the hash is shown, for its user to compare with what else they trust.
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
"""The version of Ludii by the hash of its jar, as package recipes for Nix pin them for what Ludii's site serves: that
of 1.3.14 is nixpkgs' own (pkgs/by-name/lu/ludii), that of 1.3.12 from a user's collection. Ludii publishes none."""
SUFFIX = ".sha256"
"""Follows the jar's name in that of the file that keeps its hash, in the form that `sha256sum --check` reads."""
_HASH = re.compile(r"[0-9a-f]{64}", re.IGNORECASE | re.ASCII)
_MOST_BYTES = 1000
"""Of the file that keeps a hash."""


def as_hash(text: str) -> str:
    """A hash that was typed, in small letters.

    Raises:
        LudiiError: it is none.
    """
    if not _HASH.fullmatch(text):
        shown = text if len(text) <= 100 else f"{text[:97]}..."
        raise LudiiError(f"expected a SHA-256 of 64 hexadecimal digits, got {shown!r}")
    return text.lower()


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal; a file that has not changed since is not read again.

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
    """Whether a jar with this hash is one of Ludii's."""
    return sha256 in KNOWN


def said_of(sha256: str) -> str:
    """What is known of a jar with this hash, in words."""
    version = KNOWN.get(sha256)
    return f"SHA-256 {sha256}, " + ("which is not known here" if version is None else f"known as Ludii {version}'s")


def keep(jar: Path, sha256: str) -> None:
    """Write the hash of the jar that is now at `jar` beside it.

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
    """Check that `jar` is still what was installed; one without a kept hash was put there by hand.

    Raises:
        LudiiError: it is another one, or the kept hash cannot be read.
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

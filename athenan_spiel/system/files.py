"""Reading of untrusted files, such as those of a downloaded run, and writing that is safe if the process is killed.

1. A file is opened once, and read through that descriptor. Links are not followed, unless the user has named one.
   Anything but a regular file (a FIFO, a device, a folder) is refused without waiting.
2. Sizes are bounded: each reader gives a maximum, and a larger file is refused before it is read.
3. Text is parsed to a bounded depth. Errors are `ValueError`s of one line.
4. A file is written under a temporary name, flushed and renamed. A link with that name is replaced, not followed. If
   the process is killed, the file has the old or the new content.

A refused file raises `OSError` with the reason in `strerror`, as the system does.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from athenan_spiel.errors import shown
from athenan_spiel.system.portable import NO_LINK, NONBLOCKING_BINARY, lock, sync_folder

UNFINISHED = ".writing-"
"""Prefix of the names of incomplete folders and files."""
MOST_TEXT = 2**18
"""Maximum size of a settings file, in bytes: a hundred times that of a run."""
DEEPEST = 50
"""Maximum depth of nested brackets, or of dotted names, in a text."""
_LINK = "it is a link, which is not followed"
_SECOND_NAME = "it is the same file as one elsewhere (a hard link): replace it by a copy"
_STRING_OR_COMMENT = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*+""", re.DOTALL
)
"""String or comment in a TOML text; an unclosed one reaches to the end of the line or text."""
_BETWEEN = re.compile(r"[=,{}\[\]\n]")
"""Characters that end a key."""


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], most_bytes: int, *, follow: bool = False) -> Iterator[BinaryIO]:
    """Open the regular file `path` for reading.

    Args:
        most_bytes: maximum size of the file.
        follow: allow `path` to be a link, if the user has named it.

    Raises:
        OSError: the file cannot be opened, is a link or no regular file, or is larger.
    """
    descriptor = _open(path, os.O_RDONLY, follow=follow)
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        if size > most_bytes:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than the {most_bytes:,} that are read", str(path))
        yield file


def read_file(path: str | os.PathLike[str], most_bytes: int, *, follow: bool = False) -> bytes:
    """Return the content of the regular file `path`.

    Raises:
        OSError: as `opened`.
    """
    with opened(path, most_bytes, follow=follow) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:  # it has grown since, or has no size, like files in /proc
        raise OSError(errno.EFBIG, f"it has more than the {most_bytes:,} bytes that are read", str(path))
    return data


def open_to_append(path: Path) -> BinaryIO:
    """Open the regular file `path`, created if missing, to read, truncate and append in place.

    Raises:
        OSError: the file cannot be opened, is a link or no regular file, or has a second name (a hard link), so that
            writing would change another file.
    """
    descriptor = _open(path, os.O_RDWR | os.O_CREAT)
    if os.fstat(descriptor).st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EMLINK, _SECOND_NAME, str(path))
    return os.fdopen(descriptor, "r+b")


def open_lock(path: Path) -> int:
    """Return a descriptor of the regular file `path`, created if missing, for a lock.

    Raises:
        OSError: the file cannot be opened, or is a link or no regular file.
    """
    return _open(path, os.O_RDWR | os.O_CREAT)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Context that holds the lock of the file `path`, created if missing. The end of the process releases it.

    Raises:
        BlockingIOError: another process holds it.
        OSError: as `open_lock`.
    """
    descriptor = open_lock(path)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _open(path: str | os.PathLike[str], flags: int, *, follow: bool = False) -> int:
    try:
        if not (follow or NO_LINK) and os.path.islink(path):
            raise OSError(errno.ELOOP, _LINK, str(path))
        descriptor = os.open(path, flags | (0 if follow else NO_LINK) | NONBLOCKING_BINARY, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP and not follow and os.path.islink(path):
            raise OSError(errno.ELOOP, _LINK, str(path)) from None
        raise
    except ValueError as error:  # a NUL character
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return descriptor


def require_folder(path: Path) -> None:
    """Check that `path`, if it exists, is a folder and no link.

    Raises:
        OSError: `path` is something else.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, _LINK, str(path))
    if not stat.S_ISDIR(mode):
        raise OSError(errno.ENOTDIR, "it is no folder", str(path))


def require_file(path: Path) -> None:
    """Check that `path`, if it exists, is a regular file with one name, and no link.

    Raises:
        OSError: `path` is something else.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, _LINK, str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if status.st_nlink > 1:
        raise OSError(errno.EMLINK, _SECOND_NAME, str(path))


def is_folder(path: Path) -> bool:
    """Return whether `path` is a folder and no link."""
    return path.is_dir() and not path.is_symlink()


def remove(path: Path) -> None:
    """Remove the file, link (not its target) or folder `path`, if it exists.

    Raises:
        OSError: `path` cannot be removed.
    """
    if is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def replace_durably(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Replace the content of the file `path`. If the process is killed, the file has the old or the new content.

    Raises:
        OSError: the file cannot be written; the old content remains.
    """
    unfinished = path.with_name(UNFINISHED + path.name)
    try:
        remove(unfinished)
        pieces = [content] if isinstance(content, bytes) else content
        write_durably(unfinished, lambda file: file.writelines(pieces))
        unfinished.replace(path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            remove(unfinished)
        raise


def write_durably(path: Path, write: Callable[[BinaryIO], object]) -> str:
    """Create a file by `write`, flush it to disk, and return the SHA-256 of its content.

    Raises:
        OSError: the file cannot be written, or exists.
    """
    with path.open("x+b") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return sha256(file)


def sha256(file: Any) -> str:
    """Return the SHA-256 of the rest of the binary `file`, in hexadecimal."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON; is nested deeper than `DEEPEST`; has a number of thousands of digits, or NaN
            or Infinity, which only Python accepts; or has an object with a repeated name, which parsers read
            differently.
    """
    brackets = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    return _parsed(lambda: _JSON.decode(_decoded(text)), is_shallow=brackets <= DEEPEST)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text.

    Raises:
        ValueError: the text is not TOML, longer than `MOST_TEXT`, nested deeper than `DEEPEST`, or has a number of
            thousands of digits.
    """
    if len(text) > MOST_TEXT:
        raise ValueError(f"it has {len(text):,} characters, more than the {MOST_TEXT:,} that are read")
    if any(piece.count(".") > DEEPEST for piece in _BETWEEN.split(_STRING_OR_COMMENT.sub("", text))):
        raise ValueError(f"a key has more than {DEEPEST} names behind dots")  # tomllib needs quadratic time
    table: dict[str, Any] = _parsed(lambda: tomllib.loads(text))
    return table


def read_toml(path: str | os.PathLike[str], *, follow: bool = False) -> str:
    """Return the text of the TOML file `path`, unparsed.

    Raises:
        OSError: as `opened`.
        ValueError: the file is not UTF-8.
    """
    return read_file(path, MOST_TEXT, follow=follow).decode("utf-8")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        ((name, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has more than one {shown(name)}")
    return table


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode(json.detect_encoding(text), "surrogatepass")


_JSON = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_unique)
"""Created once, because creating a decoder takes longer than parsing a line."""


def _parsed(parse: Callable[[], Any], *, is_shallow: bool = False) -> Any:
    """Return the result of `parse`. Raise a one-line `ValueError` if it fails or is nested too deeply.

    Args:
        is_shallow: whether the text has so few brackets that the depth need not be checked.
    """
    try:
        value = parse()
    except RecursionError:
        raise ValueError(f"it is nested deeper than {DEEPEST}") from None
    except ValueError as error:
        raise ValueError(_first_line(error)) from None
    if not is_shallow:
        _require_shallow(value)
    return value


def _require_shallow(value: Any) -> None:
    """Raise `ValueError` for a value nested deeper than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST):
        level = [part for item in level if isinstance(item, dict | list) for part in _parts(item)]
        if not level:
            return
    raise ValueError(f"it is nested deeper than {DEEPEST}")


def _parts(item: dict[str, Any] | list[Any]) -> list[Any]:
    return list(item.values()) if isinstance(item, dict) else item


def _first_line(error: ValueError) -> str:
    """Return the first line of a parser's error, shortened if it quotes much text."""
    line = next(iter(str(error).splitlines()), "")
    return line if len(line) <= 200 else shown(line)

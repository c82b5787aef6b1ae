"""What a rival leaves in its folder: `rival.json`, which says what it is, and `log.jsonl`, a line now and then.

Everything here is plain JSON, written by the training and read by the engine (`gtp_server.py`).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rival_arguments import refuse

ABOUT, LOG = "rival.json", "log.jsonl"


def new_folder(name: str) -> Path:
    """An empty folder of that name, made if need be; the script is refused where there is something in it."""
    folder = Path(name).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            refuse(f"expected a new folder, got {name!r}, which has files: give another --folder")
    except OSError as error:
        refuse(f"the folder {name!r} cannot be made: {error.strerror}")
    return folder


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Say what lies in `folder`."""
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n")


def read_about(name: str) -> dict[str, Any]:
    """What `write_about` said; the script is refused where it said nothing."""
    try:
        about = json.loads((Path(name) / ABOUT).read_text())
    except (OSError, ValueError):
        refuse(f"expected the folder of a rival, with its {ABOUT}, got {name!r}: train one first")
    if not isinstance(about, dict) or not all(isinstance(about.get(name), str) for name in ("rival", "game")):
        refuse(f"expected a rival and a game in {ABOUT} of {name!r}: train one anew")
    return about


class Log:
    """Lines of JSON in the folder, and the same on standard output.

    Attributes:
        minutes: since it was made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG
        self._start = time.monotonic()

    @property
    def minutes(self) -> float:
        """Since it was made."""
        return (time.monotonic() - self._start) / 60

    def write(self, **counts: float) -> None:
        """A line of these counts, with the minutes before them."""
        line = {"minutes": round(self.minutes, 3)} | {name: round(count, 4) for name, count in counts.items()}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print("  ".join(f"{name} {count:,}" for name, count in line.items()), flush=True)

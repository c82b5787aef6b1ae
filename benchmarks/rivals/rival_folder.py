"""The folder of a rival: `rival.json` with its settings, and `log.jsonl` with its progress.

The training writes them, and the engine (`gtp_server.py`) reads them.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rival_arguments import refuse

ABOUT, LOG = "rival.json", "log.jsonl"


def new_folder(name: str) -> Path:
    """Creates an empty folder, or ends the script if it has files."""
    folder = Path(name).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            refuse(f"expected a new folder, got {name!r}, which has files: give another --folder")
    except OSError as error:
        refuse(f"the folder {name!r} cannot be created: {error.strerror}")
    return folder


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Writes the settings."""
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n")


def read_about(name: str) -> dict[str, Any]:
    """Reads the settings, or ends the script if there are none."""
    try:
        about = json.loads((Path(name) / ABOUT).read_text())
    except (OSError, ValueError):
        refuse(f"expected the folder of a rival, with its {ABOUT}, got {name!r}: train one first")
    if not isinstance(about, dict) or not all(isinstance(about.get(name), str) for name in ("rival", "game")):
        refuse(f"expected a rival and a game in {ABOUT} of {name!r}: train one anew")
    return about


class Log:
    """Writes lines of JSON to the folder and to standard output.

    Attributes:
        minutes: time since construction.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG
        self._start = time.monotonic()

    @property
    def minutes(self) -> float:
        """Time since construction, in minutes."""
        return (time.monotonic() - self._start) / 60

    def write(self, **counts: float) -> None:
        """Writes a line with the minutes and these counts."""
        line = {"minutes": round(self.minutes, 3)} | {name: round(count, 4) for name, count in counts.items()}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print("  ".join(f"{name} {count:,}" for name, count in line.items()), flush=True)

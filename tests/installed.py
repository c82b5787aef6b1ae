"""Engines that are installed on this machine, for the tests that play with them."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

GAMES = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games", "/usr/local/games"])
"""Where programs are looked for; Debian's games lie where not every PATH leads."""
FAIRY_STOCKFISH = shutil.which("fairy-stockfish", path=GAMES)
GNUBG = shutil.which("gnubg", path=GAMES)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The browser in which pages are tested."""

needs_sphinx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo")),
    reason="needs Sphinx, MyST and Furo, which are not installed: `make docs` installs them",
)
needs_fairy_stockfish = pytest.mark.skipif(
    FAIRY_STOCKFISH is None, reason="needs fairy-stockfish: `apt install fairy-stockfish`, or see docs/engines.md"
)
needs_gnubg = pytest.mark.skipif(GNUBG is None, reason="needs GNU Backgammon: `apt install gnubg`")

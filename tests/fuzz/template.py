"""What each sandbox begins with: a finished run, one of another game, and a finished experiment; made once."""

from __future__ import annotations

import os
from pathlib import Path

from command_lines import TINY
from forked import run_forked
from sandbox import make_experiment

MATCHES = 6
"""Of the run `runs/ttt`."""


def make_template(root: Path) -> Path:
    """Make the template below `root`, in processes that end, so the parent of all cases never computes."""
    template = root / "template"
    template.mkdir(parents=True)
    make_experiment(template)
    run = ["--matches", str(MATCHES), "--checkpoint-seconds", "0", "--search.resolved-hours", "1", *TINY]
    for words in (
        ["train", "tic_tac_toe", "--folder", "runs/ttt", *run],
        ["train", "hex(board_size=3)", "--folder", "runs/hex", *run],
        ["experiment", "exp.toml", "--folder", "runs/exp", "--processes", "1"],
    ):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        ended = run_forked(
            lambda words=words: _main(words),
            folder=template,
            environment=environment,
            notes=root / "notes",
            patience=100.0,
            limit=100.0,
        )
        if ended.code != 0:
            raise RuntimeError(f"athenan {' '.join(words)} ended with {ended.code}: {ended.stderr}")
    return template


def preload() -> None:
    """Import what the cases need, so that a fork need not."""
    import importlib

    import agents  # noqa: F401
    import athenan_spiel.cli.main
    import athenan_spiel.experiments
    import athenan_spiel.training.callbacks
    import athenan_spiel.training.loading
    import athenan_spiel.training.loop
    import ludii_bridge.report  # noqa: F401

    for command in athenan_spiel.cli.main.COMMANDS:
        importlib.import_module(f"athenan_spiel.cli.{command}")


def _main(words: list[str]) -> int:
    from athenan_spiel.cli.main import main

    return main(words)

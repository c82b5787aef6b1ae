"""The agents of `zoo/` are what docs/zoo.md says, and play."""

from __future__ import annotations

import hashlib
import io
import os
import random
from pathlib import Path

import pytest
from test_readme import blocks, in_short

import athenan_spiel as ath
import ludii_bridge
from athenan_spiel.cli.main import main
from athenan_spiel.training.agent_file import read_agent_header
from ludii_bridge import LudiiError

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "zoo.md"
FILES = sorted((ROOT / "zoo").glob("*.safetensors"))
LARGEST = 1_000_000
"""Bytes of a file."""


def require_ludii_for(game: str) -> None:
    if game.startswith("ludii"):
        try:
            ludii_bridge.connect()
        except LudiiError as error:
            pytest.skip(f"needs Java and Ludii: {error}")


def row_of(file: Path) -> list[str]:
    """The row of the page's table on a file."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    (row,) = [row for row in rows if row[0] == f"[{file.stem}](../zoo/{file.name})"]
    return row


def test_there_are_some_and_each_has_its_row() -> None:
    assert len(FILES) >= 4
    assert PAGE.read_text(encoding="utf-8").count("](../zoo/") == len(FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_what_the_page_says(file: Path) -> None:
    data, header, row = file.read_bytes(), read_agent_header(file), row_of(file)
    assert len(data) < LARGEST
    assert f"{hashlib.sha256(data).hexdigest()}  zoo/{file.name}\n" in PAGE.read_text(encoding="utf-8")
    assert row[1] == f"`{header.game}`"
    assert row[2].startswith(f"{round(header.counters.seconds / 60)} minutes")
    assert row[3] == f"{header.counters.matches:,}"
    assert row[4] == f"{len(data):,}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_agent_plays(file: Path) -> None:
    require_ludii_for(read_agent_header(file).game)
    agent = ath.load_agent(file, budget=ath.Budget(iterations=3), seed=0)
    state, rng = agent.game.new_initial_state(), random.Random(0)
    for _ in range(3):
        action = agent.step(state)
        assert action in state.legal_actions()
        state.apply_action(action)
        state.apply_action(rng.choice(state.legal_actions()))


def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand in blocks of `console`, as they are for the folder of the repository."""
    os.symlink(ROOT / "zoo", tmp_path / "zoo")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    lines = [line for block in blocks(PAGE, "console") for line in block.splitlines() if line.startswith("athenan ")]
    assert lines
    for line in lines:
        words = [word.replace("@30i", "@2i") for word in line.split()[1:]]
        assert main(in_short(words)) == 0, line

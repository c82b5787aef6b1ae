"""Each message that docs/faq.md quotes is one of ours: it is provoked here, or a text of the source makes it."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest
from pages import DOCS, ROOT, blocks

from athenan_spiel.cli.main import main
from athenan_spiel.training.run_folder import RunFolder

MESSAGES = [text.strip() for text in blocks(DOCS / "faq.md", "text")]
PROVOKED = {
    "no game is called 'conect_four'": "train conect_four",
    "kuhn_poker is not supported": "train kuhn_poker",
    "hex has no parameter 'size'": "train hex(size=5)",
    "the brackets of 'hex(board_size=5'": "train hex(board_size=5",
    "no game is called 'Surakarta'": "train Surakarta",
    "expected the folder of a run or an agent file": "eval runs/c4 --against random",
    "'runs/ttt' holds a run already": "train tic_tac_toe --matches 1 --folder runs/ttt",
    "another process is training in 'runs/ttt'": "resume runs/ttt --matches 1",
    "the run in 'runs/ttt' has no checkpoint": "resume runs/ttt --matches 1",
    "checkpoint runs/ttt/checkpoints/000002 is damaged": "eval runs/ttt@2i --against random --matches 2",
    "'runs/ttt' learned": "eval runs/ttt@2i --against random --matches 2 --game connect_four",
    "expected an agent, such as": "eval runs/ttt@2i --against mtcs:100",
    "the search 'puct' needs": "eval runs/ttt:puct@2i --against random",
    "gnu-go cannot be started": "eval runs/ttt@2i --against gtp:gnu-go",
    "matches.jsonl cannot be read": "replay matches.jsonl",
    "unknown option '--search.iteration'": "train tic_tac_toe --search.iteration 5",
    "expected a length of time above zero": "train tic_tac_toe --time 5x",
    "outcome 'score' needs a game": "train tic_tac_toe --outcome score --matches 1 --folder runs/new",
}
"""How messages begin after the name of the command, and the words of a command that says them."""
FIXED = 20
"""Characters at least of a text of the source that do not vary."""
SHARE = 0.8
"""Of a message at least that one text makes; before it may stand the name of a setting or of a command."""


def of_a_command(message: str) -> str:
    """The message without the name of the command before it."""
    return re.sub(r"^athenan \w+: ", "", message)


def provoking(message: str) -> str | None:
    return next((words for start, words in PROVOKED.items() if of_a_command(message).startswith(start)), None)


@pytest.mark.parametrize("message", [x for x in MESSAGES if provoking(x)], ids=lambda text: text[:60])
def test_a_message_is_what_the_command_says(
    message: str, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "runs" / "ttt"
    shutil.copytree(trained, run)
    if "is damaged" in message:
        weights = run / "checkpoints" / "000002" / "weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    if "has no checkpoint" in message:
        shutil.rmtree(run / "checkpoints")
    words = provoking(message) or ""
    with RunFolder(run).locked() if "another process" in message else nullcontext():
        assert main(words.split(" ")) == 2
    assert capsys.readouterr().err.strip() == message


@pytest.mark.parametrize("message", [x for x in MESSAGES if not provoking(x)], ids=lambda text: text[:60])
def test_a_message_is_made_by_a_text_of_the_source(message: str) -> None:
    assert is_made(of_a_command(message))


def is_made(message: str) -> bool:
    """Whether a text of the source makes the end of `message`, and most of it."""
    ends = (pattern.search(message) for pattern in patterns())
    return any(end is not None and len(end[0]) >= SHARE * len(message) for end in ends)


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    """The texts of the source that have enough that does not vary, each as an expression for what ends as it says."""
    found = set()
    for package in ("athenan_spiel", "agents", "ludii_bridge"):
        for path in (ROOT / package).glob("**/*.py"):
            found.update(_patterns_of(ast.parse(path.read_text(encoding="utf-8"))))
    return tuple(re.compile(pattern + r"\Z", re.DOTALL) for pattern in found)


def _patterns_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        texts = [part.value if isinstance(part, ast.Constant) else None for part in parts]
        if sum(len(text) for text in texts if isinstance(text, str)) >= FIXED:
            yield "".join(re.escape(text) if isinstance(text, str) else ".+?" for text in texts)


def test_every_provocation_is_of_a_message() -> None:
    starts = [start for start in PROVOKED if not any(of_a_command(text).startswith(start) for text in MESSAGES)]
    assert starts == []


@pytest.mark.parametrize(
    "message",
    ["the moon is in the wrong place: wait a month", "port 8000 is in use: name another one, such as --part 1"],
)
def test_a_message_that_nobody_makes_would_be_seen(message: str) -> None:
    assert not is_made(message)

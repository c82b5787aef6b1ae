"""`athenan bench`: its tables, its JSON, the words it refuses, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from clocks import HANG_SECONDS
from command_line import ATHENAN, TINY, Out, complaint

from athenan_spiel.cli import bench
from athenan_spiel.cli.main import main
from athenan_spiel.measuring.report import PARTS, SECONDS
from athenan_spiel.training.presets import FITTED

pytestmark = pytest.mark.usefixtures("forked_workers")

BENCH = ["bench", "tic_tac_toe", "--time", "0.3s", *TINY]


def test_every_part_has_a_table(capsys: Out) -> None:
    """In a time in which a round ends, which a busy machine takes a second for."""
    assert main(["bench", "tic_tac_toe", "--time", "2s", *TINY, "--workers", "0"]) == 0
    captured = capsys.readouterr()
    lines = [line.strip() for line in captured.out.splitlines()]
    titles = [line for line in lines if line.split(":")[0] in (*PARTS, "training without workers") and "│" not in line]
    assert [title.split(":")[0] for title in titles] == [*PARTS[:4], "training without workers", "memory"]
    assert "cores" in lines[0] or "1 core" in lines[0]
    assert "torch" in lines[1]
    assert lines[2].startswith("tic_tac_toe(): ")
    assert captured.err == ""


def test_json_is_one_document_of_what_was_asked_for(capsys: Out) -> None:
    assert main([*BENCH, "--only", "memory", "search", "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert captured.err == ""
    assert [part for part in PARTS if document[part] is not None] == ["search", "memory"]
    assert document["game"] == "tic_tac_toe()"
    assert document["config"]["network"]["filters"] == 4
    assert document["machine"].keys() >= {"processor", "cores", "instructions", "memory", "torch", "openvino"}
    assert [speed["play"] for speed in document["search"]] == ["self_play", "thinking"] * 2


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {"seconds": SECONDS, "parts": PARTS, "workers": None}),
        (["--time", "2m"], {"seconds": 120.0}),
        (["--seconds", "7"], {"seconds": 7.0}),
        (["--only", "network"], {"parts": ("network",)}),
        (["--workers", "0", "3", "0"], {"workers": [0, 3]}),
        (["--preset", "gumbel"], {"fit": []}),
        (
            ["--matches-at-once", "3"],
            {"fit": list(FITTED[1:])},
        ),
    ],
)
def test_words_are_what_is_measured(words: list[str], given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(Exception):  # noqa: N818 - it says no error
        pass

    def asked(game: object, config: object, **options: Any) -> None:
        assert str(game) == "connect_four()"
        assert {name: options[name] for name in given} == given
        raise Asked

    monkeypatch.setattr("athenan_spiel.measuring.bench", asked, raising=False)
    with pytest.raises(Asked):
        bench.run(words)


def test_the_presets_are_listed(capsys: Out) -> None:
    assert main(["bench", "--preset"]) == 0
    assert capsys.readouterr().out.startswith("quick ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["conect_four"], "did you mean 'connect_four'?"),
        (["kuhn_poker"], "kuhn_poker"),
        (["--engine.name", "torhc"], "torhc"),
        (["--engine.threads", "1024"], "engine.threads must be at most"),
        (["--preset", "fast"], "preset must be one of quick, hour, day, td_lambda, "),
        (["--config", "absent.toml"], "absent.toml cannot be read"),
        (["--time", "soon"], "expected a length of time above zero"),
        (["--time", "1m", "--seconds", "60"], "expected --time or --seconds"),
        (["--seconds", "none"], "seconds must be a number here, got none"),
        (["--matches", "5"], "matches must be none, as measurements end by their time, got 5"),
        (["--only", "netwrok"], "netwrok"),
        (["--only"], "parts must contain some of network, "),
        (["--workers", "many"], "--workers must be a whole number or auto, got 'many'"),
        (["--workers", "-1"], ""),
        (["--workers", "5000"], "workers.count must be at most 1,000, got 5000"),
        (["--outcome", "winning"], "winning"),
        (["--sjon"], "did you mean '--json'?"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_bad_words_get_one_or_two_lines(words: list[str], said: str, capsys: Out) -> None:
    assert said in complaint(capsys, "bench", *words)


def test_a_device_that_is_not_there_is_said(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "engine.name='cuda' needs a CUDA device" in complaint(capsys, "bench", "--engine.name", "cuda")


@pytest.mark.slow("a real benchmark with a worker, ten seconds")
def test_ctrl_c_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    words = ["bench", "tic_tac_toe", "--time", "1h", "--only", "training", "--workers", "1", *TINY]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [*ATHENAN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + HANG_SECONDS
    while not any("match_finished" in file.read_text() for file in tmp_path.glob("athenan-*/run/metrics.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, out, said) == (130, "", "athenan bench: stopped\n")
    assert not list(tmp_path.iterdir())

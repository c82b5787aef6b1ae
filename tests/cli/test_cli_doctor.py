"""`athenan doctor`: its lines, its document, its exit code; it runs without the command line's own packages."""

from __future__ import annotations

import json
import sys

import pytest
from command_line import Out, complaint

from athenan_spiel.cli import doctor
from athenan_spiel.cli.main import main
from athenan_spiel.measuring.health import CheckResult


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing is asked: torch is there, and Ray is not."""
    torch = CheckResult(what="torch", state="found", needed=True, text="2.13.0")
    ray = CheckResult(what="ray", state="missing", needed=False, text="pip install ray")
    monkeypatch.setattr(doctor, "findings", lambda: [torch, ray])


def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = CheckResult(what="torch", state="broken", needed=True, text="ImportError: no")
    monkeypatch.setattr(doctor, "findings", lambda: [torch])


def test_what_is_found_is_a_line_each(capsys: Out) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["torch", "found", "2.13.0"]
    assert lines[1].split() == ["ray", "missing", "pip", "install", "ray"]
    assert {"jpype1", "Java", "Ludii", "Ludii's"} <= {line.split()[0] for line in lines[2:-2]}
    assert lines[-1] == "Training is possible: athenan train connect_four --preset quick --time 3m"


def test_what_is_needed_and_broken_is_code_3(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    without_torch(monkeypatch)
    assert main(["doctor"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["torch", "BROKEN"]
    assert lines[-1] == "Training is not possible; install or repair: torch"


def test_as_json(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["can_train"]
    assert document["findings"][0] == {"what": "torch", "state": "found", "needed": True, "text": "2.13.0"}
    without_torch(monkeypatch)
    assert main(["doctor", "--json"]) == 3
    assert not json.loads(capsys.readouterr().out)["can_train"]


@pytest.mark.parametrize("module", ["tyro", "ludii_bridge.report"])
def test_it_runs_without(module: str, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "athenan_spiel.cli.parsing", raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    broken = [x["what"] for x in document["findings"] if x["state"] == "broken"]
    assert broken == (["Ludii"] if module == "ludii_bridge.report" else [])


def test_another_word_is_refused(capsys: Out) -> None:
    assert complaint(capsys, "doctor", "--jsno") == (
        "athenan doctor: unknown option '--jsno': did you mean '--json'?\n"
    )

"""`athenan web` as a process: its list of runs, their curves, a match against one, who is refused, and how it ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from serving import PATIENCE, serving

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")

ROOT = Path(__file__).resolve().parents[2]


class Pages:
    """`athenan web FOLDER`, and what it answers."""

    def __init__(self, port: int, line: str, process: subprocess.Popen[str]) -> None:
        self.port, self.line, self.process = port, line, process

    def ask(self, path: str, **headers: str) -> tuple[int, str, str]:
        """Status, text, and where it leads."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer.getheader("location") or ""


@pytest.fixture(scope="module")
def pages(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("web")
    shutil.copytree(tiny_run, folder / "one")
    shutil.copytree(tiny_run, folder / "other")
    command = [sys.executable, "-m", "athenan_spiel", "web", str(folder), "--port"]
    with serving(lambda port: [*command, str(port)], "open http", PYTHONPATH=str(ROOT)) as server:
        yield Pages(*server)


def test_runs_are_listed_shown_and_compared(pages: Pages) -> None:
    status, text, _ = pages.ask("/")
    assert status == 200
    assert "tic_tac_toe()" in text
    for path in ("/run/one", "/compare?run=one&run=other"):
        status, text, _ = pages.ask(path)
        assert status == 200
        assert "games in" in text
        assert "Loss" in text


def test_a_match_against_a_run_is_begun(pages: Pages) -> None:
    status, _, where = pages.ask("/play/one")
    assert status == 307
    status, text, _ = pages.ask(where)
    assert status == 200
    assert "your turn" in text


@pytest.mark.parametrize(
    "path",
    [
        *("/run/nobody", "/run/..", "/run/%2e%2e%2fone", "/play/nobody", "/report/one", "/match/guess", "/compare"),
        *("/compare?run=nobody", "/compare?" + "&".join(["run=one"] * 200)),
    ],
)
def test_what_is_not_there_is_told_and_no_fault(pages: Pages, path: str) -> None:
    status, text, _ = pages.ask(path)
    assert status in (200, 404)
    assert "Traceback" not in text


def test_others_are_refused(pages: Pages) -> None:
    assert pages.ask("/", Host="evil.example")[0] == 403
    assert pages.ask("/run/one", Origin="http://evil.example")[0] == 403


def test_ctrl_c_ends_it(pages: Pages) -> None:
    pages.process.send_signal(signal.SIGINT)
    said, _ = pages.process.communicate(timeout=PATIENCE)
    assert pages.process.returncode == 0, said
    assert pages.line == f"open http://127.0.0.1:{pages.port}/ in a browser; press Ctrl-C to stop\n"
    assert "Traceback" not in said

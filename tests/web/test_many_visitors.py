"""Many runs and many visitors: pages of runs load fast, respond to others meanwhile, and leave nothing in memory."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from serving import PATIENCE, serving

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")
aiohttp = pytest.importorskip("aiohttp", reason="needs aiohttp, which NiceGUI needs")

import socketio  # noqa: E402 - NiceGUI needs it

pytestmark = pytest.mark.slow(reason="opens a thousand pages")

ROOT = Path(__file__).resolve().parents[2]
RUNS = 200
VISITORS = 50
VISITS = 1000
AT_ONCE = 20
LINES = 2000
"""Lines of metrics of each run, about 200 kB."""
FIRST_SECONDS = 10.0
"""Maximum time of the first visit, which waits for the start of the server: 0.8 s to 4 s on two busy cores."""
SLOW_MACHINE = 4.0
"""Factor on the expected times for a busy machine."""
PAGES = ("/", "/run/run-001", "/compare?run=run-001&run=run-002")


@pytest.fixture(scope="module")
def folder(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many")
    events = (tiny_run / "metrics.jsonl").read_text().splitlines()
    played = [line for line in events if json.loads(line)["event"] not in ("run_started", "run_finished")]
    for number in range(RUNS):
        path = folder / f"run-{number:03}"
        shutil.copytree(tiny_run, path, ignore=shutil.ignore_patterns("checkpoints", "tensorboard"))
        many = [events[0], *(played * (LINES // len(played) + 1))[:LINES], events[-1]]
        (path / "metrics.jsonl").write_text("\n".join(many) + "\n")
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "athenan_spiel", "web", str(folder), "--port"]
    with serving(lambda port: [*command, str(port)], "open http", PYTHONPATH=str(ROOT)) as (port, _, process):
        yield f"http://127.0.0.1:{port}", process


class FakeBrowser:
    """Opens pages as a browser does, with a connection for each, and runs no scripts."""

    def __init__(self, address: str, session: aiohttp.ClientSession) -> None:
        self.address = address
        self.session = session

    async def open(self, path: str) -> tuple[float, socketio.AsyncClient]:
        """Returns the time until the page was there, in seconds, and its connection."""
        start = time.monotonic()
        async with self.session.get(self.address + path) as answer:
            text = await answer.text()
            assert answer.status == 200
        seconds = time.monotonic() - start
        found = re.search(r"'client_id': '([^']+)'", text)
        assert found is not None
        identity = dict.fromkeys(("client_id", "document_id", "tab_id"), found[1])
        connection = socketio.AsyncClient()
        await connection.connect(
            self.address, socketio_path="/_nicegui_ws/socket.io", transports=["websocket"], wait_timeout=PATIENCE
        )
        assert await connection.call("handshake", {**identity, "next_message_id": 0}, timeout=PATIENCE)
        return seconds, connection


def browsed(address: str, *visits: Sequence[str]) -> list[list[float]]:
    """Opens the pages of each group, at most `AT_ONCE` at a time; each group stays until it is complete.

    Returns:
        Times until the pages were there, in seconds.
    """

    async def main() -> list[list[float]]:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session:
            browser, limit = FakeBrowser(address, session), asyncio.Semaphore(AT_ONCE)

            async def visit(path: str) -> tuple[float, socketio.AsyncClient]:
                async with limit:
                    return await browser.open(path)

            times = []
            for paths in visits:
                found = await asyncio.gather(*map(visit, paths))
                times.append([seconds for seconds, _ in found])
                await asyncio.gather(*(connection.disconnect() for _, connection in found))
            return times

    return asyncio.run(main())


def megabytes(process: subprocess.Popen[str]) -> float:
    """Returns the resident memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


def test_a_folder_of_many_runs_loads_within_a_second(server: tuple[str, subprocess.Popen[str]]) -> None:
    address, _ = server
    (first,), *later = browsed(address, *[["/"]] * 5)
    sys.stdout.write(f"first {first:.2f} s, later {statistics.median(x for (x,) in later):.2f} s\n")
    assert first < FIRST_SECONDS
    assert statistics.median(x for (x,) in later) < 1.0


def test_pages_respond_to_many_visitors(server: tuple[str, subprocess.Popen[str]], folder: Path) -> None:
    """The visitors stay while a run continues, so the server updates all their pages."""
    address, _ = server

    async def main() -> list[float]:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session:
            browser = FakeBrowser(address, session)
            connections = [(await browser.open(PAGES[i % len(PAGES)]))[1] for i in range(VISITORS)]
            times = []
            line = (folder / "run-001" / "metrics.jsonl").read_text().splitlines()[1]
            for _ in range(20):
                with (folder / "run-001" / "metrics.jsonl").open("a") as file:
                    file.write(line + "\n")
                start = time.monotonic()
                async with session.get(address + "/run/none") as answer:
                    assert answer.status == 404
                times.append(time.monotonic() - start)
                await asyncio.sleep(0.5)
            await asyncio.gather(*(connection.disconnect() for connection in connections))
            return times

    times = asyncio.run(main())
    sys.stdout.write(f"median {statistics.median(times):.3f} s, maximum {max(times):.3f} s\n")
    assert statistics.median(times) < 0.25 * SLOW_MACHINE
    assert max(times) < 1.0 * SLOW_MACHINE


def test_visits_leave_nothing_in_memory(server: tuple[str, subprocess.Popen[str]]) -> None:
    address, process = server
    groups = [[PAGES[i % len(PAGES)] for i in range(AT_ONCE)]] * (VISITS // AT_ONCE // 4)
    sizes = []
    for _ in range(5):
        browsed(address, *groups)
        time.sleep(25)  # pages are deleted 20 s after their browser has left
        sizes.append(megabytes(process))
    sys.stdout.write(f"MB after each 250 visits: {[round(size) for size in sizes]}\n")
    assert sizes[-1] - sizes[0] < 20, "after 1,000 visits more"


def test_visits_of_games_leave_nothing_in_memory() -> None:
    """Every other visitor starts a game, and the others open an analysis board by a link."""
    command = [sys.executable, "-m", "athenan_spiel", "play", "random", "--game", "connect_four", "--web", "--port"]
    with serving(lambda port: [*command, str(port)], "open http", PYTHONPATH=str(ROOT)) as (port, _, process):
        address = f"http://127.0.0.1:{port}"
        groups = [["/", "/analyse?game=connect_four()&moves=3,3,2"] * (AT_ONCE // 2)] * (VISITS // AT_ONCE // 4)
        sizes, times = [], []
        for _ in range(7):
            times += [seconds for group in browsed(address, *groups) for seconds in group]
            time.sleep(25)
            sizes.append(megabytes(process))
    sys.stdout.write(f"MB after each 250 visits: {[round(size) for size in sizes]}; ")
    sys.stdout.write(f"median {statistics.median(times):.2f} s, maximum {max(times):.2f} s\n")
    assert sizes[-1] - sizes[2] < 20, "after 1,000 visits more; the first fill the sessions that are kept"

"""`athenan web` on a folder of hostile names and files, and hostile requests: no page fails, each link leads right."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from serving import PATIENCE, serving

pytestmark = pytest.mark.slow(reason="tries hostile folders on a web server")

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")

ROOT = Path(__file__).resolve().parents[2]
NAMES = [
    *("new\nline", "end\n", "\r\n", "tab\there", " space", "\x1b[31m", "\u202eright to left", "emoji 🎲", "ü"),
    *(
        'double"quote',
        "single'quote",
        "back\\x",
        "back\\u12",
        "back\\",
        "<b>&amp;",
        "`${alert(1)}`",
        "{{7*7}}",
        "$x_1$",
    ),
    *("100%", "%2e%2e", "%41", "a+b", "a?b&run=c", "a#640", "a@0.5s", "gtp:true", "...", "..x", "x" * 200),
    "<\u2215script><script>alert(1)<\u2215script>",
]
SOUND = "sound"


class Answer:
    """Status and body of a response, and the connection's other bytes."""

    def __init__(self, content: bytes) -> None:
        head, _, body = content.partition(b"\r\n\r\n")
        found = re.match(rb"HTTP/1.1 (\d+)", head)
        self.status = int(found[1]) if found else None
        self.head, self.text = head.decode("latin-1"), body.decode("utf-8", "replace")

    @property
    def location(self) -> str:
        found = re.search(r"^location: (\S+)\r?$", self.head, re.M)
        return found[1] if found else ""


class Server:
    """A server that takes any bytes for a request."""

    def __init__(self, port: int) -> None:
        self.port = port

    def send(self, content: bytes) -> Answer:
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(content)
            while part := connection.recv(65536):
                received += part
        return Answer(received)

    def get(self, path: str | bytes, *headers: bytes) -> Answer:
        path = path.encode() if isinstance(path, str) else path
        lines = [b"GET " + path + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *headers, b"", b""]
        return self.send(b"\r\n".join(lines))


@pytest.fixture(scope="module")
def folder(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for name in (SOUND, *NAMES):
        shutil.copytree(tiny_run, folder / name)
    (folder / "no UTF-8 \udcff").mkdir()
    shutil.copy(tiny_run / "config.toml", folder / "no UTF-8 \udcff" / "config.toml")
    (folder / "half a pair").mkdir()
    shutil.copy(tiny_run / "config.toml", folder / "half a pair" / "config.toml")
    (folder / "half a pair" / "metrics.jsonl").write_text('{"event": "run_started", "network": "\\ud800"}\n')
    (folder / "deep\nquotes").mkdir()
    (folder / "deep\nquotes" / "report.md").write_text(">" * 100_000)
    (folder / "pasted").mkdir()
    (folder / "pasted" / "report.md").write_text(
        "# Title\n\n<script>alert(1)</script> [link](javascript:alert(1)) ![picture](http://other.example/x.png)\n"
    )
    return folder


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[tuple[Server, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "athenan_spiel", "web", str(folder), "--port"]
    with serving(lambda port: [*command, str(port)], "open http", PYTHONPATH=str(ROOT)) as (port, _, process):
        yield Server(port), process


@pytest.fixture
def server(running: tuple[Server, subprocess.Popen[str]]) -> Server:
    return running[0]


def addresses(text: str) -> set[str]:
    """Returns the addresses of runs in the table, which the page contains as JSON in JSON."""
    return set(re.findall(r'"address": "([^"]*)"', unescape(text).replace("\\", "")))


def test_every_run_is_listed_and_its_link_leads_to_it(server: Server) -> None:
    answer = server.get("/")
    assert answer.status == 200
    assert addresses(answer.text) == {quote(name, safe="") for name in (SOUND, *NAMES, "half a pair")}
    assert "alert(1)</script>" not in answer.text
    assert "no UTF-8" in answer.text, "a name that is not UTF-8 has no link"


@pytest.mark.parametrize("name", [SOUND, *NAMES, "half a pair"])
def test_a_run_of_any_name_is_shown(name: str, server: Server) -> None:
    answer = server.get("/run/" + quote(name, safe=""))
    assert answer.status == 200
    assert "games in" in answer.text
    assert "alert(1)</script>" not in answer.text


@pytest.mark.parametrize("name", [*NAMES[::4], "a#640", "a@0.5s", "gtp:true"])
def test_a_run_of_any_name_can_be_played(name: str, server: Server) -> None:
    """It is that run that plays, and not what its name would mean as the word of an agent."""
    answer = server.get("/play/" + quote(name, safe=""))
    assert answer.status == 307
    answer = server.get(answer.location)
    assert answer.status == 200
    assert "your turn" in answer.text


def test_runs_of_any_names_are_compared(server: Server) -> None:
    names = ["new\nline", 'double"quote', "%41", "a?b&run=c"]
    by_form = "&".join(f"run={quote(quote(name, safe=''), safe='')}" for name in names)
    by_hand = "&".join(f"run={quote(name, safe='')}" for name in names)
    for query in (by_form, by_hand):
        answer = server.get("/compare?" + query)
        assert answer.status == 200
        assert answer.text.count("games in") == len(names)
    many = "&".join(f"run={quote(quote(name, safe=''), safe='')}" for name in NAMES)
    assert "Only 8 of these" in server.get("/compare?" + many).text


def test_a_report_that_is_nested_without_end_is_shown(server: Server) -> None:
    answer = server.get("/report/" + quote("deep\nquotes"))
    assert answer.status == 200
    assert "blockquote" in answer.text


def test_a_report_holds_no_script_and_nothing_of_other_sites(server: Server) -> None:
    text = unescape(server.get("/report/pasted").text)
    assert "<h1>Title</h1>" in text
    assert "<script>alert(1)" not in text
    assert 'href=\\"javascript' not in text
    assert "<img" not in text


@pytest.mark.parametrize(
    ("path", "headers", "statuses"),
    [
        ("/", [b"Origin: http://["], {400, 403}),
        ("/", [b"Origin: \xff\xfe"], {400, 403}),
        ("/", [b"Origin: http://localhost", b"Origin: http://other.example"], {400, 403}),
        ("/run/%00", [], {400, 404}),
        ("/_nicegui/%00", [], {400, 404}),
        ("/run/%ff%ed%a0%80", [], {404}),
        ("/run/..%2f..%2fetc", [], {404}),
        ("/report/..", [], {404}),
        ("/run/" + "a" * 60_000, [], {404, 414}),
        ("/compare?run=%ff%fe", [], {404}),
        ("/compare?" + "&".join(["run=x"] * 2000), [], {404}),
        (b"/compare?run=\xff\xfe", [], {400}),
        ("/", [b"X: " + b"a" * 200_000], {200, 400, 431}),
        ("/", [f"X{i}: a".encode() for i in range(3000)], {200, 400, 431}),
        ("/", [b'Cookie: athenan_token="\\xff; =;;'], {200, 400}),
        ("/", [b"Accept: text/markdown"], {200}),
        ("/_nicegui_ws/socket.io/?EIO=4&transport=polling&sid=\x01", [], {400}),
        ("/match/" + quote("</script>"), [], {404}),
    ],
)
def test_a_hostile_request_has_a_proper_response(
    path: str | bytes, headers: list[bytes], statuses: set[int], server: Server
) -> None:
    answer = server.get(path, *headers)
    assert answer.status in statuses
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("path", [b"/_nicegui_ws/socket.io/?EIO=4&transport=websocket", b"/", b"/nowhere", b"/%00"])
def test_a_websocket_of_a_bad_origin_is_refused(path: bytes, server: Server) -> None:
    lines = [
        *(b"GET " + path + b" HTTP/1.1", b"Host: localhost", b"Connection: Upgrade", b"Upgrade: websocket"),
        *(b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Origin: http://[", b"", b""),
    ]
    assert server.send(b"\r\n".join(lines)).status == 403


def test_nothing_of_this_was_an_error_of_the_server(running: tuple[Server, subprocess.Popen[str]]) -> None:
    server, process = running
    assert server.get("/").status == 200
    process.terminate()
    said, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said

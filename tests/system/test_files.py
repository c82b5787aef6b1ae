"""Files from elsewhere: not followed, not waited for, not believed in size; and what is written survives a kill."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from athenan_spiel.errors import MAX_SHOWN_CHARACTERS, nearest, shown
from athenan_spiel.system import files
from athenan_spiel.system.files import (
    DEEPEST,
    MOST_TEXT,
    open_lock,
    open_to_append,
    parse_json,
    parse_toml,
    read_file,
    read_toml,
    remove,
    replace_durably,
    require_folder,
    write_durably,
)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that is none of the folder's business."""
    path = tmp_path / "secret"
    path.write_text("secret")
    return path


def odd_things(folder: Path, secret: Path) -> dict[str, Path]:
    """What may lie in a folder in place of a regular file."""
    folder.mkdir()
    (folder / "link").symlink_to(secret)
    (folder / "dangling").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "device").symlink_to("/dev/zero")
    return {name: folder / name for name in ("link", "dangling", "fifo", "folder", "device")}


def test_only_a_regular_file_is_read(tmp_path: Path, secret: Path) -> None:
    for name, path in odd_things(tmp_path / "odd", secret).items():
        with pytest.raises(OSError, match=r"link, which is not followed|no regular file|Is a directory") as error:
            read_file(path, 100)
        assert error.value.strerror, name
    assert read_file(secret, 100) == b"secret"


def test_a_file_that_the_user_names_may_be_a_link_but_no_device(tmp_path: Path, secret: Path) -> None:
    odd = odd_things(tmp_path / "odd", secret)
    assert read_file(odd["link"], 100, follow=True) == b"secret"
    for name in ("fifo", "folder", "device"):
        with pytest.raises(OSError, match=r"no regular file"):
            read_file(odd[name], 100, follow=True)


def test_only_a_regular_file_is_written(tmp_path: Path, secret: Path) -> None:
    for path in odd_things(tmp_path / "odd", secret).values():
        for write in (open_to_append, open_lock):
            with pytest.raises(OSError, match=r"link, which is not followed|no regular file|Is a directory"):
                write(path)
    assert secret.read_text() == "secret"
    assert not (tmp_path / "odd" / "nowhere").exists()


def test_a_file_with_a_second_name_is_not_appended_to(tmp_path: Path, secret: Path) -> None:
    os.link(secret, tmp_path / "metrics.jsonl")
    with pytest.raises(OSError, match="hard link"):
        open_to_append(tmp_path / "metrics.jsonl")


def test_no_file_is_read_beyond_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, 10**12)  # of holes alone
    with pytest.raises(OSError, match="1,000,000,000,000 bytes, more than the 100 that are read"):
        read_file(path, 100)
    if Path("/proc/kallsyms").exists():  # its size says 0
        with pytest.raises(OSError, match="more than the 100 bytes"):
            read_file("/proc/kallsyms", 100)


def test_a_name_with_a_nul_is_an_error_of_the_file() -> None:
    with pytest.raises(OSError, match="null"):
        read_file("a\0b", 100)


def test_replacing_a_file_follows_no_link(tmp_path: Path, secret: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("config.toml", files.UNFINISHED + "config.toml"):
        (folder / name).symlink_to(secret)
    replace_durably(folder / "config.toml", b"new")
    assert secret.read_text() == "secret"
    assert [item.name for item in folder.iterdir()] == ["config.toml"]
    assert not (folder / "config.toml").is_symlink()
    assert read_file(folder / "config.toml", 100) == b"new"


def test_a_folder_in_place_of_the_unfinished_file_is_removed(tmp_path: Path) -> None:
    (tmp_path / (files.UNFINISHED + "a") / "deep").mkdir(parents=True)
    replace_durably(tmp_path / "a", b"new")
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_what_is_there_is_never_written_over(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "link").symlink_to(secret)
    with pytest.raises(FileExistsError):
        write_durably(tmp_path / "link", lambda f: f.write(b"new"))
    assert secret.read_text() == "secret"


def test_the_checksum_is_that_of_what_was_written(tmp_path: Path) -> None:
    assert write_durably(tmp_path / "a", lambda f: f.write(b"abc")).startswith("ba7816bf8f01cfea")


def test_removing_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    remove(tmp_path / "link")
    remove(tmp_path / "nothing")
    assert [item.name for item in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there" / "file").exists()
    remove(tmp_path / "there")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_no_link_and_no_file(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    require_folder(tmp_path)
    require_folder(tmp_path / "nothing")
    with pytest.raises(OSError, match="link, which is not followed"):
        require_folder(tmp_path / "link")
    with pytest.raises(OSError, match="no folder") as error:
        require_folder(secret)
    assert error.value.errno == errno.ENOTDIR


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 5000 + "]" * 5000, "nested deeper"),
        ("[" * 100_000, "nested deeper"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested deeper"),
        ("9" * 5000, "digits"),
        ("{", "Expecting"),
        ("NaN", "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('[{"a": 1, "b": 2, "a": 1}]', "an object has more than one 'a'"),
        ("{" + '"x": 1, ' * 9 + f'"{"y" * 9000}": 1' + f', "{"y" * 9000}": 1' + "}", "an object has more than one 'x'"),
        (b"\xff\xfe\x00", "utf|codec|Expecting"),
    ],
)
def test_what_is_no_json_or_too_deep_is_one_line(text: str | bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as error:
        parse_json(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) <= MAX_SHOWN_CHARACTERS


def test_json_of_ordinary_depth() -> None:
    assert parse_json('{"a": [1, 2.5, "x", null, {"b": true}]}') == {"a": [1, 2.5, "x", None, {"b": True}]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "nested deeper"),
        ("a = " + "{b = " * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1), "nested deeper"),
        ("a = " + "9" * 5000, "digits"),
        ("a" + ".a" * 40_000 + " = 1", "names behind dots"),
        ("[" + "a." * 40_000 + "a]", "names behind dots"),
        ('a = ["""x\n""", {' + "b." * 9000 + 'b = 1}, "x"]', "names behind dots"),
        ('a = ["""x"""", {' + "b." * 9000 + 'b = 1}, "x"]', "names behind dots"),
        ('"a,b"' + ".a" * 9000 + " = 1", "names behind dots"),
        ("a = " + '"x' * MOST_TEXT, "characters, more than"),
        ("a == 1", "Invalid value"),
        ('"' + '\\"' * 100_000, "Unterminated|Expected"),
    ],
)
def test_what_is_no_toml_or_too_deep_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as error:
        parse_toml(text)
    assert "\n" not in str(error.value)


def test_toml_with_many_dots_outside_of_keys() -> None:
    dots = "." * 1000
    assert parse_toml(f"# {dots}\na = '{dots}'\nb = [{'1.5, ' * 100}]\nc.d = 1")["a"] == dots


def test_a_text_of_settings_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a = 1\n")
    assert read_toml(tmp_path / "a") == "a = 1\n"
    (tmp_path / "a").write_bytes(b"#" * (MOST_TEXT + 1))
    with pytest.raises(OSError, match="more than the"):
        read_toml(tmp_path / "a")
    (tmp_path / "a").write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        read_toml(tmp_path / "a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("x", "'x'"),
        (None, "None"),
        ([1, "a"], "[1, 'a']"),
    ],
)
def test_a_value_is_shown_as_its_repr(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_number_too_long_to_write_is_shown_by_its_size() -> None:
    assert shown(10**5000) == "<a whole number of about 5001 digits>"


def test_a_value_is_shown_on_one_line() -> None:
    class Board:
        def __repr__(self) -> str:
            return "...\n.x.\n..."

    assert shown(Board()) == "... .x. ..."


def test_no_value_is_shown_at_length() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    many = {f"key{i}" * 100: "x" * 1000 for i in range(100)}
    for value in ("x" * 10**6, deep, many, list(range(10**5)), 7**1000, b"x" * 10**6, object()):
        assert len(shown(value)) <= MAX_SHOWN_CHARACTERS


def test_no_name_is_near_to_a_very_long_one() -> None:
    assert nearest("mtcs", ["mcts"]) == ": did you mean 'mcts'?"
    assert nearest("mcts" * 10**6, ["mcts"]) == ""
    assert nearest(10**5000, ["mcts"]) == ""

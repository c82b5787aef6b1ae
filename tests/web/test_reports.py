"""Reports as pages: text and pictures of their own folder, within bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from athenan_spiel.web import reports as reports_module
from athenan_spiel.web.reports import Part, list_reports, read_report

PNG = b"\x89PNG\r\n\x1a\nrest"


def report(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "report.md").write_text(text, encoding="utf-8")
    return folder


def parts(folder: Path) -> list[Part]:
    return [part for part in read_report(folder) if part.text.strip() or part.picture]


def test_a_report_is_text_and_pictures_in_order(tmp_path: Path) -> None:
    folder = report(tmp_path / "one", "before ![curve](curve.png) after")
    (folder / "curve.png").write_bytes(PNG)
    before, picture, after = parts(folder)
    assert (before.text.strip(), after.text.strip()) == ("before", "after")
    assert picture.picture.startswith("data:image/png;base64,")


def test_an_experiments_report_is_read(tiny_experiment: Path) -> None:
    (found,) = list_reports(tiny_experiment.parent)
    assert found.name == tiny_experiment.name
    assert parts(found)


def test_only_pictures_of_the_folder_are_shown(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    folder = report(tmp_path / "one", "![a](../secret.png) ![b](away.png) ![c](text.png) ![d](none.png)")
    os.symlink(tmp_path / "secret.png", folder / "away.png")
    (folder / "text.png").write_text("a secret")
    assert [part for part in parts(folder) if part.picture] == []


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports_module, "MOST_PICTURE", 20)
    monkeypatch.setattr(reports_module, "MOST_TEXT", 100)
    folder = report(tmp_path / "one", "![a](large.png)")
    (folder / "large.png").write_bytes(PNG + b"x" * 100)
    assert [part for part in parts(folder) if part.picture] == []
    with pytest.raises(OSError):  # noqa: PT011 - a report that is no report
        parts(report(tmp_path / "two", "x" * 200))


def test_a_folder_elsewhere_is_not_listed(tmp_path: Path) -> None:
    report(tmp_path / "elsewhere", "text")
    (tmp_path / "here").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "here" / "away")
    report(tmp_path / "here" / "own", "text")
    assert [path.name for path in list_reports(tmp_path / "here")] == ["own"]
    assert list_reports(tmp_path / "nowhere") == []

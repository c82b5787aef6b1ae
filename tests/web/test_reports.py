"""Reports as pages: text and pictures of their own folder, within bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from athenan_spiel.web import reports as reports_module
from athenan_spiel.web.reports import MAX_MARKDOWN, list_reports, report_html

PNG = b"\x89PNG\r\n\x1a\nrest"


def report(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "report.md").write_text(text, encoding="utf-8")
    return folder


def test_a_report_is_text_and_pictures_in_order(tmp_path: Path) -> None:
    folder = report(tmp_path / "one", 'before ![a "curve"](curve.png) after')
    (folder / "curve.png").write_bytes(PNG)
    html = report_html(folder)
    assert '<p>before <img class="picture" alt="a &quot;curve&quot;" src="data:image/png;base64,' in html
    assert "> after</p>" in html


@pytest.mark.parametrize("text", ["`![](a.png)`", "```\n![](a.png)\n```", "text\n\n    ![](a.png)", "\\![](a.png)"])
def test_a_picture_in_code_is_text(text: str, tmp_path: Path) -> None:
    folder = report(tmp_path / "one", text)
    (folder / "a.png").write_bytes(PNG)
    assert "<img" not in report_html(folder)


def test_no_more_pictures_are_shown_than_the_bound(tmp_path: Path) -> None:
    folder = report(tmp_path / "one", "![](a.png)" * 100)
    (folder / "a.png").write_bytes(PNG)
    assert report_html(folder).count("<img") == reports_module.MAX_PICTURES


def test_an_experiments_report_is_read(tiny_experiment: Path) -> None:
    (found,) = list_reports(tiny_experiment.parent)
    assert found.name == tiny_experiment.name
    assert '<img class="picture"' in report_html(found)


def test_only_pictures_of_the_folder_are_shown(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(PNG)
    folder = report(tmp_path / "one", "![a](../secret.png) ![b](away.png) ![c](text.png) ![d](none.png)")
    os.symlink(tmp_path / "secret.png", folder / "away.png")
    (folder / "text.png").write_text("a secret")
    html = report_html(folder)
    assert "<img" not in html
    assert "![a](../secret.png)" in html


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports_module, "MAX_PICTURE_BYTES", 20)
    monkeypatch.setattr(reports_module, "MAX_REPORT_BYTES", 100)
    folder = report(tmp_path / "one", "![a](large.png)")
    (folder / "large.png").write_bytes(PNG + b"x" * 100)
    assert "<img" not in report_html(folder)
    with pytest.raises(OSError):  # noqa: PT011 - a report that is no report
        report_html(report(tmp_path / "two", "x" * 200))


def test_a_folder_elsewhere_is_not_listed(tmp_path: Path) -> None:
    report(tmp_path / "elsewhere", "text")
    (tmp_path / "here").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "here" / "away")
    report(tmp_path / "here" / "own", "text")
    assert [path.name for path in list_reports(tmp_path / "here")] == ["own"]
    assert list_reports(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    "text", [">" * 100_000, "> " * 60_000, "- " * 60_000, "[" * 20_000, "*a_" * 5_000, "`" * 100_000]
)
def test_deep_nesting_is_cut_and_no_fault(text: str, tmp_path: Path) -> None:
    html = report_html(report(tmp_path / "one", text))
    assert html.count("<blockquote>") <= reports_module.MAX_NESTING
    assert html.count("<ul>") <= reports_module.MAX_NESTING


def test_text_beyond_the_bound_stays_plain(tmp_path: Path) -> None:
    html = report_html(report(tmp_path / "one", "# <b>\n" + "x" * MAX_MARKDOWN))
    assert "too long" in html
    assert "<h1>" not in html
    assert "# &lt;b&gt;" in html


def test_markdown_is_shown_and_no_html_of_it(tmp_path: Path) -> None:
    text = "# A\n\n|a|b|\n|-|-|\n|1|2|\n\n<img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](http://z/y.png)\n"
    html = report_html(report(tmp_path / "one", text))
    assert "<h1>A</h1>" in html
    assert "<td>2</td>" in html
    assert "<img" not in html
    assert 'href="javascript' not in html


def test_a_report_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    folder = report(tmp_path / "one", "first")
    reader = reports_module.ReportReader(folder)
    assert "first" in (reader.read_new() or "")
    assert reader.read_new() is None
    report(folder, "second, longer")
    assert "second" in (reader.read_new() or "")
    (folder / "report.md").unlink()
    with pytest.raises(OSError, match="No such file"):
        reader.read_new()

"""Table of the settings of runs and their differences, as HTML."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from athenan_spiel.config import NONE, TrainingConfig
from athenan_spiel.training.settings_file import config_to_dict
from athenan_spiel.web.runs import RunEntry


def settings_html(runs: Sequence[RunEntry], *, only_differences: bool) -> str:
    """Returns the settings of runs, with a column for each; those that differ are marked.

    The settings of one run are compared with the defaults, which have a second column.

    Args:
        only_differences: whether settings that are equal everywhere are left out.
    """
    columns = [(run.title, _settings(run.game or "", run.config)) for run in runs if run.config is not None]
    if not columns:
        return "<p>The settings cannot be read.</p>"
    if len(runs) == 1:
        config = runs[0].config
        assert config is not None
        defaults = dataclasses.replace(TrainingConfig(), search=type(config.search)())
        columns = [("value", columns[0][1]), ("default", _settings(runs[0].game or "", defaults))]
    names = dict.fromkeys(name for _, settings in columns for name in settings)
    rows = [_row(name, [settings.get(name, "") for _, settings in columns]) for name in names]
    shown = [html for differs, html in rows if differs or not only_differences]
    if not shown:
        return f"<p>{'All settings are the defaults.' if len(runs) == 1 else 'All settings are equal.'}</p>"
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title, _ in columns)
    return f'<table><thead><tr><th scope="col">setting</th>{head}</tr></thead><tbody>{"".join(shown)}</tbody></table>'


def _row(name: str, values: Sequence[str]) -> tuple[bool, str]:
    """Returns whether the values differ, and the row."""
    differs = len(set(values)) > 1
    cells = "".join(f"<td>{escape(value)}</td>" for value in values)
    mark = ' class="differs"' if differs else ""
    shown = re.sub(r"([._])", r"\1<wbr>", escape(name))
    return differs, f'<tr{mark} data-path="{escape(name)}"><th scope="row">{shown}</th>{cells}</tr>'


def _settings(game: str, config: TrainingConfig | None) -> dict[str, str]:
    """Returns the settings by their names, as in `config.toml`."""
    found = {} if config is None else dict(_flat(config_to_dict(config), ""))
    return {"game": game, **found}


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: object) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)

"""Report of a general game playing series: Markdown for people, CSV and JSON for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from athenan_spiel.arena.tables import code, csv_text, markdown_table
from athenan_spiel.ggp.settings import GgpSettings

Row = Mapping[str, Any]


@dataclass(frozen=True)
class GgpReport:
    """Results of the finished games.

    Attributes:
        rows: result or failure of each finished game.
    """

    settings: GgpSettings
    rows: Mapping[str, Row]

    @property
    def complete(self) -> bool:
        """Whether all games are finished."""
        return len(self.rows) == len(self.settings.games)

    @property
    def results(self) -> list[Row]:
        """Rows of the games that didn't fail."""
        return [row for row in self.rows.values() if "reason" not in row]

    @property
    def failures(self) -> list[Row]:
        """Rows of the games that failed: game and reason."""
        return [row for row in self.rows.values() if "reason" in row]

    def above_half(self) -> dict[str, tuple[int, int]]:
        """Returns for each opponent at how many games the agent made more than half of the points, and of how many."""
        found: dict[str, tuple[int, int]] = {}
        for row in self.results:
            for pair in row["pairs"]:
                won, of = found.get(pair["opponent"], (0, 0))
                found[pair["opponent"]] = won + (pair["points"] > 0.5), of + 1
        return found

    def to_json(self) -> dict[str, Any]:
        """Returns all results as JSON values."""
        return {
            "settings": self.settings.to_json(),
            "complete": self.complete,
            "games": list(self.rows.values()),
            "opponents": [
                {"opponent": opponent, "games": of, "above_half": won}
                for opponent, (won, of) in self.above_half().items()
            ],
        }

    def files(self) -> dict[str, str]:
        """Returns the report's files by name."""
        return {
            "report.md": self.markdown(),
            "results.json": json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n",
            "results.csv": csv_text([_flat(row) for row in self.rows.values()]),
        }

    def markdown(self) -> str:
        """Returns the report in Markdown."""
        done, total = len(self.rows), len(self.settings.games)
        parts = [
            f"# {code(self.settings.name)}",
            "" if self.complete else f"**Not finished: {done} of {total} games.**",
            f"Training: {self.settings.seconds:g} s for each game, with settings fitted to it. Then "
            f"{self.settings.matches} games against each opponent with {self.settings.move_seconds:g} s per move, from "
            f"openings of {self.settings.opening_plies} random plies with both colours. Points are the share of games "
            "won, a draw counting half; intervals are 95 %.",
        ]
        if found := self.above_half():
            rows = [[code(name), f"{won} of {of}", f"{won / of:.0%}"] for name, (won, of) in found.items()]
            parts += [
                "## Opponents",
                markdown_table(["opponent", "games with more than half of the points", "share"], rows),
            ]
        if self.results:
            parts += ["## Games", self.table()]
        if self.failures:
            reasons = Counter(row["reason"] for row in self.failures)
            rows = [
                [reason, str(count), ", ".join(code(row["game"]) for row in self.failures if row["reason"] == reason)]
                for reason, count in reasons.most_common()
            ]
            parts += ["## Failures", markdown_table(["reason", "count", "games"], rows)]
        return "\n\n".join(part for part in parts if part) + "\n"

    def table(self) -> str:
        """Returns the Markdown table of the games that didn't fail."""
        names = list(self.above_half())
        header = [
            "game",
            "branching",
            "length",
            "training games",
            "evaluations/s",
            "MB",
            *map(code, names),
            "draws",
            "cut",
        ]
        return markdown_table(header, [_cells(row, names) for row in self.results])


def _cells(row: Row, opponents: Sequence[str]) -> list[str]:
    pairs = {pair["opponent"]: pair for pair in row["pairs"]}
    played = sum(pair["matches"] for pair in pairs.values())
    return [
        code(row["game"]),
        _number(row["branching"]),
        _number(row["length"]),
        f"{row['training_games']:,}",
        _number(row["evaluations_per_second"]),
        _number(row["peak_megabytes"]),
        *(_points(pairs[name]) if name in pairs else "" for name in opponents),
        f"{sum(pair.get('draws', 0) for pair in pairs.values()) / played:.0%}" if played else "",
        str(sum(pair["cut"] for pair in pairs.values())),
    ]


def _points(pair: Row) -> str:
    ends = pair["points_interval"]
    return f"{pair['points']:.0%} ({100 * ends['low']:.0f} to {100 * ends['high']:.0f})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _flat(row: Row) -> dict[str, Any]:
    """Returns a row with one column for each opponent's numbers."""
    flat = {name: value for name, value in row.items() if name not in ("pairs", "tensor")}
    if "tensor" in row:
        flat["tensor"] = "x".join(map(str, row["tensor"]))
    for pair in row.get("pairs", ()):
        for name in ("points", "matches", "draw_share", "cut"):
            flat[f"{pair['opponent']} {name}"] = pair.get(name)
        for end in ("low", "high"):
            flat[f"{pair['opponent']} {end}"] = pair["points_interval"][end]
    return flat

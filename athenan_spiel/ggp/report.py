"""Report of a general game playing series: Markdown and HTML for people, CSV and JSON for programs.

series.toml repeats the series.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import tomli_w

from athenan_spiel.arena.tables import code, csv_text, markdown_table
from athenan_spiel.drawing.charts import Chart, Curve, chart_svg
from athenan_spiel.drawing.picture import table_html
from athenan_spiel.errors import printable
from athenan_spiel.ggp.rows import Row
from athenan_spiel.ggp.settings import GgpSettings
from athenan_spiel.ggp.task import GameProgress
from athenan_spiel.system.machine import megabytes

BRANCHING_GROUPS = (10, 30, 100)
LENGTH_GROUPS = (20, 50, 100)
"""Upper limits of the groups of games, the last group excluded, which has none."""
CATEGORY_LEVELS = 3
"""Number of folders in the name of a category."""
STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 90em; padding: 0 1em }
p, pre { max-width: 60em; overflow-x: auto }
.wide { overflow-x: auto }
table { border-collapse: collapse }
th, td { padding: .15em .8em .15em 0; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
td code { white-space: normal }
thead th { border-bottom: 1px solid; vertical-align: bottom }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(18em, 1fr)); gap: 1em }
.athenan-chart { max-width: 100%; height: auto }
""".strip()


class Name(str):
    """Text that is shown as code, such as a game or an agent spec. Other cells are words and numbers of the report."""


@dataclass(frozen=True)
class Section:
    """Part of the report, in Markdown and in HTML.

    Attributes:
        title: heading; empty: none.
        text: paragraph of words and numbers.
        header, rows: table; no rows: none.
        lines: commands or the content of a file.
    """

    title: str
    text: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: str = ""

    def markdown(self) -> str:
        """Returns the section in Markdown."""
        parts = [f"## {self.title}" if self.title else "", self.text]
        if self.rows:
            parts.append(self.table())
        if self.lines:
            parts.append("\n".join(f"    {line}" for line in printable_lines(self.lines)))
        return "\n\n".join(part for part in parts if part)

    def table(self) -> str:
        """Returns the table in Markdown."""
        return markdown_table(
            [_in_markdown(cell) for cell in self.header], [list(map(_in_markdown, r)) for r in self.rows]
        )

    def html(self) -> str:
        """Returns the section as HTML."""
        parts = [
            f"<h2>{escape(self.title)}</h2>" if self.title else "",
            f"<p>{escape(self.text)}</p>" if self.text else "",
        ]
        if self.rows:
            cells = [[_in_html(cell) for cell in row] for row in self.rows]
            parts.append(f'<div class="wide">{table_html(self.header, cells)}</div>')
        if self.lines:
            parts.append(f"<pre>{escape(chr(10).join(printable_lines(self.lines)))}</pre>")
        return "\n".join(part for part in parts if part)


def printable_lines(text: str) -> list[str]:
    """Returns the lines of a text without control characters."""
    return [printable(line) for line in text.split("\n")]


def _in_markdown(cell: str) -> str:
    return code(cell) if isinstance(cell, Name) else cell


def _in_html(cell: str) -> str:
    return f"<code>{escape(printable(cell))}</code>" if isinstance(cell, Name) else escape(cell)


@dataclass(frozen=True)
class GgpReport:
    """Results of the finished games.

    Attributes:
        rows: result or failure of each finished game.
        running: progress of the other games that have been started.
    """

    settings: GgpSettings
    rows: Mapping[str, Row]
    running: Mapping[str, GameProgress] = field(default_factory=dict)

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
        """Returns for each opponent the number of games with more than half of the points, and of all games."""
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
            "report.html": self.html(),
            "series.toml": self.series(),
            "results.json": json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n",
            "results.csv": csv_text([_flat(row) for row in self.rows.values()]),
        }

    def markdown(self) -> str:
        """Returns the report in Markdown."""
        sections = [f"# {code(self.settings.name)}", *(section.markdown() for section in self.sections())]
        return "\n\n".join(sections) + "\n"

    def html(self) -> str:
        """Returns the report as an HTML page, with the learning curves."""
        name = escape(printable(self.settings.name))
        body = "\n".join(section.html() for section in self.sections())
        if charts := [chart_svg(_learning_curve(row)) for row in self.results if len(row["loss"]) > 1]:
            body += f'\n<h2>Learning curves</h2>\n<div class="curves">{"".join(charts)}</div>'
        return (
            f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{name}</title>\n'
            f"<style>{STYLE}</style></head>\n<body>\n<h1>{name}</h1>\n{body}\n</body>\n</html>\n"
        )

    def series(self) -> str:
        """Returns a file for `athenan ggp` with the settings and all games."""
        return tomli_w.dumps({k: v for k, v in self.settings.to_json().items() if v not in (None, [], {})})

    def table(self) -> str:
        """Returns the Markdown table of the games that didn't fail."""
        return self._games().table()

    def sections(self) -> list[Section]:
        """Returns the parts of the report."""
        sections = [self._introduction()]
        if self.running:
            running = [[Name(game), *cells(progress)] for game, progress in self.running.items()]
            sections.append(Section("Running", "", ("game", "phase", "done", "time left", "points so far"), running))
        if found := self.above_half():
            rows = [[Name(name), f"{won} of {of}", f"{won / of:.0%}"] for name, (won, of) in found.items()]
            header = ("opponent", "games with more than half of the points", "%")
            sections.append(Section("Opponents", "", header, rows))
        if self.results:
            sections += [self._groups(), self._games(), self._trainings(), self._choices()]
        if problems := [[Name(row["game"]), Name(line)] for row in self.results for line in row["problems"]]:
            sections.append(Section("Problems", "", ("game", "problem"), problems))
        if self.failures:
            sections.append(self._failures())
        return [*sections, self._machine()]

    def _introduction(self) -> Section:
        settings, done, total = self.settings, len(self.rows), len(self.settings.games)
        unfinished = "" if self.complete else f"Not finished: {done} of {total} games. "
        others = " without a time of its own in series.toml" if settings.seconds_of else ""
        return Section(
            "",
            f"{unfinished}Training: {settings.seconds:g} s for each game{others}, with settings fitted to it. Then "
            f"{settings.matches} games against each opponent with {settings.move_seconds:g} s per move, from openings "
            f"of {settings.opening_plies} random plies with both colours. Points are the fraction of games won; a draw "
            "counts half. Intervals are 95 %.",
        )

    def _groups(self) -> Section:
        """Returns the points by kind of game, category, branching factor and length."""
        groups: list[tuple[str, list[Row]]] = [("all", self.results)]
        groups += _by(self.results, _kind)
        groups += _by((row for row in self.results if row["category"]), _category)
        groups += _by(self.results, lambda row: _range("branching", row["branching"], BRANCHING_GROUPS))
        groups += _by(self.results, lambda row: _range("length", row["length"], LENGTH_GROUPS))
        rows = [
            [
                name,
                str(len(members)),
                f"{sum(map(lowest, members)) / len(members):.0%}",
                f"{sum(lowest(row) > 0.5 for row in members) / len(members):.0%}",
                f"{sum(lowest(row) < 0.2 for row in members)}",
            ]
            for name, members in groups
        ]
        header = ("games", "number", "mean points", "games above half", "games below 20 %")
        return Section("Kinds of games", "Points are those against the opponent that scored most.", header, rows)

    def _games(self) -> Section:
        names = list(self.above_half())
        sizes = ("game", "players", "branching", "length", "actions", "tensor")
        header = (*sizes, *map(Name, names), "first player", "draws", "cut", "failed")
        text = (
            "First player: points of the player who moved first. Cut: games that the length limit ended. Failed: games "
            "without a result, and forfeits."
        )
        return Section("Games", text, header, [_game_cells(row, names) for row in self.results])

    def _trainings(self) -> Section:
        header = (
            "game",
            "training games",
            "undecided",
            "cut",
            "samples",
            "evaluations/s",
            "MB",
            "filters",
            "outcome",
        )
        text = "Undecided games teach little: they had no winner. Cut: games that the length limit ended."
        return Section("Trainings", text, header, [_training_cells(row) for row in self.results])

    def _choices(self) -> Section:
        rows = [[Name(row["game"]), Name(row["choice"])] for row in self.results]
        return Section("Measurements and settings", "", ("game", "measured before the training, and chosen"), rows)

    def _failures(self) -> Section:
        reasons = Counter(row["reason"] for row in self.failures)
        games = {reason: [row["game"] for row in self.failures if row["reason"] == reason] for reason in reasons}
        rows = [[Name(reason), str(count), Name(", ".join(games[reason]))] for reason, count in reasons.most_common()]
        return Section("Failures", "", ("reason", "count", "games"), rows)

    def _machine(self) -> Section:
        """Returns the machines, and the commands that repeat the series."""
        machines = Counter((row["machine"], row["version"], row["processes"]) for row in self.results)
        text = "; ".join(
            f"{printable(machine)}, athenan_spiel {printable(version)}, {processes} at the same time: "
            f"{count} game{'s' * (count > 1)}"
            for (machine, version, processes), count in machines.most_common()
        )
        settings = self.settings
        processes = machines.most_common(1)[0][0][2] if machines else 1
        seconds = "TIME" if settings.seconds_of else f"{settings.seconds:g}s"
        memory = "" if settings.memory is None else f" --memory {megabytes(settings.memory)}"
        lines = (
            f"athenan ggp series.toml --processes {processes}\n\n"
            "# one game:\n"
            f"athenan train GAME --time {seconds} --seed {settings.seed}{memory} --folder RUN\n"
            f"athenan eval RUN@{settings.move_seconds:g}s --against OPPONENT --matches {settings.matches} "
            f"--opening-plies {settings.opening_plies} --seed {settings.seed}"
        )
        return Section("Machine and commands", text, lines=lines)


def lowest(row: Row) -> float:
    """Returns the agent's points against the opponent that scored most, in [0, 1]."""
    return min(float(pair["points"]) for pair in row["pairs"])


def cells(progress: GameProgress) -> list[str]:
    """Returns the phase, the fraction done, the time left and the points so far of a game, as text."""
    left = None if progress.seconds_left is None else round(progress.seconds_left)
    return [
        progress.phase,
        f"{progress.done:.0%}",
        "" if left is None else f"{left // 60}:{left % 60:02}",
        ", ".join(f"{points / games:.0%} of {games}" for points, games in progress.points.values() if games),
    ]


def _kind(row: Row) -> str:
    source = "Ludii" if row["game"].startswith("ludii(") else "OpenSpiel"
    chance = "chance" if row["chance"] else "no chance"
    return f"{source}, {chance}, {'two players' if row['players'] == 2 else 'more players'}"


def _category(row: Row) -> str:
    """Returns the first folders of Ludii's category: "board/war/replacement/checkmate/chess" has few games."""
    return "/".join(row["category"].split("/")[:CATEGORY_LEVELS])


def _range(name: str, value: float | None, limits: Sequence[int]) -> str:
    if value is None:
        return f"{name} unknown"
    lower = 0
    for limit in limits:
        if value < limit:
            return f"{name} {lower} to {limit}"
        lower = limit
    return f"{name} from {lower}"


def _by(rows: Iterable[Row], group_of: Callable[[Row], str]) -> list[tuple[str, list[Row]]]:
    """Returns the rows by group; groups are sorted by name, and numbers in names by size."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    return sorted(groups.items(), key=lambda group: [(len(part), part) for part in group[0].split()])


def _game_cells(row: Row, opponents: Sequence[str]) -> list[str]:
    pairs = {pair["opponent"]: pair for pair in row["pairs"]}
    played = sum(pair["matches"] for pair in pairs.values())
    first = row["first_player_points"]
    return [
        Name(row["game"]),
        f"{row['players']}{', chance' if row['chance'] else ''}",
        _number(row["branching"]),
        _number(row["length"]),
        _number(row["actions"]),
        "x".join(map(str, row["tensor"])),
        *(_points(pairs[name]) if name in pairs else "" for name in opponents),
        "" if first is None else f"{first:.0%}",
        f"{sum(pair.get('draws', 0) for pair in pairs.values()) / played:.0%}" if played else "",
        str(sum(pair["cut"] for pair in pairs.values())),
        str(row["failed_games"] + row["forfeits"]),
    ]


def _training_cells(row: Row) -> list[str]:
    games = row["training_games"]
    return [
        Name(row["game"]),
        _number(games),
        *(f"{row[name] / games:.0%}" if games else "" for name in ("undecided_training_games", "cut_training_games")),
        _number(row["samples"]),
        _number(row["evaluations_per_second"]),
        _number(row["peak_megabytes"]),
        _number(row["filters"]),
        Name(row["outcome"]),
    ]


def _learning_curve(row: Row) -> Chart:
    curve = Curve(name="loss", xs=[x for x, _ in row["loss"]], ys=[y for _, y in row["loss"]])
    return Chart(title=row["game"], x_label="training time in seconds", y_label="loss", curves=[curve])


def _points(pair: Row) -> str:
    ends = pair["points_interval"]
    return f"{pair['points']:.0%} ({100 * ends['low']:.0f} to {100 * ends['high']:.0f})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _flat(row: Row) -> dict[str, Any]:
    """Returns a row with one column for each opponent's numbers."""
    flat = {name: value for name, value in row.items() if name not in ("pairs", "tensor", "loss", "choice", "problems")}
    if "tensor" in row:
        flat["tensor"] = "x".join(map(str, row["tensor"]))
    for pair in row.get("pairs", ()):
        for name in ("points", "matches", "draws", "cut"):
            flat[f"{pair['opponent']} {name}"] = pair.get(name)
        for end in ("low", "high"):
            flat[f"{pair['opponent']} {end}"] = pair["points_interval"][end]
    return flat

"""Results of a sweep: the rows of a CSV file, of which one is part of this package.

A row is appended after each game, so a stopped sweep can be continued.
"""

from __future__ import annotations

import csv
import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ludii_bridge.errors import LudiiError, is_of_a_kind, separated

PUBLISHED = Path(__file__).with_name("games.csv")
"""The published sweep over the board games."""


@dataclass(frozen=True)
class Verdict:
    """Result of one game.

    Attributes:
        name: Ludii's name.
        reason: why it is not supported, or empty.
        players: number of players; this and the rest are undefined for games that could not be loaded.
        shape: shape of its tensor.
        actions: number of declared actions.
        branching: maximum number of legal moves.
        plies: length of the longest play.
        checked: number of its plies with checked clones and children.
        ended: number of plays that ended by the rules.
        seconds: time limit; 0 for none.
        version: Ludii's version.
        date: date of the test, as 2026-01-31.
    """

    name: str
    reason: str
    players: int = 0
    shape: tuple[int, ...] = ()
    actions: int = 0
    branching: int = 0
    plies: int = 0
    checked: int = 0
    ended: int = 0
    seconds: float = 0.0
    version: str = ""
    date: str = ""

    @property
    def is_unsuitable(self) -> bool:
        """Whether the kind of game is not supported, for example with chance. Otherwise it failed."""
        return is_of_a_kind(separated(self.reason)[0])


_COLUMNS = [field.name for field in dataclasses.fields(Verdict)]


def read(file: Path = PUBLISHED) -> list[Verdict]:
    """Returns the verdicts of a file, sorted by name; none if the file is missing or empty.

    Raises:
        LudiiError: it is another kind of file.
        OSError: it cannot be read.
    """
    if not file.exists():
        return []
    if not file.is_file():
        raise LudiiError(f"expected a CSV file that a sweep has written, got {str(file)!r}, which is no regular file")
    if file.stat().st_size == 0:
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        try:
            if rows.fieldnames == _COLUMNS:
                return sorted(map(_verdict, rows), key=lambda verdict: verdict.name)
        except (TypeError, ValueError, csv.Error):
            pass
        raise LudiiError(f"expected a CSV file that a sweep has written, got {str(file)!r}")


def write(verdicts: Iterable[Verdict], file: Path) -> None:
    """Writes a file of these verdicts."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(map(_row, verdicts))


def begin(file: Path) -> None:
    """Writes the heading of a missing or empty file.

    Raises:
        OSError: it cannot be written.
    """
    with file.open("a", encoding="utf-8"):
        pass  # fail before a game is tested
    if file.stat().st_size == 0:
        write([], file)


def append(verdict: Verdict, file: Path) -> None:
    """Appends a row to a file with a heading."""
    with file.open("a", encoding="utf-8", newline="") as lines:
        csv.writer(lines, lineterminator="\n").writerow(_row(verdict))


def _row(verdict: Verdict) -> list[object]:
    row = dataclasses.asdict(verdict)
    row |= {"shape": "x".join(map(str, verdict.shape)), "seconds": f"{verdict.seconds:g}"}
    return [row[column] for column in _COLUMNS]


def _verdict(row: dict[str, str]) -> Verdict:
    numbers = {name: int(row[name]) for name in ("players", "actions", "branching", "plies", "checked", "ended")}
    shape = tuple(int(size) for size in row["shape"].split("x") if size)
    return Verdict(
        row["name"],
        row["reason"],
        shape=shape,
        seconds=float(row["seconds"]),
        version=row["version"],
        date=row["date"],
        **numbers,
    )


_PAGE = """\
# The board games of Ludii

**{supported} of {tried}** board games of Ludii {version}, with their default options, can be played through the bridge
(tried {date}). `ludii_bridge/games.csv` has a row for each, and `athenan games --ludii [FILTER]` shows them.

```console
athenan ludii sweep ludii_bridge/games.csv --page docs/ludii_games.md
```

writes both files. It loads each game and plays a random game to its end, to 1000 moves, or to a time limit
(`--seconds`; {given} here). It tests the states by the laws in `athenan_spiel/games/laws.py`, which OpenSpiel's own
games obey, too: for example, queries don't change a state, clones are independent, serialisation restores a state,
children created together equal those created one by one, returns are zero-sum, and the tensor is finite. In {ended}
of the supported games, the random game ended by the rules. In {stopped}, clones and children were not tested at every
ply for lack of time; the row has the number of plies. These tests don't prove that the rules are right:
[ludii.md](ludii.md) describes the comparison with Ludii itself.

## Why the others are not supported

| number | reason | games |
|---:|---|---|
{reasons}

A game may have several reasons.
"""


def page(verdicts: Sequence[Verdict]) -> str:
    """Returns a summary of a sweep as a page of Markdown."""
    others = [verdict for verdict in verdicts if verdict.reason]
    refused: dict[str, list[str]] = defaultdict(list)
    for verdict in others:
        for reason in _reasons(verdict):
            refused[reason].append(verdict.name)
    dates = sorted({verdict.date for verdict in verdicts})
    summary = _PAGE.format(
        supported=len(verdicts) - len(others),
        tried=len(verdicts),
        version=" and ".join(sorted({verdict.version for verdict in verdicts})),
        date=dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        ended=sum(verdict.ended > 0 for verdict in verdicts),
        given=_given([verdict.seconds for verdict in verdicts if not verdict.reason]),
        stopped=sum(verdict.checked < verdict.plies for verdict in verdicts),
        reasons="\n".join(
            f"| {len(names)} | {reason} | {', '.join(names)} |"
            for reason, names in sorted(refused.items(), key=lambda row: (-len(row[1]), row[0]))
        ),
    )
    return summary + _special([verdict for verdict in others if not verdict.is_unsuitable])


def _given(seconds: Sequence[float]) -> str:
    """Returns the time limits as text."""
    limits = sorted(
        {f"{limit:g} s" if limit else "no limit" for limit in seconds}, key=lambda words: (len(words), words)
    )
    return " or ".join(limits) or "none"


def _reasons(verdict: Verdict) -> list[str]:
    return separated(verdict.reason) if verdict.is_unsuitable else ["it is of the right kind, but failed"]


def _special(verdicts: Sequence[Verdict]) -> str:
    """Returns the table of games that failed although their kind is supported."""
    if not verdicts:
        return ""
    rows = [f"| {verdict.name} | {verdict.reason.replace('|', '/')} |" for verdict in verdicts]
    heading = [
        "",
        "Games of the right kind that failed. They can be loaded unless they break a law:",
        "",
        "| game | reason |",
        "|---|---|",
    ]
    return "\n".join([*heading, *rows, ""])

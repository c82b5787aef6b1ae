"""Rates of the trainings of an experiment, as in Table 4 of *Minimax Strikes Back* (2023).

    python benchmarks/rivals/learning_data.py runs/rivals_connect_four --rival AlphaZero

Prints for each variant, per second of training and averaged over repetitions: games; training samples added to the
replay; learned samples, counted with repetition; evaluations; network calls. Then prints each as a multiple of the
rival's. The figures come from the runs' `metrics.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rival_arguments import Parser, refuse

COLUMNS = ("games", "training samples", "learned samples", "evaluations", "network calls")


def main() -> None:
    """Prints the two tables in Markdown."""
    parser = Parser(__doc__)
    parser.add_argument("folder", type=Path, help="folder of the experiment")
    parser.add_argument("--rival", default="AlphaZero", help="variant that the others are divided by")
    arguments = parser.parse_args()
    try:
        found = _rates(arguments.folder / "trainings")
    except (OSError, ValueError, KeyError, IndexError):
        refuse(f"expected the folder of an experiment with trainings, got {str(arguments.folder)!r}")
    for game, rates in found.items():
        print(f"\n{game}, per second\n")
        print(_table({name: [f"{value:,.1f}" for value in row] for name, row in rates.items()}))
        if (rival := rates.get(arguments.rival)) is not None:
            print(f"\nas a multiple of {arguments.rival}\n")
            print(_table({name: list(map(_ratio, row, rival)) for name, row in rates.items()}))


def _ratio(value: float, other: float) -> str:
    return f"{value / other:.2f}" if other else ""


def _rates(trainings: Path) -> dict[str, dict[str, list[float]]]:
    """Returns the columns by game and variant."""
    games = sorted(trainings.iterdir())
    return {game.name: {variant.name: _means(variant) for variant in sorted(game.iterdir())} for game in games}


def _means(variant: Path) -> list[float]:
    """Returns the means of the columns over the repetitions of a variant."""
    runs = [list(_of_run(run / "metrics.jsonl")) for run in sorted(variant.iterdir())]
    return [sum(column) / len(column) for column in zip(*runs, strict=True)]


def _of_run(path: Path) -> Iterator[float]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rounds = [line for line in lines if line["event"] == "round_finished"]
    seconds = (rounds or lines)[-1]["seconds"]  # the last line if nothing was learned
    yield (rounds[-1]["matches"] if rounds else 0) / seconds
    yield sum(line["targets"] for line in lines if line["event"] == "match_finished") / seconds
    for name in ("states_learned", "evaluations", "network_calls"):
        yield sum(line[name] for line in rounds) / seconds


def _table(rows: dict[str, list[str]]) -> str:
    head = ["| | " + " | ".join(COLUMNS) + " |", "|---" + "|---:" * len(COLUMNS) + "|"]
    return "\n".join([*head, *(f"| {name} | " + " | ".join(row) + " |" for name, row in rows.items())])


if __name__ == "__main__":
    main()

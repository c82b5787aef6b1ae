"""What the trainings of an experiment made of their time, as Table 4 of *Minimax Strikes Back* (2023) counts it.

    python benchmarks/rivals/learning_data.py runs/rivals_connect_four --rival AlphaZero

For each variant, means over repetitions, a second of training: matches; states to learn, which join the replay; states
learned, each as often as it was; states valued by the network; calls of the network. Then each as a multiple of the
rival's. All is read from the runs' `metrics.jsonl`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rival_arguments import Parser, refuse

COLUMNS = ("matches", "states to learn", "states learned", "states valued", "network calls")


def main() -> None:
    """Print the two tables in Markdown."""
    parser = Parser(__doc__)
    parser.add_argument("folder", type=Path, help="of the experiment")
    parser.add_argument("--rival", default="AlphaZero", help="the variant whose numbers the others are divided by")
    arguments = parser.parse_args()
    try:
        found = _rates(arguments.folder / "trainings")
    except (OSError, ValueError, KeyError, IndexError):
        refuse(f"expected the folder of an experiment with trainings, got {str(arguments.folder)!r}")
    for game, rates in found.items():
        print(f"\n{game}, a second\n")
        print(_table({name: [f"{value:,.1f}" for value in row] for name, row in rates.items()}))
        if (rival := rates.get(arguments.rival)) is not None:
            print(f"\nas a multiple of {arguments.rival}\n")
            print(_table({name: list(map(_ratio, row, rival)) for name, row in rates.items()}))


def _ratio(value: float, other: float) -> str:
    return f"{value / other:.2f}" if other else ""


def _rates(trainings: Path) -> dict[str, dict[str, list[float]]]:
    """game → variant → the columns."""
    games = sorted(trainings.iterdir())
    return {game.name: {variant.name: _means(variant) for variant in sorted(game.iterdir())} for game in games}


def _means(variant: Path) -> list[float]:
    """The columns a second, mean over the repetitions of a variant."""
    runs = [list(_of_run(run / "metrics.jsonl")) for run in sorted(variant.iterdir())]
    return [sum(column) / len(column) for column in zip(*runs, strict=True)]


def _of_run(path: Path) -> Iterator[float]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rounds = [line for line in lines if line["event"] == "round_finished"]
    seconds = (rounds or lines)[-1]["seconds"]  # of a training that learned nothing its last line says them
    yield (rounds[-1]["matches"] if rounds else 0) / seconds
    yield sum(line["targets"] for line in lines if line["event"] == "match_finished") / seconds
    for name in ("states_learned", "evaluations", "network_calls"):
        yield sum(line[name] for line in rounds) / seconds


def _table(rows: dict[str, list[str]]) -> str:
    head = ["| | " + " | ".join(COLUMNS) + " |", "|---" + "|---:" * len(COLUMNS) + "|"]
    return "\n".join([*head, *(f"| {name} | " + " | ".join(row) + " |" for name, row in rows.items())])


if __name__ == "__main__":
    main()

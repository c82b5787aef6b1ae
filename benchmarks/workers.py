"""Learned states per second, and busy cores, with and without workers.

    python benchmarks/workers.py connect_four --workers 0 2 --seconds 60 --pairs 2
    python benchmarks/workers.py connect_four --workers 2 ray:2 --seconds 60 --pairs 3

`ray:2` means two workers on a local Ray cluster. Trainings alternate, each in a process of its own, with the preset
`quick` or the options after `--`. Busy cores are the processor time of the process and its workers divided by the wall
time, start of Python included; they are unknown on a cluster. Learned states per second count the run's own time, which
begins later, once from its beginning and once from the end of its first round.
"""

from __future__ import annotations

import json
import resource
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from common import make_parser, parse_with_options, seconds_of, train


@dataclass(frozen=True)
class Figures:
    """Figures of one training, per second."""

    learned: float
    learned_later: float
    evaluations: float
    matches: float
    cores: float
    staleness: float | None


def main() -> None:
    """Prints a line per training, and the ratios."""
    parser = make_parser(__doc__)
    parser.add_argument("game", help="OpenSpiel game string")
    parser.add_argument("--workers", nargs="+", default=["0", "auto"], help="numbers to compare; ratios use the first")
    parser.add_argument("--seconds", type=float, default=60.0, help="time of a training (default 60)")
    parser.add_argument("--pairs", type=int, default=2, help="trainings with each number (default 2)")
    arguments, options = parse_with_options(parser)
    found: dict[str, list[Figures]] = {workers: [] for workers in arguments.workers}
    for seed in range(arguments.pairs):
        for workers in arguments.workers:
            cluster, _, count = workers.rpartition(":")
            words = ["--workers", count, *(["--cluster"] if cluster else []), "--seconds", f"{arguments.seconds:g}"]
            f = measured(arguments.game, [*words, "--seed", f"{seed}", *options])
            found[workers].append(f)
            stale = "" if f.staleness is None else f", staleness {f.staleness:.1f}"
            cores = "" if cluster else f", {f.cores:.2f} cores busy"
            learned = f"{f.learned:,.0f} learned states ({f.learned_later:,.0f} after the first round)"
            played = f"{f.evaluations:,.0f} evaluations, {f.matches:.2f} games per second"
            print(f"--workers {workers:6}  {learned}, {played}{cores}{stale}", flush=True)
    base = found[arguments.workers[0]]
    for workers in arguments.workers[1:]:
        print(
            f"--workers {workers} ÷ {arguments.workers[0]} (medians): "
            f"{_ratio('learned', found[workers], base)} learned states, "
            f"{_ratio('learned_later', found[workers], base)} after the first round, "
            f"{_ratio('evaluations', found[workers], base)} evaluations"
        )


def _ratio(name: str, figures: list[Figures], base: list[Figures]) -> str:
    """Returns the ratio of the medians, or a dash if no game of the base has ended."""
    median, base_median = (statistics.median(getattr(f, name) for f in each) for each in (figures, base))
    return f"{median / base_median:.2f}" if base_median else "-"


def measured(game: str, options: list[str]) -> Figures:
    """Trains with these options of `athenan train`."""
    with tempfile.TemporaryDirectory() as folder:
        before, run = _processor_seconds(), Path(folder) / "run"
        seconds = seconds_of(lambda: train(game, run, *options))
        cores = (_processor_seconds() - before) / seconds
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if line["event"] == "round_finished"]
    stale = [line["staleness"] for line in lines if line["event"] == "match_finished" and "staleness" in line]
    if not rounds:
        raise SystemExit("no game has ended in that time: give more --seconds, or fewer --matches-at-once after --")
    first, *later = rounds
    seconds, states = rounds[-1]["seconds"], sum(line["states_learned"] for line in rounds)
    later_seconds = max(seconds - first["seconds"], 1e-9)
    return Figures(
        states / seconds,
        sum(line["states_learned"] for line in later) / later_seconds,
        sum(line["evaluations"] for line in rounds) / seconds,
        rounds[-1]["matches"] / seconds,
        cores,
        statistics.fmean(stale) if stale else None,
    )


def _processor_seconds() -> float:
    """Returns the processor time of all ended child processes and their descendants."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

"""States learned a second, and cores kept busy, with workers beside the learner and without.

    python benchmarks/workers.py connect_four --workers 0 2 --seconds 60 --pairs 2
    python benchmarks/workers.py connect_four --workers 2 ray:2 --seconds 60 --pairs 3

`ray:2` are two workers on a local Ray cluster. Each training is a process of its own, with the preset `quick` or the
options after `--`; they run in turn. Cores busy are the processor time of the process and its workers divided by the
time from its start to its end, in which Python starts, too; of a cluster they are not known. States learned a second
are those of the run's own time, which begins later, and also those from the end of its first round on.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figures:
    """What one training came to."""

    learned: float
    learned_later: float
    valued: float
    matches: float
    cores: float
    staleness: float | None


def main() -> None:
    """Train in turn, and print a line each and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game")
    parser.add_argument("--workers", nargs="+", default=["0", "auto"], help="numbers to compare, the first the base")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pairs", type=int, default=2, help="trainings with each number")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    found: dict[str, list[Figures]] = {workers: [] for workers in arguments.workers}
    for seed in range(arguments.pairs):
        for workers in arguments.workers:
            cluster, _, count = workers.rpartition(":")
            placed = ["--workers", count, *(["--cluster"] if cluster else [])]
            words = [arguments.game, *placed, "--seconds", f"{arguments.seconds:g}", "--seed", f"{seed}"]
            found[workers].append(measured([*words, *options]))
            f = found[workers][-1]
            stale = "" if f.staleness is None else f", staleness {f.staleness:.1f}"
            cores = "" if cluster else f", {f.cores:.2f} cores busy"
            learned = f"{f.learned:,.0f} states learned a second ({f.learned_later:,.0f} after the first round)"
            played = f"{f.valued:,.0f} states valued and {f.matches:.2f} matches a second"
            print(f"--workers {workers:6}  {learned}, {played}{cores}{stale}", flush=True)
    base = found[arguments.workers[0]]
    for workers in arguments.workers[1:]:
        print(
            f"--workers {workers} ÷ {arguments.workers[0]} a second (medians): "
            f"{_ratio('learned', found[workers], base)} states learned, "
            f"{_ratio('learned_later', found[workers], base)} after the first round, "
            f"{_ratio('valued', found[workers], base)} states valued"
        )


def _ratio(name: str, figures: list[Figures], base: list[Figures]) -> str:
    """Of the medians; a dash where the base is none, as no match has ended."""
    numbers, bases = ([getattr(f, name) for f in each] for each in (figures, base))
    return f"{statistics.median(numbers) / statistics.median(bases):.2f}" if statistics.median(bases) else "-"


def measured(words: list[str]) -> Figures:
    """Train with these words of `athenan train`, and say what it came to."""
    with tempfile.TemporaryDirectory() as folder:
        before, start = _processor(), time.perf_counter()
        command = [sys.executable, "-m", "athenan_spiel", "train", *words, "--quiet", "--folder", f"{folder}/run"]
        subprocess.run(command, check=True)
        cores = (_processor() - before) / (time.perf_counter() - start)
        lines = [json.loads(line) for line in (Path(folder) / "run" / "metrics.jsonl").read_text().splitlines()]
    rounds = [line for line in lines if line["event"] == "round_finished"]
    stale = [line["staleness"] for line in lines if line["event"] == "match_finished" and "staleness" in line]
    if not rounds:
        raise SystemExit("no match has ended in that time: give more --seconds, or fewer --matches-at-once after --")
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


def _processor() -> float:
    """Processor time of all processes that this one has begun and that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()

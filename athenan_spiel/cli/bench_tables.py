"""Output of `athenan bench`: the machine and the game, and tables for each part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from athenan_spiel.system.machine import gigabytes

if TYPE_CHECKING:
    from athenan_spiel.measuring.report import Machine, MemoryUse, Part, Report, TrainingSpeed

NOTHING = "-"
"""Text of a value that was not measured."""


def heading(report: Report) -> str:
    """Returns the machine, the game, the network and the engine as text."""
    lines = [
        *_machine(report.machine),
        f"{report.game}: {report.model}",
        f"engine of a training: {report.engine}",
    ]
    return "\n".join([*lines, report.choice] if report.choice is not None else lines)


def tables_of(report: Report, part: Part) -> list[Table]:
    """Returns the tables of a part of the report."""
    match part:
        case "network":
            return [_network(report)]
        case "search":
            return [_search(report)]
        case "learner":
            return [_learner(report)]
        case "training":
            return _training(report.training or ())
        case "memory":
            assert report.memory is not None
            return [_memory(report.memory)]


def _machine(machine: Machine) -> list[str]:
    hardware = [
        machine.processor,
        f"{machine.cores} {'core' if machine.cores == 1 else 'cores'}",
        *machine.instructions,
    ]
    if machine.memory is not None:
        hardware.append(f"{gigabytes(machine.memory)} of memory")
    if machine.device is not None:
        hardware.append(machine.device)
    versions = {
        "athenan_spiel": machine.athenan_spiel,
        "Python": machine.python,
        "torch": machine.torch,
        "OpenVINO": machine.openvino,
    }
    software = [f"{name} {version}" for name, version in versions.items() if version is not None]
    return [", ".join(hardware), ", ".join([*software, machine.system])]


def _network(report: Report) -> Table:
    speeds = report.network or ()
    engines = list(dict.fromkeys(speed.engine for speed in speeds))
    rates = {(speed.engine, speed.batch): speed.states_per_second for speed in speeds}
    table = _table(f"network: evaluations per second, {_threads(speeds[0].threads)}", "batch size", *engines)
    for batch in dict.fromkeys(speed.batch for speed in speeds):
        table.add_row(f"{batch:,}", *(_rate(rates.get((engine, batch))) for engine in engines))
    return table


def _search(report: Report) -> Table:
    at_once = report.config.matches_at_once
    plays = {
        "self_play": f"self-play, {at_once} {'game' if at_once == 1 else 'games'} at once",
        "thinking": "thinking about one state",
    }
    columns = ("evaluations/s", "iterations/s", "batch size", "outside the network")
    table = _table(f"search: {report.config.search.algorithm}", "", "evaluated by", *columns)
    for speed in report.search or ():
        table.add_row(
            plays[speed.play],
            report.engine if speed.network else "free evaluator",
            _rate(speed.states_per_second),
            _rate(speed.iterations_per_second),
            _rate(speed.states_per_call),
            _share(speed.outside_network),
        )
    return table


def _learner(report: Report) -> Table:
    speeds = report.learner or ()
    title = f"learner: minibatches of {speeds[0].batch:,} states, {_threads(speeds[0].threads)}"
    columns = ("samples/s", "GFLOP/s", "large matrices, GFLOP/s", "share of that")
    table = _table(title, "", *columns)
    for speed in speeds:
        table.add_row(
            speed.precision,
            _rate(speed.states_per_second),
            _rate(speed.flops / 1e9),
            _rate(speed.matrix_flops / 1e9),
            _share(speed.matrix_share),
        )
    return table


def _training(speeds: Sequence[TrainingSpeed]) -> list[Table]:
    rates = ("samples/s", "evaluations/s", "games/s")
    table = _table("training", "workers", *rates, "cores busy", "learner learns", "workers wait")
    for speed in speeds:
        table.add_row(
            str(speed.workers),
            _rate(speed.states_learned_per_second),
            _rate(speed.states_valued_per_second),
            _rate(speed.matches_per_second),
            NOTHING if speed.cores_busy is None else f"{speed.cores_busy:.2f}",
            _share(speed.learning),
            _share(speed.waiting),
        )
    if any(speed.states_learned_per_second is None for speed in speeds):
        table.caption = "no game ended in time; give more time, such as --only training --time 5m"
    shares = next((speed.shares for speed in speeds if speed.shares is not None), None)
    if shares is None:
        return [table]
    times = _table("training without workers: shares of the time", "search", "network", "learning", "rest")
    times.add_row(*map(_share, (shares.search, shares.network, shares.learning, shares.rest)))
    return [table, times]


def _memory(memory: MemoryUse) -> Table:
    table = _table("memory", "", "bytes", "measured with")
    table.add_row("tree node", f"{memory.bytes_per_node:,.0f}", f"{memory.nodes:,}")
    table.add_row("training sample", f"{memory.bytes_per_learned_state:,.0f}", f"{memory.states:,}")
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number == 0 else "right")
    return table


def _threads(count: int) -> str:
    return f"{count} {'thread' if count == 1 else 'threads'}"


def _rate(rate: float | None) -> str:
    return NOTHING if rate is None else f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _share(share: float | None) -> str:
    return NOTHING if share is None else f"{share:.0%}"

"""Runs with a pool of actors: what their tests share."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from athenan_spiel.training import session
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.events import Event, MatchFinished


def lines(folder: Path, event: str) -> list[dict[str, Any]]:
    """The lines of an event in the metrics of a run."""
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in found if line["event"] == event]


def require_whole(folder: Path, matches: int) -> None:
    """Each game was learned once, within the staleness limit."""
    found = lines(folder, "match_finished")
    assert [line["matches"] for line in found] == list(range(1, matches + 1))
    assert all(0 <= line["staleness"] <= 12 for line in found)


class OnMatch:
    """Calls a function once, after a number of games."""

    def __init__(self, matches: int, do: Callable[[], object]) -> None:
        self.matches = matches
        self.do = do
        self.done = 0.0

    def __call__(self, event: Event) -> None:
        if isinstance(event, MatchFinished) and event.matches >= self.matches and not self.done:
            self.done = time.monotonic()
            self.do()


def noted_pools(monkeypatch: pytest.MonkeyPatch) -> list[ActorPool]:
    """Pools of all later runs, in order."""
    made: list[ActorPool] = []

    class Noted(ActorPool):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(session, "ActorPool", Noted)
    return made


def local_cluster(signals_kept: None) -> Iterator[Any]:
    """A Ray cluster of this machine; to be made a fixture."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    yield ray
    ray.shutdown()

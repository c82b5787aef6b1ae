"""A run on a cluster of several nodes, some of which are lost and some of which join."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import WorkersConfig
from athenan_spiel.training import train
from athenan_spiel.training.events import Event, MatchFinished

pytestmark = [pytest.mark.ray, pytest.mark.slow("a cluster of three nodes, half a minute")]


@pytest.fixture
def nodes(signals_kept: None) -> Iterator[Any]:
    """A cluster of a head and another node, with a processor each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def test_a_node_that_is_lost_and_one_that_joins(tmp_path: Path, nodes: Any) -> None:
    """First the workers of the lost node wait for room, which the new one has."""
    (lost,) = nodes.worker_nodes

    def change(event: Event) -> None:
        if isinstance(event, MatchFinished) and event.matches == 20:
            nodes.remove_node(lost, allow_graceful=False)
        if isinstance(event, MatchFinished) and event.matches == 60:
            nodes.add_node(num_cpus=1)

    config = dataclasses.replace(TINY, matches=None, seconds=90.0, workers=WorkersConfig(count=2))
    folder = tmp_path / "run"

    def is_whole_again() -> bool:
        late = [line["worker"] for line in lines(folder, "match_finished") if line["matches"] > 60]
        return {*late[-20:]} == {0, 1} and lines(folder, "round_finished")[-1]["matches"] > 60

    run = train(TIC_TAC_TOE, config, folder, cluster=nodes.address, callbacks=[change], stop=is_whole_again)
    assert run.reason == "stopped"
    assert [line["matches"] for line in lines(folder, "match_finished")] == list(range(1, run.matches + 1))
    # One that was to take the place may have been sent to the node that was gone before Ray had noticed.
    assert lines(folder, "round_finished")[-1]["workers_lost"] in (1, 2)


def lines(folder: Path, event: str) -> list[dict[str, Any]]:
    path = folder / "metrics.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in found if line["event"] == event]

"""The processes that value states, one on each node that has actors, as the learner sees them.

1. One begins when the first actor on its node has, and ends when it is lost, or with `close`. Each has as many places
   as actors may be on its node.
2. The newest weights go to each as soon as it has taken those before: one object in Ray's store for all.
3. One that is lost loses its actors, which say so; the next actor on its node begins another.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import Any

from athenan_spiel.system.cluster import Site, on_node, ray
from athenan_spiel.training.cluster.valuing import Valuing, ValuingTask
from athenan_spiel.training.fleet.board import ActorState, total
from athenan_spiel.training.fleet.matches import Failed

GPU = 0.5
"""Of a graphics card one takes so much; all actors take as much of one together, so as to be where there are any."""
SPARING = {"env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}
"""What one begins has to outlive it by a moment, to drop what it shared (`shared.dropped_without_us`)."""
STOP_SECONDS = 2.0
"""How long one may take to drop what it shares."""


@dataclass(frozen=True)
class Stored:
    """Weights in Ray's store, of a version."""

    answer: Any
    version: int


@dataclass(eq=False)
class NodeDesk:
    """One of them.

    Attributes:
        node: where it is, as Ray calls that.
        actor: Ray's handle of its `Valuing`.
        plan: where Ray puts how actors reach it.
        answer: of the call under way; None: there is none.
        sent, version: of the newest weights that it was sent, and that it has taken.
        free: places that no actor has.
        state: what it has told.
    """

    node: str
    actor: Any
    plan: Any
    answer: Any
    sent: int
    free: set[int]
    version: int = 0
    state: ActorState = field(default_factory=ActorState)


class Desks:
    """All of them, on the cluster that this process is in.

    Args:
        task: of one which had places for all actors.
    """

    def __init__(self, task: ValuingTask, site: Site) -> None:
        self._ray = ray()
        self._task = task
        self._site = site
        self._by_node: dict[str, NodeDesk] = {}
        self._gone = ActorState()

    def place(self, node: str, stored: Stored, progress: float) -> tuple[NodeDesk, int]:
        """The desk of a node, which is begun if there is none, and a place at it that is free.

        Args:
            stored: the weights that it begins with.
            progress: how much of the run lies behind, in [0, 1].
        """
        if node not in self._by_node:
            self._by_node[node] = self._begun(node, stored, progress)
        desk = self._by_node[node]
        place = min(desk.free)
        desk.free.remove(place)
        return desk, place

    def publish(self, stored: Stored, progress: float) -> None:
        """Send newer weights to all that have taken those before."""
        for desk in self._by_node.values():
            if desk.answer is None and desk.sent != stored.version:
                desk.answer = desk.actor.publish.remote(stored.answer, stored.version, progress)
                desk.sent = stored.version

    def asked(self) -> dict[Any, NodeDesk]:
        """Whose answer is waited for, by where Ray puts it."""
        return {desk.answer: desk for desk in self._by_node.values() if desk.answer is not None}

    def hear(self, desk: NodeDesk) -> None:
        """Take in the answer of one.

        Raises:
            AthenanError: it cannot begin.
        """
        answer, desk.answer = desk.answer, None
        try:
            report = self._ray.get(answer)
        except self._ray.exceptions.RayError:
            self.lose(desk)
            return
        if isinstance(report, Failed):
            raise report.error
        desk.version = desk.sent
        if isinstance(report, ActorState):
            desk.state = report

    def lose(self, desk: NodeDesk) -> None:
        """End one that is lost, or that actors may hang for."""
        if self._by_node.get(desk.node) is desk:
            del self._by_node[desk.node]
            self._gone = total([self._gone, replace(desk.state, alive=0.0)])
            self._end([desk])

    def told(self) -> ActorState:
        """The sums of what they and those before them have told."""
        return total([self._gone, *(desk.state for desk in self._by_node.values())])

    def close(self) -> None:
        """End them all."""
        self._end(list(self._by_node.values()))
        self._by_node = {}

    def _begun(self, node: str, stored: Stored, progress: float) -> NodeDesk:
        workers = self._task.config.workers
        places = workers.count if self._site.is_own else min(workers.count, self._site.cores_of(node))
        config = replace(self._task.config, workers=replace(workers, count=places))
        options = on_node(node) | {
            "max_restarts": 0,
            "num_gpus": GPU if self._task.on_gpu else 0,
            "runtime_env": SPARING,
        }
        del options["max_retries"]  # which tasks have
        actor = self._ray.remote(Valuing).options(**options).remote(replace(self._task, config=config))
        plan = actor.begin.remote(stored.answer, stored.version, progress)
        return NodeDesk(node, actor, plan, plan, stored.version, set(range(places)))

    def _end(self, desks: list[NodeDesk]) -> None:
        with contextlib.suppress(Exception):  # whatever Ray says of those that are gone already
            stopping = [desk.actor.stop.remote() for desk in desks]
            self._ray.wait(stopping, num_returns=len(stopping), timeout=STOP_SECONDS)
        for desk in desks:
            with contextlib.suppress(Exception):
                self._ray.kill(desk.actor)

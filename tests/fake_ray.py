"""A stand-in for Ray: its actors are objects of this process, and calls are made one after the other while it is waited
for them. It is what `importlib` finds once it stands in `sys.modules`."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class Ref:
    """Where a value is, or will be."""

    def __init__(self, value: Any = None, actor: Actor | None = None) -> None:
        self.value = value
        self.actor = actor
        self.is_ready = actor is None


class Actor:
    """A handle.

    Attributes:
        options: Ray's options with which it was made.
        behaviour: "plays", "dies" (its calls raise), "hangs", or "waits" for room; the latter two never answer.
    """

    def __init__(self, fake: FakeRay, made: Any, options: dict[str, Any]) -> None:
        self.fake = fake
        self.made = made
        self.options = options
        self.behaviour = "plays"
        self.calls: list[tuple[Ref, str, list[Any]]] = []
        self.most_calls = 0
        self.answered = 0

    def __getattr__(self, name: str) -> Any:
        def remote(*arguments: Any) -> Ref:
            ref = Ref(actor=self)
            sent = pickle.loads(pickle.dumps([x for x in arguments if not _has_refs(x)]))
            whole = [x if _has_refs(x) else sent.pop(0) for x in arguments]
            self.calls.append((ref, name, whole))
            self.most_calls = max(self.most_calls, len(self.calls))
            return ref

        return types.SimpleNamespace(remote=remote)

    def answers(self) -> bool:
        """Whether it does."""
        return self.behaviour in ("plays", "dies")

    def answer(self) -> None:
        """Make the first of the calls under way."""
        self.answered += 1
        ref, name, given = self.calls.pop(0)
        for x in given:
            if isinstance(x, Ref) and not x.is_ready:
                assert x.actor is not None
                x.actor.answer()
        whole = [pickle.loads(pickle.dumps(x.value)) if isinstance(x, Ref) else x for x in given]
        lost = [x for x in whole if isinstance(x, RayError)] + [RayError("gone")] * (self.behaviour == "dies")
        try:
            ref.value = lost[0] if lost else pickle.loads(pickle.dumps(getattr(self.made, name)(*whole)))
        except AssertionError as error:
            ref.value = RayTaskError(f"ray::play\nAssertionError: {error}")
        ref.is_ready = True


def _has_refs(x: Any) -> bool:
    return isinstance(x, Ref) or (isinstance(x, list) and any(isinstance(y, Ref) for y in x))


class FakeRay:
    """What is used of the module.

    Attributes:
        cpus: of its only node.
        actors: all that were made, in order.
        killed: those that were ended.
        joined: the options of `init`; empty before.
        tasks: what was called on a node.
    """

    def __init__(self) -> None:
        self.cpus = 2
        self.actors: list[Actor] = []
        self.killed: list[Actor] = []
        self.joined: dict[str, Any] = {}
        self.tasks: list[Any] = []
        self.puts = 0
        self.on_new: Callable[[Actor], None] = lambda actor: None
        self.cloudpickle: Any = pickle
        self.exceptions = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        strategies = types.SimpleNamespace(NodeAffinitySchedulingStrategy=lambda node, soft: node)
        self.util = types.SimpleNamespace(scheduling_strategies=strategies)
        services = types.SimpleNamespace(canonicalize_bootstrap_address_or_die=lambda address: address)
        self._private = types.SimpleNamespace(services=services)

    @property
    def servers(self) -> list[Actor]:
        """Those of `actors` that hold inference servers."""
        return [actor for actor in self.actors if "runtime_env" in actor.options]

    def init(self, **options: Any) -> None:
        signal.signal(signal.SIGTERM, lambda number, frame: None)  # as Ray does
        self.joined = options

    def is_initialized(self) -> bool:
        return bool(self.joined)

    def shutdown(self) -> None:
        self.joined = {}

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.cpus)}

    def nodes(self) -> list[dict[str, Any]]:
        here = {"Alive": True, "NodeID": "n", "NodeManagerHostname": "here", "Resources": {"CPU": float(self.cpus)}}
        return [here, {"Alive": False, "NodeID": "m"}]

    def get_runtime_context(self) -> Any:
        return types.SimpleNamespace(get_node_id=lambda: "n", gcs_address="10.0.0.1:6379")

    def put(self, value: Any) -> Ref:
        self.puts += 1
        return Ref(pickle.loads(pickle.dumps(value)))

    def get(self, ref: Ref) -> Any:
        assert ref.is_ready
        if isinstance(ref.value, RayError):
            raise ref.value
        return ref.value

    def wait(self, refs: Sequence[Ref], num_returns: int = 1, timeout: float | None = None) -> tuple[list[Ref], Any]:
        assert len(set(refs)) == len(refs) >= num_returns > 0
        waiting = [ref.actor for ref in refs if ref.actor is not None and ref.actor.answers()]
        if waiting and not any(ref.is_ready for ref in refs):
            min(waiting, key=lambda actor: actor.answered).answer()
        return [ref for ref in refs if ref.is_ready], None

    def kill(self, actor: Actor) -> None:
        self.killed.append(actor)
        actor.made.end(5.0)  # its thread is one of this process

    def remote(self, what: Any) -> Any:
        def begin(*arguments: Any) -> Any:
            if not isinstance(what, type):
                self.tasks.append((what.__name__, arguments))
                return Ref(what(*arguments) if what.__name__ == "probe" else None)
            self.actors.append(Actor(self, what(*arguments), begun.of))
            self.on_new(self.actors[-1])
            return self.actors[-1]

        begun = types.SimpleNamespace(remote=begin, of={})
        begun.options = lambda **options: begun.of.update(options) or begun
        return begun


def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    """Ray, for a test; its actors change this process, as they are in it, and afterwards it is what it was."""
    fake = FakeRay()
    monkeypatch.setitem(sys.modules, "ray", fake)  # type: ignore[arg-type]
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    monkeypatch.setattr("athenan_spiel.training.actors.playing.yield_to_others", lambda: None)  # it cannot be undone
    handler = signal.getsignal(signal.SIGTERM)
    yield fake
    signal.signal(signal.SIGTERM, handler)
    gc.enable()

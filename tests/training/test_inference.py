"""One process that values states for all actors: its answers, what it merges, and a run that loses it."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import random
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import NetworkConfig, PuctConfig, TrainingConfig, WorkersConfig
from athenan_spiel.errors import EvaluatorError, LearningError
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.training.actors.inference import RemoteEngine, ServerGoneError
from athenan_spiel.training.actors.messages import ActorTask
from athenan_spiel.training.actors.server import ATTEMPTS, InferenceServer
from athenan_spiel.training.actors.shared_weights import SharedWeights
from athenan_spiel.training.model import make_model
from athenan_spiel.training.preflight import ROWS, is_shared

pytestmark = pytest.mark.usefixtures("forked_workers")
OWN = dataclasses.replace(TINY, workers=WorkersConfig(count=2))
SHARED = dataclasses.replace(TINY, workers=WorkersConfig(count=2, inference="shared"))
WITH_POLICY = dataclasses.replace(
    SHARED,
    outcome="gain",
    search=PuctConfig(iterations=4),
    targets=dataclasses.replace(TINY.targets, method="terminal"),
    network=NetworkConfig(architecture="mlp", layers=1, neurons=8, policy="auto"),
)


class Served:
    """A server for two actors, and its network."""

    def __init__(self, config: TrainingConfig) -> None:
        outcome = make_outcome(config.outcome, TIC_TAC_TOE, random.Random(0))
        model = make_model(TIC_TAC_TOE, config, outcome)
        self.network = model.network
        model.evaluator.load(self.network)
        self.engine = model.evaluator.engine
        self.weights = SharedWeights.new(3, self.network.state_dict())
        self.weights.publish(1, self.network.state_dict(), 0.0)
        width = 1 if self.network.policy is None else 1 + self.network.actions
        row = self.network.shape, width
        self.server = InferenceServer(ActorTask(str(TIC_TAC_TOE), config, outcome.parameters, None), self.weights, row)

    def close(self) -> None:
        self.server.close()
        self.weights.close()


@pytest.fixture(params=["values", "and a policy"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    found = Served(SHARED if request.param == "values" else WITH_POLICY)
    try:
        yield found
    finally:
        found.close()


def batch_of(served: Served, rows: int) -> Any:
    return np.random.default_rng(rows).random((rows, *served.network.shape)).astype(np.float32)


def test_answers_are_those_of_the_network(served: Served) -> None:
    engine = RemoteEngine(served.server.running(), 0, SHARED.engine)
    for rows in (1, 7, ROWS, ROWS + 1, 3 * ROWS - 5):
        batch = batch_of(served, rows)
        np.testing.assert_allclose(engine.infer(batch), served.engine.infer(batch), rtol=1e-5, atol=1e-6)
    assert engine.infer(batch_of(served, 0)).shape == served.engine.infer(batch_of(served, 0)).shape
    assert engine.version == 1
    with pytest.raises(EvaluatorError, match="expected rows of shape"):
        engine.infer(np.zeros((2, 5), np.float32))


def test_questions_under_way_may_be_taken_in_any_order(served: Served) -> None:
    plan = served.server.running()
    engines = [RemoteEngine(plan, actor, SHARED.engine) for actor in (0, 1)]
    asked = [(engine, batch_of(served, rows)) for rows in (5, 6, 7) for engine in engines]
    pending = [(engine.start(batch), batch) for engine, batch in asked]
    for answer, batch in reversed(pending):
        np.testing.assert_allclose(answer.result(), served.engine.infer(batch), rtol=1e-5, atol=1e-6)


def test_the_newest_weights_answer(served: Served) -> None:
    engine = RemoteEngine(served.server.running(), 1, SHARED.engine)
    batch = batch_of(served, 3)
    before = engine.infer(batch)
    served.weights.publish(2, {name: 0.5 * tensor for name, tensor in served.network.state_dict().items()}, 0.0)
    assert not np.allclose(engine.infer(batch), before)
    assert engine.version == 2


def ends(*arguments: object) -> None:
    """In place of `serve`: killed as it begins."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("served", ["values"], indirect=True)
@pytest.mark.parametrize("killed", [1, ATTEMPTS - 1, ATTEMPTS])
def test_one_that_ends_as_it_begins_is_begun_again(
    served: Served, killed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = iter([ends] * killed)
    transport = served.server._transport
    start = transport.start
    monkeypatch.setattr(transport, "start", lambda target, *arguments: start(next(ways, target), *arguments))
    if killed == ATTEMPTS:
        with pytest.raises(LearningError, match="the inference server of the workers ended during its start"):
            served.server.running()
        return
    engine = RemoteEngine(served.server.running(), 0, SHARED.engine)
    assert len(engine.infer(batch_of(served, 3))) == 3
    assert len(multiprocessing.active_children()) == 1


def test_who_asks_a_server_that_is_gone_is_told(served: Served) -> None:
    engine = RemoteEngine(served.server.running(), 0, SHARED.engine)
    (process,) = multiprocessing.active_children()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with pytest.raises(ServerGoneError):
        engine.infer(batch_of(served, 3))
    again = RemoteEngine(served.server.running(), 0, SHARED.engine)
    assert len(again.infer(batch_of(served, 3))) == 3, "another one was begun"


def test_it_is_the_way_of_cuda_alone_unless_it_is_said() -> None:
    assert not is_shared(OWN)
    assert is_shared(SHARED)
    assert not is_shared(dataclasses.replace(OWN, workers=WorkersConfig(count=2, inference="own")))

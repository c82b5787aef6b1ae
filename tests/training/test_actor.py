"""An actor gives records of plain arrays and numbers, the same ones to the bit in whatever process it plays."""

from __future__ import annotations

import dataclasses
import multiprocessing
import pickle
import types
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from io import BytesIO
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import HANG_SECONDS
from training_runs import TINY, comparable

from athenan_spiel.config import (
    DescentConfig,
    EncodingConfig,
    ExplorationConfig,
    NetworkConfig,
    PuctConfig,
    SelfPlayConfig,
    TargetsConfig,
    TrainingConfig,
)
from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.learning import Targets
from athenan_spiel.learning.labels import Labels, Policies
from athenan_spiel.play.self_play import SelfPlayGame
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.training.actor import Actor, MatchRecord, PublishedWeights, RoundInPlay
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run

SPEC = "connect_four(rows=4,columns=4,x_in_row=3)"
GAME = pyspiel.load_game(SPEC)
KEPT = dataclasses.replace(TINY, matches_at_once=5, search=DescentConfig(iterations=3, resolved_hours=12.0))
CASES: dict[str, TrainingConfig] = {
    "tree": KEPT,
    "coefficients": dataclasses.replace(TINY, targets=TargetsConfig(coefficients=True, leaves=True)),
    "root": dataclasses.replace(TINY, targets=TargetsConfig(method="root")),
    "terminal, annealed": dataclasses.replace(
        TINY, targets=TargetsConfig(method="terminal"), exploration=ExplorationConfig(schedule="annealed")
    ),
    "random openings, cosine": dataclasses.replace(
        TINY,
        self_play=SelfPlayConfig(opening_plies=5),
        targets=TargetsConfig(method="root"),
        learner=dataclasses.replace(TINY.learner, schedule="cosine"),
    ),
    "alphazero": dataclasses.replace(
        TINY,
        outcome="gain",
        search=PuctConfig(iterations=4, root_noise=0.25),
        exploration=ExplorationConfig(distribution="visits"),
        targets=TargetsConfig(method="terminal"),
        network=NetworkConfig(architecture="r1", layers=1, filters=4, neurons=8, policy="auto"),
    ),
}


def plain(value: Any) -> Any:
    """What must be the same of two records, as comparable values."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def published_twice(learner: LearnerSide) -> list[PublishedWeights]:
    """The weights of `learner`, and others that are given out after the first record."""
    weights = {name: tensor.clone() for name, tensor in learner.published().weights.items()}
    return [PublishedWeights(1, weights), PublishedWeights(2, {name: -2 * each for name, each in weights.items()})]


def played(
    config: TrainingConfig, published: list[PublishedWeights], seeds: list[int], *rest: Any
) -> list[MatchRecord]:
    """A round of an actor, which gets the next weights after each record as long as there are any."""
    outcome, proven = rest
    actor = Actor(pyspiel.load_game(SPEC), config, outcome)
    playing = actor.play(published[0], proven, seeds, progress=0.5)
    records: list[MatchRecord] = []
    going = True
    while going:
        going = playing.advance()
        while (record := playing.take()) is not None:
            records.append(record)
            actor.load(published[min(len(records), len(published) - 1)])
    assert [*playing.rest()] == []
    assert playing.alive == 0
    at_random = (config.self_play.opening_plies or 0) * len(records)
    assert 0 <= sum(record.length for record in records) - playing.plies <= at_random
    assert playing.evaluations == sum(record.evaluations for record in records)
    return records


def played_elsewhere(order: bytes) -> bytes:
    """As `played`, of what comes as bytes and goes as bytes."""
    return pickle.dumps(played(*pickle.loads(order)))


@pytest.fixture(scope="module")
def another_process() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as processes:
        yield processes


@pytest.mark.parametrize("case", CASES)
def test_a_round_in_another_process_gives_the_same_records_to_the_bit(
    case: str, another_process: ProcessPoolExecutor
) -> None:
    config = CASES[case]
    learner = LearnerSide(plan_run(GAME, config))
    order = (config, published_twice(learner), learner.new_round(), learner.outcome, learner.proven)
    answer = another_process.submit(played_elsewhere, pickle.dumps(order)).result(timeout=HANG_SECONDS)
    records = played(*order)
    assert len(records) == config.matches_at_once
    assert plain(pickle.loads(answer)) == plain(records)
    assert (records[0].proofs is None) == (learner.proven is None)


def test_the_weights_of_a_round_matter_and_those_that_come_in_between_too() -> None:
    config = dataclasses.replace(KEPT, seed=2)  # the first match ends before some others
    learner = LearnerSide(plan_run(GAME, config))
    first, second = published_twice(learner)
    seeds = learner.new_round()
    rounds = [played(config, given, seeds, learner.outcome, None) for given in ([first], [first, second], [second])]
    evaluations = [[record.evaluations for record in records] for records in rounds]
    assert evaluations[0][0] == evaluations[1][0], "the first match had ended before"
    assert len({*map(tuple, evaluations)}) == 3


def test_proven_states_are_looked_into_and_stay_as_they_are() -> None:
    learner = LearnerSide(plan_run(GAME, KEPT))
    published, seeds, proven = published_twice(learner), learner.new_round(), ResolvedStates()
    records = played(KEPT, published, seeds, learner.outcome, proven)
    assert len(proven) == 0
    for record in records:
        assert record.proofs is not None
        proven.add_arrays(record.proofs)
    known = plain(proven.to_arrays())
    again = played(KEPT, published, seeds, learner.outcome, proven)
    assert sum(r.evaluations for r in again) < sum(r.evaluations for r in records)
    assert plain(proven.to_arrays()) == known


class Noting(pickle.Pickler):
    """Notes of which kinds everything is that is pickled, what Python has of its own apart."""

    def __init__(self) -> None:
        super().__init__(BytesIO())
        self.kinds: set[type] = set()

    def reducer_override(self, value: Any) -> Any:
        self.kinds.add(type(value))
        return NotImplemented


@pytest.mark.parametrize("case", CASES)
def test_a_record_shares_nothing_with_the_tree(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matches: list[SelfPlayGame] = []
    make = RoundInPlay._record

    def noted(playing: RoundInPlay, match: SelfPlayGame) -> MatchRecord:
        matches.append(match)
        return make(playing, match)

    monkeypatch.setattr(RoundInPlay, "_record", noted)
    learner = LearnerSide(plan_run(GAME, CASES[case]))
    records = played(CASES[case], published_twice(learner), learner.new_round(), learner.outcome, learner.proven)
    before = plain(records)
    noting = Noting()
    noting.dump(records)
    pythons_own = (type, types.FunctionType, types.BuiltinFunctionType, np.dtype)
    kinds = {kind for kind in noting.kinds if not issubclass(kind, pythons_own)}
    of_policies = {Policies} if case == "alphazero" else set()
    assert kinds == {MatchRecord, Targets, Labels, CompactRows, np.ndarray, *of_policies}
    for match in matches:
        for node in match.tree.nodes:
            node.values[:] = [0.0] * len(node.values)
            node.value = 0.0
        match.values[:] = []
    assert plain(records) == before


def test_a_pickled_record_is_learned_as_the_record_itself() -> None:
    config = dataclasses.replace(KEPT, encoding=EncodingConfig(symmetries="all"))
    here, there = (LearnerSide(plan_run(GAME, config)) for _ in range(2))
    for _ in range(2):
        seeds = here.new_round()
        assert there.new_round() == seeds
        for record in played(config, published_twice(here), seeds, here.outcome, here.proven):
            told = here.learn(record, lambda: None)
            assert there.learn(pickle.loads(pickle.dumps(record)), lambda: None)[0] == told[0]
        here.end_round(1.0)
        there.end_round(1.0)
    assert comparable(here.checkpoint(1.0)) == comparable(there.checkpoint(1.0))


def test_weights_of_a_version_are_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = LearnerSide(plan_run(GAME, TINY))
    actor = Actor(GAME, TINY, learner.outcome)
    loads: list[None] = []
    load = actor.evaluator.load
    monkeypatch.setattr(actor.evaluator, "load", lambda network: (loads.append(None), load(network)))
    for count, _ in enumerate((1, 2), 1):
        for _ in range(2):
            actor.load(learner.published())
        assert len(loads) == count
        seeds = learner.new_round()
        (record, *_) = played(TINY, [learner.published()], seeds, learner.outcome, None)
        learner.learn(record, lambda: None)
    learned = {name: tensor.clone() for name, tensor in learner.published().weights.items()}
    actor.load(learner.published())
    learner.drop_round()
    actor.load(learner.published())
    assert len(loads) == 4, "what is taken back is another version"
    assert any(not np.array_equal(learned[name], tensor) for name, tensor in learner.published().weights.items())


def test_only_positions_that_were_not_proven_calibrate_values() -> None:
    """Many iterations prove the first position of the small board, one iteration only some before the end."""
    counts = {}
    for iterations in (1, 3000):
        config = dataclasses.replace(TINY, search=DescentConfig(iterations=iterations))
        learner = LearnerSide(plan_run(pyspiel.load_game(SPEC), config))
        (record,) = played(config, published_twice(learner), [3], learner.outcome, None)
        assert record.estimates.dtype == np.float32
        counts[iterations] = len(record.estimates), record.length
    assert 0 < counts[1][0] < counts[1][1]
    assert counts[3000][0] == 0

"""What is measured of a machine: that each number is there, means what it says, and follows from what it is made of."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from every_engine import CONNECT_FOUR, network, some_batch
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.config import DescentConfig, LearnerConfig, TrainingConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines.torch_engine import TorchEngine
from athenan_spiel.errors import ConfigError, UnsupportedGameError
from athenan_spiel.measuring import Report, bench, learners, networks, searches
from athenan_spiel.measuring.report import PARTS
from athenan_spiel.measuring.stand_ins import InstantEngine, TimedEngine
from athenan_spiel.measuring.subject import random_targets
from athenan_spiel.measuring.trainings import _Watch, with_workers
from athenan_spiel.training import preset
from athenan_spiel.training.events import CheckpointWritten, RoundFinished, RoundProgress

pytestmark = pytest.mark.usefixtures("forked_workers")

SECONDS = 0.5


@pytest.fixture(scope="module")
def report() -> Report:
    """All parts, in half a second and what each takes at least."""
    return bench(TIC_TAC_TOE, TINY, seconds=SECONDS, workers=[0])


def a_round(**values: Any) -> RoundFinished:
    common = {
        "matches": 3,
        "seconds": 1.0,
        "rounds": 1,
        "evaluations": 100,
        "network_calls": 10,
        "states_learned": 50,
        "search_seconds": 0.5,
        "learning_seconds": 0.25,
        "replay_states": 50,
        "replay_bytes": 500,
    }
    return RoundFinished(**{**common, **values})


# The whole


def test_the_machine_and_the_subject_are_named(report: Report) -> None:
    assert report.machine.processor
    assert report.machine.cores >= 1
    assert report.machine.torch == torch.__version__
    assert (report.game, report.engine, report.choice) == ("tic_tac_toe()", "torch float32", None)
    assert "16" in report.model
    assert report.config == TINY


def test_a_document_has_values_of_json_alone(report: Report) -> None:
    document = json.loads(json.dumps(report.document(), allow_nan=False))
    assert document["machine"]["cores"] == report.machine.cores
    assert document["config"]["search"]["iterations"] == TINY.search.iterations
    assert {part for part in PARTS if document[part] is not None} == set(PARTS)
    assert document["training"][0]["shares"].keys() == {"search", "network", "learning", "rest"}


def test_each_part_is_told_before_it_is_measured_with_what_is_known() -> None:
    told: list[tuple[Report, str]] = []
    found = bench(
        TIC_TAC_TOE,
        TINY,
        seconds=0.1,
        parts=["memory", "learner"],
        tell=lambda report, what: told.append((report, what)),
    )
    assert [what for _, what in told] == [
        "learning in float32",
        "products of matrices in float32",
        "learning in bfloat16",
        "products of matrices in bfloat16",
        "memory",
    ]
    assert [report.learner is None for report, _ in told] == [True] * 4 + [False]
    assert (found.network, found.search, found.training) == (None, None, None)
    assert found.learner is not None
    assert found.memory is not None


def test_settings_are_made_to_fit_as_in_a_training() -> None:
    found = bench("tic_tac_toe", seconds=0.1, parts=["memory"])
    assert found.choice is not None
    assert "symmetries all" in found.choice
    quick = preset("quick")
    assert found.config.encoding.symmetries == "all"
    assert dataclasses.replace(found.config, encoding=quick.encoding, network=quick.network) == quick


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seconds": 0}, "seconds must be more than zero and at most 3,153,600,000, got 0"),
        ({"seconds": float("nan")}, "seconds must be more than zero"),
        ({"parts": []}, r"parts must contain some of network, search, learner, training, memory, got \[\]"),
        ({"parts": "memory"}, "parts must contain some of"),
        ({"parts": ["memroy"]}, "parts must be among .*, got 'memroy': did you mean 'memory'?"),
        ({"workers": [-1]}, "workers.count must be at least 0, got -1"),
        ({"workers": 2}, "workers must be a Sequence or None, got 2"),
        ({"config": {}}, "config must be a TrainingConfig or None"),
        ({"tell": 3}, "tell must be a function, got 3"),
        ({"fit": ["speed"]}, "fit must contain names among"),
    ],
)
def test_arguments_of_no_use_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        bench(TIC_TAC_TOE, **{"config": TINY, "seconds": 0.1, "parts": ["memory"], **arguments})


def test_no_workers_are_nothing_to_measure() -> None:
    with pytest.raises(ConfigError, match=r"workers must contain at least one number, got \[\]"):
        bench(TIC_TAC_TOE, TINY, workers=[])


def test_what_a_training_refuses_is_refused() -> None:
    with pytest.raises(UnsupportedGameError, match="kuhn_poker"):
        bench("kuhn_poker")
    with pytest.raises(ConfigError, match=r"learner\.threads must be at most"):
        bench(TIC_TAC_TOE, dataclasses.replace(TINY, learner=LearnerConfig(threads=1024)))


# The parts


def test_the_network_is_measured_on_every_engine(report: Report) -> None:
    assert report.network is not None
    measured = [(speed.engine, speed.batch) for speed in report.network]
    engines = {engine for engine, _ in measured}
    assert engines >= {"openvino float32", "torch float32", "torch bfloat16"}
    assert measured == [
        (engine, batch) for engine in dict.fromkeys(e for e, _ in measured) for batch in networks.BATCHES
    ]
    assert all(speed.states_per_second > 0 and speed.threads == 1 for speed in report.network)


def test_batches_that_take_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "MAX_CALL_SECONDS", 0.0)
    found = bench(TIC_TAC_TOE, TINY, seconds=0.1, parts=["network"]).network
    assert found is not None
    assert {speed.batch for speed in found} == {networks.BATCHES[0]}


def test_measuring_leaves_torchs_threads_as_they_were() -> None:
    before = torch.get_num_threads()
    config = dataclasses.replace(TINY, engine=dataclasses.replace(TINY.engine, name="openvino", threads=before + 1))
    bench(TIC_TAC_TOE, config, seconds=0.1, parts=["network", "learner"])
    assert torch.get_num_threads() == before


def test_the_search_is_measured_with_the_network_and_without(report: Report) -> None:
    assert report.search is not None
    assert [(speed.play, speed.network) for speed in report.search] == [
        ("self_play", True),
        ("thinking", True),
        ("self_play", False),
        ("thinking", False),
    ]
    for speed in report.search:
        assert speed.states_per_second > 0
        iterations = speed.iterations_per_second
        assert iterations is None or 0 < iterations <= speed.states_per_second, "none where no match has ended"
        assert speed.states_per_call >= 1
        assert (speed.outside_network is not None) == speed.network
        assert speed.outside_network is None or 0 < speed.outside_network < 1


@pytest.mark.parametrize("name", ["alphazero", "gumbel", "exit", "tables_2_and_3"])
def test_every_way_to_play_is_measured(name: str) -> None:
    small = dataclasses.replace(preset(name).network, filters=4, neurons=8)
    search = dataclasses.replace(preset(name).search, seconds=None, iterations=8)
    config = dataclasses.replace(preset(name), network=small, matches_at_once=2, search=search)
    found = bench(TIC_TAC_TOE, config, seconds=0.1, parts=["search", "memory", "learner"])
    assert found.search is not None
    assert found.learner is not None
    assert found.memory is not None
    assert found.memory.bytes_per_node > 100


@pytest.mark.parametrize("game", ["pig(players=2,winscore=8)", "einstein_wurfelt_nicht"])
def test_chance_chooses_in_what_is_measured(game: str) -> None:
    found = bench(game, TINY, seconds=0.1, parts=["search", "memory"])
    assert found.search is not None
    assert found.memory is not None


def test_the_learners_share_follows_from_its_rates(report: Report) -> None:
    assert report.learner is not None
    assert [speed.precision for speed in report.learner] == ["float32", "bfloat16"]
    for speed in report.learner:
        assert speed.batch == TINY.learner.batch_size
        assert speed.matrix_share == pytest.approx(speed.flops / speed.matrix_flops)
        assert speed.flops > speed.states_per_second


def test_operations_are_those_of_the_products() -> None:
    """Forwards, to the weights and, but for the first layer, to what comes in: two for each weight and each."""
    layers = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 3))
    layers.shape = (5,)
    assert learners._operations(layers) == 2 * (2 * 35 + 3 * 21)  # type: ignore[arg-type]


def test_the_time_of_a_training_is_shared_out(report: Report) -> None:
    assert report.training is not None
    (speed,) = report.training
    assert (speed.workers, speed.waiting) == (0, None)
    assert speed.seconds > 0
    assert speed.states_learned_per_second
    assert speed.states_valued_per_second > 0
    assert speed.matches_per_second
    assert speed.cores_busy
    assert speed.shares is not None
    shares = dataclasses.astuple(speed.shares)
    assert sum(shares) == pytest.approx(1)
    assert all(0 <= share < 1 for share in shares)
    assert speed.shares.learning == pytest.approx(speed.learning)


def test_a_training_with_workers_is_measured_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (speed,) = bench(TIC_TAC_TOE, TINY, seconds=2.0, parts=["training"], workers=[1]).training or ()
    assert speed.workers == 1
    assert speed.states_learned_per_second
    assert speed.cores_busy
    assert speed.learning is not None
    assert speed.waiting is not None
    assert 0 < speed.learning < 1
    assert 0 <= speed.waiting < 1
    assert speed.shares is None
    assert not multiprocessing.active_children()
    assert not list(tmp_path.iterdir())


def test_a_training_in_which_no_match_ends_tells_of_valued_states() -> None:
    slow = dataclasses.replace(TINY, search=DescentConfig(iterations=1_000_000))
    (speed,) = bench("connect_four", slow, seconds=0.1, parts=["training"], workers=[0]).training or ()
    assert speed.states_valued_per_second > 0
    assert (speed.states_learned_per_second, speed.cores_busy, speed.shares) == (None, None, None)


def test_rates_are_those_of_the_rounds_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, clock = TimedEngine(InstantEngine()), [0.0, 0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("time.process_time", lambda: clock[1])
    watch = _Watch(0, engine, 1.0)
    assert not watch.has_enough()
    watch(CheckpointWritten(matches=0, checkpoint=Path(), bytes=1, writing_seconds=0.0))
    clock[:], engine.seconds = [5.0, 1.0], 4.0
    watch(a_round(matches=3))
    clock[:], engine.seconds = [7.0, 4.0], 4.6
    watch(a_round(matches=7, evaluations=600, states_learned=80, search_seconds=1.2, learning_seconds=0.6))
    assert watch.has_enough()
    speed = watch.speed()
    assert (speed.seconds, speed.states_valued_per_second, speed.states_learned_per_second) == (2.0, 300.0, 40.0)
    assert (speed.matches_per_second, speed.cores_busy) == (2.0, 1.5)
    assert speed.shares is not None
    assert dataclasses.astuple(speed.shares) == pytest.approx((0.3, 0.3, 0.3, 0.1))


def test_cores_and_waiting_are_those_of_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0, 0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("time.process_time", lambda: clock[1])
    watch = _Watch(2, TimedEngine(InstantEngine()), 1.0)
    watch(
        RoundProgress(
            matches=0, seconds=1, alive=2, plies=0, plies_in_play=0, evaluations=0, evaluations_per_second=0.0
        )
    )
    clock[:] = [50.0, 1.0]
    assert not watch.has_enough(), "the workers have not begun"
    watch(
        RoundProgress(
            matches=0, seconds=50, alive=2, plies=9, plies_in_play=9, evaluations=30, evaluations_per_second=1.0
        )
    )
    clock[:] = [51.0, 2.0]
    watch(a_round(matches=5, search_seconds=51.0, workers_busy=(0.02, 0.0), workers_waited=(0.0, 0.0)))
    clock[:] = [53.0, 3.0]
    busy, waited = (1.0, 0.25), (0.4, 0.0)
    watch(a_round(matches=9, search_seconds=2.0, learning_seconds=0.5, workers_busy=busy, workers_waited=waited))
    speed = watch.speed()
    assert speed.cores_busy == pytest.approx((1.0 + 2 * 1.25) / 2)
    assert speed.waiting == pytest.approx(0.2)
    assert speed.learning == pytest.approx(0.25)
    assert speed.matches_per_second == 2.0


def test_what_does_not_last_is_not_measured() -> None:
    config = with_workers(preset("exit"), 3)
    assert (config.workers.count, config.matches) == (3, None)
    assert config.self_play.warm_start is config.self_play.values_after is None
    assert config.self_play.method == "apprentice"
    assert with_workers(preset("paper"), 0).warm_up.states is None
    assert with_workers(preset("hex_11"), 0).seconds is not None


def test_memory_is_that_of_nodes_and_of_states(report: Report) -> None:
    assert report.memory is not None
    assert report.memory.nodes > 0
    assert 200 < report.memory.bytes_per_node < 50_000
    assert report.memory.states > TINY.learner.batch_size
    size = Encoder(TIC_TAC_TOE).size
    assert size / 8 + 4 <= report.memory.bytes_per_learned_state < 4 * size


# What it is measured with


def test_random_targets_are_states_of_matches_with_uniform_policies() -> None:
    encoder = Encoder(TIC_TAC_TOE)
    targets = random_targets(TIC_TAC_TOE, encoder, random.Random(0), lambda count: count < 40, policies=True)
    assert len(targets) == 40
    assert (np.abs(targets.labels.values) <= 1).all()
    policies = targets.labels.policies
    assert policies is not None
    assert policies.counts[0] == 9
    assert (policies.counts == 0).any(), "ends have none"
    assert policies.shares.sum() == pytest.approx(policies.learned)
    assert random_targets(TIC_TAC_TOE, encoder, random.Random(0), lambda count: False).labels.policies is None


def test_a_timed_engine_says_what_the_other_one_does_and_counts() -> None:
    plain, of = TorchEngine(CONNECT_FOUR), network()
    timed = TimedEngine(plain)
    timed.load(of)
    batch = some_batch(CONNECT_FOUR, 7)
    assert (timed.name, timed.config) == (plain.name, plain.config)
    np.testing.assert_array_equal(timed.infer(batch), plain.infer(batch))
    np.testing.assert_array_equal(timed.start(batch[:3]).result(), plain.infer(batch[:3]))
    assert (timed.calls, timed.states) == (2, 10)
    assert timed.seconds > 0


def test_an_instant_engine_answers_any_number_of_states() -> None:
    engine = InstantEngine()
    for rows in (0, 1, 5000, 3 << 20):
        batch = np.empty((rows, 1), np.float32)
        answers = engine.infer(batch)
        assert (answers.shape, answers.dtype) == ((rows,), np.float32)
        assert (np.abs(answers) <= 1).all()
    assert len(np.unique(engine.start(np.empty((100, 1), np.float32)).result())) > 90


def test_iterations_are_unknown_until_a_match_has_ended() -> None:
    class Unfinished:
        iterations = evaluations = 0

        def step(self) -> None:
            engine.infer(np.empty((4, 1), np.float32))

    engine = TimedEngine(InstantEngine())
    speed = searches._speed("self_play", False, Unfinished(), engine, 0.01)
    assert speed.iterations_per_second is None
    assert speed.states_per_call == 4


def test_the_settings_of_a_config_are_kept() -> None:
    assert dataclasses.replace(with_workers(TINY, 0), matches=12, seconds=None) == TINY
    assert isinstance(with_workers(TINY, 1), TrainingConfig)

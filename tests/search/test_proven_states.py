"""States proven in earlier games: their proofs stay true, are found again, save evaluations, and can be cleared."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from drivers import answered
from oracles.brute_force import load, solver
from oracles.evaluators import constant, noise
from oracles.proofs import check_proofs
from training_runs import TINY, state_of

from athenan_spiel.config import DescentConfig, TrainingConfig
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.play.self_play import Round, SelfPlayGame
from athenan_spiel.search import UBFM, Budget, Descent, Search
from athenan_spiel.search.choice import completed, constant_exploitation, ordinal
from athenan_spiel.search.node import Node
from athenan_spiel.search.proven_states import ResolvedStates, digest
from athenan_spiel.search.walk import Requests
from athenan_spiel.training import resume, train
from athenan_spiel.training.checkpoints import read_checkpoint, read_header
from athenan_spiel.training.events import Event, RoundFinished
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run

PLAY = completed(ordinal(constant_exploitation(0.5)))
KEPT = dataclasses.replace(TINY, search=DescentConfig(iterations=3, resolved_hours=12.0))
GAME = load("connect_four(rows=4,columns=4,x_in_row=3)")


def matches_of(search: Search, seeds: list[int], iterations: int = 15) -> list[SelfPlayGame]:
    playing = Round(search.game, search, noise(1), PLAY, Budget(iterations=iterations), seeds)
    while playing.advance():
        pass
    return playing.matches()


@pytest.mark.parametrize("kind", [Descent, UBFM])
@pytest.mark.parametrize(
    "spec", ["tic_tac_toe", "hex(board_size=3)", "nim(pile_sizes=2;3;4)", "connect_four(rows=4,columns=4,x_in_row=3)"]
)
def test_proofs_stay_true_over_matches(spec: str, kind: type[Search]) -> None:
    game, memory, oracle = load(spec), ResolvedStates(), solver()
    outcome = make_outcome("additive_depth", game, random.Random(0))
    kept: dict[bytes, int] = {}
    for start in range(0, 12, 3):
        for match in matches_of(kind(game, outcome=outcome, known=memory), list(range(start, start + 3))):
            assert check_proofs(match.tree, game.new_initial_state(), oracle.value) > 0
            memory.add(match.tree.proofs())
            kept |= {digest(key): completion for key, _, (completion, _) in match.tree.proofs()}
    assert len(memory) == len(kept)
    arrays = memory.to_arrays()
    assert {row.tobytes(): c for row, c in zip(arrays["digests"], arrays["completions"], strict=True)} == kept
    assert {1, -1} <= set(kept.values())


def test_what_is_known_costs_no_evaluations() -> None:
    """The second time each game is the same, with fewer evaluations."""
    memory = ResolvedStates()
    seeds = [1, 2, 3]
    before = matches_of(Descent(GAME, known=memory), seeds)
    for match in before:
        memory.add(match.tree.proofs())
    after = matches_of(Descent(GAME, known=memory), seeds)
    assert sum(match.evaluations for match in after) < 0.7 * sum(match.evaluations for match in before)
    without = matches_of(Descent(GAME), seeds)
    assert [match.evaluations for match in without] == [match.evaluations for match in before], "an empty one is none"


def proof_of(state: pyspiel.State, search: Search, proof: tuple[int, float]) -> ResolvedStates:
    memory = ResolvedStates()
    memory.add([(search.key(state), state.move_number(), proof)])
    return memory


def iterate(iteration: Requests[Node]) -> list[Sequence[pyspiel.State]]:
    """All requests of an iteration whose evaluator returns 9 for every state."""
    return answered(iteration, constant(9.0))[1]


@pytest.mark.parametrize("kind", [Descent, UBFM])
def test_a_known_child_is_resolved_at_once_and_not_asked_about(kind: type[Search]) -> None:
    game = load("tic_tac_toe")
    state = game.new_initial_state()
    search = kind(game)
    known = state.child(3)
    search.known = proof_of(known, search, (0, 0.25))
    tree = search.new_tree()
    requests = iterate(search.iteration(tree, state, random.Random(0)))
    assert [child.history() for child in requests[0]] == [[a] for a in range(9) if a != 3]
    node = tree.table[tree.key(state)]
    assert node.values[3] == 0.25
    assert list(node.resolutions) == [i == 3 for i in range(9)]
    assert list(node.completions) == [0] * 9


def test_a_known_win_resolves_its_parent() -> None:
    game = load("tic_tac_toe")
    state = game.new_initial_state()
    search = UBFM(game)
    search.known = proof_of(state.child(8), search, (1, 5.0))
    tree = search.new_tree()
    iterate(search.iteration(tree, state, random.Random(0)))
    node = tree.table[tree.key(state)]
    assert (node.resolved, node.completion, node.value) == (True, 1, 5.0)


def test_a_match_whose_start_is_known_is_played_all_the_same() -> None:
    game = load("nim(pile_sizes=2;3)")
    memory = ResolvedStates()
    for match in matches_of(UBFM(game), [0], iterations=1000):
        assert match.tree.table[match.tree.key(game.new_initial_state())].resolved
        memory.add(match.tree.proofs())
    (again,) = matches_of(UBFM(game, known=memory), [5], iterations=1000)
    assert again.returns == [1.0, -1.0], "the first player wins, and plays so"
    assert again.iterations == len(again.history), "one look at each state of the match"


def test_a_state_is_found_at_its_ply_only_and_never_when_it_has_ended() -> None:
    state = load("tic_tac_toe").new_initial_state()
    children = [state.child(a) for a in (0, 1)]
    memory = ResolvedStates()
    memory.add([("same", 2, (1, 1.0))])
    assert memory.known(children, [False, False], lambda _: "same") == {}
    memory.add([("same", 1, (1, 1.0))])
    assert memory.known(children, [False, True], lambda _: "same") == {0: (1, 1.0)}


def test_the_later_of_two_proofs_is_kept_and_a_full_memory_takes_no_more() -> None:
    memory = ResolvedStates(most=2)
    memory.add([("a", 1, (1, 1.0)), ("a", 1, (1, 3.0)), ("b", 1, (0, 0.0)), ("c", 2, (1, 1.0)), ("a", 1, (1, 4.0))])
    assert len(memory) == 2
    arrays = memory.to_arrays()
    assert arrays["values"].tolist() == [4.0, 0.0]
    memory.clear()
    assert len(memory) == 0
    memory.add([("c", 2, (-1, 1.0))])
    assert len(memory) == 1


def test_arrays_give_the_memory_back() -> None:
    memory = ResolvedStates()
    memory.add([("a", 1, (1, 1.5)), ("b", 3, (-1, -0.25)), ("c", 1, (0, 0.0))])
    arrays = memory.to_arrays()
    again = ResolvedStates.from_arrays(arrays)
    assert len(again) == 3
    for name, array in again.to_arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
        assert array.dtype == arrays[name].dtype
    assert len(ResolvedStates.from_arrays(ResolvedStates().to_arrays())) == 0


def test_arrays_of_another_shape_are_refused() -> None:
    arrays = ResolvedStates().to_arrays()
    for broken in (arrays | {"values": np.zeros(1)}, {**arrays, "digests": np.zeros((0, 8), np.uint8)}):
        with pytest.raises(CheckpointError, match="expected resolved states in arrays of shapes"):
            ResolvedStates.from_arrays(broken)


def test_arrays_that_prove_nothing_are_refused() -> None:
    memory = ResolvedStates()
    memory.add([("key", 3, (1, 1.0))])
    arrays = memory.to_arrays()
    for change in (
        {"completions": np.array([2], np.int8)},
        {"completions": np.array([1], np.int64)},
        {"values": np.array([np.nan])},
        {"values": np.zeros((1, 1))},
        {"plies": np.array(["x"])},
    ):
        with pytest.raises(CheckpointError, match="of resolved states"):
            ResolvedStates.from_arrays(arrays | change)
    with pytest.raises(CheckpointError, match="got none of"):
        ResolvedStates.from_arrays({})


def test_the_copy_of_a_tree_has_its_proofs() -> None:
    (match,) = matches_of(Descent(GAME, known=ResolvedStates()), [0])
    assert list(match.tree.copy().proofs()) == list(match.tree.proofs())
    assert all(ply == len(str(key)) - len(str(key).replace("x", "").replace("o", "")) for key, ply, _ in counted(match))


def counted(match: SelfPlayGame) -> list[tuple[Any, int, Any]]:
    """The proofs with the stones alone for a key: as many as plies were played."""
    return [(key[0], ply, proof) for key, ply, proof in match.tree.proofs()]  # type: ignore[index]


def test_a_run_that_was_stopped_goes_on_with_its_memory(tmp_path: Path) -> None:
    whole = state_of(train(GAME, KEPT, tmp_path / "whole").checkpoint)
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 300

    run = train(GAME, KEPT, tmp_path / "cut", stop=stop)
    assert 0 < run.matches < 12
    assert state_of(resume(tmp_path / "cut").checkpoint) == whole
    assert len(whole["resolved"]["values"]) > 0
    plain = state_of(train(GAME, TINY, tmp_path / "plain").checkpoint)
    assert plain["resolved"] is None
    assert plain["counters"].evaluations > whole["counters"].evaluations, "what is known is not asked about"


def test_the_memory_is_emptied_in_time(tmp_path: Path) -> None:
    learner = LearnerSide(plan_run(GAME, KEPT))
    assert learner.proven is not None
    learner.proven.add([("a", 1, (1, 1.0))])
    learner.forget_proven(12 * 3600.0 - 1)
    assert len(learner.proven) == 1
    learner.forget_proven(12 * 3600.0)
    assert (len(learner.proven), learner.counters.resolved_since) == (0, 12 * 3600.0)
    learner.proven.add([("a", 1, (1, 1.0))])
    learner.forget_proven(20 * 3600.0)
    assert len(learner.proven) == 1
    checkpoint = learner.checkpoint(20 * 3600.0)
    again = LearnerSide(plan_run(GAME, KEPT, header=checkpoint.header), checkpoint)
    again.forget_proven(23 * 3600.0)
    assert again.proven is not None
    assert len(again.proven) == 1
    again.forget_proven(24 * 3600.0)
    assert len(again.proven) == 0


@pytest.mark.parametrize(("hours", "kept"), [(12.0, True), (1e-9, False), (None, None)])
def test_a_round_says_how_many_are_kept(tmp_path: Path, hours: float | None, kept: bool | None) -> None:
    told: list[Event] = []
    config = dataclasses.replace(TINY, matches=3, search=DescentConfig(iterations=3, resolved_hours=hours))
    train(GAME, config, tmp_path / "run", callbacks=[told.append])
    (counts,) = ([event.resolved_states for event in told if isinstance(event, RoundFinished)],)
    assert [None if count is None else count > 0 for count in counts] == [kept]


def test_a_worth_that_depends_on_the_way_is_refused(tmp_path: Path) -> None:
    config = TrainingConfig(outcome="mobility", search=DescentConfig(resolved_hours=12.0))
    with pytest.raises(ConfigError, match=r"search\.resolved_hours must be none with outcome 'mobility'.*, got 12\.0$"):
        train(GAME, config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_network_of_the_first_format_is_read(tmp_path: Path) -> None:
    path = train(GAME, dataclasses.replace(TINY, matches=3), tmp_path / "run").checkpoint
    state = json.loads((path / "state.json").read_text())
    state["version"] = 1
    for name in ("warm_up_states", "resolved_since"):
        del state["counters"][name]
    del state["checksum"]
    (path / "state.json").write_text(json.dumps(state))
    assert read_header(path).counters.warm_up_states == 0
    with pytest.raises(CheckpointError, match=r"has format version 1, which .* can play, but not resume"):
        read_checkpoint(path)


def test_a_damaged_memory_is_noticed(tmp_path: Path) -> None:
    path = train(GAME, dataclasses.replace(KEPT, matches=3), tmp_path / "run").checkpoint
    (path / "resolved.safetensors").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"resolved\.safetensors \(8 bytes\) does not match its checksum"):
        resume(tmp_path / "run", more_matches=1)

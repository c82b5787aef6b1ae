"""The compiled proof search: its proofs against brute force, its keys against Python's, its limits and refusals."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyspiel
import pytest
from oracles.brute_force import BruteForce, load, solver
from oracles.evaluators import noise
from oracles.positions import late_position

from athenan_spiel.errors import ConfigError, SearchError
from athenan_spiel.games.facts import FACTS
from athenan_spiel.games.transpositions import key_function
from athenan_spiel.outcomes import AdditiveDepth
from athenan_spiel.solving import Proof, ProofBounds, compiling, proof_numbers, solve
from athenan_spiel.solving.proof_numbers import Bounds, ProofNumberSearch, unavailable

compiled = pytest.mark.skipif(unavailable() is not None, reason=f"compiled proof search: {unavailable()}")

WHOLE = [
    "breakthrough(rows=4,columns=3)",
    "clobber(rows=3,columns=4)",
    "connect_four(rows=4,columns=4)",
    "dots_and_boxes(num_rows=2,num_cols=2)",
    "hex(board_size=3)",
    "mnk(m=4,n=3,k=3)",
    "nim(pile_sizes=1;3;5;7,is_misere=true)",
    "nim(pile_sizes=1;2;4,is_misere=false)",
    "tic_tac_toe",
    "y(board_size=3)",
]
LARGER = {"clobber(rows=4,columns=5)": 1, "connect_four(rows=5,columns=4)": 0, "hex(board_size=4)": 1}
LATE = [
    "amazons(board_size=6)",
    "antichess",
    "breakthrough(rows=5,columns=4)",
    "checkers",
    "chess",
    "chinese_checkers(players=2)",
    "clobber",
    "connect_four",
    "dots_and_boxes(num_rows=3,num_cols=3)",
    "go(board_size=4)",
    "gomoku(size=6)",
    "havannah(board_size=4)",
    "hex(board_size=5)",
    "lines_of_action(max_game_length=40)",
    "mancala",
    "mnk(m=5,n=5,k=4)",
    "nine_mens_morris",
    "othello",
    "oware",
    "pentago",
    "quoridor(board_size=5)",
    "twixt",
    "ultimate_tic_tac_toe",
    "xiangqi",
    "y(board_size=6)",
]
QUICK = [
    spec
    for spec in LATE
    if spec.partition("(")[0] not in ("antichess", "chess", "chinese_checkers", "oware", "xiangqi")
]
"""Games whose last positions are found in a moment."""


def search_of(state: pyspiel.State, megabytes: float = 100.0) -> ProofNumberSearch:
    search = ProofNumberSearch(state.get_game(), megabytes)
    search.start(state)
    return search


def check_proof(state: pyspiel.State, oracle: BruteForce) -> None:
    """Proves `state`, and compares its value, the bounds of its actions and a line of best play with the oracle's."""
    search, value = search_of(state), oracle.value(state)
    assert search.run(60.0) == "proven"
    assert search.root.bounds == (value, value)
    while True:
        for action, numbers in search.actions.items():
            assert numbers.bounds.lower <= oracle.value(state.child(action)) <= numbers.bounds.upper
        best = search.best_action
        assert search.actions[best].bounds.value == value
        state = state.child(best)
        assert oracle.value(state) == value
        if state.is_terminal():
            return
        search.start(state)
        assert search.run(60.0) == "proven"


@compiled
@pytest.mark.parametrize("spec", WHOLE)
def test_small_games(spec: str) -> None:
    state, oracle = load(spec).new_initial_state(), solver()
    check_proof(state, oracle)


@compiled
@pytest.mark.parametrize("spec", LARGER)
def test_published_values(spec: str) -> None:
    search = search_of(load(spec).new_initial_state())
    assert search.run(60.0) == "proven"
    assert search.root.bounds.value == LARGER[spec]


@compiled
@pytest.mark.parametrize("spec", QUICK)
def test_the_ends_of_games(spec: str) -> None:
    for seed in range(8):
        late = late_position(spec, seed, max_histories=400, matches=2)
        check_proof(late.state, late.oracle)


@compiled
@pytest.mark.slow("many positions")
@pytest.mark.parametrize("spec", LATE)
def test_the_ends_of_many_games(spec: str) -> None:
    for seed in range(8, 28):
        late = late_position(spec, seed, max_histories=1_500, matches=4)
        check_proof(late.state, late.oracle)


def random_states(game: pyspiel.Game, rng: random.Random) -> Iterator[pyspiel.State]:
    state = game.new_initial_state()
    while not state.is_terminal() and state.move_number() < 60:
        yield state
        state = state.child(rng.choice(state.legal_actions()))


@compiled
@pytest.mark.parametrize("name", FACTS)
def test_states_share_a_key_as_in_python(name: str) -> None:
    game = load("chinese_checkers(players=2)" if name == "chinese_checkers" else name)
    if unavailable(game) is not None:
        pytest.skip(f"not a game of the compiled search: {unavailable(game)}")
    ours, search = key_function(game), ProofNumberSearch(game, 1.0)
    of_python: dict[object, tuple[int, int]] = {}
    merged = proof_numbers._rule(game)[0] != proof_numbers.HISTORY_RULE
    for seed in range(40):
        rng = random.Random(seed % 20)
        for i, state in enumerate(random_states(game, rng)):
            for child in [state] if i > 4 else [state, *map(state.child, state.legal_actions()[:12])]:
                if not child.is_terminal():
                    key = ours(child) if merged else tuple(child.history())
                    assert of_python.setdefault(key, search.key(child)) == search.key(child)
    assert len(set(of_python.values())) == len(of_python)


@compiled
def test_transpositions_share_a_key() -> None:
    game = load("connect_four")
    search, states = ProofNumberSearch(game, 1.0), []
    for line in ((0, 1, 2), (2, 1, 0), (0, 2, 1)):
        state = game.new_initial_state()
        for action in line:
            state.apply_action(action)
        states.append(state)
    keys = [search.key(state) for state in states]
    assert keys[0] == keys[1] != keys[2]


@compiled
@pytest.mark.parametrize("spec", ["tic_tac_toe", "clobber(rows=3,columns=4)", "dots_and_boxes(num_rows=1,num_cols=2)"])
def test_solve_uses_it_and_its_line_is_best_play(spec: str) -> None:
    game = load(spec)
    oracle, state = BruteForce(), game.new_initial_state()
    proof = solve(game, outcome=AdditiveDepth(longest=40, exact=True))
    assert (proof.proven, proof.ending, proof.value) == (True, "proven", oracle.value(state))
    assert (proof.iterations, proof.evaluations) == (0, 0)
    assert proof.nodes > 0
    for action in proof.line:
        state = state.child(action)
        assert oracle.value(state) == proof.value
    assert state.is_terminal()
    again = solve(game, algorithm="proof_numbers")
    assert (again.line, again.nodes) == (proof.line, proof.nodes)


@compiled
def test_solve_finds_a_quick_win_and_the_loser_plays_on() -> None:
    def after(*history: int) -> pyspiel.State:
        state = load("tic_tac_toe").new_initial_state()
        for action in history:
            state.apply_action(action)
        return state

    assert solve("tic_tac_toe", after(0, 3, 1, 6)).line == (2,)
    assert len(solve("tic_tac_toe", after(0, 1, 4)).line) == 4


@compiled
def test_an_evaluator_or_iterations_select_descent() -> None:
    assert solve("tic_tac_toe", evaluator=noise(0)).iterations > 0
    assert solve("tic_tac_toe", bounds=ProofBounds(iterations=3)).iterations == 3
    with pytest.raises(ConfigError, match="no iterations, got a limit of 3"):
        solve("tic_tac_toe", algorithm="proof_numbers", bounds=ProofBounds(iterations=3))


@compiled
def test_without_a_proof_solve_reports_the_most_promising_action() -> None:
    told: list[Proof] = []
    proof = solve("hex(board_size=6)", bounds=ProofBounds(seconds=0.2), on_progress=told.append)
    assert (proof.proven, proof.ending, proof.value) == (False, "seconds", 0.0)
    assert len(proof.line) == 1
    assert 1 <= len(told) <= 4
    assert all(x.ending is None and 0 < x.nodes <= proof.nodes for x in told)


@pytest.mark.usefixtures("unloaded")
def test_solve_works_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_numbers, "LIBRARY", "missing.so")
    assert solve("tic_tac_toe").iterations > 0
    with pytest.raises(ConfigError, match="use 'descent'"):
        solve("tic_tac_toe", algorithm="proof_numbers")


@compiled
def test_interruptions_change_nothing() -> None:
    state = load("hex(board_size=4)").new_initial_state()
    whole, parts = search_of(state), search_of(state)
    assert whole.run(60.0) == "proven"
    endings = {parts.run(60.0, nodes=7)}
    while "proven" not in endings:
        assert parts.root.bounds in ((-1, 1), (1, 1))
        endings.add(parts.run(60.0, nodes=7))
    assert endings == {"limit", "proven"}
    assert (parts.root, parts.nodes, parts.states) == (whole.root, whole.nodes, whole.states)
    assert parts.actions == whole.actions


@compiled
def test_the_table_lasts_from_search_to_search() -> None:
    state = load("hex(board_size=4)").new_initial_state()
    search = search_of(state)
    search.run(60.0)
    before = search.nodes
    search.start(state.child(search.best_action))
    assert search.run(60.0) == "proven"
    assert search.nodes - before < 10


@compiled
def test_it_keeps_to_its_time() -> None:
    search = search_of(load("chess").new_initial_state())
    start = time.perf_counter()
    assert search.run(0.05) == "limit"
    assert 0.05 <= time.perf_counter() - start < 0.5
    assert search.root.bounds == (-1, 1)
    assert search.root.bounds.value is None


@compiled
def test_other_threads_run_meanwhile() -> None:
    search = search_of(load("chess").new_initial_state())
    searching = threading.Thread(target=search.run, args=(0.5,))
    start = time.perf_counter()
    searching.start()
    turns = 0
    while searching.is_alive():
        turns += 1
        time.sleep(0.01)
    assert turns > 10 * (time.perf_counter() - start)
    searching.join()


@compiled
def test_a_full_table_drops_what_is_proven_and_proofs_stay_true() -> None:
    state = load("connect_four(rows=5,columns=4)").new_initial_state()
    search = search_of(state, megabytes=4.0)  # less than half of the proof
    assert search.run(60.0) == "proven"
    assert search.root.bounds.value == 0
    assert search_of(state, megabytes=0.1).run(60.0) == "full"


@compiled
def test_a_late_position_in_a_small_table() -> None:
    late = late_position("clobber", 3, max_histories=1_500, matches=4)
    search = search_of(late.state, megabytes=0.01)
    if search.run(60.0) == "proven":
        assert search.root.bounds.value == late.oracle.value(late.state)


@compiled
def test_a_fault_of_the_game_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    game = load("hex(board_size=3)")
    monkeypatch.setattr(proof_numbers, "_rule", lambda game: (proof_numbers.OBSERVATION_RULE, 1))
    search = ProofNumberSearch(game, 1.0)
    with pytest.raises(SearchError, match="proof search failed"):
        search.start(game.new_initial_state())


@compiled
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("python_tic_tac_toe", "not one of OpenSpiel's"),
        ("misere(game=tic_tac_toe())", "not one of OpenSpiel's"),
        ("pig", "chance"),
        ("chinese_checkers(players=3)", "two players"),
        ("morpion_solitaire", "two players"),
    ],
)
def test_other_games_are_refused(spec: str, reason: str) -> None:
    import open_spiel.python.games  # noqa: F401 - registers the games in Python

    game = load(spec)
    assert reason in str(unavailable(game))
    with pytest.raises(SearchError, match="can't be used"):
        ProofNumberSearch(game, 1.0)


@compiled
def test_a_state_in_python_is_refused() -> None:
    import open_spiel.python.games  # noqa: F401

    search = ProofNumberSearch(load("tic_tac_toe"), 1.0)
    with pytest.raises(SearchError, match=r"implements in C\+\+"):
        search.start(load("python_tic_tac_toe").new_initial_state())


@pytest.fixture
def unloaded() -> Iterator[None]:
    """Forgets the library before and after the test."""
    for function in (proof_numbers._loaded, proof_numbers._warn):
        function.cache_clear()
    yield
    for function in (proof_numbers._loaded, proof_numbers._warn):
        function.cache_clear()


@pytest.mark.usefixtures("unloaded")
def test_without_the_library_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_numbers, "LIBRARY", "missing.so")
    assert "not compiled" in str(unavailable())
    with pytest.raises(SearchError, match="not compiled"):
        ProofNumberSearch(load("tic_tac_toe"), 1.0)


@compiled
@pytest.mark.usefixtures("unloaded")
def test_a_library_for_another_version_warns_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(proof_numbers.importlib.metadata, "version", lambda name: "2.0.1")
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert "not 2.0.1" in str(unavailable())
    assert len(caplog.records) == 1


@pytest.mark.usefixtures("unloaded")
def test_a_file_that_is_no_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_numbers, "LIBRARY", "solver.py")
    assert "cannot be loaded" in str(unavailable())


def test_without_a_compiler_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(compiling.CompilationError, match="no C\\+\\+ compiler"):
        compiling.compile_library(tmp_path / "x.so")


def test_a_failed_compilation_gives_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(compiling.CompilationError, match=r"^false failed: CalledProcessError$"):
        compiling.compile_library(tmp_path / "x.so")
    assert not [*tmp_path.iterdir()]


def test_bounds() -> None:
    assert Bounds(0, 0).value == 0
    assert Bounds(0, 1).value is None

"""Proofs during play: the results that an agent gets from compiled proof search, and the time that it takes."""

from __future__ import annotations

import copy
import logging
import pickle
import random
from collections.abc import Iterator

import pyspiel
import pytest
from clocks import Clock
from oracles.brute_force import BruteForce
from oracles.evaluators import noise
from oracles.positions import late_position

from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import AgentError, SearchError
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.play import prover
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.prover import MOST, PROBE, PROMISING, GameProver
from athenan_spiel.search import MCTS, UBFM, Budget, think
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.solving.proof_numbers import Bounds, ProofNumbers, unavailable

compiled = pytest.mark.skipif(unavailable() is not None, reason=f"compiled proof search: {unavailable()}")
SECOND = Budget(seconds=1.0)


def agent_of(game: pyspiel.Game | str, budget: Budget = SECOND, *, proofs: bool = True) -> Agent:
    return Agent(game, UBFM(game), noise(0), budget=budget, proofs=proofs)


def after(spec: str, *actions: int) -> pyspiel.State:
    state = load_game(spec).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@compiled
@pytest.mark.parametrize("spec", ["clobber", "connect_four", "hex(board_size=5)", "othello", "y(board_size=6)"])
def test_the_agent_plays_a_proven_action(spec: str) -> None:
    for seed in range(4):
        late = late_position(spec, seed, max_histories=400, matches=3)
        agent = agent_of(late.state.get_game())
        result = agent.think(late.state)
        value = late.oracle.value(late.state)
        assert (result.is_resolved, result.completion) == (True, value)
        assert result.action == agent.step(late.state)
        assert late.oracle.value(late.state.child(result.action)) == value
        for action, completion, resolved in zip(result.actions, result.completions, result.resolved, strict=True):
            assert not resolved or completion == late.oracle.value(late.state.child(int(action)))


@compiled
def test_actions_proven_lost_are_avoided() -> None:
    # x threatens the row 0 1 2, and every other reply than 2 loses; noise prefers another one.
    state = after("tic_tac_toe", 0, 4, 1)
    game_prover = GameProver(state.get_game())
    proofs = finished(game_prover.proofs(state, 1.0, Clock(step=0.001).perf_counter))
    assert proofs == {action: BruteForce().value(state.child(action)) for action in state.legal_actions()}
    assert {action for action, value in proofs.items() if value < 1} == {2}


def finished(requests: object) -> object:
    """The result of a generator that makes empty requests."""
    assert isinstance(requests, Iterator)
    while True:
        try:
            assert next(requests) == []
        except StopIteration as end:
            return end.value


@compiled
@pytest.mark.parametrize("seed", range(3))
def test_a_won_game_ends_with_the_win(seed: int) -> None:
    game = load_game("hex(board_size=4)")  # the first player wins
    agent, rng = agent_of(game), random.Random(seed)
    state = game.new_initial_state()
    while not state.is_terminal():
        actions = state.legal_actions()
        state.apply_action(agent.step(state) if state.current_player() == 0 else rng.choice(actions))
    assert state.returns() == [1.0, -1.0]


@compiled
def test_only_a_time_limit_gives_proofs_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(GameProver, "proofs", refuse)
    state = load_game("connect_four").new_initial_state()
    for budget in (
        Budget(iterations=3),
        Budget(evaluations=50),
        Budget(network_seconds=0.01),
        Budget(seconds=LONGEST, iterations=3),
        Budget(seconds=LONGEST, evaluations=50),  # that of `go nodes 50`
    ):
        agent_of(state.get_game(), budget).think(state)
    agent_of(state.get_game(), Budget(seconds=0.01), proofs=False).think(state)
    for search in (MCTS("connect_four"), UBFM("connect_four", completion=False)):
        Agent("connect_four", search, noise(0), budget=Budget(seconds=0.01), proofs=True).think(state)
    with pytest.raises(AssertionError):
        agent_of(state.get_game(), Budget(seconds=0.01)).think(state)


@compiled
def test_iterations_play_the_same_with_and_without_it() -> None:
    state = load_game("connect_four").new_initial_state()
    with_proofs, without = (agent_of(state.get_game(), Budget(iterations=30), proofs=x) for x in (True, False))
    while not state.is_terminal():
        action = with_proofs.step(state)
        assert action == without.step(state)
        state.apply_action(action)


class FakeSearch:
    """A search that proves nothing, or an action after some calls of `run`."""

    megabytes = 0.0

    def __init__(self, proves_after: int | None, ends_after: int | None, density: float) -> None:
        self.proves_after, self.ends_after, self.density = proves_after, ends_after, density
        self.seconds: list[float] = []

    def start(self, state: pyspiel.State) -> None:
        pass

    def run(self, seconds: float) -> str:
        self.seconds.append(seconds)
        return "proven" if len(self.seconds) == self.ends_after else "limit"

    @property
    def nodes(self) -> int:
        return 1000 * len(self.seconds)

    @property
    def proven(self) -> float:
        return self.density * self.nodes

    @property
    def actions(self) -> dict[int, ProofNumbers]:
        known = self.proves_after is not None and len(self.seconds) >= self.proves_after
        return {4: ProofNumbers(Bounds(-1, -1 if known else 1), (1, 1), (1, 1))}

    @property
    def root(self) -> ProofNumbers:
        return ProofNumbers(Bounds(-1, 1), (1, 1), (1, 1))


class WonSearch(FakeSearch):
    """A search of a position that two actions win for the player to move, x."""

    best_action = 7
    root = ProofNumbers(Bounds(1, 1), (0, 1), (0, 1))

    @property
    def actions(self) -> dict[int, ProofNumbers]:
        return {3: self.root, 5: ProofNumbers(Bounds(-1, 1), (1, 1), (1, 1)), 7: self.root}


@compiled
def test_of_several_wins_only_the_best_is_reported() -> None:
    """The shortest proof known: each move of a won game shortens it."""
    state = after("tic_tac_toe")
    game_prover = GameProver(state.get_game())
    game_prover._search = WonSearch(None, 1, 0.0)  # type: ignore[assignment]
    assert finished(game_prover.proofs(state, 1.0, Clock(step=0.001).perf_counter)) == {7: 1}


@compiled
@pytest.mark.parametrize(
    ("proves_after", "ends_after", "density", "share"),
    [
        (None, None, 0.0, PROBE),
        (None, None, 0.99 * PROMISING, PROBE),
        (None, None, PROMISING, MOST),
        (2, None, 0.0, MOST),
        (99, None, 0.0, PROBE),
        (1, 7, 1.0, 0.14),
    ],
)
def test_the_share_of_the_time(proves_after: int | None, ends_after: int | None, density: float, share: float) -> None:
    state, clock = after("tic_tac_toe"), Clock(now=0.0)
    game_prover, search = GameProver(state.get_game()), FakeSearch(proves_after, ends_after, density)
    game_prover._search = search  # type: ignore[assignment]
    requests = game_prover.proofs(state, 1.0, clock.perf_counter)
    for request in requests:
        assert list(request) == []
        clock.now += search.seconds[-1]
    assert sum(search.seconds) == pytest.approx(share)
    assert max(search.seconds) <= prover.SLICE_SECONDS


@compiled
@pytest.mark.parametrize(("density", "share"), [(0.0, PROBE), (1.0, MOST)])
@pytest.mark.parametrize("seconds", [15.0, LONGEST])
def test_a_long_analysis_soon_shows_something(seconds: float, density: float, share: float) -> None:
    state, clock = after("tic_tac_toe"), Clock(now=0.0)
    game_prover, search = GameProver(state.get_game()), FakeSearch(None, None, density)
    game_prover._search = search  # type: ignore[assignment]
    for _ in game_prover.proofs(state, seconds, clock.perf_counter):
        clock.now += search.seconds[-1]
    assert sum(search.seconds) == pytest.approx(share * 2.0)


@compiled
def test_the_time_of_the_proofs_is_part_of_the_move() -> None:
    state = load_game("connect_four").new_initial_state()
    result = agent_of(state.get_game(), Budget(seconds=0.2)).think(state)
    assert 0.15 < result.seconds < 0.5
    assert not result.is_resolved


@compiled
def test_a_fault_of_the_game_turns_it_off(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*arguments: object) -> None:
        raise SearchError("proof search failed: fault")

    monkeypatch.setattr(prover.ProofNumberSearch, "run", fail)
    agent, state = agent_of("tic_tac_toe", Budget(seconds=0.02)), after("tic_tac_toe")
    with caplog.at_level(logging.WARNING):
        agent.think(state)
        agent.think(state)
    assert [record.getMessage() for record in caplog.records] == [
        "proofs during play are off for tic_tac_toe(): proof search failed: fault"
    ]


@compiled
def test_a_large_table_is_emptied_between_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    state = load_game("connect_four").new_initial_state()
    game_prover = GameProver(state.get_game())
    first = game_prover._started(state)
    assert game_prover._started(state) is first
    monkeypatch.setattr(prover, "MAX_MEGABYTES", first.megabytes)
    assert game_prover._started(state) is not first


def test_a_game_without_compiled_search_has_no_proofs() -> None:
    state = load_game("pig").new_initial_state()
    assert finished(GameProver(load_game("pig")).proofs(state, 1.0, Clock().perf_counter)) == {}


@compiled
def test_copies_have_their_own_table() -> None:
    state = load_game("hex(board_size=4)").new_initial_state()
    game = state.get_game()
    agent = Agent(game, UBFM(game), ZeroEvaluator(), budget=Budget(seconds=0.1), proofs=True)
    action = agent.step(state)
    for twin in (agent.clone(), agent.for_game(1), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.proofs
        assert twin._game_prover is not None
        assert twin._game_prover is not agent._game_prover
        twin.think(state.child(action))


def test_proofs_must_be_a_bool() -> None:
    with pytest.raises(AgentError, match="proofs"):
        Agent("tic_tac_toe", UBFM("tic_tac_toe"), noise(0), budget=SECOND, proofs=1)  # type: ignore[arg-type]


def test_proofs_of_a_root_are_its_labels() -> None:
    search = UBFM("tic_tac_toe")
    tree, state = search.new_tree(), after("tic_tac_toe", 0, 4, 1)
    assert isinstance(tree, MinimaxTree)
    root = think(search, state, Budget(iterations=1), noise(0), tree=tree).node
    values = list(root.values)
    tree.resolve_actions(root, {action: 0 if action == 2 else 1 for action in root.actions if action != 3})
    assert [*root.completions] == [int(action not in (2, 3)) for action in root.actions]
    assert [*root.resolutions] == [int(action != 3) for action in root.actions]
    assert [v for v, a in zip(root.values, root.actions, strict=True) if a == 2] == [0.0]
    assert [v for v, a in zip(root.values, root.actions, strict=True) if a != 2] == [
        v for v, a in zip(values, root.actions, strict=True) if a != 2
    ]
    assert (root.completion, root.resolved) == (0, False)
    tree.resolve_actions(root, {3: 1})
    assert (root.completion, root.value, root.resolved) == (0, 0.0, True)


def test_alpha_beta_gets_no_proofs() -> None:
    agent = Agent("tic_tac_toe", AlphaBeta("tic_tac_toe"), noise(0), budget=Budget(seconds=0.05), proofs=True)
    assert agent.think(after("tic_tac_toe")).action in range(9)

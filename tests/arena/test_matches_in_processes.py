"""A series gives the same results in one process and in several."""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest

from agents import AthenanBot, load_bot, make_bot
from agents.gtp import GtpBot
from athenan_spiel.arena import processes
from athenan_spiel.arena.processes import Encounter, PlayTask, play_all
from athenan_spiel.config import EngineConfig, NetworkConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines import make_engine
from athenan_spiel.errors import AgentError, ExperimentError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.networks import make_network
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.series import Fixture, Series, SeriesRecord, Sides, fixtures, single_player_fixtures
from athenan_spiel.protocols.gtp_engine import EngineTime
from athenan_spiel.search import UBFM, Budget

pytestmark = pytest.mark.usefixtures("forked_workers")

GAME = pyspiel.load_game("tic_tac_toe")


class Ends(pyspiel.Bot):  # type: ignore[misc]
    """Plays the first legal action, and fails in the game numbered `fails`."""

    def __init__(self, fails: int | None = None, failure: BaseException | None = None, number: int = 0) -> None:
        super().__init__()
        self.fails, self.failure, self.number = fails, failure, number

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fails, self.failure, self.number)

    def for_game(self, number: int) -> Ends:
        return Ends(self.fails, self.failure, number)

    def restart_at(self, state: pyspiel.State) -> None:
        pass

    def step(self, state: pyspiel.State) -> int:
        if self.number == self.fails:
            if self.failure is None:
                os._exit(3)
            raise self.failure
        return int(state.legal_actions()[0])

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        pass


class Held(Ends):
    """A bot that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")


def flat(states: Sequence[pyspiel.State]) -> Any:
    return np.zeros(len(states))


def network(threads: int | None = 1) -> NetworkEvaluator:
    encoder = Encoder(GAME)
    config = EngineConfig(name="openvino", precision="float32", threads=threads)
    evaluator = NetworkEvaluator(encoder, make_engine(config, encoder.shape))
    evaluator.load(make_network(encoder.shape, NetworkConfig(filters=2, neurons=4), bounded=False, scale=1.0, seed=0))
    return evaluator


def asking_bot(budget: Budget, evaluator: Any = flat, seed: int = 0) -> AthenanBot:
    return AthenanBot(Agent(GAME, UBFM(GAME), evaluator, budget=budget, rng=random.Random(seed)))


def sides(make: Callable[[int], Any]) -> Sides:
    return [[make(0), make(1)], [make(2), make(3)]]


def play_into(
    played: SeriesRecord, players: Sides, matches: int, *, forfeits: bool = True, at_once: int | None = 2
) -> None:
    encounter = Encounter(GAME, players, fixtures(GAME, matches, 2, 5))
    play_all(
        [encounter],
        lambda index, fixture, result: played.add(fixture, result),
        forfeits=forfeits,
        at_once=at_once,
    )


def play(players: Sides, matches: int, at_once: int | None = None, **options: Any) -> Series:
    played = SeriesRecord()
    play_into(played, players, matches, **({"at_once": at_once} | options))
    return played.series()


def contents(series: Series) -> list[tuple[Any, ...]]:
    return [(r.history, r.returns, r.forfeit, c) for r, c in zip(series.results, series.colours, strict=True)]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of processes of each series; no process is started."""
    found: list[int] = []

    def do_tasks(tasks: Any, count: int, on_report: Any, on_finished: Any, wanted: Any, **options: Any) -> None:
        found.append(count)
        for task in filter(wanted, tasks):
            task = pickle.loads(pickle.dumps(task))
            assert task.run(lambda message, task=task: on_report(task, message), lambda: False)
            on_finished(task)

    monkeypatch.setattr(processes, "do_tasks", do_tasks)
    return found


def test_processes_change_no_result() -> None:
    """Sixteen games per part in two processes, compared with one after the other in this process."""
    budget = Budget(iterations=3)
    players = sides(lambda seed: asking_bot(budget, network(), seed))
    many = contents(play(players, 18, at_once=16))
    assert many == contents(play(players, 18, at_once=1))
    assert len(many) == 18


def test_a_failing_bot_forfeits_in_a_process() -> None:
    players = sides(lambda seed: Ends(2 if seed == 1 else None, ValueError("no idea")))
    series = play(players, 8, at_once=2)
    assert contents(series) == contents(play(players, 8, at_once=1))
    ((index, forfeit),) = [(i, r.forfeit) for i, r in enumerate(series.results) if r.forfeit]
    assert (index, forfeit.player_id, forfeit.reason) == (4, 1, "ValueError: no idea")


def test_the_end_of_a_process_is_reported_and_games_are_kept() -> None:
    played = SeriesRecord()
    players = sides(lambda seed: Ends(2 if seed == 1 else None))
    with pytest.raises(ExperimentError, match=r"ended with code 3 .* fewer --matches-at-once"):
        play_into(played, players, 6)
    assert 1 <= len(played.series().results) < 6


def test_an_error_is_raised_without_forfeits() -> None:
    players = sides(lambda seed: Ends(1, ValueError("no idea")))
    with pytest.raises(AgentError, match="ValueError: no idea"):
        play(players, 6, at_once=2, forfeits=False)


def test_players_that_cannot_be_pickled_play_in_this_process(begun: list[int]) -> None:
    assert len(play(sides(lambda seed: Held()), 4, at_once=4).results) == 4
    assert begun == []


def count_of(players: Sides, matches: Sequence[Fixture], at_once: int | None = None) -> int:
    """Returns the number of processes for a series."""
    split = [processes.parts(players, matches, at_once)]
    return processes._processes([Encounter(GAME, players, matches)], split, at_once, None)


@pytest.mark.parametrize(
    ("budget", "matches", "at_once", "count"),
    [
        (Budget(iterations=2000), 40, None, 4),  # five parts of eight matches
        (Budget(iterations=2000), 8, None, 1),
        (Budget(iterations=2), 40, None, 1),
        (Budget(evaluations=20000), 100, None, 4),
        (Budget(iterations=2000), 40, 1, 1),
        (Budget(iterations=2000), 40, 8, 1),
        (Budget(iterations=2000), 40, 17, 2),
        (Budget(seconds=1.0), 40, None, 4),
        (Budget(seconds=1.0), 2, None, 2),
        (Budget(seconds=1.0), 40, 1, 1),
        (Budget(seconds=1.0), 40, 7, 7),
        (Budget(seconds=0.001), 40, None, 1),
        (Budget(seconds=1.0, iterations=1), 40, None, 1),
    ],
)
def test_the_number_of_processes(
    budget: Budget, matches: int, at_once: int | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(processes, "free_memory", lambda: None)
    players = sides(lambda seed: asking_bot(budget))
    assert count_of(players, fixtures(GAME, matches, 2, 0), at_once) == count


@pytest.mark.parametrize(
    ("word", "matches", "count"),
    [
        ("mcts@1s", 40, 4),
        ("mcts@0.001s", 40, 1),
        ("mcts@30s/match", 40, 4),
        ("mcts@0.1s/match", 40, 1),
        ("mcts@0.1s+1s", 40, 4),
        ("alphabeta@0.1s+1s", 40, 4),
        ("mcts:1000", 40, 1),
        ("alphabeta@30s/match", 40, 4),
        ("alphabeta@0.1s/match", 40, 1),  # not 0.1 s a move
    ],
)
def test_the_time_of_either_agent_counts(word: str, matches: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(processes, "free_memory", lambda: None)
    players = [
        [make_bot(name, GAME, i) for i, name in enumerate(pair)] for pair in (("random", word), (word, "random"))
    ]
    assert count_of(players, fixtures(GAME, matches, 2, 0)) == count


@pytest.mark.parametrize(
    ("limit", "count"), [(EngineTime(1.0), 4), (EngineTime(match_seconds=30.0), 4), (EngineTime(), 1)]
)
def test_the_time_of_an_engine_counts(limit: EngineTime, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(processes, "free_memory", lambda: None)
    game = pyspiel.load_game("connect_four")
    assert count_of(sides(lambda seed: GtpBot(game, "engine", limit)), fixtures(game, 40, 2, 0)) == count


def test_a_pondering_player_needs_a_second_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 5)
    monkeypatch.setattr(processes, "free_memory", lambda: None)
    game = pyspiel.load_game("connect_four")
    bot = load_bot("alphabeta", game, 0, {"seconds": 1.0, "ponder": True})
    engine = GtpBot(game, "engine", EngineTime(1.0))
    for ponder, count in ((True, 2), (False, 5)):
        bot.agent.ponders = ponder
        assert count_of([[bot, engine], [engine, bot]], fixtures(game, 40, 2, 0)) == count


def test_a_pondering_player_meets_no_player_of_the_process() -> None:
    bots = [load_bot("alphabeta", GAME, 0, {"iterations": 1, "ponder": True}), make_bot("random", GAME, 1)]
    with pytest.raises(AgentError, match="player 0 ponders, which would take the time of player 1"):
        play([bots, bots[::-1]], 2)


def test_memory_limits_the_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "cores", lambda: 4)
    monkeypatch.setattr(processes, "free_memory", lambda: 2_500_000_000)
    players = sides(lambda seed: asking_bot(Budget(seconds=1.0)))
    assert count_of(players, fixtures(GAME, 40, 2, 0)) == 2
    monkeypatch.setattr(processes, "free_memory", lambda: 1)
    assert count_of(players, fixtures(GAME, 40, 2, 0)) == 1


def test_bots_without_limits_play_in_one_process() -> None:
    players = [[make_bot("mcts:10", GAME, i, i) for i in range(2)]] * 2
    assert count_of(players, fixtures(GAME, 40, 2, 0)) == 1


@pytest.mark.parametrize(("threads", "given"), [(4, 1), (None, 1), (1, 1)])
def test_a_network_has_its_share_of_the_cores(threads: int | None, given: int) -> None:
    players = sides(lambda seed: asking_bot(Budget(seconds=1.0), network(threads), 0))
    agents = processes._pickled_agents([Encounter(GAME, players, [])], 1)
    assert agents is not None
    found = pickle.loads(agents[0][0])[0].evaluator
    assert found.engine.config.threads == given
    assert found([GAME.new_initial_state()]) == network()([GAME.new_initial_state()])


def test_a_task_stops_when_a_match_has_ended(begun: list[int]) -> None:
    players = pickle.dumps([Ends(), Ends()])
    told: list[Any] = []
    task = PlayTask(0, str(GAME), (players, players), fixtures(GAME, 6, 2, 0), forfeits=True)
    assert not task.run(told.append, lambda: len(told) == 1)
    assert len(told) == 1


def test_a_single_player_game_uses_processes(begun: list[int]) -> None:
    game = pyspiel.load_game("morpion_solitaire")
    results: dict[int, MatchResult] = {}

    def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
        results[fixture.index] = result

    play_all([Encounter(game, [[Ends()]], single_player_fixtures(game, 3, 1, 0))], on_result, forfeits=False, at_once=3)
    assert sorted(results) == [0, 1, 2]
    assert begun == [3]


@pytest.mark.parametrize("at_once", [1, 2])
def test_several_series_equal_each_series_alone(at_once: int) -> None:
    budget = Budget(iterations=2)
    all_players = [sides(lambda seed, i=i: asking_bot(budget, seed=seed + 10 * i)) for i in range(3)]  # type: ignore[misc]
    many = [SeriesRecord() for _ in all_players]
    planned = fixtures(GAME, 6, 2, 5)

    def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
        many[index].add(fixture, result)

    encounters = [Encounter(GAME, players, planned) for players in all_players]
    play_all(encounters, on_result, forfeits=True, at_once=at_once)
    for played, players in zip(many, all_players, strict=True):
        assert contents(played.series()) == contents(play(players, 6, at_once=1))


@pytest.mark.parametrize("at_once", [1, 2])
def test_an_unwanted_series_is_stopped(at_once: int) -> None:
    counts = [0, 0]

    def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
        counts[index] += 1

    encounters = [Encounter(GAME, sides(lambda seed: Ends()), fixtures(GAME, 20, 2, 5))] * 2
    play_all(encounters, on_result, forfeits=True, at_once=at_once, wanted=lambda index: index == 1 or counts[0] < 4)
    assert 4 <= counts[0] <= 4 + at_once
    assert counts[1] == 20

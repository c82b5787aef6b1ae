"""The analysis of a GTP server: its arguments, and its lines as the parsers of Sabaki, Lizzie and others read them."""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from gtp_conversation import analysed, said, serving

from agents import AthenanBot
from athenan_spiel.evaluators import UniformRandomEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.games.calibration import Calibration
from athenan_spiel.outcomes import Gain
from athenan_spiel.outcomes.score import Score
from athenan_spiel.play import background_search
from athenan_spiel.play.agent import Agent
from athenan_spiel.protocols.gtp_analysis import AnalysisOptions, AnalysisWriter, GtpSearch
from athenan_spiel.protocols.gtp_server import GtpServer
from athenan_spiel.protocols.vertices import vertices_of
from athenan_spiel.search import UBFM
from athenan_spiel.search.choice import Decision, best, safest
from athenan_spiel.search.drive import Budget
from athenan_spiel.search.result import action_evaluations

GO = "go(board_size=5,komi=0.5)"


def fields(info: str) -> dict[str, str]:
    """The words of one move, by the word before each, and the variation."""
    words, _, line = info.partition(" pv ")
    pairs = words.split()
    return {**dict(zip(pairs[::2], pairs[1::2], strict=True)), "pv": line.strip()}


def moves_of(line: str) -> list[dict[str, str]]:
    return [fields(part.strip()) for part in line.partition("rootInfo")[0].split("info ")[1:]]


def sabaki(line: str, *, is_kata: bool) -> list[tuple[str, float, int, list[str]]]:
    """Each move with its rate in percent, visits and variation, by Sabaki's rules.

    A variation is the longest end of an info of vertices or `pass`, and is cut at a pass; infos without one, and passes
    as moves, are left out. A rate is a fraction by the name of the command, not by its digits.
    """
    found = []
    for info in re.split(r"\s*info\s+", line)[1:]:
        tail = re.search(r"(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$", info.strip())
        if tail is None:
            continue
        words = info[: tail.start()].split()[:-1]
        values = dict(zip(words[::2], words[1::2], strict=True))
        if re.fullmatch(r"[A-Za-z]\d+", values["move"]):
            rate = float(values["winrate"]) * (100 if is_kata else 0.01)
            found.append((values["move"], rate, int(values["visits"]), tail[0].partition("pass")[0].split()))
    return found


def lizzie(line: str, *, is_kata: bool) -> list[tuple[str, float, int, list[str]]]:
    """The same by Lizzie's rules: it cuts before ` info `, and reads pairs up to `pv`, which is the rest.

    It reads whole numbers as such, so a fraction or a missing value would end its reader.
    """
    assert line.startswith("info")
    found = []
    for info in line[5:].split(" info "):
        words = info.split()
        at = words.index("pv")
        assert at % 2 == 0
        values = dict(zip(words[:at:2], words[1:at:2], strict=True))
        rate = float(values["winrate"]) * 100 if is_kata else int(values["winrate"]) / 100
        found.append((values["move"], rate, int(values["visits"]), words[at + 1 :]))
    return found


def writer(state: pyspiel.State, outcome: Any = None, **options: Any) -> AnalysisWriter:
    return AnalysisWriter(vertices_of(state.get_game()), state, outcome or Gain(), AnalysisOptions(**options))


def test_an_analysis_lasts_until_the_next_command() -> None:
    server = serving("connect_four", "alphabeta@1s")
    head, *lines = analysed(server, "5 athenan-analyze b interval 1", 3)
    assert head == "=5\n"
    assert len(lines) >= 3
    for line in lines:
        moves = moves_of(line)
        assert len(moves) == 7
        assert [move["order"] for move in moves] == [str(i) for i in range(7)]
        assert all(move["pv"].split()[0] == move["move"] for move in moves)
        rates = [int(move["winrate"]) for move in moves]
        assert all(0 <= rate <= 10000 for rate in rates)


@pytest.mark.parametrize("decision", [best, safest])
def test_the_moves_are_in_the_order_of_the_decision(decision: Decision) -> None:
    """UBFM_s plays the most visited move, which need not be the one of the best value."""
    game = load_game("connect_four")
    state, vertices, differ = game.new_initial_state(), vertices_of(game), 0
    for seed in range(20):
        agent = Agent(
            game, UBFM(game), UniformRandomEvaluator(seed), decision=decision, budget=Budget(iterations=20 + seed)
        )
        result = agent.think(state)
        infos = moves_of(writer(state).line(result))
        assert [info["order"] for info in infos] == [str(i) for i in range(7)]
        assert infos[0]["move"] == vertices.vertex(state, result.action)
        assert infos[0]["pv"].split()[0] == infos[0]["move"]
        ranked = [each.action for each in action_evaluations(result, state)]
        assert [info["move"] for info in infos] == [vertices.vertex(state, action) for action in ranked]
        differ += float(infos[0]["value"]) < max(float(info["value"]) for info in infos)
    assert (differ > 0) == (decision is safest)


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze"])
def test_proofs_are_told_as_the_mover_sees_them(command: str) -> None:
    """White, the second player, has three in column A."""
    server = serving("connect_four", "alphabeta@1s")
    said(server, *(f"play {colour} {column}" for colour, column in zip("bw" * 3, "bacafa", strict=True)), "play b g")
    line = analysed(server, f"{command} 20 maxmoves 2")[-1]
    first, second = moves_of(line)
    assert (first["move"], float(first["winrate"]), first["pv"]) == ("A4", 1 if "kata" in command else 10000, "A4")
    assert ("proven" in first) == ("kata" not in command)
    if command == "lz-analyze":
        assert (float(first["value"]), first["proven"]) == (1, "win")
    assert second["order"] == "1"


@pytest.mark.parametrize(
    ("outcome", "has_points"), [(Gain(), False), (Score(counted=True, scale=25.0), True), (Score(scale=25.0), False)]
)
def test_katagos_format_has_the_lead_where_values_are_points(outcome: Any, has_points: bool) -> None:
    """White is to move, so the signs of player 0's values are turned."""
    game = load_game(GO)
    state = game.new_initial_state()
    state.apply_action(12)
    agent = Agent(
        game, UBFM(game, outcome=outcome), lambda states: np.full(len(states), 5.0), budget=Budget(iterations=3)
    )
    result = agent.think(state)
    line = writer(state, outcome=outcome, is_kata=True, root_info=True, max_moves=3).line(result)
    infos, root = moves_of(line), fields(line.partition("rootInfo ")[2])
    assert len(infos) == 3
    for info in (*infos, root):
        assert ("scoreLead" in info) == ("scoreMean" in info) == has_points
    if has_points:
        assert {float(info["scoreLead"]) for info in infos} <= {-5.0, -result.value}
        assert float(root["scoreLead"]) == float(root["scoreMean"]) == -result.value
        expected = 1 - result.calibration.expected_score(result.value)
        assert float(root["winrate"]) == pytest.approx(expected, abs=1e-6)
    assert int(root["visits"]) == result.visits.sum()


@pytest.mark.parametrize("is_kata", [False, True])
def test_rates_are_calibrated_expected_scores_of_the_mover(is_kata: bool) -> None:
    game = load_game("connect_four")
    for plies in (0, 1):
        state = game.new_initial_state()
        for action in range(plies):
            state.apply_action(action)
        search = UBFM(game)
        search.calibration = Calibration(slope=2.0, intercept=0.5)
        result = Agent(game, search, UniformRandomEvaluator(1), budget=Budget(iterations=30)).think(state)
        infos = moves_of(writer(state, is_kata=is_kata).line(result))
        for info in infos:
            i = result.actions.tolist().index(vertices_of(game).action(state, info["move"]))
            score = 1 / (1 + math.exp(-0.5 - 2 * result.values[i]))
            expected = score if plies == 0 else 1 - score
            assert float(info["winrate"]) / (1 if is_kata else 10_000) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("is_kata", [False, True])
def test_the_parsers_of_front_ends_read_every_move(is_kata: bool) -> None:
    """In Go, a move or a variation may contain a pass, which they know in lower case only."""
    game, passes = load_game("go(board_size=3,komi=0.5)"), 0
    rng = random.Random(0)
    for seed in range(10):
        state = game.new_initial_state()
        for _ in range(rng.randrange(5)):
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            continue
        result = Agent(game, UBFM(game), UniformRandomEvaluator(seed), budget=Budget(iterations=60)).think(state)
        line = writer(state, is_kata=is_kata).line(result)
        expected = moves_of(line)
        read = lizzie(line, is_kata=is_kata)
        assert [move for move, *_ in read] == [info["move"] for info in expected]
        assert [info["pv"].split() for info in expected] == [pv for *_, pv in read]
        stones = sabaki(line, is_kata=is_kata)
        assert [move for move, *_ in stones] == [info["move"] for info in expected if info["move"] != "pass"]
        assert all(0 <= rate <= 100 and visits >= 0 for _, rate, visits, _ in (*read, *stones))
        assert all(pv[0] == move for move, *_, pv in stones)
        passes += sum("pass" in info["pv"].split()[1:] for info in expected)
    assert passes


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("athenan-analyze w", "it is the turn of black"),
        ("kata-analyze w", "it is the turn of black"),
        ("lz-genmove_analyze w 10", "it is the turn of black"),
        (
            "athenan-analyze b 10 b",
            "expected a colour, centiseconds, interval, minmoves, maxmoves, avoid, allow; got 'b'",
        ),
        ("lz-analyze b rootInfo true", "got 'rootInfo'"),
        (
            "kata-analyze b speed 3",
            "expected a colour, centiseconds, interval, minmoves, maxmoves, avoid, allow, rootInfo",
        ),
        ("athenan-analyze b interval", "expected a value after interval"),
        ("athenan-analyze interval soon", "expected a number after interval, got 'soon'"),
        ("lz-analyze maxmoves nan", "expected a number after maxmoves, got 'nan'"),
        ("lz-analyze 99999999999", "expected a number after interval, got '99999999999'"),
        ("kata-analyze rootInfo maybe", "expected true or false after rootInfo, got 'maybe'"),
        (
            "kata-analyze 50 ownership true",
            "ownership is not available, as this agent does not estimate it: leave it out",
        ),
        ("kata-genmove_analyze b pvVisits true", "pvVisits is not available"),
        ("lz-analyze avoid b a1", "expected a value after avoid"),
        ("lz-analyze avoid red a1 1", "expected black or white after avoid, got 'red'"),
        ("lz-analyze 10 avoid b a1,b1 30", "avoid restricts the next move only: expected depth 1, got '30'"),
        ("lz-analyze avoid b a,b,c,d,e,f,g 1", "avoid and allow leave no legal move"),
        ("lz-analyze allow b z9 1", "avoid and allow leave no legal move"),
    ],
)
def test_analyses_that_are_none(line: str, refusal: str) -> None:
    server = serving("connect_four", "alphabeta@1s")
    (answer,) = said(server, line)
    assert answer.startswith("? ")
    assert refusal in answer
    assert server._state.history() == []


def test_an_agent_that_does_not_search_has_no_analysis() -> None:
    commands = said(serving("connect_four", "random"), "list_commands")[0].split("\n")
    assert not [command for command in commands if "analyze" in command]
    assert (
        said(serving("connect_four", "random"), "kata-analyze b", "lz-genmove_analyze b") == ["? unknown command"] * 2
    )


@pytest.mark.parametrize("command", ["lz-analyze", "kata-genmove_analyze"])
def test_moves_to_avoid_and_to_allow(command: str) -> None:
    searched: set[int] = set()

    def watched(states: Sequence[pyspiel.State]) -> Any:
        searched.update(state.history()[0] for state in states if state.history())
        return np.zeros(len(states))

    cases = {
        "avoid b a,b 1 avoid b c1 1 avoid w d 1": "DEFG",
        "allow b a,c1,g,b9 1 allow w b 1": "ACG",
        "allow w a 1": "ABCDEFG",  # White is not to move
    }
    for options, columns in cases.items():
        server = serving("connect_four", "alphabeta@3i")
        assert server._agent is not None
        server._agent.evaluator = watched
        searched.clear()
        lines = analysed(server, f"{command} b 10 {options}")[1:]
        infos = moves_of(lines[0])
        assert {info["move"] for info in infos} == {f"{column}1" for column in columns}
        assert searched == {"ABCDEFG".index(column) for column in columns}
        if "genmove" in command:
            assert lines[-1] == f"play {moves_of(lines[-2])[0]['move']}\n"
            assert len(server._state.history()) == 1


@pytest.mark.parametrize("command", ["lz-genmove_analyze", "kata-genmove_analyze"])
@pytest.mark.parametrize(
    "word", [pytest.param("alphabeta@0.6s", marks=pytest.mark.slow(reason="moves by time, 5 s")), "alphabeta(2)@30i"]
)
def test_the_move_reported_is_the_move_played(command: str, word: str) -> None:
    """Between two moves, the client may look at the position, ask for a move without it, and take moves back."""
    server = serving("connect_four", word)
    for colour in "bwbw":
        _, *lines = analysed(server, f"{command} {colour} interval 5", 10**6)
        *infos, last = lines
        first = moves_of(infos[-1])[0]
        assert (first["order"], f"play {first['move']}\n") == ("0", last)
        moved = vertices_of(server._game).vertex(_before(server), server._state.history()[-1])
        assert moved == first["move"]
        other = {"b": "w", "w": "b"}[colour]
        (asked,) = said(server, f"reg_genmove {other}")
        lines = analysed(server, f"{command} {other} 5", 10**6)
        assert lines[-1] == f"play {asked.removeprefix('= ')}\n"
        assert moves_of(lines[-2])[0]["move"] == asked.removeprefix("= ")
        assert said(server, "undo") == ["="]


def _before(server: GtpServer) -> pyspiel.State:
    state = server._game.new_initial_state()
    for action in server._state.history()[:-1]:
        state.apply_action(action)
    return state


def test_a_search_for_a_move_is_not_interrupted() -> None:
    server = serving("connect_four", "alphabeta@0.6s")
    start = time.monotonic()
    parts = list(server.answers("lz-genmove_analyze b 10", lambda: True))
    assert time.monotonic() - start > 0.5
    assert sum(part.startswith("info") for part in parts) >= 2


@pytest.mark.parametrize("command", ["genmove b", "kata-genmove_analyze b 10", "lz-analyze b 10"])
def test_every_search_ends_with_its_client(command: str) -> None:
    server = serving("connect_four", "alphabeta@60s")
    start, gone = time.monotonic(), threading.Event()
    threading.Timer(0.3, gone.set).start()
    parts = list(server.answers(command, gone.is_set, gone.is_set))
    assert time.monotonic() - start < 10
    assert parts[-1].endswith("\n")


def test_an_analysis_of_nothing() -> None:
    server = serving("hex(board_size=2)", "alphabeta@1s")
    for command in ("lz-analyze", "kata-analyze b 10", "kata-genmove_analyze w"):
        over = said(server, "clear_board", "play b a1", "play w b1", "play b a2", command)[-1]
        assert over == "? the game is over: B+1"


def test_an_analysis_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines continue, with the same result."""
    monkeypatch.setattr(background_search, "free_memory", lambda: 0)
    server = serving("hex(board_size=5)", "alphabeta@1s")
    agent = server._agent
    assert agent is not None
    _, *lines = analysed(server, "lz-analyze 1", 3)
    assert len({*lines[-2:]}) == 1
    assert agent.result is not None
    assert agent.result.evaluations < 1000
    assert agent.budget == Budget(seconds=1.0)  # as before


def test_an_analysis_takes_no_time_of_the_game() -> None:
    """The agent has two seconds for the whole game, and looks at the position for longer."""
    game = load_game("connect_four")
    agent = Agent(game, UBFM(game), lambda states: np.zeros(len(states)), match_seconds=2.0)
    server = GtpServer(game, [AthenanBot(agent)] * 2, agent)
    start = time.monotonic()
    for _ in server.answers("lz-analyze b 10", lambda: time.monotonic() > start + 2.5):
        pass
    assert agent.result is not None
    assert agent._clock is not None
    assert agent._clock.left == 2.0
    assert said(server, "genmove b")[0].startswith("= ")
    assert 1.5 < agent._clock.left < 2.0


@pytest.mark.parametrize("command", ["genmove b", "lz-genmove_analyze b", "lz-genmove_analyze b allow b a,b 1"])
def test_a_move_after_an_analysis_takes_its_time(command: str) -> None:
    """Alpha-beta continues the analysis, where an iteration takes longer than the move may."""

    def slow(states: Sequence[pyspiel.State]) -> Any:
        time.sleep(0.02)
        return np.zeros(len(states))

    server = serving("connect_four", "alphabeta@0.2s")
    assert server._agent is not None
    server._agent.evaluator = slow
    start = time.monotonic()
    for _ in server.answers("lz-analyze b 10", lambda: time.monotonic() > start + 3):
        pass
    start = time.monotonic()
    answer = list(server.answers(command))[-2 if "analyze" in command else -1]
    assert time.monotonic() - start < 2
    assert re.fullmatch("(= |play )[A-G]1\n+", answer)
    assert len(server._state.history()) == 1


def test_an_analysis_that_fails_is_an_error() -> None:
    """At its start the whole response is one; later the response ends with the reason."""

    def failing(states: Sequence[pyspiel.State]) -> Any:
        raise RuntimeError("no\nmore")

    server = serving("connect_four", "alphabeta@1s")
    assert isinstance(server._players[0], AthenanBot)
    server._players[0].agent.evaluator = failing
    commands = ("3 lz-analyze", "4 kata-genmove_analyze b", "5 genmove b")
    assert said(server, *commands) == [f"?{number} RuntimeError: no more" for number in (3, 4, 5)]
    count = 0

    def failing_later(states: Sequence[pyspiel.State]) -> Any:
        nonlocal count
        count += 1
        time.sleep(0.02)
        return failing(states) if count > 40 else np.zeros(len(states))

    server._players[0].agent.evaluator = failing_later
    parts = analysed(server, "6 lz-analyze", 10**6)
    assert parts[0] == "=6\n"
    assert parts[-1] == "error: RuntimeError: no more\n\n"
    assert said(server, "7 name") == ["=7 athenan"]


def test_the_values_of_alpha_beta_are_no_bounds() -> None:
    """The first five moves of an analysis are those of the best values, as plain minimax has them."""
    from oracles.plain_minimax import PlainMinimax

    def noise(states: Sequence[pyspiel.State]) -> Any:
        return np.array([random.Random(str(state)).uniform(-1, 1) for state in states])

    server = serving("connect_four", "alphabeta(3)@1s")
    assert server._agent is not None
    server._agent.evaluator = noise
    line = analysed(server, "lz-analyze b 30", 2)[-1]
    expected = sorted((value for _, value in PlainMinimax(noise).action_pairs(server._state, 3)), reverse=True)
    assert [float(info["value"]) for info in moves_of(line)][:5] == [round(value, 4) for value in expected[:5]]


def test_the_result_of_a_running_search_is_calibrated() -> None:
    game = load_game("connect_four")
    agent = Agent(game, UBFM(game), UniformRandomEvaluator(1), budget=Budget(iterations=20))
    agent.search.calibration = Calibration(slope=1.5, intercept=0.5)
    state = game.new_initial_state()
    agent.think(state)
    root = agent.tree.search_root
    assert root is not None
    found = GtpSearch(agent, state, None).found(root, state, None, random.Random(0))
    assert found.calibration == agent.search.calibration

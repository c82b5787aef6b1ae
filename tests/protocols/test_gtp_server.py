"""What an agent answers by GTP."""

from __future__ import annotations

import random
from typing import Any

import pyspiel
import pytest

import agents
from agents import AthenanBot
from athenan_spiel.errors import AgentError, ConfigError, ResignedError
from athenan_spiel.evaluators import UniformRandomEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.play.agent import Agent
from athenan_spiel.protocols import gtp_server
from athenan_spiel.protocols.gtp_analysis import analysis
from athenan_spiel.protocols.gtp_server import GtpServer
from athenan_spiel.protocols.vertices import vertices_of
from athenan_spiel.search import UBFM
from athenan_spiel.search.choice import Decision, best, safest
from athenan_spiel.search.drive import Budget

GO = "go(board_size=5,komi=0.5)"


def serving(spec: str = "connect_four", word: str = "alphabeta@2i", **options: Any) -> GtpServer:
    bots = [agents.make_bot(word, load_game(spec), player) for player in (0, 1)]
    agent = bots[0].agent if isinstance(bots[0], AthenanBot) else None
    players = bots if agent is None else [bots[0]] * 2
    return GtpServer(load_game(spec), players, agent, version="1.2", **options)


def said(server: GtpServer, *lines: str) -> list[str]:
    """The answers to some lines, without the empty lines at their ends."""
    answers = ["".join(server.answers(line + "\n")) for line in lines]
    assert all(answer.endswith("\n\n") and "\n\n" not in answer[:-2] for answer in answers if answer)
    return [answer.removesuffix("\n\n") for answer in answers]


def test_what_it_is() -> None:
    server = serving()
    assert said(server, "protocol_version", "12 name", "version", "known_command genmove", "known_command x") == [
        "= 2",
        "=12 athenan",
        "= 1.2",
        "= true",
        "= false",
    ]
    commands = said(server, "list_commands")[0].removeprefix("= ").split("\n")
    for command in commands:
        assert said(server, f"known_command {command}") == ["= true"]
    assert {"play", "genmove", "undo", "final_score", "time_left", "athenan-analyze"} <= {*commands}
    assert "set_free_handicap" not in commands
    assert not server.finished
    assert said(server, "quit") == ["="]
    assert server.finished


def test_lines_that_say_nothing() -> None:
    assert said(serving(), "", "   ", "# a word", "\t1 name # the name", "\a5 name\r") == [
        "",
        "",
        "",
        "=1 athenan",
        "=5 athenan",
    ]


@pytest.mark.parametrize("spec", [GO, "hex(board_size=4)", "havannah(board_size=3)", "othello", "y(board_size=4)"])
def test_a_match_is_played_as_openspiel_has_it(spec: str) -> None:
    game = load_game(spec)
    vertices, rng, server = vertices_of(game), random.Random(0), serving(spec, "random")
    state = game.new_initial_state()
    while not state.is_terminal():
        colour = vertices.colour(state.current_player())
        if rng.random() < 0.5:
            (answer,) = said(server, f"genmove {colour}")
            action = vertices.action(state, answer.removeprefix("= "))
            assert action is not None, answer
        else:
            action = rng.choice(state.legal_actions())
            assert said(server, f"play {colour} {vertices.vertex(state, action)}") == ["="]
        state.apply_action(action)
        if rng.random() < 0.2:
            assert said(server, "undo") == ["="]
            assert said(server, f"play {colour} {vertices.vertex(server._state, action)}") == ["="]
        assert str(server._state) == str(state)
    refusal, score = said(server, "genmove b", "final_score")
    assert refusal == f"? the game is over: {score.removeprefix('= ')}"
    worth = state.returns()[0]
    winner = {1: vertices.colour(0).upper(), -1: vertices.colour(1).upper(), 0: "0"}[(worth > 0) - (worth < 0)]
    assert score.startswith(f"= {winner}")


def test_what_is_refused() -> None:
    server = serving(GO, "random")
    refused = {
        "": "",
        "3": "?3 unknown command",
        "foo": "? unknown command",
        "7 boardsize 19": "?7 unacceptable size: go(board_size=5,komi=0.5) has 5 x 5",
        "boardsize": "? unacceptable size: go(board_size=5,komi=0.5) has 5 x 5",
        "komi 7.5": "? unacceptable komi: go(board_size=5,komi=0.5) has 0.5",
        "komi much": "? expected 1 number, got 'much'",
        "play b": "? expected a colour and a vertex",
        "play red a1": "? expected black or white, got 'red'",
        "play w a1": "? illegal move: it is the turn of black",
        "play b i1": "? illegal move: 'i1'",
        "play b z99": "? illegal move: 'z99'",
        "genmove": "? expected a colour",
        "genmove w": "? illegal move: it is the turn of black",
        "undo": "? cannot undo",
        "time_settings 1 2": "? expected 3 numbers, got '1 2'",
        "time_settings 1 2 0.5": "? expected times, got '1 2 0.5'",
        "time_settings nan 1 1": "? expected 3 numbers, got 'nan 1 1'",
        "time_settings -1 1 1": "? expected times, got '-1 1 1'",
        "kgs-time_settings sand": "? expected none, absolute, canadian, byoyomi, got 'sand'",
        "kgs-time_settings absolute": "? expected 1 number, got ''",
        "time_left red 1 1": "? expected a colour, seconds and stones",
        "time_left": "? expected a colour, seconds and stones",
        "athenan-analyze b": "? unknown command",  # it does not search
        "name " + "x" * 5000: "? a command is too long",
    }
    assert dict(zip(refused, said(server, *refused), strict=True)) == refused
    assert said(server, "play BLACK A1", "play w PASS", "boardsize 5", "komi 0.5", "undo")[-1] == "? cannot undo"


def test_games_without_komi_or_size() -> None:
    assert said(serving("othello", "random"), "komi 0", "boardsize 8", "boardsize 8 8") == ["=", "=", "="]
    assert said(serving("othello", "random"), "komi 6.5") == ["? unacceptable komi: othello() has 0"]
    assert said(serving("hex(num_cols=3,num_rows=5)", "random"), "boardsize 3 5", "boardsize 3") == [
        "=",
        "? unacceptable size: hex(num_cols=3,num_rows=5) has 3 x 5",
    ]
    assert said(serving("lines_of_action", "random"), "boardsize 8")[0].endswith("has one size alone")


def test_handicap() -> None:
    server = serving("go(board_size=19,handicap=2)", "random")
    assert said(server, "set_free_handicap d4 q16", "play b d5", "play w d5") == [
        "=",
        "? illegal move: it is the turn of white",
        "=",
    ]
    assert said(server, "set_free_handicap d4 q16")[0].endswith("has Q16 D4")


def test_the_board_is_shown_in_one_answer() -> None:
    (board,) = said(serving(GO, "random"), "showboard")
    assert board.startswith("= \nGoState(")
    assert "\n 1 +++++\n" in board


def test_scores() -> None:
    go = serving(GO, "random")
    assert said(go, "final_score", "play b c3", "final_score") == ["= W+0.5", "=", "= B+24.5"]
    hexagon = serving("hex(board_size=2)", "random")
    assert said(hexagon, "final_score")[0] == "? cannot score: the game is not over"
    assert said(hexagon, "play b a1", "play w b1", "play b a2", "final_score")[-1] == "= B+1"


def test_reg_genmove_does_not_play() -> None:
    server = serving()
    first, again, played = said(server, "reg_genmove b", "reg_genmove b", "genmove b")
    assert first == again == played
    assert len(server._state.history()) == 1


class Odd(pyspiel.Bot):
    """Does what a test says."""

    def __init__(self, act: Any) -> None:
        super().__init__()
        self.act = act

    def restart_at(self, state: pyspiel.State) -> None:
        pass

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        pass

    def step(self, state: pyspiel.State) -> int:
        action: int = self.act(state)
        return action


def test_agents_that_fail_are_told_and_the_match_goes_on() -> None:
    def gives_up(state: pyspiel.State) -> int:
        raise ResignedError("no")

    def breaks(state: pyspiel.State) -> int:
        raise ZeroDivisionError("a\nb")

    game = load_game("connect_four")
    assert said(GtpServer(game, [Odd(gives_up)] * 2), "genmove b", "play b d1") == ["= resign", "="]
    assert said(GtpServer(game, [Odd(breaks)] * 2), "4 genmove b", "play b d1") == ["?4 ZeroDivisionError: a b", "="]
    assert said(GtpServer(game, [Odd(lambda state: 99)] * 2), "genmove b") == [
        "? the agent chose 99, which is not legal"
    ]


def test_games_that_gtp_has_not() -> None:
    with pytest.raises(ConfigError, match="GTP is for two players"):
        GtpServer(load_game("morpion_solitaire"), [Odd(None)])
    with pytest.raises(AgentError, match="for GTP"):
        GtpServer(load_game("chess"), [Odd(None)] * 2)


# Time.


def budget(server: GtpServer, *lines: str) -> Budget:
    """The agent's budget in the move after these lines."""
    agent, seen = server._agent, []
    assert agent is not None

    def step(state: pyspiel.State) -> int:
        seen.append(agent.budget)
        action: int = state.legal_actions()[0]
        return action

    server._players = [Odd(step)] * 2
    assert all(answer.startswith("=") for answer in said(server, *lines, "genmove b"))
    return seen[0]


def test_the_clock_is_kept() -> None:
    seconds = gtp_server.GtpClock()
    seconds.limit(0, 2, 1)
    assert budget(serving(), "time_settings 0 2 1") == Budget(seconds=seconds.seconds("b"))
    assert budget(serving(), "kgs-time_settings byoyomi 0 2 5") == Budget(seconds=seconds.seconds("b"))
    assert budget(serving(), "kgs-time_settings canadian 0 20 10") == Budget(seconds=seconds.seconds("b"))
    assert budget(serving(), "time_settings 60 0 0", "time_left b 2 1") == Budget(seconds=seconds.seconds("b"))
    assert budget(serving(), "kgs-time_settings absolute 40") == Budget(seconds=seconds.seconds("b"))
    assert budget(serving(), "time_settings 0 2 1", "kgs-time_settings none") == Budget(iterations=2)
    assert budget(serving()) == Budget(iterations=2)


def test_a_limit_of_the_agents_own_holds_beside_it() -> None:
    assert budget(serving(own_limit=True), "time_settings 0 60 1") == Budget(iterations=2, seconds=0.95 * 60 - 0.05)
    word = "alphabeta@0.5s"
    assert budget(serving(word=word, own_limit=True), "time_settings 0 60 1") == Budget(seconds=0.5)
    assert budget(serving(word=word), "time_settings 0 60 1") == Budget(seconds=0.95 * 60 - 0.05)


# Analysis.


def analysed(server: GtpServer, line: str, lines: int = 1) -> list[str]:
    """The lines of an analysis that the next command ends after so many."""
    seen: list[str] = []
    for part in server.answers(line, lambda: len(seen) > lines):
        seen.append(part)
    assert seen[-1] == "\n"
    return seen[:-1]


def fields(info: str) -> dict[str, str]:
    words, _, line = info.partition(" pv ")
    pairs = words.split()
    return {**dict(zip(pairs[::2], pairs[1::2], strict=True)), "pv": line.strip()}


def test_an_analysis_goes_on_until_the_next_command() -> None:
    server = serving("connect_four", "alphabeta@1s")
    head, *lines = analysed(server, "5 athenan-analyze b interval 1", 3)
    assert head == "=5\n"
    assert len(lines) >= 3
    for line in lines:
        moves = [fields(part.strip()) for part in line.split("info ")[1:]]
        assert len(moves) == 7
        assert [move["order"] for move in moves] == [str(i) for i in range(7)]
        assert all(move["pv"].split()[0] == move["move"] for move in moves)
        rates = [int(move["winrate"]) for move in moves]
        assert all(0 <= rate <= 10000 for rate in rates)


@pytest.mark.parametrize("decision", [best, safest])
def test_the_first_move_of_an_analysis_is_the_one_that_is_selected(decision: Decision) -> None:
    """UBFM_s plays the most visited move, which need not be the one of the best value."""
    game = load_game("connect_four")
    state, vertices, differ = game.new_initial_state(), vertices_of(game), 0
    for seed in range(20):
        agent = Agent(
            game, UBFM(game), UniformRandomEvaluator(seed), decision=decision, budget=Budget(iterations=20 + seed)
        )
        result = agent.think(state)
        infos = [fields(part.strip()) for part in analysis(vertices, state, result, 1.0, 9).split("info ")[1:]]
        assert [info["order"] for info in infos] == [str(i) for i in range(7)]
        assert infos[0]["move"] == vertices.vertex(state, result.action)
        assert infos[0]["pv"].split()[0] == infos[0]["move"]
        values = [float(info["value"]) for info in infos[1:]]
        assert values == sorted(values, reverse=True)
        differ += float(infos[0]["value"]) < values[0]
    assert (differ > 0) == (decision is safest)


def test_proofs_are_told_as_the_mover_sees_them() -> None:
    """White, the second player, has three in column A."""
    server = serving("connect_four", "alphabeta@1s")
    said(server, *(f"play {colour} {column}" for colour, column in zip("bw" * 3, "bacafa", strict=True)), "play b g")
    line = analysed(server, "lz-analyze 20 maxmoves 2")[1]
    best, second = (fields(part.strip()) for part in line.split("info ")[1:])
    assert (best["move"], best["winrate"], best["proven"], best["pv"]) == ("A4", "10000", "win", "A4")
    assert float(best["value"]) == 1
    assert second["order"] == "1"


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("athenan-analyze w", "it is the turn of black"),
        ("athenan-analyze b 10 avoid a1", "expected a colour, centiseconds, interval, minmoves or maxmoves; got"),
        ("athenan-analyze b interval", "expected a colour"),
        ("athenan-analyze interval soon", "expected 1 number, got 'soon'"),
    ],
)
def test_analyses_that_are_none(line: str, refusal: str) -> None:
    (answer,) = said(serving("connect_four", "alphabeta@1s"), line)
    assert answer.startswith("? ")
    assert refusal in answer


def test_an_analysis_of_nothing() -> None:
    server = serving("hex(board_size=2)", "alphabeta@1s")
    assert said(server, "play b a1", "play w b1", "play b a2", "lz-analyze")[-1] == "? the game is over: B+1"


def test_an_analysis_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gtp_server, "memory_is_short", lambda: True)
    server = serving("hex(board_size=5)", "alphabeta@1s")
    assert server._agent is not None
    analysed(server, "lz-analyze 1", 3)
    first = server._agent.result
    assert first is not None
    assert first.seconds < 5
    assert budget(server) == Budget(seconds=1.0)  # as before

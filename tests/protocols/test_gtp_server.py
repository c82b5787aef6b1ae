"""What an agent answers by GTP."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from gtp_conversation import said, serving

from athenan_spiel.errors import AgentError, ConfigError, ResignedError
from athenan_spiel.games import load_game
from athenan_spiel.protocols import gtp_server
from athenan_spiel.protocols.gtp_server import GtpServer
from athenan_spiel.protocols.vertices import vertices_of
from athenan_spiel.search.drive import Budget

GO = "go(board_size=5,komi=0.5)"


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
    assert said(server, "set_free_handicap d4 q16") == ["? a handicap is set before the first move: use clear_board"]
    assert said(server, "undo", "set_free_handicap d4")[1].endswith("has Q16 D4")
    assert said(server, "fixed_handicap 2", "place_free_handicap 2") == ["= Q16 D4", "= Q16 D4"]
    assert said(server, "fixed_handicap 3", "place_free_handicap")[0].endswith("got '3'")
    assert {"fixed_handicap", "place_free_handicap"} <= {*said(server, "list_commands")[0].split("\n")}


@pytest.mark.parametrize(
    ("spec", "name"), [(GO, GO), ("hex(board_size=3)", "hex(board_size=3)"), ("othello", "othello()")]
)
def test_handicap_is_refused_without_a_rule_for_it(spec: str, name: str) -> None:
    """The commands are not listed, and a game that a client has started continues."""
    server = serving(spec, "random")
    said(server, "play b c3" if spec == GO else "genmove b")
    before = str(server._state)
    for command in ("3 fixed_handicap 2", "3 place_free_handicap 4", "3 set_free_handicap a1 b2", "3 fixed_handicap"):
        assert said(server, command) == [f"?3 the rules of {name} have no handicap"]
        assert said(server, f"known_command {command.split()[1]}") == ["= false"]
    assert str(server._state) == before


def test_a_rectangular_board() -> None:
    """Sabaki has a command of its own for it, Lizzie sends `boardsize 3 5`."""
    server = serving("hex(num_cols=3,num_rows=5)", "random")
    assert said(server, "rectangular_boardsize 3 5", "boardsize 3 5", "rectangular_boardsize 5 3")[:2] == ["=", "="]
    assert said(serving(GO, "random"), "rectangular_boardsize 5 5", "boardsize 5", "boardsize 5 5") == ["="] * 3


SGF = "(;FF[4]GM[1]SZ[5]KM[0.5];B[cc];W[dd];B[];W[bb])"


def test_an_sgf_is_loaded(tmp_path: Path) -> None:
    """A number stops before the move with it, as GTP defines it."""
    path = tmp_path / "a game.sgf"
    path.write_text(SGF)
    server = serving(GO, "random")
    game = load_game(GO)
    moves = [12, 8, 25, 16]
    for words, count in (("", 4), (" 1", 0), (" 3", 2), (" 4", 3), (" 5", 4), (" 99", 4), (" 0", 0)):
        assert said(server, "play b a1", f"loadsgf {path}{words}")[1] == "="
        assert server._state.history() == moves[:count]
        assert str(server._state) == str(_after(game, moves[:count]))
    assert said(server, f"loadsgf {path}", "undo", "undo", "play b a5", "genmove w")[3] == "="
    assert len(server._state.history()) == 4


def _after(game: pyspiel.Game, actions: list[int]) -> pyspiel.State:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (None, "cannot load file: No such file or directory"),
        ("", "cannot load file: expected an SGF"),
        ("(;GM[1]SZ[5]KM[0.5];B[cc];W[cc])", "cannot load file: expected a legal move 2 of W"),
        ("(;GM[1]SZ[9]KM[0.5];B[cc])", "cannot load file: expected an SGF of"),
        ("(;GM[1]SZ[5]KM[6.5];B[cc])", "KM[0.5], got KM[6.5]"),
        ("(;GM[1]SZ[5]KM[0.5]HA[2]AB[bb][dd];W[cc])", "cannot load file"),
    ],
)
def test_an_sgf_that_is_refused_changes_nothing(text: str | None, refusal: str, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    if text is not None:
        path.write_text(text)
    server = serving(GO, "random")
    _, answer = said(server, "play b c3", f"loadsgf {path}")
    assert answer.startswith("? ")
    assert refusal in answer
    assert said(server, "undo", "undo") == ["=", "? cannot undo"]


def test_games_without_sgf_and_commands_without_a_file() -> None:
    assert said(serving(GO, "random"), "loadsgf") == ["? expected a file, and optionally a move number"]
    assert said(serving(GO, "random"), "loadsgf /")[0].startswith("? cannot load file: ")
    othello = serving("othello", "random")
    assert said(othello, "loadsgf game.sgf", "known_command loadsgf") == [
        "? SGF supports Go and Hex, got 'othello()'",
        "= false",
    ]
    assert said(serving("hex(board_size=3)", "random"), "known_command loadsgf") == ["= true"]


def test_all_stones_are_alive() -> None:
    """One line for each string of connected stones; a stone of the other colour does not connect."""
    server = serving(GO, "random")
    said(server, "play b b2", "play w b3", "play b c2", "play w e5", "play b a2", "play w c3", "play b c4")
    assert said(server, "final_status_list alive", "final_status_list dead", "final_status_list SEKI") == [
        "= E5\nC4\nB3 C3\nA2 B2 C2",
        "=",
        "=",
    ]
    assert said(server, "final_status_list", "final_status_list black_territory") == [
        "? expected alive, dead, seki, got ''",
        "? expected alive, dead, seki, got 'black_territory'",
    ]
    assert said(serving(GO, "random"), "final_status_list alive") == ["="]
    assert said(serving("hex(board_size=3)", "random"), "final_status_list dead", "kgs-genmove_cleanup b") == [
        "? final_status_list is for Go, got 'hex(board_size=3)'",
        "? kgs-genmove_cleanup is for Go, got 'hex(board_size=3)'",
    ]


def test_play_continues_after_two_passes() -> None:
    """The rules end the game, and KGS lets it continue where players disagree about dead stones."""
    server = serving(GO, "random")
    assert said(server, "play b c3", "play w a1", "play b pass", "play w pass") == ["="] * 4
    assert said(server, "genmove b", "final_score", "kgs-genmove_cleanup w", "play w e5", "play b a1") == [
        "? the game is over: W+0.5",
        "= W+0.5",
        "? illegal move: it is the turn of black",
        "? illegal move: it is the turn of black",
        "? illegal move: 'a1'",
    ]
    assert server._state.is_terminal()  # nothing has changed
    assert said(server, "kgs-genmove_cleanup b")[0].startswith("= ")
    assert len(server._state.history()) == 3
    assert said(server, "undo") == ["="]
    assert server._state.is_terminal()
    assert said(server, "play b e5") == ["="]
    assert len(server._state.history()) == 3  # without the passes
    assert said(server, "play w pass", "play b pass") == ["="] * 2
    assert server._state.is_terminal()
    assert said(server, "final_score", *["undo"] * 5, "final_score") == ["= B+0.5", *["="] * 5, "= W+0.5"]
    assert len(server._state.history()) == 2


def test_genmove_cleanup_before_the_end_is_genmove() -> None:
    server = serving(GO, "alphabeta@2i")
    assert said(server, "reg_genmove b") == said(server, "kgs-genmove_cleanup b")
    assert said(server, "kgs-genmove_cleanup", "kgs-genmove_cleanup b") == [
        "? expected a colour",
        "? illegal move: it is the turn of white",
    ]


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

"""UCI engines as bots: fakes that behave and that do not, and Fairy-Stockfish where it is installed."""

from __future__ import annotations

import os
import pickle
import re
import signal
import sys
import time
from pathlib import Path

import pyspiel
import pytest
from clocks import HANG_SECONDS
from installed import FAIRY_STOCKFISH, needs_fairy_stockfish

import agents
from agents.uci import UciBot
from athenan_spiel.errors import AgentError, AthenanError, BudgetError, ProgramError, SearchError
from athenan_spiel.play.match import play_match
from athenan_spiel.play.series import play_series
from athenan_spiel.protocols import uci
from athenan_spiel.protocols.uci_options import command_and_settings

FAKE = f"'{sys.executable}' '{Path(__file__).parents[1] / 'protocols' / 'fake_uci.py'}'"
TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


def bot(word: str, *, limit: str = "@0.01s", player: int = 0, game: pyspiel.Game = TIC_TAC_TOE) -> UciBot:
    made = agents.make_bot(f"uci:{FAKE} {word}{limit}", game, player)
    assert isinstance(made, UciBot)
    return made


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uci, "GRACE_SECONDS", 0.2)
    monkeypatch.setattr(uci, "STOP_SECONDS", 0.2)


def test_words() -> None:
    word = agents.parse_spec("uci:my-engine --fast a@b;Skill Level=3;Threads=1@0.1s")
    assert (word.bot, word.params) == (
        "uci",
        {"command": "my-engine --fast a@b;Skill Level=3;Threads=1", "seconds": 0.1},
    )
    assert agents.parse_spec("uci:x@5000e").params == {"command": "x", "evaluations": 5000}
    assert agents.parse_spec("uci:x@2m/match").params == {"command": "x", "match_seconds": 120.0}


def test_options_in_a_word() -> None:
    assert command_and_settings("'my engine' -x;Skill Level = 3; Book Path=/a b/c;Clear Hash=") == (
        ("my engine", "-x"),
        (("Skill Level", "3"), ("Book Path", "/a b/c"), ("Clear Hash", "")),
    )


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("uci:", "expected a program and its options, got ''"),
        ("uci:;Threads=1", "expected a program and its options, got ''"),
        ("uci:x;Threads", "expected an engine option NAME=VALUE after `;`, got 'Threads'"),
        ("uci:x;=1", "expected an engine option NAME=VALUE after `;`, got '=1'"),
        ("uci:x;A=1\nquit", "expected an engine option NAME=VALUE after `;`, got"),
        ("uci:x;Hash=1;hash=2", "expected each engine option once, got 'hash' twice"),
        ("uci:x@5i", r"uci takes seconds per move \(uci@0\.5s\) or evaluations per move"),
    ],
)
def test_words_that_are_none(word: str, problem: str) -> None:
    with pytest.raises(AgentError, match=problem):
        agents.parse_spec(word)


@pytest.mark.parametrize(
    ("params", "kind", "problem"),
    [
        ({}, AgentError, "needs the parameter 'command'"),
        ({"command": "/no/engine"}, ProgramError, "/no/engine cannot be started"),
        ({"command": f"{FAKE} gtp"}, ProgramError, "does not speak UCI"),
        ({"command": f"{FAKE} unknown"}, AgentError, "knows the variant 'tictactoe'"),
        ({"command": f"{FAKE} board"}, AgentError, "another initial board"),
        ({"command": f"{FAKE};Skill Level=99"}, AgentError, "option 'Skill Level' of .* from 0 to 20, got '99'"),
        ({"command": FAKE, "seconds": 0.0}, BudgetError, "seconds must be more than zero"),
        ({"command": FAKE, "match_seconds": -1.0}, BudgetError, "seconds of a game clock must be more than zero"),
        ({"command": FAKE, "match_seconds": 9, "match_increment": -1}, BudgetError, "the increment of a game clock"),
        ({"command": FAKE, "match_increment": 1.0}, BudgetError, "an increment needs a game clock: add"),
        ({"command": FAKE, "seconds": 1.0, "evaluations": 5}, AgentError, "expected one of seconds, evaluations"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_match(
    params: dict[str, object], kind: type[AthenanError], problem: str
) -> None:
    with pytest.raises(kind, match=problem):
        agents.load_bot("uci", TIC_TAC_TOE, 0, params)


def test_games_that_uci_does_not_have() -> None:
    with pytest.raises(AgentError, match=r"UCI engines play amazons, .*; got 'hex"):
        agents.load_bot("uci", "hex", 0, {"command": FAKE})


def test_it_plays_either_colour_and_goes_into_other_processes() -> None:
    first, second = bot("good"), pickle.loads(pickle.dumps(bot("good", player=1)))
    for players in ([first, second], [second.clone(), first]):
        result = play_match(TIC_TAC_TOE, players, opening=[0, 8])
        assert result.history == (0, 8, 6, 7, 3)  # the first free square from below
    assert not first.provides_policy()
    assert first.is_clonable()
    with pytest.raises(SearchError):
        first.step(pyspiel.load_game("connect_four").new_initial_state())


def test_without_a_limit_it_has_a_second_a_move() -> None:
    made = agents.load_bot("uci", TIC_TAC_TOE, 0, {"command": FAKE})
    assert made._limit() == uci.UciLimit(seconds=1.0)
    assert made.match_seconds is None


def test_a_match_clock_runs_down_and_is_wound_up() -> None:
    made = bot("good", limit="@50s/match")
    assert made.match_seconds == 50.0
    state = TIC_TAC_TOE.new_initial_state()
    made.restart_at(state)
    assert made._limit() == uci.UciLimit(clock=50.0)
    made.step(state)
    left = made._limit().clock
    assert left is not None
    assert 40 < left < 50
    made.restart()
    assert made._limit() == uci.UciLimit(clock=50.0)


def test_an_increment_comes_after_each_move() -> None:
    made = bot("good", limit="@50s+8s")
    assert (made.match_seconds, made.match_increment) == (50.0, 8.0)
    state = TIC_TAC_TOE.new_initial_state()
    made.restart_at(state)
    assert made._limit() == uci.UciLimit(clock=50.0, increment=8.0)
    state.apply_action(made.step(state))
    assert made._limit().clock < 50, "what is told before the next move is another matter"  # type: ignore[operator]
    state.apply_action(state.legal_actions()[0])
    made.step(state)
    assert 50 < made._limit().clock < 58  # type: ignore[operator]
    assert pickle.loads(pickle.dumps(made))._limit() == uci.UciLimit(clock=50.0, increment=8.0)
    made.restart()
    assert made._limit() == uci.UciLimit(clock=50.0, increment=8.0)


def test_each_action_of_a_turn_brings_an_increment() -> None:
    game = pyspiel.load_game("amazons")
    made = bot("amazons", game=game, limit="@50s+2s")
    state = game.new_initial_state()
    made.restart_at(state)
    assert made._limit().words == "wtime 50000 btime 50000 winc 6000 binc 6000"
    for _ in range(3):
        state.apply_action(made.step(state))
    clock = made._clock
    assert clock is not None
    assert clock.moves == 2
    clock.arrive(game.new_initial_state().child(93).child(13).child(83))
    assert clock.moves == 3


def test_a_turn_of_several_actions_is_asked_for_once() -> None:
    game = pyspiel.load_game("amazons")
    made = bot("amazons", game=game)
    state = game.new_initial_state()
    made.restart_at(state)
    for action in (93, 13, 83):  # d1, d9, d2
        assert made.step(state) == action
        state.apply_action(action)
    assert made._planned == {}


def test_an_opening_may_end_within_a_turn() -> None:
    game = pyspiel.load_game("amazons")
    made = bot("amazons", game=game)
    for opening in ([60], [60, 50]):  # an amazon is lifted, and has gone
        state = game.new_initial_state()
        for action in opening:
            state.apply_action(action)
        made.restart_at(state)
        for _ in range(3 - len(opening)):
            action = made.step(state)
            assert action in state.legal_actions()
            state.apply_action(action)
        assert state.current_player() == 1


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("hang", r"has not moved within 0\.01 s and 0\.4 s more"),
        ("talk", r"has not moved within 0\.01 s and 0\.4 s more"),
        ("crash", r"has ended \(exit code 1\); it last wrote: .*out of luck"),
        ("cheat", r"expected a legal move in UCI's notation, got 'P@z9'"),
        ("none", r"returned no move: got 'bestmove \(none\)'"),
        ("null", "returned no move: got 'bestmove 0000'"),
        ("mute", "returned no move: got 'bestmove'"),
    ],
)
def test_one_that_misbehaves_loses_its_matches_and_the_series_goes_on(word: str, reason: str, impatient: None) -> None:
    start = time.monotonic()
    series = play_series(
        TIC_TAC_TOE, lambda i: bot(word, player=i), lambda i: bot("good", player=i), 4, opening_plies=1, forfeits=True
    )
    assert time.monotonic() - start < 60
    mine, theirs = series.forfeits()
    assert (len(mine), theirs, series.tally.losses) == (4, [], 4)
    for said in mine:
        assert re.search(reason, said), said


def test_one_that_resigns_has_lost_and_not_failed() -> None:
    result = play_match(TIC_TAC_TOE, [bot("good"), bot("resign", player=1)])
    assert result.returns == (1.0, -1.0)
    assert result.forfeit is not None
    assert result.forfeit.resigned


def test_the_engine_that_has_failed_is_started_anew() -> None:
    made = bot("good")
    state = TIC_TAC_TOE.new_initial_state()
    made.restart_at(state)
    old = made._engine
    assert old is not None
    made.restart_at(state)
    assert made._engine is old
    os.kill(old._program._process.pid, signal.SIGKILL)
    old._program._process.wait(HANG_SECONDS)  # the engine ends with its supervisor
    with pytest.raises(ProgramError, match="has ended"):
        made.step(state)
    assert made._engine is None
    made.restart_at(state)
    assert made.step(state) == 6


def test_a_choice_outside_the_turn_that_has_begun_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    game = pyspiel.load_game("amazons")
    made = bot("amazons", game=game)
    state = game.new_initial_state()
    state.apply_action(60)
    made.restart_at(state)
    monkeypatch.setattr(uci.UciEngine, "best_move", lambda *_: "d1d9,d9d2")
    with pytest.raises(ProgramError, match=r"expected one of [0-9]+ moves, got 'd1d9,d9d2'"):
        made.step(state)


@needs_fairy_stockfish
@pytest.mark.parametrize(
    "name", ["breakthrough", "clobber(rows=6,columns=5)", "chess", "xiangqi", "othello", "amazons", "connect_four"]
)
def test_fairy_stockfish_plays_by_the_rules(name: str) -> None:
    game = pyspiel.load_game(name)
    try:
        players = [agents.make_bot(f"uci:{FAIRY_STOCKFISH}@500e", game, i) for i in (0, 1)]
    except AgentError as error:
        if name not in ("othello", "amazons", "connect_four"):
            raise
        pytest.skip(f"needs a newer one: {error}")
    series = play_series(
        game, lambda i: players[i], lambda i: agents.make_bot("random", game, i, 7), 2, seed=3, forfeits=True
    )
    assert series.forfeits() == ([], [])
    assert series.tally.wins >= 1

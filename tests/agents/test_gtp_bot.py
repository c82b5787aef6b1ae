"""The `gtp` bot with engines that play well, badly or not at all: none hangs a series or ends it."""

from __future__ import annotations

import pickle
import random
import re
import shlex
import time
from pathlib import Path

import pyspiel
import pytest
from forking import program

import agents
from agents.gtp import GtpBot
from athenan_spiel.errors import AgentError, BudgetError, ProgramError, ResignedError, SearchError
from athenan_spiel.games import load_game
from athenan_spiel.play.match import play_match
from athenan_spiel.play.player import thinks_by_time
from athenan_spiel.play.series import play_series
from athenan_spiel.protocols import gtp_engine
from athenan_spiel.protocols.gtp_engine import EngineTime

FAKE = str(Path(__file__).parent.parent / "protocols" / "fake_gtp.py")
GAME = "connect_four"
PATIENCE = 60.0
pytestmark = pytest.mark.usefixtures("forked_programs")


def command(*habits: str, game: str = GAME) -> str:
    return shlex.join([*program(FAKE), game, *habits])


def unchecked(*habits: str, game: str = GAME, seconds: float | None = None, match: float | None = None) -> GtpBot:
    return GtpBot(load_game(game), command(*habits, game=game), EngineTime(seconds, match))


def loaded(words: str, game: str = GAME, **params: object) -> pyspiel.Bot:
    return agents.load_bot("gtp", load_game(game), 0, {"command": words, **params})


def sent(log: Path) -> list[str]:
    """What the engine was told, without numbers and the first questions."""
    lines = [line.split(" ", 1)[-1] if line[0].isdigit() else line for line in log.read_text().splitlines()]
    return [line for line in lines if line not in ("protocol_version", "list_commands", "quit")]


def played_by(bot: pyspiel.Bot, moves: int = 4, game: str = GAME, opening: tuple[int, ...] = ()) -> list[int]:
    """The history after some moves of the bot and of a random opponent."""
    state = load_game(game).new_initial_state()
    for action in opening:
        state.apply_action(action)
    rng = random.Random(1)
    me = state.current_player()
    bot.restart_at(state)
    for _ in range(moves):
        state.apply_action(bot.step(state))
        if not state.is_terminal() and state.current_player() != me:
            state.apply_action(rng.choice(state.legal_actions()))
    return list(state.history())


@pytest.mark.parametrize("habits", [(), ("unnumbered",), ("chatty",), ("lacks=undo",), ("lacks=list_commands",)])
def test_matches_of_both_colours(habits: tuple[str, ...]) -> None:
    series = play_series(GAME, lambda i: unchecked(*habits), lambda i: agents.make_bot("random", GAME, i), 2)
    assert [result.forfeit for result in series.results] == [None] * 2
    for result, colour in zip(series.results, series.colours, strict=True):  # the first column that is not full
        state = load_game(GAME).new_initial_state()
        for ply, action in enumerate(result.history):
            if ply >= 2 and state.current_player() == colour:
                assert action == state.legal_actions()[0]
            state.apply_action(action)


# What OpenSpiel's GTPBot gets wrong, and this bot does not.


def test_go_is_told_vertices_and_not_colours_twice(tmp_path: Path) -> None:
    """GTPBot writes `play b B d4`, OpenSpiel's name of the action, and cannot read the answer."""
    log, game = tmp_path / "log", "go(board_size=5)"
    history = played_by(unchecked(f"log={log}", game=game), 2, game, (12, 7))
    assert sent(log)[:5] == ["boardsize 5", "clear_board", "komi 7.5", "play b C3", "play w C2"]
    assert history[2] == 0


def test_a_match_may_begin_anywhere(tmp_path: Path) -> None:
    """GTPBot's `restart_at` asks for a number's own text."""
    log = tmp_path / "log"
    assert played_by(unchecked(f"log={log}"), 1, opening=(3, 3, 2))[:4] == [3, 3, 2, 0]
    assert sent(log) == ["boardsize 7 6", "clear_board", "play b D1", "play w D2", "play b C1", "genmove w"]


def test_pass_is_a_move() -> None:
    """GTPBot looks for an action called `pass`, where Go's is `B PASS`."""
    game = load_game("go(board_size=2)")
    state = game.new_initial_state()
    bot = unchecked(game=str(game))
    for action in (0, 3):  # both sides have one stone; the engine plays the first legal point until there is none
        state.apply_action(action)
    for _ in range(6):
        if state.is_terminal():
            break
        action = bot.step(state)
        state.apply_action(action)
        if not state.is_terminal():
            state.apply_action(4)
    assert 4 in state.history()
    answer = bot._engine._vertices
    assert answer.action(game.new_initial_state(), "pass") == answer.action(game.new_initial_state(), "PASS") == 4


def test_to_resign_is_to_lose() -> None:
    """GTPBot takes `resign` for an action, which OpenSpiel ends the process for."""
    with pytest.raises(ResignedError, match=r"python.* resigns"):
        unchecked("resign=1").step(load_game(GAME).new_initial_state())
    result = play_match(GAME, [unchecked("resign=2"), agents.make_bot("random", GAME, 1)])
    assert result.forfeit is not None
    assert result.forfeit.resigned
    assert (result.points(0), len(result.history)) == (0, 2)


def test_moves_are_taken_back_where_that_is_shorter(tmp_path: Path) -> None:
    log = tmp_path / "log"
    bot = unchecked(f"log={log}")
    state = load_game(GAME).new_initial_state()
    for action in (3, 4, 3):
        state.apply_action(action)
    assert bot.step(state) == 0
    assert bot.step(state) == 0  # the same position: its own move is taken back
    state.apply_action(1)
    state.apply_action(2)
    assert bot.step(state) == 0
    other = load_game(GAME).new_initial_state()
    other.apply_action(5)
    assert bot.step(other) == 0
    begun = ["boardsize 7 6", "clear_board", "play b D1", "play w E1", "play b D2", "genmove w"]
    later = ["undo", "play w B1", "play b C1", "genmove w", "clear_board", "play b F1", "genmove w"]
    assert sent(log) == [*begun, "undo", "genmove w", *later]


def test_a_new_match_is_a_new_board(tmp_path: Path) -> None:
    log = tmp_path / "log"
    bot = unchecked(f"log={log}")
    played_by(bot, 1)
    played_by(bot, 1)
    assert sent(log).count("clear_board") == 2


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"seconds": 2.0}, ["time_settings 0 2 1", "time_left b 2 1"]),
        ({"match": 90.0}, ["time_settings 90 0 0", "time_left b 90 0", "time_left b 89 0"]),
        ({}, []),
    ],
)
def test_it_is_told_its_time(tmp_path: Path, limit: dict[str, float], said: list[str]) -> None:
    log = tmp_path / "log"
    played_by(unchecked(f"log={log}", **limit), 2)  # type: ignore[arg-type]
    told = [line for line in sent(log) if line.startswith("time")]
    assert told[:1] == said[:1]
    assert all(line in told for line in said)
    assert len(told) == (3 if limit else 0)


def test_its_time_is_known_to_who_plays_several_matches() -> None:
    for limit, timed in (({}, False), ({"seconds": 2.0}, True), ({"match": 60.0}, True)):
        bot = unchecked(**limit)
        assert (bot.seconds, bot.match_seconds) == (limit.get("seconds"), limit.get("match"))
        assert thinks_by_time(bot) == timed


def test_a_match_clock_runs_down() -> None:
    bot = unchecked("slow=0.3", match=1000)
    assert bot.match_seconds == 1000
    played_by(bot, 2)
    clock = bot._engine._clock
    assert clock is not None
    assert clock.used > 0.6
    bot.restart()
    assert clock.used == 0


def test_an_increment_is_told_to_engines_that_know_one(tmp_path: Path) -> None:
    """KataGo's `kata-time_settings`; GTP's own `time_settings` has none."""
    log = tmp_path / "log"
    bot = GtpBot(load_game(GAME), command("knows=kata-time_settings", f"log={log}"), EngineTime(None, 20.0, 1.5))
    assert (bot.match_seconds, bot.match_increment) == (20.0, 1.5)
    assert pickle.loads(pickle.dumps(bot)).match_increment == 1.5
    played_by(bot, 3)
    told = [line for line in sent(log) if "time" in line]
    assert told == ["kata-time_settings fischer 20 1.5", "time_left b 20 0", "time_left b 21 0", "time_left b 22 0"]


def test_an_increment_that_cannot_be_told_is_refused() -> None:
    said = (
        r"knows no clock with an increment, got @90s\+0.5s: GTP has none, and it lacks kata-time_settings; "
        r"use @90s/match"
    )
    with pytest.raises(AgentError, match=said):
        loaded(command(), match_seconds=90.0, match_increment=0.5)
    with pytest.raises(BudgetError, match=r"an increment needs a game clock: add match_seconds to 0\.5"):
        loaded(command(), match_increment=0.5)


@pytest.mark.parametrize(
    ("habits", "reason"),
    [
        (("dies",), r"has ended \(exit code 1\); it last wrote: no licence"),
        (("crash=2",), r"has ended \(exit code 1\); it last wrote: out of memory"),
        (("hang=2",), r"has not answered 'genmove [bw]' within"),
        (("endless=2",), r"answers more than 2,000 lines"),
        (("still",), r"has not answered 'protocol_version' within"),
        (("babble",), r"has not answered 'protocol_version' within"),
        (("uci",), r"has not answered 'protocol_version' within .*: does it speak GTP"),
        (("nonsense=2",), r"plays 'bestmove e2e4.nponder', which is not a legal move"),
        (("illegal=2",), r"plays 'T19', which is not a legal move here"),
        (("refuses=play",), r"answers 'play . ...?' with an error: 'no'"),
        (("refuses=boardsize",), r"answers 'boardsize 7 6' with an error: 'no': it cannot be set up for 'connect_four"),
        (("refuses=clear_board",), r"answers 'clear_board' with an error"),
        (("stays", "crash=2"), r"has ended"),
    ],
)
def test_what_fails_loses_the_match_and_no_more(
    monkeypatch: pytest.MonkeyPatch, habits: tuple[str, ...], reason: str
) -> None:
    short = 1.0 if {"still", "babble", "uci"} & {*habits} else PATIENCE
    monkeypatch.setattr(gtp_engine, "START_SECONDS", short)
    monkeypatch.setattr(gtp_engine, "UNLIMITED_SECONDS", 1.0 if "hang=2" in habits else PATIENCE)
    start = time.monotonic()
    series = play_series(
        GAME, lambda i: unchecked(*habits), lambda i: agents.make_bot("random", GAME, i), 2, forfeits=True
    )
    ours, theirs = series.forfeits()
    assert (series.losses, len(ours), theirs) == (2, 2, [])
    assert all(re.search(reason, told) for told in ours), ours
    assert time.monotonic() - start < 2 * PATIENCE


def test_a_hang_ends_in_the_time_that_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gtp_engine, "GRACE_SECONDS", 0.5)
    state = load_game(GAME).new_initial_state()
    with pytest.raises(ProgramError, match=r"'genmove b' within 1\.5 s"):
        unchecked("hang=1", seconds=1).step(state)
    with pytest.raises(ProgramError, match=r"'genmove b' within 2\.\d+ s|'genmove b' within 2.5 s"):
        unchecked("hang=1", match=2).step(state)


def test_pickled_it_is_started_anew() -> None:
    bot = unchecked(seconds=3)
    first = played_by(bot)
    twin = pickle.loads(pickle.dumps(bot))
    assert played_by(twin) == first == played_by(bot.clone())
    assert bot.is_clonable()
    assert not bot.provides_policy()


# What is wrong is said before the first match.


def test_loading_tries_the_engine(tmp_path: Path) -> None:
    log = tmp_path / "log"
    bot = loaded(command(f"log={log}"))
    loaded(command(f"log={log}"))  # what was seen once holds
    assert [line.split()[0] for line in sent(log)] == ["boardsize", "clear_board", *["play"] * 4, "genmove"]
    assert bot.step(load_game(GAME).new_initial_state()) == 0


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ("/no/engine --mode gtp", ProgramError, "/no/engine cannot be started: No such file"),
        ("a 'b", AgentError, "expected a program and its options"),
        (command("crash=1"), ProgramError, "has ended"),
        (command("illegal=1"), AgentError, "plays 'T19', which is not a legal move here"),
        (command("dies"), ProgramError, "it last wrote: no licence"),
        (command(game="hex(board_size=3)"), AgentError, "does it play 'connect_four"),
        (command("lacks=boardsize", game="hex(board_size=3)"), AgentError, "does it play 'connect_four"),
    ],
)
def test_an_engine_that_does_not_play(words: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        loaded(words)


def test_one_that_resigns_at_once_is_loaded() -> None:
    assert loaded(command("resign=1"))


def test_games_and_limits_that_gtp_has_not() -> None:
    with pytest.raises(AgentError, match=r"those of 'chess.*' are written"):
        loaded(command(), "chess")
    with pytest.raises(AgentError, match=r"counts whole seconds, got @0.5s: use @1s, or no limit"):
        loaded(command(), seconds=0.5)
    with pytest.raises(AgentError, match="expected seconds or match_seconds"):
        loaded(command(), seconds=1.0, match_seconds=1.0)
    with pytest.raises(BudgetError):
        loaded(command(), seconds=0.0)
    with pytest.raises(AgentError, match=r"gtp takes seconds per move .* or a game clock"):
        agents.parse_spec("gtp:gnugo@200i")
    with pytest.raises(AgentError, match="expected a program and its options"):
        agents.parse_spec("gtp:")


def test_states_of_other_beginnings_are_refused() -> None:
    game = load_game("hex(board_size=3)")
    with pytest.raises(SearchError):
        unchecked().step(game.new_initial_state())


def test_words() -> None:
    word = agents.parse_spec("gtp:gnugo --mode gtp --level 1@2s")
    assert (word.bot, word.params) == ("gtp", {"command": "gnugo --mode gtp --level 1", "seconds": 2.0})
    word = agents.parse_spec("gtp:mohex --x a@b")
    assert word.params == {"command": "mohex --x a@b"}
    assert agents.parse_spec("gtp:e@1m/match").params == {"command": "e", "match_seconds": 60.0}
    timed = agents.parse_spec("gtp:e --x=1+1@home@1m+2s").params
    assert timed == {"command": "e --x=1+1@home", "match_seconds": 60.0, "match_increment": 2.0}

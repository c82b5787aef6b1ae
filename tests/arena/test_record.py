"""Saved games are read as written; games that do not replay are refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyspiel
import pytest

from agents import make_bot
from athenan_spiel.arena import record
from athenan_spiel.arena.record import MOST_LINE, SavedMatch, match_of, read_matches
from athenan_spiel.errors import ArenaError
from athenan_spiel.play.match import Forfeit, MatchResult, OngoingGame, play_match
from athenan_spiel.play.move_tree import NO_NOTES, MoveNotes
from athenan_spiel.system.line_file import LineFile

GAME = pyspiel.load_game("tic_tac_toe")


def saved(**changes: Any) -> SavedMatch:
    players = [make_bot("random", GAME, i, i) for i in range(2)]
    result = play_match(GAME, players, opening=[4])
    return dataclasses.replace(
        SavedMatch("tic_tac_toe()", ("x", "y"), ("random", "mcts:9"), 1, 3, 7, result), **changes
    )


def line(match: SavedMatch, **changes: Any) -> bytes:
    return json.dumps(match.to_json() | changes).encode()


def test_a_match_is_read_as_written() -> None:
    match = saved()
    back = match_of(line(match), "here")
    back.require_true()
    assert back.players == ("y", "x")
    for field in dataclasses.fields(MatchResult):
        ours, theirs = getattr(match.result, field.name), getattr(back.result, field.name)
        assert theirs == (pytest.approx(ours, abs=1e-6) if "seconds" in field.name else ours), field.name
    assert dataclasses.replace(back, result=match.result) == match


def test_variations_and_comments_are_read_as_written() -> None:
    """A game without them has the same keys as before, so earlier versions read it."""
    notes = MoveNotes(((1, 8), (6, 4), (0, 8)), ((0, "start"), (6, "a <b>"), (5, "end")))
    match = dataclasses.replace(won(), notes=notes)
    back = match_of(line(match), "here")
    assert back == match
    back.require_true()
    assert match.to_json()["variations"] == [[1, 8], [6, 4], [0, 8]]
    assert not {"variations", "comments"} & won().to_json().keys()
    assert match_of(line(won()), "here").notes == NO_NOTES


def test_variations_that_take_long_to_replay_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    match = dataclasses.replace(won(), notes=MoveNotes(((1, 8), (6, 4), (2, 8), (4, 8))))
    monkeypatch.setattr(record, "MOST_REPLAYED", 7)
    match.require_true()
    monkeypatch.setattr(record, "MOST_REPLAYED", 6)
    with pytest.raises(ArenaError, match="its variations need more than 6 actions"):
        match.require_true()


def test_a_forfeit_is_read_as_written() -> None:
    class Fails:
        def restart_at(self, state: Any) -> None: ...
        def inform_action(self, state: Any, player_id: int, action: int) -> None: ...
        def step(self, state: Any) -> int:
            raise ValueError("no idea" * 1000)

    with pytest.raises(StopIteration) as end:
        next(OngoingGame(GAME, [make_bot("random", GAME, 0, 0), Fails()], [], forfeits=True).requests)
    result = end.value.value
    forfeited = saved(result=result)
    back = match_of(line(forfeited), "here")
    back.require_true()
    assert back.result.forfeit is not None
    assert back.result.forfeit.player_id == 1
    assert back.result.returns == (1.0, -1.0)
    assert back.result.movers == (0,)
    assert len(back.result.forfeit.reason) == 1000


def test_a_match_of_three_players_is_read_as_written() -> None:
    game = pyspiel.load_game("pig(players=3,winscore=5)")
    result = play_match(game, [make_bot("random", game, i, i) for i in range(3)], seed=1)
    match = saved(game=str(game), agents=("x", "y", "y"), specs=("random",) * 3, colour=0, result=result)
    back = match_of(line(match), "here")
    back.require_true()
    assert back.players == ("x", "y", "y")
    assert back.result.returns == result.returns
    opening = dataclasses.replace(result, history=(0,), opening_plies=1, movers=(), move_seconds=())
    lost = dataclasses.replace(opening, forfeit=Forfeit(1, "hung"), returns=(0.5, -1.0, 0.5))
    match_of(line(dataclasses.replace(match, result=lost)), "here").require_true()
    with pytest.raises(ArenaError, match=r"forfeited by player 1 must be unfinished and return \[0.5, -1.0, 0.5\]"):
        dataclasses.replace(match, result=dataclasses.replace(lost, returns=(1.0, -1.0, 1.0))).require_true()
    with pytest.raises(ArenaError, match="colour must be a whole number from 0 to 0, got 1"):
        match_of(line(match, colour=1), "here")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"format": 1}, "format must be 2, got 1: read it with the version of athenan_spiel that saved it"),
        ({"format": True}, "format must be a whole number"),
        ({"game": ""}, "game must be a text"),
        ({"game": "x" * 3000}, "game must be a text"),
        ({"agents": ["x"]}, "agents and specs must be one for each player"),
        ({"agents": [], "specs": []}, "agents and specs must be one for each player"),
        ({"agents": ["x", "y", "z"], "specs": ["x", "y", "z"]}, "returns must be a list of 3"),
        ({"agents": "xy"}, "agents must be a list, got 'xy'"),
        ({"colour": 2}, "colour must be a whole number from 0 to 1, got 2"),
        ({"number": -1}, "number must be a whole number"),
        ({"seed": 2**64}, "seed must be a whole number"),
        ({"actions": [4, "x"]}, "actions must be a whole number"),
        ({"actions": {}}, "actions must be a list"),
        ({"opening_plies": 99}, "opening_plies must be a whole number"),
        ({"movers": []}, "one for each action after the opening"),
        ({"move_seconds": [0.1]}, "move_seconds must be a list of"),
        ({"returns": [1.0]}, "returns must be a list of 2"),
        ({"returns": [1.0, "1"]}, "returns must be a finite number"),
        ({"returns": [True, -1]}, "returns must be a finite number"),
        ({"returns": [1.0, 1e305]}, "returns must be a finite number"),
        ({"seconds": [-1.0, 0]}, "seconds must be a finite number and not negative"),
        ({"forfeit": {"player": 5, "reason": "", "resigned": False}}, "player must be a whole number from 0 to 1"),
        ({"forfeit": {"player": 0}}, "expected an object of player, reason"),
        ({"forfeit": {"player": 0, "reason": "", "resigned": 1}}, "resigned must be true or false, got 1"),
        ({"evaluations": [1]}, "evaluations must be a list of 2"),
        ({"more": 1}, "expected an object of format, game"),
        ({"variations": 1}, "variations must be a list, got 1"),
        ({"variations": [[0]]}, "variations must be a list of pairs, got [0]"),
        ({"variations": [[99, 1]]}, "an earlier position and an action, got 99"),
        ({"variations": [[0, "1"]]}, "an earlier position and an action, got 0"),
        ({"variations": [[0, 0]] * 20_001}, "at most 20,000 actions, got 20,001"),
        ({"comments": [[0, 1]]}, "pairs of a position and a text, got (0, 1)"),
        ({"comments": [[99, "x"]]}, "pairs of a position and a text"),
        ({"comments": [[True, "x"]]}, "pairs of a position and a text"),
        ({"comments": [[0, "x" * 2001]]}, "at most 2,000 characters, got 2,001"),
    ],
)
def test_invalid_matches_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArenaError) as error:
        match_of(line(saved(), **changes), "file, line 3")
    assert str(error.value).startswith("file, line 3 is not a saved game: ")
    assert problem in str(error.value)
    assert len(str(error.value)) < 700


def test_duplicate_keys_are_refused() -> None:
    text = line(won())
    match_of(text, "line 1").require_true()
    for twice in (b'"actions": [4, 0, 8]', b'"game": "hex()"', b'"returns": [0.0, 0.0]', b'"format": 2'):
        with pytest.raises(ArenaError, match="is not a saved game: an object has more than one"):
            match_of(text.replace(b"{", b"{" + twice + b", ", 1), "line 1")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b"\xff",
        b"not json",
        b'{"format": NaN}',
        b'{"format": 1e400}',
        b'{"game": ' + b"1" * 5_000 + b"}",
        b"[" * 5_000 + b"]" * 5_000,
        b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_lines_without_an_object_are_refused(text: bytes) -> None:
    with pytest.raises(ArenaError, match="line 1 is not a saved game") as raised:
        match_of(text, "line 1")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 700


def won() -> SavedMatch:
    """The first player wins by 0, 1, 2."""
    result = MatchResult((0, 3, 1, 4, 2), 2, (1.0, -1.0), (0.0, 0.0), None, (0, 1, 0), (0.0, 0.0, 0.0), (0, 0), (0, 0))
    return saved(result=result)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"game": "chess_of_nobody"}, "its game cannot be loaded"),
        ({"game": "kuhn_poker"}, "its game cannot be loaded"),
        ({"game": "morpion_solitaire"}, "is for 1 players, got 2"),
        ({"game": "connect_four"}, "leave the game at 'connect_four' unfinished"),
        ({"actions": [0, 3, 1, 4, 99]}, "action 5, 99, is not legal"),
        ({"actions": [0, 3, 1, 1, 2]}, "action 4, 1, is not legal"),
        ({"actions": [0, 3, 1, 4, 2, 5], "movers": [0, 1, 0, 1], "move_seconds": [0] * 4}, "comes after the end"),
        ({"movers": [1, 1, 0]}, "action 3, 1, is player 0's"),
        ({"variations": [[0, 4], [6, 4]]}, "action 4 of a variation is not legal at 'tic_tac_toe()', position 6"),
        ({"variations": [[5, 5]]}, "action 5 of a variation is not legal"),
        ({"returns": [-1.0, 1.0]}, r"return [1.0, -1.0] at 'tic_tac_toe()', got [-1.0, 1.0]"),
        (
            {"actions": [0, 3, 1, 4], "movers": [0, 1], "move_seconds": [0, 0]},
            "unfinished, got a result of [1.0, -1.0]",
        ),
        (
            {"forfeit": {"player": 1, "reason": "hung", "resigned": False}},
            "a game forfeited by player 1 must be unfinished",
        ),
    ],
)
def test_matches_that_do_not_replay_are_refused(changes: dict[str, Any], problem: str) -> None:
    won().require_true()
    forged = match_of(line(won(), **changes), "here")
    with pytest.raises(ArenaError) as error:
        forged.require_true()
    assert problem in str(error.value)


def test_a_forged_forfeit_is_refused() -> None:
    open_match = dataclasses.replace(won().result, history=(0, 3, 1, 4), movers=(0, 1), move_seconds=(0.0, 0.0))
    saved(result=dataclasses.replace(open_match, forfeit=Forfeit(1, "hung"))).require_true()
    resigned = saved(result=dataclasses.replace(open_match, forfeit=Forfeit(1, "lost", resigned=True)))
    assert match_of(line(resigned), "here").result.forfeit == Forfeit(1, "lost", resigned=True)
    with pytest.raises(ArenaError, match="forfeited by player 0"):
        saved(result=dataclasses.replace(open_match, forfeit=Forfeit(0, "hung"))).require_true()


def test_a_file_is_read_back_and_a_cut_line_left_out(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    file = LineFile(path, 2**20, MOST_LINE)
    file.append([saved().to_json(), saved(number=4).to_json()])
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:50])
    assert [match.number for match in read_matches(path)] == [3, 4]
    file.drop_cut_line()
    assert path.read_bytes() == whole
    file.drop_cut_line()
    assert path.read_bytes() == whole


def test_a_file_that_is_one_cut_line_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    path.write_bytes(b'{"format')
    LineFile(path, 2**20, MOST_LINE).drop_cut_line()
    assert path.read_bytes() == b""


def test_files_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "matches.jsonl"
    with pytest.raises(ArenaError, match="cannot be read: No such file"):
        list(read_matches(path))
    path.write_bytes(b"x" * (MOST_LINE + 10))
    with pytest.raises(ArenaError, match="line 1 is not a saved game"):
        list(read_matches(path))
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(ArenaError, match="a link, which is not followed"):
        list(read_matches(link, follow=False))
    with pytest.raises(OSError, match="more than the"):
        list(LineFile(path, 10, 10).lines())

"""Loading of games: supported ones obey the laws, and others are refused with reasons."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyspiel
import pytest
from lying_game import LyingGame

from athenan_spiel.errors import UnsupportedGameError
from athenan_spiel.games import (
    GameInfo,
    all_games,
    check_game,
    given_game,
    load_game,
    loading,
    require_fixed_actions,
    same_game,
    supported_games,
    unmet_conditions,
)
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.conditions import spec_conditions, type_conditions
from athenan_spiel.games.spec import Spec, read_spec
from ludii_bridge import catalogue

SUPPORTED = (
    "2048 amazons antichess backgammon banqi breakthrough catch checkers chess chinese_checkers cliff_walking clobber "
    "connect_four crazyhouse cursor_go dots_and_boxes einstein_wurfelt_nicht go gomoku havannah hex hive "
    "lines_of_action maedn mancala mnk morpion_solitaire nim nine_mens_morris othello oware pentago pig quoridor shogi "
    "stones_and_gems tic_tac_toe twixt ultimate_tic_tac_toe xiangqi y yacht"
)
"""Native games of OpenSpiel 2.0.2 that meet every condition."""

WITH_PARAMETERS = [
    "backgammon(hyper_backgammon=True,max_player_turns=20)",
    "banqi(max_no_progress=5)",
    "maedn(twoPlayersOpposite=False)",
    "pig(horizon=5,piglet=True)",
    "yacht(players=1,num_dice=2)",
    "breakthrough(rows=6,columns=6)",
    "checkers(rows=10,columns=8,egocentric=True)",
    "crazyhouse(insanity=5,sticky_promotions=True,king_of_hill=True)",
    "dots_and_boxes(num_rows=1,num_cols=3,utility_margin=True)",
    "go(board_size=3,komi=0.5)",
    "gomoku(size=3,dims=3,connect=3,anti=True,wrap=True)",
    "havannah(board_size=3,swap=True)",
    "hex(num_cols=3,num_rows=5,string_rep=explicit)",
    "hive(board_size=4,uses_pillbug=False)",
    "lines_of_action(max_game_length=20)",
    "misere(game=connect_four(rows=3,columns=4))",
    "nim(pile_sizes=2;3)",
    "oware(num_houses_per_player=3)",
    "quoridor(board_size=3,wall_count=2)",
    "start_at(history=0;1,game=tic_tac_toe())",
]


@pytest.mark.parametrize("name", [name for name in SUPPORTED.split() if name != "stones_and_gems"])
def test_every_supported_game_obeys_the_laws(name: str) -> None:
    game = load_game(name)
    assert game.get_type().short_name == name
    assert unmet_conditions(game) == []
    check_game(game)


@pytest.mark.parametrize("spec", WITH_PARAMETERS)
def test_parameters_and_wrapped_games_load_and_obey_the_laws(spec: str) -> None:
    game = load_game(f" {spec} ")
    assert str(load_game(str(game))) == str(game) == str(pyspiel.load_game(spec))
    check_game(game, matches=3)


def test_games_written_in_python_load_by_name() -> None:
    check_game(load_game("python_tic_tac_toe"), matches=1)


def test_the_supported_games_are_those_that_load() -> None:
    in_python = {"python_tic_tac_toe", "python_ant_foraging"}  # registered if another test has imported them
    assert {info.short_name for info in supported_games()} - in_python == set(SUPPORTED.split())


def test_all_games_have_reasons_or_are_supported() -> None:
    infos = {info.short_name: info for info in all_games()}
    assert set(infos) == set(pyspiel.registered_names())
    assert all(info.supported == (not info.reasons) for info in infos.values())
    assert infos["breakthrough"] == GameInfo(
        short_name="breakthrough",
        long_name="Breakthrough",
        supported=True,
        reasons=(),
        parameters=(("columns", "8"), ("rows", "8")),
        note="",
        players=(2, 2),
    )
    assert infos["matching_pennies_3p"].reasons == (
        "its players move at the same time",
        "it is a one-shot game",
    )
    assert infos["2048"].reasons == ()
    assert infos["kuhn_poker"].reasons == ("it hides information",)
    assert infos["deep_sea"].reasons == ("it hides information",)
    assert infos["morpion_solitaire"].players == (1, 1)
    assert infos["oh_hell"].players == (3, 7)
    assert infos["efg_game"].reasons == ("it has no observation tensor",)
    assert infos["misere"].reasons == ("it depends on its parameters (game)",)
    assert "Quoridor" in infos["quoridor"].note


TYPE = pyspiel.GameType


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dynamics": TYPE.Dynamics.SIMULTANEOUS}, "its players move at the same time"),
        ({"dynamics": TYPE.Dynamics.MEAN_FIELD}, "it is a mean-field game"),
        ({"information": TYPE.Information.IMPERFECT_INFORMATION}, "it hides information"),
        ({"information": TYPE.Information.ONE_SHOT}, "it is a one-shot game"),
        ({"reward_model": TYPE.RewardModel.REWARDS}, "it rewards during play, not only at the end"),
        ({"provides_observation_tensor": False}, "it has no observation tensor"),
        ({"max_num_players": 0, "min_num_players": 0}, "it has no players"),
    ],
)
def test_each_unmet_condition_is_named(change: dict[str, Any], reason: str) -> None:
    fine: dict[str, Any] = {
        "short_name": "fake",
        "long_name": "Fake",
        "dynamics": TYPE.Dynamics.SEQUENTIAL,
        "chance_mode": TYPE.ChanceMode.DETERMINISTIC,
        "information": TYPE.Information.PERFECT_INFORMATION,
        "utility": TYPE.Utility.ZERO_SUM,
        "reward_model": TYPE.RewardModel.TERMINAL,
        "max_num_players": 2,
        "min_num_players": 2,
        "provides_information_state_string": False,
        "provides_information_state_tensor": False,
        "provides_observation_string": True,
        "provides_observation_tensor": True,
    }
    kind = TYPE(**fine | change)
    assert type_conditions(TYPE(**fine), (2, 2)) == []
    assert type_conditions(kind, (kind.min_num_players, kind.max_num_players)) == [reason]


def test_any_number_of_players_and_any_sum_is_supported() -> None:
    kind = pyspiel.load_game("pig(players=10)").get_type()
    assert type_conditions(kind, (10, 10)) == []
    assert load_game("pig(players=10)").num_players() == 10


def test_one_player_needs_no_zero_sum_and_may_have_rewards() -> None:
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    assert type_conditions(kinds["cliff_walking"], (1, 1)) == []
    assert type_conditions(kinds["cliff_walking"], (2, 2)) == ["it rewards during play, not only at the end"]
    assert type_conditions(kinds["2048"], (1, 1)) == []
    assert type_conditions(kinds["solitaire"], (1, 1)) == ["it hides information"]


def test_actions_must_be_integers() -> None:
    native = pyspiel.load_game("tic_tac_toe").get_type()
    names = [name for name in dir(native) if not name.startswith("_")]
    kind = SimpleNamespace(**{name: getattr(native, name) for name in names} | {"action_structs_only": True})
    assert type_conditions(kind, (2, 2)) == ["its actions are not integers"]


def test_chance_is_found_although_the_type_denies_it() -> None:
    game = load_game("chess(chess960=True)")
    assert game.get_type().chance_mode == TYPE.ChanceMode.DETERMINISTIC
    assert has_chance(game)


REFUSED = [
    # What is outside the algorithms.
    ("kuhn_poker", "kuhn_poker is not supported: it hides information"),
    ("laser_tag", "its players move at the same time; it rewards during play"),
    ("quoridor(players=0)", "it has no players"),
    ("quoridor(players=4)", "OpenSpiel fails when a player cannot move"),
    ("quoridor(players=3,board_size=7)", "OpenSpiel fails when a player cannot move"),
    ("misere(game=kuhn_poker())", "'misere(game=kuhn_poker())' is not supported: it hides information"),
    ("turn_based_simultaneous_game(game=oshi_zumo())", "it hides information"),
    ("python_kuhn_poker", "python_kuhn_poker is not supported: it hides information"),
    # Names.
    ("hexx", "no game is called 'hexx': did you mean 'hex'?"),
    ("conect_four(rows=4)", "no game is called 'conect_four': did you mean 'connect_four'?"),
    ("zzzz", "no game is called 'zzzz'; `athenan games` lists them"),
    ("", "no game is called ''"),
    ("ludii:Hex", 'write a game of Ludii as "ludii(game=Hex)"; ludii:NAME is an AI of Ludii'),
    ("misere(game=hexx())", "no game is called 'hexx': did you mean 'hex'?"),
    ("hex(board_sise=5)", "hex has no parameter 'board_sise': did you mean 'board_size'?"),
    ("hex( board_size=5)", "hex has no parameter ' board_size': did you mean 'board_size'?"),
    ("hex(colour=5)", "hex has no parameter 'colour'; it takes board_size, num_cols, num_rows, plain_obs_tensor"),
    ("tic_tac_toe(rows=4)", "tic_tac_toe has no parameter 'rows'; it takes none"),
    # Brackets and arguments.
    ("hex(board_size=5", "the brackets of 'hex(board_size=5' do not pair: a closing one is missing"),
    ("hex)", "the brackets of 'hex)' do not pair"),
    ("hex(board_size=5))", "')' follows the last bracket of 'hex(board_size=5))': remove it"),
    ("hex(5)", "expected name=value between the brackets of 'hex(5)', got '5'"),
    ("hex(board_size=5,)", "expected name=value between the brackets of 'hex(board_size=5,)', got ''"),
    ("hex(board_size=5,board_size=4)", "'board_size' is given twice in 'hex(board_size=5,board_size=4)': keep one"),
    # Values.
    ("hex(board_size=abc)", "board_size of hex must be a whole number, got 'abc'"),
    ("hex(board_size=-3)", "board_size of hex must be between 0 and 2147483647, got -3"),
    ("hex(board_size=99999999999)", "board_size of hex must be between 0 and 2147483647, got 99999999999"),
    ("hex(board_size=5-3)", "board_size of hex must be a whole number, got '5-3'"),
    ("hex(swap=1)", "swap of hex must be True or False, got '1', which OpenSpiel reads as a whole number"),
    ("go(komi=7)", "komi of go must be a number with a point, such as 7.5, got '7', which OpenSpiel reads as a whole"),
    ("go(komi=1.5.6)", "komi of go must be a number with a point, such as 7.5, got '1.5.6'"),
    ("nim(pile_sizes=3)", "pile_sizes of nim must be text, got '3', which OpenSpiel reads as a whole number"),
    ("misere(game=hex)", "game of misere must be a game with its brackets, such as tic_tac_toe(), got 'hex'"),
    ("hex(string_rep=hex())", "string_rep of hex must be text, got 'hex()', which OpenSpiel reads as a game with"),
    ("efg_game", "efg_game needs the path of a file: efg_game(filename=...)"),
    ("efg_game(filename=nowhere.efg)", "filename of efg_game must be the path of a file, got 'nowhere.efg'"),
    # What OpenSpiel refuses.
    ("misere", "OpenSpiel refuses 'misere': Missing parameter game"),
    ("amazons(board_size=5)", "OpenSpiel refuses 'amazons(board_size=5)': it requires board_size_ == 6 || board_size"),
    ("dots_and_boxes(num_rows=0)", "OpenSpiel refuses 'dots_and_boxes(num_rows=0)': it requires num_rows_ >= 1"),
    ("go(board_size=15,handicap=2)", "handicap 2 needs a board_size of at least 16, got 15"),
    ("go(board_size=25)", "OpenSpiel refuses 'go(board_size=25)': The current Go implementation supports"),
    ("hex(string_rep=foo)", "OpenSpiel refuses 'hex(string_rep=foo)': Invalid string_rep foo"),
    # No match can begin, or OpenSpiel would crash, hang or lie.
    ("connect_four(rows=0)", "its observation has the shape [3, 0, 7], and it lasts at most 0 moves; change its"),
    ("connect_four(rows=2147483647)", "its observation has 45097156587 numbers, more than 1048576; make it smaller"),
    ("chinese_checkers(max_moves=2147483647)", "it lasts at most -22 moves; change its size"),
    ("checkers(rows=4,columns=4)", "there is no move in its initial state"),
    ("oware(num_seeds_per_house=0)", "there is no move in its initial state"),
    ("breakthrough(rows=100)", "its board is larger than OpenSpiel can print; make it smaller"),
    ("checkers(rows=8,columns=10)", "OpenSpiel needs columns <= rows, got 10 > 8"),
    ("crazyhouse(insanity=100000000)", "insanity must be at most 1000, got 100000000"),
    ("gomoku(size=30000)", "size ** dims must be at most 262144, got 30000 ** 2"),
    ("gomoku(dims=2147483647)", "size ** dims must be at most 262144, got 15 ** 2147483647"),
    ("havannah(board_size=1000)", "board_size must be at most 16, got 1000"),
    ("hex(num_cols=5,num_rows=3,swap=True)", "OpenSpiel can swap on square boards only, got 5 columns and 3 rows"),
    ("hex(num_rows=5,plain_obs_tensor=True)", "plain observations of square boards only, got 11 columns and 5 rows"),
    ("hex(board_size=1)", "no player can win on a board of one row or column"),
    ("misere(game=hex(num_rows=1))", "no player can win on a board of one row or column"),
    ("hive(board_size=30)", "board_size must be at most 14, got 30"),
    ("nim(pile_sizes=-1;5)", "a pile cannot be negative"),
    ("y(board_size=400)", "board_size must be at most 31, got 400"),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED, ids=[spec or "(empty)" for spec, _ in REFUSED])
def test_a_bad_game_is_one_error_and_nothing_reaches_the_terminal(
    spec: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnsupportedGameError) as raised:
        load_game(spec)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("before", ["", "ludii:"])
def test_a_long_name_is_refused_in_a_short_message(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is brought into plain form once, not for each known game."""
    plain, long = catalogue.plain, []

    def noted(text: str) -> str:
        long.extend([text] if len(text) > 1000 else [])
        return plain(text)

    monkeypatch.setattr(catalogue, "plain", noted)
    with pytest.raises(UnsupportedGameError) as caught:
        load_game(before + "x" * 100_000)
    assert len(str(caught.value)) < 1000
    assert len(long) <= 1


def test_a_game_string_must_be_a_string() -> None:
    with pytest.raises(UnsupportedGameError, match=r"expected an OpenSpiel game string such as .*, got 123"):
        load_game(123)  # type: ignore[arg-type]


def test_openspiels_warning_becomes_a_log_message(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        load_game("quoridor")
    assert "Warning!" not in capfd.readouterr().err
    assert "warns of faults" in caplog.text


def test_openspiels_observation_of_quoridor_lacks_the_walls() -> None:
    state = load_game("quoridor(board_size=3)").new_initial_state()
    walls = [a for a in state.legal_actions() if state.action_to_string(a)[-1] in "hv"]
    before, after = (np.reshape(s.observation_tensor(0), (5, 5, 5)) for s in (state, state.child(walls[0])))
    assert len(walls) == 8
    assert np.array_equal(before[:3], after[:3])  # pawns; the other planes are walls in hand


def test_later_output_to_standard_error_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    load_game("hex")
    with pytest.raises(UnsupportedGameError):
        load_game("amazons(board_size=5)")
    os.write(2, b"still here\n")
    assert capfd.readouterr().err == "still here\n"


def test_threads_load_games_without_losing_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(8) as threads:
        games = list(threads.map(load_game, ["hex(board_size=3)", "breakthrough"] * 100))
    os.write(2, b"still here\n")
    assert len(games) == 200
    assert capfd.readouterr().err == "still here\n"


def test_a_game_loads_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(descriptor: int) -> int:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", closed)
    assert str(load_game("hex(board_size=3)")) == "hex(board_size=3)"


def test_a_file_is_not_read_for_an_unsupported_game(tmp_path: Path) -> None:
    path = tmp_path / "poem.efg"
    path.write_text("Whan that Aprille")
    with pytest.raises(UnsupportedGameError, match=r"is not supported: it has no observation tensor"):
        load_game(f"efg_game(filename={path})")


INSIDE = ("tic_tac_toe()", "nim(pile_sizes=1;1)", "kuhn_poker()", "matrix_rps()", "goofspiel(num_cards=2)")
TRANSFORMED = [
    *(
        f"{name}(game={inner})"
        for name in ("cached_tree", "coop_to_1p", "restricted_nash_response")
        for inner in INSIDE
    ),
    *(f"normal_form_extensive_game(game={inner})" for inner in INSIDE[1:4]),
    "repeated_game(stage_game=matrix_rps(),num_repetitions=2)",
    *(f"turn_based_simultaneous_game(game={inner})" for inner in INSIDE[3:]),
]


@pytest.mark.parametrize("spec", TRANSFORMED)
def test_conditions_of_a_game_string_are_those_of_the_loaded_game(spec: str) -> None:
    foretold = spec_conditions(read_spec(spec))
    assert foretold
    assert set(foretold) <= set(unmet_conditions(pyspiel.load_game(spec)))


def test_games_without_default_parameters_are_refused_or_take_the_inner_type() -> None:
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games() if not kind.default_loadable}
    takes_the_type = {"add_noise", "misere", "start_at", "zerosum"}
    assert {name for name in kinds if spec_conditions(Spec(name, {}, name))} == set(kinds) - takes_the_type - {"ludii"}
    reasons = {info.short_name: info.reasons for info in all_games()}
    assert reasons["normal_form_extensive_game"] == ("its players move at the same time", "it is a one-shot game")
    for name in takes_the_type:
        more = {"add_noise": ",epsilon=0.1,seed=1", "start_at": ",history="}.get(name, "")
        inner = "breakthrough(rows=6,columns=6)"
        inside, outside = (load_game(text).get_type() for text in (inner, f"{name}(game={inner}{more})"))
        for attribute in ("dynamics", "chance_mode", "information", "utility", "reward_model"):
            assert getattr(inside, attribute) == getattr(outside, attribute)


HOSTILE = {
    "normal_form_extensive_game(game=tic_tac_toe())": "it is a one-shot game",
    "turn_based_simultaneous_game(game=normal_form_extensive_game(game=go()))": "it hides information",
    "misere(game=normal_form_extensive_game(game=tic_tac_toe()))": "it is a one-shot game",
    "repeated_game(stage_game=normal_form_extensive_game(game=hex()),num_repetitions=2)": "at the same time",
    "misere(game=blotto(coins=100,fields=20,players=5))": "its players move at the same time",
    "zerosum(game=blotto(coins=1000,fields=6,players=3))": "its players move at the same time",
    "misere(game=universal_poker(numPlayers=100))": "it hides information",
    "misere(game=hanabi(players=1000))": "it hides information",
    "misere(game=deep_sea(size=100000))": "it hides information",
    "misere(game=zerosum(game=quoridor(players=0)))": "it has no players",
    "start_at(game=tic_tac_toe(),history=100000000;1)": "action 1 of its history, '100000000', is not legal",
    "start_at(game=hex(),history=0;0)": "action 2 of its history, '0', is not legal",
    "start_at(game=y(),history=0;-1)": "action 2 of its history, '-1', is not legal",
    "misere(game=start_at(game=othello(),history=1000000;0))": "action 1 of its history, '1000000', is not legal",
    "start_at(game=tic_tac_toe(),history=0;3;1;4;2;5)": "action 6 of its history, '5', is not legal",
    "start_at(game=tic_tac_toe(),history=0;x)": "action 2 of its history, 'x', is not legal",
}
"""Game strings with which OpenSpiel hangs, uses all memory, or ends the process."""


def test_inner_games_are_checked_before_openspiel_builds_them() -> None:
    program = f"""
import athenan_spiel as ath
for spec in {list(HOSTILE)!r}:
    try:
        print(ath.load_game(spec))
    except ath.UnsupportedGameError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    messages = done.stdout.splitlines()
    assert len(messages) == len(HOSTILE)
    assert [each for each, part in zip(messages, HOSTILE.values(), strict=True) if part not in each] == []


def test_an_inner_twixt_has_one_size_in_a_process() -> None:
    program = """
import athenan_spiel as ath
ath.load_game("twixt(board_size=8)")
try:
    ath.load_game("misere(game=twixt(board_size=9))")
except ath.UnsupportedGameError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "on one size of board in a process, here 8; use another process for 9" in done.stdout


def nested(depth: int) -> str:
    return "misere(game=" * (depth - 1) + "tic_tac_toe()" + ")" * (depth - 1)


def test_games_are_nested_at_most_fifty_deep() -> None:
    assert str(load_game(nested(50))) == nested(50)
    for depth in (51, 400, 100_000):
        with pytest.raises(UnsupportedGameError) as raised:
            load_game(nested(depth))
        assert str(raised.value).startswith("more than 50 brackets are nested in 'misere(game=misere(")
        assert len(str(raised.value)) < 300
    for brackets in ("(" * 1000, "hex" + "(" * 1000 + ")" * 1000, "ludii(game=" + "(" * 1000):
        with pytest.raises(UnsupportedGameError, match="more than 50 brackets are nested"):
            load_game(brackets)


def test_a_loaded_game_is_nested_at_most_fifty_deep() -> None:
    with pytest.raises(UnsupportedGameError, match="more than 50 brackets are nested"):
        given_game(pyspiel.load_game(nested(51)))


def test_a_fault_of_an_inner_game_is_found() -> None:
    with pytest.raises(UnsupportedGameError, match="a pile cannot be negative"):
        given_game(pyspiel.load_game("misere(game=nim(pile_sizes=-1;5))"))


def used(spec: str) -> pyspiel.Game:
    """Returns the game after a game in which everything was observed."""
    game = load_game(spec)
    rng = random.Random(0)
    state = game.new_initial_state()
    while not state.is_terminal():
        looked(state)
        state.apply_action(rng.choice(state.legal_actions()))
        if state.move_number() >= 60:
            break
    looked(state)
    for name in ("max_utility", "min_utility", "utility_sum", "num_players", "max_game_length", "max_chance_outcomes"):
        getattr(game, name)()
    return game


def looked(state: pyspiel.State) -> None:
    str(state), state.returns(), state.rewards(), state.legal_actions(), state.history_str(), state.serialize()
    for name in ("observation_tensor", "observation_string", "information_state_string", "information_state_tensor"):
        with contextlib.suppress(RuntimeError):
            getattr(state, name)(0)
    for action in state.legal_actions():
        state.action_to_string(action)


@pytest.mark.parametrize("spec", [*SUPPORTED.split(), *WITH_PARAMETERS, "mnk(m=3,n=3)", "misere(game=mnk(m=3,n=3))"])
def test_a_game_is_the_same_before_and_after_play(spec: str) -> None:
    fresh, played, text = load_game(spec), used(spec), str(load_game(spec))
    assert same_game(fresh, played)
    assert same_game(played, fresh)
    assert same_game(played, text)
    assert same_game(played, pyspiel.load_game(text))
    written_out = _with_defaults(played)
    assert same_game(written_out, fresh)
    assert same_game(played, written_out)
    assert not same_game(played, "checkers(rows=12,columns=12)")


def _with_defaults(game: pyspiel.Game) -> pyspiel.Game:
    """Returns the game of a string with all parameters."""
    return load_game(pyspiel.game_parameters_to_string({"name": game.get_type().short_name, **game.get_parameters()}))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("mnk", "mnk(m=15,n=15,k=5)", True),
        ("mnk(k=5)", "mnk(m=15)", True),
        ("mnk", "mnk(k=4)", False),
        ("hex(board_size=5)", "hex(board_size=5,num_cols=5)", True),
        ("hex(board_size=5)", "hex(board_size=5,num_cols=11,num_rows=11)", False),
        ("misere(game=mnk(m=3,n=3))", "misere(game=mnk(m=3,n=3,k=5))", True),
        ("misere(game=mnk(m=3,n=3))", "misere(game=mnk(m=3,n=3,k=3))", False),
        ("misere(game=tic_tac_toe())", "tic_tac_toe", False),
        ("go(board_size=9)", "go(board_size=9,komi=7.5)", True),
    ],
)
def test_games_are_compared_by_their_parameters_with_defaults(one: str, other: str, same: bool) -> None:
    assert same_game(load_game(one), load_game(other)) is same
    assert same_game(used(one), load_game(other)) is same
    assert same_game(load_game(one), used(other)) is same


def test_an_invalid_game_equals_only_itself() -> None:
    assert same_game("no game", "no game")
    assert not same_game("no game", "tic_tac_toe()")


def test_an_observation_of_another_size_than_declared_is_refused() -> None:
    game = LyingGame(lambda state, name, answer: answer[:26] if name in ("observation_tensor", "set_from") else answer)
    assert loading._start_fault(game) == "its observation has 26 numbers, not 27"


@pytest.mark.parametrize(("first", "second"), [(5, 8), (8, 5)])
def test_twixt_has_one_size_in_a_process(first: int, second: int) -> None:
    program = f"""
import athenan_spiel as ath
ath.load_game("twixt(board_size={first})"); ath.load_game("twixt(board_size={first},ansi_color_output=False)")
try:
    ath.load_game("twixt(board_size={second})")
except ath.UnsupportedGameError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"on one size of board in a process, here {first}; use another process for {second}" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    "spec", ["tic_tac_toe", "misere(game=tic_tac_toe())", "morpion_solitaire", "python_tic_tac_toe"]
)
def test_actions_of_openspiels_games_are_fixed(spec: str) -> None:
    require_fixed_actions(load_game(spec))


def test_conditions_need_a_game_of_openspiel() -> None:
    class Lookalike:
        new_initial_state = None

    with pytest.raises(UnsupportedGameError, match=r"expected a game of OpenSpiel, got <.*Lookalike"):
        unmet_conditions(Lookalike())

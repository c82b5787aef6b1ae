"""Athénan searches and learns Ludii's games with no special case."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path

import numpy as np
import pytest
from ludii_fake import FakePosition, FakeTransport
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.cli.main import main
from athenan_spiel.encoding import Encoder
from athenan_spiel.games import require_fixed_actions
from athenan_spiel.games.transpositions import end_function, key_function
from athenan_spiel.play.openspiel_mcts import mcts_bot
from athenan_spiel.training.events import Event, MatchFinished, NothingDecided, RoundFinished

TIC_TAC_TOE = "ludii(game=Tic-Tac-Toe)"


def value_of_the_start(game: object) -> tuple[float, bool]:
    search = ath.UBFM(game)
    result = ath.think(search, game.new_initial_state(), ath.Budget(iterations=20_000), lambda s: np.zeros(len(s)))
    return result.value, result.is_resolved


def test_a_ludii_string_is_a_game_like_any_other(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    ath.check_game(game)
    ath.check_game(ath.load_game("ludii(game=Swap)"))
    assert Encoder(game).shape == (4, 3, 3)


@pytest.mark.parametrize("wrapped", ["{}", "misere(game={})", "misere(game=misere(game={}))"])
def test_its_actions_are_none_that_a_policy_may_have(wrapped: str, fake: FakeTransport) -> None:
    game = ath.load_game(wrapped.format(TIC_TAC_TOE))
    problem = re.escape(f"every state; those of {TIC_TAC_TOE} are indices into the legal moves of each state")
    with pytest.raises(ath.UnsupportedGameError, match=f"^a policy needs actions that are the same move in {problem}$"):
        require_fixed_actions(game)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ludii(game=Tic-Tac-Tow)",
            "cannot be loaded: Ludii has no game called 'Tic-Tac-Tow': did you mean 'Tic-Tac-Toe'",
        ),
        ("Ludii(game=Twice)", "no game is called 'Ludii': did you mean 'ludii'"),
        ("ludii:Twice", r'write a game of Ludii as "ludii\(game=Twice\)"; ludii:NAME is an AI of Ludii'),
        ("kharebga", "no game is called 'kharebga'; `athenan games` lists them"),
        ("Surakarta", r'no game is called \'Surakarta\': write a game of Ludii as "ludii\(game=Surakarta\)"'),
        ("ludii(game=Dice (Roll))", r"needs square brackets instead of round ones: write game=Dice \[Roll\]"),
        (
            "ludii(game=Twice,options=Line/A = B)",
            "options of ludii contains =, which game strings reserve, 'Line/A = B': remove it",
        ),
        ("ludii(game=One, Two)", "got ' Two': remove commas from names"),
        ("ludii(gane=Hex)", "ludii has no parameter 'gane': did you mean 'game'"),
    ],
)
def test_what_is_wrong_is_one_line(fake: FakeTransport, text: str, message: str) -> None:
    with pytest.raises(ath.UnsupportedGameError, match=message) as caught:
        ath.load_game(text)
    assert "\n" not in str(caught.value)


def test_score_and_presence_are_ludiis(fake: FakeTransport) -> None:
    scored, plain = ath.load_game("ludii(game=Swap)"), ath.load_game(TIC_TAC_TOE)
    states = [game.new_initial_state() for game in (scored, plain)]
    for state in states:
        state.apply_action(4)
    assert ath.score(states[0]) == (1, 1)
    assert ath.piece_counts(states[0]) == ath.piece_counts(states[1]) == (1, 0)
    with pytest.raises(ath.ConfigError, match="expected a game with a score"):
        ath.score(states[1])


@pytest.mark.parametrize(
    ("outcome", "message", "loads"),
    [
        ("scor", "outcome must be one of gain, .*, got 'scor': did you mean 'score'", 0),
        (
            "score",
            r"outcome 'score' needs a game with a score; 'ludii\(game=Tic-Tac-Toe\)' has none: use 'additive_depth'",
            1,
        ),
    ],
)
def test_a_wrong_outcome_is_told_before_the_game_is_played(
    fake: FakeTransport,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    outcome: str,
    message: str,
    loads: int,
) -> None:
    monkeypatch.setattr(FakePosition, "advance", lambda self, move: pytest.fail("a match is played"))
    words = ["train", TIC_TAC_TOE, "--outcome", outcome, "--matches", "1", "--folder", str(tmp_path / "run")]
    assert main(words) == 2
    assert re.search(message, capsys.readouterr().err)
    assert fake.loads == loads
    assert not (tmp_path / "run").exists()


def test_a_game_for_one_player_is_trained_by_its_score(fake: FakeTransport, tmp_path: Path) -> None:
    game = ath.load_game("ludii(game=Alone)")
    ath.check_game(game)
    assert game.num_players() == 1
    state = game.new_initial_state()
    assert state.returns() == [0]
    while not state.is_terminal():
        state.apply_action(0)
    assert state.returns() == list(ath.score(state)) == [len(state.history())]
    ath.train(game, dataclasses.replace(TINY, outcome="score"), tmp_path / "run")


@pytest.mark.parametrize("outcome", ["score", "presence"])
def test_heuristics_of_the_outcome_need_no_special_case(fake: FakeTransport, tmp_path: Path, outcome: str) -> None:
    config = dataclasses.replace(TINY, outcome=outcome)
    ath.train(ath.load_game("ludii(game=Swap)"), config, tmp_path / "run")


def test_openspiels_search_is_an_opponent(fake: FakeTransport) -> None:
    game = ath.load_game(TIC_TAC_TOE)
    state = game.new_initial_state()
    for action in (0, 7, 0):
        state.apply_action(action)
    assert state.action_to_string(mcts_bot(game, 300, seed=5).step(state)) == "C1"


def test_equal_states_share_a_key_if_the_game_remembers_no_more(fake: FakeTransport) -> None:
    def keys(text: str) -> list[object]:
        game = ath.load_game(text)
        found = []
        for actions in ((0, 7, 0, 3), (1, 7, 0, 3), (0, 7, 0, 2)):  # A1 C3 B1 C2, B1 C3 A1 C2, A1 C3 B1 B2
            state = game.new_initial_state()
            for action in actions:
                state.apply_action(action)
            found.append(key_function(game)(state))
        return found

    one, same, other = keys(TIC_TAC_TOE)
    assert one == same != other
    assert len(set(keys("ludii(game=Twice,max_actions=9)"))) == 3


def test_finished_states_are_known_by_their_keys(fake: FakeTransport) -> None:
    """Not by their pictures, which take long; two matches that end alike are one to a learner."""
    game = ath.load_game("ludii(game=Tic-Tac-Toe,max_length=3)")
    ends = []
    for actions in ((0, 7, 0), (1, 7, 0), (0, 6, 0)):
        state = game.new_initial_state()
        for action in actions:
            state.apply_action(action)
        assert state.is_terminal()
        ends.append(end_function(state.get_game())(state))
        assert ends[-1] == state.key()
    assert ends[0] != ends[2]


def test_a_small_game_is_solved_without_java(fake: FakeTransport) -> None:
    assert value_of_the_start(ath.load_game("ludii(game=Tic-Tac-Toe,options=Line/2)")) == (1, True)
    assert value_of_the_start(ath.load_game("ludii(game=Tic-Tac-Toe,max_length=3)")) == (0, True)


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize(
    ("text", "value"), [(TIC_TAC_TOE, 0), ("ludii(game=Hex,options=Board Size/3x3;Swap Rules/Off)", 1)]
)
def test_small_games_are_solved_through_ludii(text: str, value: float) -> None:
    assert value_of_the_start(ath.load_game(text)) == (value, True)


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize(
    "name", ["Surakarta", "Ataxx", "Santorini", "Arimaa", "Shobu", "Xiangqi", "Go,options=Board Size/9x9"]
)
def test_ludiis_games_obey_the_laws(name: str) -> None:
    ath.check_game(ath.load_game(f"ludii(game={name},max_length=30)"), matches=1, rng=random.Random(1))


@pytest.mark.parametrize("text", [TIC_TAC_TOE, "ludii(game=Swap)"])
def test_it_is_trained_and_resumed_without_java(fake: FakeTransport, tmp_path: Path, text: str) -> None:
    trains(text, tmp_path / "run")


@pytest.mark.usefixtures("ludii")
def test_ludiis_games_are_trained(tmp_path: Path) -> None:
    trains("ludii(game=Surakarta,max_length=20)", tmp_path / "run")


def trains(text: str, folder: Path) -> None:
    """A run of four rounds learns something, and its agent plays the game that its folder names."""
    ath.train(ath.load_game(text), TINY, folder)
    agent = ath.load_agent(folder)
    state = ath.load_game(text).new_initial_state()
    assert agent.step(state) in state.legal_actions()


def test_it_warns_if_every_game_is_cut_off_by_the_limit_of_moves(fake: FakeTransport, tmp_path: Path) -> None:
    told: list[Event] = []
    run = ath.train("ludii(game=Tic-Tac-Toe,max_length=3)", TINY, tmp_path / "run", callbacks=[told.append])
    games = [event for event in told if isinstance(event, MatchFinished)]
    assert all(game.cut_off and game.length == 3 for game in games)
    assert all(event.cut_off_share == 1.0 for event in told if isinstance(event, RoundFinished))
    (warning,) = [event for event in told if isinstance(event, NothingDecided)]
    assert told.index(warning) < told.index(games[-1]), "as soon as it is known"
    assert (warning.games, warning.cut_off_share, warning.length_limit) == (9, 1.0, 3)
    assert warning.advice.startswith(
        "raise the limit with athenan train 'ludii(game=Tic-Tac-Toe,max_length=15)', or write an --outcome"
    )
    assert '"event": "nothing_decided"' in (run.folder / "metrics.jsonl").read_text()
    longer: list[Event] = []
    ath.train("ludii(game=Tic-Tac-Toe,max_length=15)", TINY, tmp_path / "longer", callbacks=[longer.append])
    assert not any(isinstance(event, NothingDecided) for event in longer)


def test_training_gives_a_long_game_a_nearer_limit_of_moves(
    fake: FakeTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the string says one, be it the default itself."""
    from athenan_spiel.training import fitting, presets

    seen = fitting.RandomGames(length=101.0, branching=5.0, slow=True)
    monkeypatch.setattr("athenan_spiel.training.plan.measure", lambda *_: seen)
    told: list[object] = []
    run = ath.train(TIC_TAC_TOE, TINY, tmp_path / "run", fit=presets.FITTED, callbacks=[told.append])
    assert run.game == "ludii(game=Tic-Tac-Toe,max_length=250)"
    assert 'game = "ludii(game=Tic-Tac-Toe,max_length=250)"' in (run.folder / "config.toml").read_text()
    assert "max_length=250" in told[0].choice
    assert ath.resume(run.folder, more_matches=1).game == run.game
    said = ath.train("ludii(game=Tic-Tac-Toe,max_length=1000)", TINY, tmp_path / "said", fit=presets.FITTED)
    assert "max_length" not in said.game, "which is how OpenSpiel writes a default"
    monkeypatch.setattr("athenan_spiel.training.plan.measure", lambda *_: fitting.RandomGames(9.0, 4.0, slow=True))
    short = ath.train(TIC_TAC_TOE, TINY, tmp_path / "short", fit=presets.FITTED)
    assert "max_length" not in short.game


def test_an_agent_of_one_can_be_shared_as_a_file(fake: FakeTransport, tmp_path: Path) -> None:
    run = ath.train(ath.load_game(TIC_TAC_TOE), dataclasses.replace(TINY, matches=2), tmp_path / "run")
    file = ath.export_agent(run.folder, tmp_path / "agent.safetensors")
    budget = ath.Budget(iterations=6)
    ours, theirs = (ath.load_agent(agent, budget=budget, seed=3) for agent in (file, run.folder))
    state = ours.game.new_initial_state()
    assert str(ours.game) == str(theirs.game) == TIC_TAC_TOE
    while not state.is_terminal():
        action = ours.step(state)
        assert action == theirs.step(state)
        assert np.array_equal(ours.result.values, theirs.result.values)
        state.apply_action(action)

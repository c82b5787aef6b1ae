"""What is chosen for a game by a few random matches, what is left as it is, and how a user says otherwise."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from command_line import Out
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.cli.main import main
from athenan_spiel.config import (
    DescentConfig,
    SelfPlayConfig,
    TargetsConfig,
    TrainingConfig,
    UbfmConfig,
    WarmUpConfig,
    WorkersConfig,
)
from athenan_spiel.encoding import Encoder
from athenan_spiel.errors import ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import AdditiveDepth, Gain, MultiplicativeDepth, Sample, Score, sample_matches
from athenan_spiel.search import UBFM, Descent
from athenan_spiel.training import fitting, preset, train
from athenan_spiel.training.events import Event, RunStarted
from athenan_spiel.training.fitting import (
    LEAST_EXPLAINED_LINEARLY,
    MAX_MOVES,
    MEASURE_SECONDS,
    RANDOM_GAMES,
    RandomGames,
    evaluations_per_move,
    explained_by_inputs,
    fit_names,
    fit_to,
    fitted,
    longest_descent_of,
    measure,
    suited,
    with_chance,
    with_length,
)
from athenan_spiel.training.presets import BY_LENGTH, BY_TIME, FITTED, TD_LAMBDA
from athenan_spiel.training.settings_file import config_from_dict

QUICK = preset("quick")
FANORONA = RandomGames(length=53.0, branching=6.0, slow=True)
XIANGQI = RandomGames(length=210.0, branching=36.0, slow=True)
TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


def numbers(config: TrainingConfig) -> tuple[Any, ...]:
    """What may be chosen."""
    search = config.search
    return config.matches_at_once, search.evaluations, longest_descent_of(search), config.replay.matches


@pytest.mark.parametrize(
    "spec", ["connect_four", "hex", "othello", "breakthrough", "amazons", "havannah", "checkers", "dots_and_boxes"]
)
def test_the_preset_stays_in_short_games_of_openspiel(spec: str) -> None:
    game = pyspiel.load_game(spec)
    seen = dataclasses.replace(measure(game))
    same, config, text = fit_to(game, QUICK, seen, BY_LENGTH)
    assert (same, config) == (game, QUICK)
    assert text is not None
    assert text.endswith("16 games at once, 2,000 evaluations per move, a replay of 200 games")


@pytest.mark.parametrize(
    ("spec", "outcome"),
    [
        ("connect_four", "additive_depth"),
        ("breakthrough", "additive_depth"),
        ("othello", "score"),
        ("dots_and_boxes", "score"),
        ("morpion_solitaire", "score"),
        ("pig(players=2)", "gain"),
        ("yacht", "score"),
        ("yacht(players=3)", "gain"),
        ("einstein_wurfelt_nicht", "gain"),
    ],
)
def test_a_match_is_worth_its_score_where_the_game_has_one(
    spec: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "has_all_symmetries", lambda *_: False)  # verified over whole games, in seconds
    game = pyspiel.load_game(spec)
    assert suited(QUICK, game, Encoder(game)).outcome == outcome
    gain = dataclasses.replace(QUICK, outcome="gain")
    assert suited(gain, game, Encoder(game), ["network.filters"]).outcome == "gain"


@pytest.mark.parametrize(
    ("spec", "much"),
    [
        ("backgammon", True),
        ("einstein_wurfelt_nicht", True),
        ("pig(players=3)", True),
        ("2048", True),
        ("chess(chess960=true)", False),  # chance is at the beginning
        ("stones_and_gems", False),  # each chance state has one outcome
        ("connect_four", False),
    ],
)
def test_a_game_with_much_chance_has_its_own_learning(spec: str, much: bool) -> None:
    game = load_game(spec)
    seen = dataclasses.replace(measure(game), slow=False)
    names = ["matches_at_once", "chance"]
    _, config, text = fit_to(game, QUICK, seen, names)
    assert parts(config) == parts(TD_LAMBDA if much else QUICK)
    assert text is not None
    assert ("TD(λ) with λ = 0.9, 1 iteration of ubfm per move, no exploration" in text) == much
    assert text.count("chance states") == much

    _, config, text = fit_to(game, QUICK, seen, ["outcome"])
    assert parts(config) == parts(QUICK)
    assert text is not None
    advice = "; TD(λ) suits this much chance, and the preset td_lambda has it"
    assert text.endswith(advice) == much
    assert advice not in str(fit_to(game, TD_LAMBDA, seen, ["outcome"])[2])


def random_games_clock(games: int) -> Any:
    """A clock that allows the time of this number of random games in three minutes."""
    return (0.9 * count / games for count in itertools.count()).__next__


@pytest.mark.parametrize(
    ("spec", "explains"),
    [("oware", True), ("nine_mens_morris", True), ("connect_four", False), ("hex(board_size=7)", False)],
)
def test_material_explains_the_results_of_random_games_and_a_connection_does_not(spec: str, explains: bool) -> None:
    game = load_game(spec)
    explained = explained_by_inputs(game, Encoder(game), QUICK, random_games_clock(400))
    assert (explained >= LEAST_EXPLAINED_LINEARLY) == explains, explained
    assert explained_by_inputs(game, Encoder(game), QUICK, random_games_clock(1)) == 0, "no time for a game"


@pytest.mark.parametrize(
    ("changes", "games", "names", "warms_up"),
    [
        ({}, {}, FITTED, True),
        ({"warm_up": WarmUpConfig(processes=1)}, {}, FITTED, True),  # as in a series of games
        ({"warm_up": WarmUpConfig(states=100)}, {}, FITTED, False),
        ({"seconds": 181.0}, {}, FITTED, False),
        ({"seconds": None}, {}, FITTED, False),
        ({"targets": TargetsConfig(method="root")}, {}, FITTED, False),
        ({"warm_up": WarmUpConfig(method="games", seconds=5.0)}, {}, FITTED, False),
        ({}, {"slow": True}, FITTED, False),
        ({}, {"cut_off": 0.5}, FITTED, False),
        ({}, {}, BY_LENGTH, False),
    ],
)
@pytest.mark.parametrize("explained", [LEAST_EXPLAINED_LINEARLY, LEAST_EXPLAINED_LINEARLY - 0.01])
def test_a_short_run_warms_up_if_results_depend_on_states(
    explained: float,
    changes: dict[str, Any],
    games: dict[str, Any],
    names: tuple[str, ...],
    warms_up: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "explained_by_inputs", lambda *_: explained)
    config = dataclasses.replace(QUICK, **changes)
    names = tuple(name for name in names if name not in (*BY_TIME, "network.filters"))
    seen = RandomGames(22.0, 7.0, **games)
    _, fit, text = fit_to(TIC_TAC_TOE, config, seen, names, elapsed=lambda: 0.0)
    warms_up_now = warms_up and explained >= LEAST_EXPLAINED_LINEARLY
    warm = dataclasses.replace(config.warm_up, method="games", seconds=0.15 * 180)
    expected = warm if warms_up_now else config.warm_up
    assert fit.warm_up == expected
    assert text is not None
    assert ("a warm-up of 27 s" in text) == warms_up_now
    assert (f"explains {explained:.0%} of their results" in text) == warms_up
    assert fit_to(TIC_TAC_TOE, config, seen, names)[1].warm_up == config.warm_up, "the time is not fitted"


@pytest.mark.parametrize("given", [{"search": UbfmConfig()}, {"targets": TargetsConfig(leaves=True)}])
def test_what_is_given_is_not_replaced_with_much_chance(given: dict[str, Any]) -> None:
    config = dataclasses.replace(QUICK, **given)
    assert with_chance(config) == config


def test_games_at_once_with_much_chance_are_kept_with_a_maximum_of_staleness() -> None:
    config = dataclasses.replace(QUICK, workers=WorkersConfig(count=2, max_staleness=64))
    assert with_chance(config).matches_at_once == with_chance(QUICK, ["chance"]).matches_at_once == 16
    assert with_chance(config).targets == TD_LAMBDA.targets


def test_games_in_replay_with_much_chance_are_few_unless_they_are_given() -> None:
    assert with_chance(QUICK).replay == TD_LAMBDA.replay
    assert with_chance(QUICK, ["chance"]).replay == QUICK.replay


def parts(config: TrainingConfig) -> tuple[Any, ...]:
    return config.matches_at_once, config.search, config.targets, config.exploration


def test_an_iteration_of_ubfm_evaluates_the_children_of_one_state() -> None:
    seen = RandomGames(length=100.0, branching=7.0)
    assert evaluations_per_move(UbfmConfig(iterations=3), seen) == 21
    assert evaluations_per_move(UbfmConfig(iterations=3, lines=8), seen) == 168


@pytest.mark.parametrize(("spec", "images"), [("tic_tac_toe", "all"), ("connect_four", "none"), ("nim", "none")])
def test_mirror_images_are_learned_where_there_are_many(spec: str, images: str) -> None:
    game = pyspiel.load_game(spec)
    assert suited(QUICK, game, Encoder(game)).encoding.symmetries == images
    assert suited(QUICK, game, Encoder(game), ["outcome"]).encoding.symmetries == "none"
    slow, names = dataclasses.replace(measure(game), slow=True), ["encoding.symmetries"]
    assert fit_to(game, QUICK, slow, names)[1].encoding.symmetries == "none", "it would take long to find them"
    _, config, text = fit_to(game, QUICK, dataclasses.replace(slow, slow=False), names)
    assert config.encoding.symmetries == images
    assert text is not None
    assert text.endswith(f"chosen: symmetries {images}")


def test_the_same_is_measured_each_time() -> None:
    game = pyspiel.load_game("hex(board_size=5)")
    one, same = measure(game), measure(game)
    assert (one.length, one.branching) == (same.length, same.branching)
    assert 15 < one.length <= 25
    assert 12 < one.branching < 17


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (FANORONA, (4, 1000, None, 20)),
        (RandomGames(length=102.0, branching=7.0, slow=True), (2, 500, 71, 20)),
        (XIANGQI, (2, 200, 6, 20)),
        (RandomGames(length=300.0, branching=351.0, slow=True), (2, 200, 1, 20)),
        (RandomGames(length=300.0, branching=210.0), (2, 2000, 10, 20)),
        (RandomGames(length=10.0, branching=20.0, slow=True), (16, 2000, None, 200)),
    ],
)
def test_long_and_slow_games_get_less(seen: RandomGames, expected: tuple[Any, ...]) -> None:
    assert numbers(fitted(QUICK, seen)) == expected


def test_nothing_becomes_more() -> None:
    little = dataclasses.replace(
        QUICK,
        matches_at_once=1,
        search=DescentConfig(iterations=9, evaluations=150, longest_descent=2),
        replay=dataclasses.replace(QUICK.replay, matches=3),
    )
    assert fitted(little, XIANGQI) == little


def test_a_search_by_time_stays_and_other_searches_have_no_descent() -> None:
    timed = dataclasses.replace(QUICK, search=DescentConfig(seconds=1.0, iterations=None))
    assert fitted(timed, XIANGQI) == timed
    ubfm = dataclasses.replace(QUICK, search=UbfmConfig(iterations=2000))
    assert numbers(fitted(ubfm, XIANGQI)) == (2, 200, None, 20)


def test_of_a_match_of_an_apprentice_one_state_is_searched() -> None:
    exit_, seen = preset("exit"), RandomGames(length=300.0, branching=50.0, slow=True)
    assert fitted(exit_, seen) == exit_
    searched = dataclasses.replace(exit_, self_play=SelfPlayConfig())
    assert fitted(searched, seen).matches_at_once < exit_.matches_at_once


@pytest.mark.parametrize("name", FITTED[:4])
def test_what_is_not_named_stays(name: str) -> None:
    alone, all_of_them = numbers(fitted(QUICK, XIANGQI, [name])), numbers(fitted(QUICK, XIANGQI))
    for at, (one, other, before) in enumerate(zip(alone, all_of_them, numbers(QUICK), strict=True)):
        if name == "search.longest_descent" and at == 2:
            assert one == 56, "by the 2,000 evaluations that stay"
        else:
            assert one == (other if FITTED[at] == name else before)


def test_random_matches_are_broken_off() -> None:
    """A game in which a move takes a tenth of a second, and no match ends within the time for all."""
    ticks = itertools.count()
    game = pyspiel.load_game("hex(board_size=9)")
    seen = measure(game, clock=lambda: next(ticks) * 0.1)
    assert seen.length == MAX_MOVES, "nothing is known but that it is long"
    assert next(ticks) * 0.1 < MEASURE_SECONDS + 0.5
    ticks = itertools.count()
    assert measure(game, clock=lambda: next(ticks) * 0.01).length < 81, "those that ended count"
    assert RANDOM_GAMES > 1


def test_a_sample_is_broken_off_and_constants_come_from_the_rules() -> None:
    ticks = itertools.count()
    sample = sample_matches(TIC_TAC_TOE, np.random.default_rng(0), seconds=3.0, clock=lambda: next(ticks))  # type: ignore[arg-type]
    assert sample == Sample(())
    assert AdditiveDepth.for_game(TIC_TAC_TOE, sample) == AdditiveDepth(longest=9, exact=True, scale=10.0)
    drawn = TIC_TAC_TOE.new_initial_state()
    for action in (0, 1, 2, 4, 3, 5, 7, 6, 8):
        drawn.apply_action(action)
    assert AdditiveDepth.for_game(TIC_TAC_TOE, Sample((drawn,))).scale == 10.0, "nothing is known of a win"
    assert MultiplicativeDepth.for_game(TIC_TAC_TOE, sample) == MultiplicativeDepth(mean=9.0, scale=1.0)
    assert Gain().scaled(sample).scale == 1.0
    assert Score.for_game(pyspiel.load_game("othello"), sample).scale == 1.0


def test_python_says_what_is_chosen(tmp_path: Path) -> None:
    assert fit_names(None, "tic_tac_toe", fits=True) == list(FITTED)
    assert fit_names(None, "tic_tac_toe", fits=False) == []
    assert fit_names(["replay.matches"], TIC_TAC_TOE, fits=False) == ["replay.matches"]
    for wrong in (["matches"], "replay.matches", 3):
        with pytest.raises(ConfigError, match=r"fit must contain names among matches_at_once, search.evaluations"):
            train(TIC_TAC_TOE, TINY, tmp_path / "run", fit=wrong)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_what_was_chosen_is_told_and_stands_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.training.plan.measure", lambda *_: XIANGQI)
    told: list[Event] = []
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run", fit=BY_LENGTH, callbacks=[told.append])
    assert numbers(run.config) == (2, 200, 6, 5)
    assert "longest_descent = 6" in (run.folder / "config.toml").read_text()
    assert isinstance(told[0], RunStarted)
    assert told[0].choice == (
        "random games take 210 moves, branching factor 36; chosen: 2 games at once, 200 evaluations per move, "
        "descents of 6 states, a replay of 5 games"
    )
    plain: list[Event] = []
    train(TIC_TAC_TOE, TINY, tmp_path / "plain", callbacks=[plain.append])
    assert isinstance(plain[0], RunStarted)
    assert (plain[0].choice, plain[0].config) == (None, TINY)


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], FITTED),
        (["--preset", "quick"], FITTED),
        (["--preset", "hour"], FITTED),
        (["--preset", "paper"], ()),
        (["--matches-at-once", "16"], FITTED[1:]),
        (["--matches_at_once=16"], FITTED[1:]),
        (["--search.evaluations", "none", "--replay.matches=9"], (FITTED[0], FITTED[2], *FITTED[4:-1])),
        (
            ["--outcome", "gain", "--encoding.symmetries", "none", "--network.filters=64"],
            (*BY_LENGTH, "warm_up.seconds", "chance"),
        ),
        (["--warm-up.method", "ends"], (*FITTED[:-2], FITTED[-1])),
        (["--search.algorithm", "descent"], FITTED[:-1]),
        (["--targets.leaves"], FITTED[:-1]),
        (["--exploration.schedule=annealed"], FITTED[:-1]),
        (["--search.longest-descent", "none"], (*FITTED[:2], *FITTED[3:-1])),
    ],
)
def test_what_is_said_in_words_stays(
    words: list[str], chosen: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    seen: list[Any] = []

    def noted(*arguments: object, fit: Any, **options: object) -> ath.Run:
        seen.append(tuple(fit))
        raise ConfigError("enough")

    monkeypatch.setattr("athenan_spiel.training.train", noted, raising=False)
    assert main(["train", "tic_tac_toe", "--folder", str(tmp_path / "run"), *words]) == 2
    assert seen == [chosen]


def test_a_config_file_is_taken_as_it_is(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(
        "athenan_spiel.training.train", lambda *_, fit, **options: seen.append(fit) or 1 / 0, raising=False
    )
    with pytest.raises(ZeroDivisionError):
        main(["train", "tic_tac_toe", "--config", str(trained / "config.toml"), "--folder", str(tmp_path / "new")])
    assert seen == [[]]


def test_a_descent_with_a_bound_ends_early_and_is_gone_on_with() -> None:
    game = pyspiel.load_game("connect_four")
    state = game.new_initial_state()
    asked: list[int] = []

    def evaluator(states: Any) -> Any:
        asked.append(len(states))
        return np.linspace(-0.5, 0.5, len(states))

    def tree_of(search: ath.Search, iterations: int) -> list[Any]:
        tree = search.new_tree()
        ath.think(search, state, ath.Budget(iterations=iterations), evaluator, tree=tree)
        return [(key, node.values, node.value) for key, node in tree.table.items()]

    assert len(tree_of(Descent(game, longest=3), 1)) == 3
    assert len(tree_of(Descent(game, longest=3), 4)) == 12
    assert tree_of(Descent(game, longest=1), 9) == tree_of(UBFM(game), 9), "UBFM is Descent with the bound 1"
    assert tree_of(Descent(game, longest=42), 5) == tree_of(Descent(game), 5)
    for wrong in (0, 1.5, True):
        with pytest.raises(ath.SearchError, match="the longest descent must be"):
            Descent(game, longest=wrong)  # type: ignore[arg-type]


def test_the_bound_of_a_descent_is_for_descent_alone() -> None:
    with pytest.raises(ConfigError, match=r"search.longest_descent must be at least 1, got 0"):
        DescentConfig(longest_descent=0)
    with pytest.raises(ConfigError, match=r"search.longest_descent must be none, as only 'descent' has it"):
        config_from_dict({"search": {"algorithm": "ubfm", "longest_descent": 3}})


def test_games_without_the_parameter_keep_their_length() -> None:
    assert with_length(TIC_TAC_TOE, XIANGQI) is TIC_TAC_TOE

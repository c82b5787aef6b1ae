"""Evaluations, tournaments and saved games with chance."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from command_line import Out

from agents import make_bot
from athenan_spiel.arena.comparison import Comparison
from athenan_spiel.arena.evaluation import evaluate
from athenan_spiel.arena.opening_sets import opening_set, openings_of_file
from athenan_spiel.arena.processes import Encounter, play_all
from athenan_spiel.arena.record import SavedMatch, match_of, read_matches
from athenan_spiel.arena.tournament import run_tournament
from athenan_spiel.arena.tournament_settings import OpeningsConfig, Tournament
from athenan_spiel.cli.main import main
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import ArenaError, ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import CHANCE, first_mover_of, is_chance
from athenan_spiel.play.match import MatchResult, play_match
from athenan_spiel.play.series import Fixture, Tally, fixtures, play_series, sides_of

pytestmark = pytest.mark.usefixtures("forked_workers")

PIG = load_game("pig(players=2,winscore=30)")
GAMES = ["backgammon", "chess(chess960=true)", "einstein_wurfelt_nicht", "pig(players=2,winscore=30)"]


def saved(name: str = str(PIG), seed: int = 1) -> SavedMatch:
    game = load_game(name)
    result = play_match(game, [make_bot("random", game, i, seed + i) for i in range(game.num_players())], seed=seed)
    agents = ("x", "y")[: game.num_players()]
    return SavedMatch(name, agents, agents, 0, 0, seed, result)


def line(match: SavedMatch, **changes: Any) -> bytes:
    return json.dumps(match.to_json() | changes).encode()


@pytest.mark.parametrize("name", [*GAMES, "2048", "banqi", "catch", "maedn(players=2)", "stones_and_gems", "yacht"])
def test_a_saved_game_stores_its_outcomes_and_replays(name: str) -> None:
    match = saved(name)
    back = match_of(line(match), "here")
    assert back.result.history == match.result.history
    assert back.result.movers == match.result.movers
    assert (CHANCE in back.result.movers) == (name != "stones_and_gems" or CHANCE in match.result.movers)
    assert back.require_true().is_terminal()


def rolls_of(match: SavedMatch) -> list[int]:
    """Return the outcomes of a game, in order."""
    state = load_game(match.game).new_initial_state()
    found = []
    for action in match.result.history:
        if is_chance(state):
            found.append(action)
        state.apply_action(action)
    return found


def test_an_impossible_outcome_is_refused() -> None:
    match = saved()
    at = match.result.movers.index(CHANCE)
    actions = list(match.result.history)
    actions[at] = 6
    with pytest.raises(ArenaError, match=rf"action {at + 1}, 6, is no outcome of chance at"):
        match_of(line(match, actions=actions), "here").require_true()


def test_a_wrong_mover_is_refused() -> None:
    match = saved()
    movers = list(match.result.movers)
    at = movers.index(CHANCE)
    with pytest.raises(ArenaError, match=r"is chance's at .*, but not in 'movers'"):
        match_of(line(match, movers=[*movers[:at], 0, *movers[at + 1 :]]), "here").require_true()
    with pytest.raises(ArenaError, match=r"is player 0's at .*, but not in 'movers'"):
        match_of(line(match, movers=[CHANCE, *movers[1:]]), "here").require_true()
    with pytest.raises(ArenaError, match="movers must be a whole number from -1"):
        match_of(line(match, movers=[-2, *movers[1:]]), "here")


@pytest.mark.parametrize("name", GAMES)
def test_an_evaluation_is_reproducible_and_uses_common_dice(name: str, tmp_path: Path, capsys: Out) -> None:
    words = ["eval", "mcts:2", "--against", "random", "--game", name, "--matches", "4", "--seed", "5", "--json"]
    games = []
    for number in range(2):
        path = tmp_path / f"{number}.jsonl"
        assert main([*words, "--save", str(path)]) == 0
        games.append(list(read_matches(path)))
        (row,) = json.loads(capsys.readouterr().out)["comparisons"]
        assert row["matches"] == sum(sum(row[key].values()) for key in ("moving_first", "moving_second"))
    assert [g.result.history for g in games[0]] == [g.result.history for g in games[1]]
    for one in games[0]:
        one.require_true()
    for first, second in zip(games[0][::2], games[0][1::2], strict=True):
        assert first.result.opening == second.result.opening
        if name in GAMES[2:]:  # each roll is drawn from the same number of outcomes
            count = min(len(rolls_of(first)), len(rolls_of(second)))
            assert rolls_of(first)[:count] == rolls_of(second)[:count]


def test_dice_are_the_same_in_one_process_and_in_several() -> None:
    def bot(player: int) -> Any:
        return make_bot("mcts:4", PIG, player, 3)

    planned = fixtures(PIG, 8, 2, 11)
    found: list[dict[int, tuple[int, ...]]] = []
    for at_once in (1, 2):
        games: dict[int, tuple[int, ...]] = {}

        def on_result(index: int, fixture: Fixture, result: MatchResult, games: dict[int, Any] = games) -> None:
            games[fixture.index] = result.history

        play_all([Encounter(PIG, sides_of(bot, bot), planned)], on_result, forfeits=False, at_once=at_once)
        found.append(games)
    assert found[0] == found[1]
    assert len(found[0]) == 8


def test_all_pairs_of_a_tournament_roll_the_same(tmp_path: Path) -> None:
    agents = {"one": "mcts:2", "two": "mcts:5", "three": "random"}
    tournament = Tournament(name="dice", games=tuple(GAMES[2:]), agents=agents, matches=4, seed=2)
    assert run_tournament(tournament, tmp_path / "t") is not None
    rolls = defaultdict(list)
    for match in read_matches(tmp_path / "t" / "matches.jsonl"):
        match.require_true()
        rolls[match.game, match.number].append(rolls_of(match))
    assert {len(games) for games in rolls.values()} == {6}
    for games in rolls.values():
        count = min(map(len, games))
        assert len({tuple(one[:count]) for one in games}) == 1
    assert len({tuple(one[:6]) for games in rolls.values() for one in games}) == len(rolls)
    before = (tmp_path / "t" / "matches.jsonl").read_bytes()
    run_tournament(tournament, tmp_path / "t")
    assert (tmp_path / "t" / "matches.jsonl").read_bytes() == before


def test_moving_first_is_counted_by_the_first_roll() -> None:
    game = load_game("backgammon")
    series = play_series(game, lambda i: make_bot("random", game, i, i), lambda i: make_bot("random", game, i, 5), 8)
    comparison = Comparison.of("a", "b", series, first_mover=first_mover_of(game))
    points = []
    for result, colour in zip(series.results, series.colours, strict=True):
        state = game.new_initial_state()
        state.apply_action(result.history[0])
        if state.current_player() == colour:
            points.append(result.points(colour))
    assert comparison.moving_first == Tally.of(points)
    assert comparison.moving_first.matches == comparison.moving_second.matches == 4
    assert {result.history[0] < 15 for result in series.results} == {False, True}  # X has begun, or O


def test_a_file_of_openings_may_contain_outcomes(tmp_path: Path) -> None:
    path = tmp_path / "openings"
    path.write_text("roll 2 stop\n0 5\nroll\n")
    assert openings_of_file(PIG, path).openings == ((0, 2, 1), (0, 5), (0,))
    path.write_text("roll 6\n")
    with pytest.raises(ConfigError, match=r"expected an outcome of chance as move 2, got '6'.*Roll 1"):
        openings_of_file(PIG, path)


def test_balanced_openings_end_before_a_player() -> None:
    config = OpeningsConfig(kind="balanced", plies=2, bound=0.6)
    for opening in opening_set(PIG, config, 3, 1).openings:
        state = PIG.new_initial_state()
        for action in opening:
            state.apply_action(action)
        assert not is_chance(state)
    start = load_game("einstein_wurfelt_nicht")
    with pytest.raises(ConfigError, match="must have at least 1 ply, as it starts with chance"):
        opening_set(start, OpeningsConfig(kind="balanced", plies=0), 1, 1)


@pytest.mark.parametrize("name", ["2048", "catch", "stones_and_gems"])
def test_single_players_are_scored(name: str) -> None:
    rows = evaluate(EvaluationRequest(agent="random", game=name, matches=3, seed=random.Random(1).randrange(9)))
    assert rows[0]["matches"] == 3

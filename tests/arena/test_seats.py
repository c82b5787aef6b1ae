"""Tournaments and saved games with more than two players: every seat, restarts, rankings, errors."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import Out, complaint
from training_runs import TINY

from athenan_spiel.arena.comparison import SeatPairResult
from athenan_spiel.arena.evaluation import evaluate
from athenan_spiel.arena.record import SavedMatch, read_matches
from athenan_spiel.arena.standings import Standings
from athenan_spiel.arena.tournament import report_tournament, run_tournament
from athenan_spiel.arena.tournament_folder import key_of
from athenan_spiel.arena.tournament_report import markdown, report_files, to_json
from athenan_spiel.arena.tournament_settings import OpeningsConfig, Tournament
from athenan_spiel.cli.main import main
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import ArenaError, ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.play.match import Forfeit, MatchResult
from athenan_spiel.play.series import Fixture, Series, points_of
from athenan_spiel.training import train

pytestmark = pytest.mark.usefixtures("forked_workers")

PIG = "pig(players=3,winscore=8)"
THREE = Tournament(
    name="three", games=(PIG,), agents={"one": "mcts:2", "two": "mcts:9", "chance": "random"}, matches=12, seed=3
)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished tournament `THREE`, to be left as it is."""
    folder = tmp_path_factory.mktemp("three")
    run_tournament(THREE, folder)
    return folder


@pytest.fixture(scope="module")
def pig_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of Pig for three players, to be left as it is."""
    return train(load_game(PIG), TINY, tmp_path_factory.mktemp("run") / "pig").folder


def played(folder: Path) -> list[SavedMatch]:
    return list(read_matches(folder / "matches.jsonl"))


def test_each_agent_plays_alone_in_every_seat(three: Path) -> None:
    matches = played(three)
    assert len(matches) == 3 * 12
    for a, b in THREE.pairs():
        of_pair = [match for match in matches if set(match.agents) == {a, b}]
        expected = [(a, b, b), (b, a, b), (b, b, a), (b, a, a), (a, b, a), (a, a, b)]
        assert Counter(match.players for match in of_pair) == dict.fromkeys(expected, 2)
        assert Counter(match.number for match in of_pair) == {0: 6, 1: 6}
    assert len({(match.number, match.result.opening) for match in matches}) == 2, "all pairs have the same openings"
    for match in matches:
        match.require_true()
        assert match.specs == tuple(THREE.agents[name] for name in match.players)
    table = json.loads((three / "report.json").read_text())
    assert [row["matches"] for row in table["pairs"]] == [12] * 3
    for row in table["agents"]:
        name = row["agent"]
        for seat in range(3):
            alone = [m.result.returns[seat] for m in matches if m.players[seat] == name and m.players.count(name) == 1]
            assert len(alone) == 4
            assert row["returns"][f"player_{seat}"]["estimate"] == pytest.approx(sum(alone) / 4)
    means = [row["returns"]["mean"]["estimate"] for row in table["agents"]]
    assert means == sorted(means, reverse=True)
    assert (three / "returns-1.png").read_bytes().startswith(b"\x89PNG")
    assert not (three / "ratings-1.png").exists()


def test_no_game_is_played_twice(three: Path, tmp_path: Path) -> None:
    shutil.copytree(three, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "matches.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:15]) + lines[15][:40])
    told: list[tuple[int, int]] = []
    assert not report_tournament(THREE, tmp_path).complete
    assert "**Not finished" in (tmp_path / "report.md").read_text()
    standings = run_tournament(THREE, tmp_path, progress=lambda *now: told.append(now))
    assert standings is not None
    assert standings.complete
    assert (told[0], told[-1]) == ((15, 36), (36, 36))
    assert path.read_bytes().startswith(b"".join(lines[:15]))
    assert {key_of(match, THREE.pairs()) for match in played(tmp_path)} == {
        (PIG, *pair, number, colour) for pair in THREE.pairs() for number in range(2) for colour in range(6)
    }


def test_a_resumed_tournament_plays_the_same_games(pig_run: Path, tmp_path: Path) -> None:
    agents = {"a": f"{pig_run}@2i", "b": f"{pig_run}@5i", "c": f"{pig_run}:descent@5i"}
    searching = Tournament(name="runs", games=(PIG,), agents=agents, matches=12)
    for name in ("whole", "cut"):
        run_tournament(searching, tmp_path / name)
    path = tmp_path / "cut" / "matches.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:14:3]))
    run_tournament(searching, tmp_path / "cut")
    whole, cut = (
        {key_of(match, searching.pairs()): (match.result.history, match.result.returns) for match in played(folder)}
        for folder in (tmp_path / "whole", tmp_path / "cut")
    )
    assert len(whole) == 36
    assert whole == cut


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_a_saved_game_gives_back_its_place_in_the_series(players: int) -> None:
    result = MatchResult((), 0, (0.0,) * players, (0.0,) * players)
    agents = ["a", "b"][:players]
    for colour in range({1: 1, 2: 2}.get(players, 2 * players)):
        match = SavedMatch.of_series("g", agents, agents, Fixture(7, 5, colour, ()), 9, result)
        assert (match.number, match.seed, len(match.players)) == (5, 9, players)
        if players > 1:
            assert match.pairing({("a", "b")}) == ("a", "b", colour)
            assert match.pairing({("b", "c")}) is None
            contender = {colour} if colour < players else set(range(players)) - {colour - players}
            assert {seat for seat, name in enumerate(match.players) if name == "a"} == contender


def test_agents_who_do_not_meet_one_against_the_rest_are_refused(three: Path, tmp_path: Path) -> None:
    path = shutil.copytree(three, tmp_path / "three") / "matches.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    for agents, problem in (
        (["one", "two", "chance"], "do not meet in the tournament"),
        (["one", "one", "one"], "do not meet in the tournament"),
        (["one", "nobody", "nobody"], "do not meet in the tournament"),
        (["one", "two"], "must be one for each player"),
        (json.loads(lines[0])["agents"], "another line holds the same game"),
    ):
        path.write_bytes(lines[0] + json.dumps(json.loads(lines[0]) | {"agents": agents}).encode() + b"\n")
        with pytest.raises(ArenaError, match=problem) as error:
            run_tournament(THREE, path.parent)
        assert "line 2" in str(error.value)


def alone(one: str, other: str, number: int, seat: int, returns: tuple[float, ...]) -> SavedMatch:
    """Returns a game of `one` against copies of `other`; its actions don't matter."""
    players = tuple(one if i == seat else other for i in range(3))
    result = MatchResult((number, 1, 2), 1, returns, (1.0,) * 3, None, (1, 0), (2.0, 1.0), (0,) * 3, (0,) * 3)
    return SavedMatch(PIG, players, players, 0, number, 0, result)


def games(one: str, other: str, wins: list[tuple[int, int, int]]) -> list[SavedMatch]:
    """Returns the games of `one` alone: for each opening, whether it wins in each seat; else the next seat wins."""
    return [
        alone(one, other, number, seat, tuple(1.0 if i == (seat + 1 - won) % 3 else -0.5 for i in range(3)))
        for number, seats in enumerate(wins)
        for seat, won in enumerate(seats)
    ]


MATCHES = [
    *games("a", "b", [(1, 1, 0), (1, 1, 1)]),
    *games("b", "a", [(1, 0, 0), (0, 0, 0)]),
    *games("c", "a", [(1, 0, 1), (1, 1, 0)]),
    *games("a", "c", [(1, 0, 0), (1, 1, 0)]),
    *games("b", "c", [(1, 0, 1), (0, 1, 0)]),
    *games("c", "b", [(0, 1, 1), (1, 1, 0)]),
]


def standings(matches: list[SavedMatch] = MATCHES, **changes: Any) -> Standings:
    given = {"name": "t", "games": (PIG,), "agents": dict.fromkeys("abc", "random"), "matches": 12}
    return Standings(Tournament(**(given | changes)), matches, {PIG: "chosen"}, players={PIG: 3})


def test_agents_are_ranked_by_their_mean_return() -> None:
    """A win alone returns 1, a loss -1/2: w of n games return (3 w - n) / 2 in the mean over n games.

    Openings of a: 1/2, 1 against b and 0, 1/2 against c, with mean 1/2 and standard deviation sqrt(1/6). Their mean has
    the standard error sqrt(1/6) / 2, and Student's quantile with 3 degrees of freedom is 3.18245.
    """
    found = standings()
    assert [result.agent for result in found.agents] == ["a", "c", "b"], "equal means keep the order of ratings"
    returns = {result.agent: result.returns for result in found.agents}
    assert all(returns.values())
    means = {agent: one.mean for agent, one in returns.items() if one is not None}
    assert {agent: mean.estimate for agent, mean in means.items()} == pytest.approx({"a": 0.5, "b": 0.0, "c": 0.5})
    assert means["a"].high - means["a"].estimate == pytest.approx(3.18245 * (1 / 6) ** 0.5 / 2, rel=1e-5)
    assert means["c"].low == -float("inf"), "all openings of c return 1/2, so their spread is unknown"
    assert returns["a"] is not None
    assert [seat.estimate for seat in returns["a"].seats] == [1.0, 0.625, -0.125]
    assert found.complete
    _, pair = found.pairs[0]
    assert isinstance(pair, SeatPairResult)
    assert (pair.contender_alone.mean.estimate, pair.opponent_alone.mean.estimate) == pytest.approx((0.75, -0.25))
    assert (pair.tally.wins, pair.tally.draws, pair.tally.losses) == (10, 0, 2), "5 alone, and 5 of its copies' games"
    assert pair.points.estimate == pytest.approx(10 / 12)


def test_all_report_formats_contain_the_returns() -> None:
    found = standings()
    text = markdown(found)
    assert "| `a` | +0.50 (-0.15 to +1.15) | +1.00 | +0.62" in text
    assert "| `c` | +0.50 | " in text
    assert "| `a` – 2 × `b` | +0.75 (" in text
    assert "| `b` | -0.25 |  | +0.25 |" not in text
    assert "![](returns-1.png)" in text
    assert "In a game for n > 2 players, each agent of a pair plays each opening alone in every seat" in text
    assert "colour" not in text
    table = to_json(found)
    assert table["agents"][0]["returns"]["mean"]["estimate"] == pytest.approx(0.5)
    assert json.loads(report_files(found)["report.json"]) == json.loads(json.dumps(table))
    assert report_files(found)["agents.csv"].startswith("game,agent,returns_mean_estimate,")
    assert "contender_alone_player_2_estimate" in report_files(found)["pairs.csv"]


def test_an_agent_that_has_not_yet_played_alone_is_ranked_last() -> None:
    found = standings(games("b", "a", [(0, 0, 0)]))
    assert [result.agent for result in found.agents] == ["b", "a"]
    assert "| `a` |  |  |  |  | +" in markdown(found)
    assert to_json(found)["agents"][1]["returns"]["mean"]["estimate"] is None


def test_points_compare_the_mean_returns_of_both_agents() -> None:
    def points(*returns: float) -> list[float]:
        return [points_of(MatchResult((), 0, returns, ()), colour) for colour in range(2 * len(returns))]

    assert points(1.0, -0.5, -0.5) == [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    assert points(1.0, 0.0, -1.0) == [1.0, 0.5, 0.0, 0.0, 0.5, 1.0]
    assert points(0.1, 0.1, 0.1) == [0.5] * 6


def test_forfeits_are_counted_for_the_agent_of_the_seat() -> None:
    match = games("a", "b", [(1, 0, 0)])[0]
    result = MatchResult(**(vars(match.result) | {"forfeit": Forfeit(2, "hung"), "returns": (0.5, 0.5, -1.0)}))
    found = standings([SavedMatch(**(vars(match) | {"result": result}))])
    assert found.reasons == {"b": (1, "hung")}


def test_games_for_two_and_for_three_have_tables_of_their_own(tmp_path: Path) -> None:
    agents = {"one": "mcts:2", "chance": "random"}
    mixed = Tournament(name="mixed", games=("tic_tac_toe", PIG), agents=agents, matches=6)
    found = run_tournament(mixed, tmp_path)
    assert found is not None
    assert found.complete
    assert [result.returns is None for result in found.agents] == [True, True, False, False]
    assert {mean.games for mean in found.means} == {2}
    text = (tmp_path / "report.md").read_text()
    assert "In a game for two players, each opening is played with both colours." in text
    assert "![](ratings-1.png)" in text
    assert "![](returns-2.png)" in text
    assert {path.name for path in tmp_path.glob("*.png")} == {"ratings-1.png", "returns-2.png"}


def test_agents_meet_only_the_pool(tmp_path: Path) -> None:
    pooled = Tournament(
        name="p", games=(PIG,), agents={"one": "mcts:2"}, pool={"chance": "random"}, matches=6, anchor="chance"
    )
    found = run_tournament(pooled, tmp_path)
    assert found is not None
    assert {match.players.count("one") for match in played(tmp_path)} == {1, 2}
    assert found.complete


def test_openings_of_a_file_are_played_in_every_seat(tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("stop\nroll 4\n")
    from_file = Tournament(
        name="f",
        games=(PIG,),
        agents={"one": "mcts:2", "chance": "random"},
        matches=12,
        openings=OpeningsConfig(kind="file", file=str(file)),
    )
    run_tournament(from_file, tmp_path / "t")
    assert sorted(Counter(match.result.opening for match in played(tmp_path / "t")).values()) == [6, 6]
    more = Tournament(**(vars(from_file) | {"matches": 18}))
    with pytest.raises(ConfigError, match=r"18 games need 3 openings, got 2 in .*: play 12 games, or add openings"):
        run_tournament(more, tmp_path / "more")


def test_an_evaluation_reports_mean_returns_in_every_seat() -> None:
    request = EvaluationRequest(agent="mcts:9", opponents=("random",), game=PIG, matches=7)
    (row,) = evaluate(request)
    assert row["matches"] == 12, "rounded up to whole openings"
    assert [one["agent"] for one in row["alone"]] == ["mcts:9", "random"]
    assert [len(one["seats"]) for one in row["alone"]] == [3, 3]
    total = row["total"]
    assert sum(total.values()) == 12
    assert row["points"]["estimate"] == pytest.approx((total["wins"] + total["draws"] / 2) / 12)


def test_the_points_of_a_series_compare_the_seats_of_both_agents() -> None:
    won = MatchResult((), 0, (1.0, -0.5, -0.5), (1.0, 2.0, 3.0))
    series = Series(results=(won, won, won), colours=(0, 1, 3))
    assert (series.wins, series.draws, series.losses) == (1, 0, 2)
    assert series.seconds == (8.0, 10.0), "with colour 3 all seats but the first are the contender's"
    assert series.points_by_opening == {(): [1.0, 0.0, 0.0]}, "with colour 3 the opponent is player 0, alone"


GAME = ["--game", PIG]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([*GAME, "--matches", "20"], "matches must be a multiple of 6 at 'pig(players=3,winscore=8)', so that each"),
        ([*GAME, "--matches", "20"], "got 20: play 24"),
        ([*GAME, "--matches", "3"], "matches must be even"),
        ([*GAME, "--sprt", "0", "50"], "sequential (--sprt) is for games for two players, got 'pig(players=3"),
        ([*GAME, "--openings", "balanced"], "openings.kind must not be 'balanced' at 'pig(players=3,winscore=8)'"),
        (["--game", "2048"], "games must be for two or more players, got '2048()': use `athenan eval`"),
    ],
)
def test_settings_that_do_not_fit_are_refused(
    words: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem in complaint(capsys, "tournament", "mcts:2", "random", *words)
    assert not (tmp_path / "runs").exists()


def test_the_default_number_of_games_is_rounded_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    monkeypatch.chdir(tmp_path)
    for game, count in (("pig(players=3)", 102), ("pig(players=4)", 104), ("tic_tac_toe", 100)):
        assert main(["tournament", "mcts:2", "random", "--game", game, "--check"]) == 0
        assert f"ready to play {count} games: mcts:2, random" in capsys.readouterr().err


def test_a_tournament_prints_mean_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["tournament", "mcts:2", "random", *GAME, "--matches", "6"]
    assert main(words) == 0
    assert "| agent | mean return | player 0 | player 1 | player 2 | rating |" in capsys.readouterr().out
    assert main([*words, "--report", "--json"]) == 0
    (pair,) = json.loads(capsys.readouterr().out)["pairs"]
    assert pair["contender_alone"].keys() == {"mean", "player_0", "player_1", "player_2"}

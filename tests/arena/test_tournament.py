"""Tournaments: balance, resumption without repeated games, and errors before the first game."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import ATHENAN

from athenan_spiel.arena.record import SavedMatch, read_matches
from athenan_spiel.arena.sprt import Sprt
from athenan_spiel.arena.tournament import report_tournament, run_tournament
from athenan_spiel.arena.tournament_folder import key_of
from athenan_spiel.arena.tournament_settings import OpeningsConfig, Tournament, tournament_of
from athenan_spiel.errors import AgentError, ArenaError, ConfigError

pytestmark = pytest.mark.usefixtures("forked_workers")

THREE = Tournament(
    name="three",
    games=("tic_tac_toe",),
    agents={"one": "mcts:2", "two": "mcts:20", "chance": "random"},
    matches=6,
    seed=3,
)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished tournament `THREE`, to be left as it is."""
    folder = tmp_path_factory.mktemp("three")
    run_tournament(THREE, folder)
    return folder


def played(folder: Path) -> list[SavedMatch]:
    return list(read_matches(folder / "matches.jsonl"))


def with_(**changes: Any) -> Tournament:
    return dataclasses.replace(THREE, **changes)


def test_a_pondering_agent_meets_no_agent_of_the_process(tiny_run: Path, tmp_path: Path) -> None:
    pondering = with_(agents={"deep": f"{tiny_run}:ponder=true@1i", "chance": "random"})
    with pytest.raises(AgentError, match="ponders, which would take the time of random"):
        run_tournament(pondering, tmp_path / "t")
    assert not (tmp_path / "t" / "matches.jsonl").exists()


def test_colours_and_openings_are_balanced_exactly(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    standings = run_tournament(THREE, tmp_path / "t", progress=lambda *now: told.append(now))
    assert standings is not None
    assert standings.complete
    matches = played(tmp_path / "t")
    assert len(matches) == 18
    assert told == [(i, 18) for i in range(19)]
    assert Counter(match.agents for match in matches) == dict.fromkeys(THREE.pairs(), 6)
    for pair in THREE.pairs():
        of_pair = [match for match in matches if match.agents == pair]
        assert Counter(match.colour for match in of_pair) == {0: 3, 1: 3}
        colours: dict[tuple[int, ...], list[int]] = {}
        for match in of_pair:
            colours.setdefault(match.result.opening, []).append(match.colour)
        assert [sorted(both) for both in colours.values()] == [[0, 1]] * 3
    assert len({match.result.opening for match in matches}) == 3, "all pairs have the same openings"
    for match in matches:
        match.require_true()
        assert match.specs == tuple(THREE.agents[name] for name in match.agents)


def test_agents_play_only_the_pool(tmp_path: Path) -> None:
    pooled = with_(agents={"one": "mcts:2", "two": "mcts:20"}, pool={"chance": "random"}, anchor="chance")
    standings = run_tournament(pooled, tmp_path / "t")
    assert standings is not None
    assert {match.agents for match in played(tmp_path / "t")} == {("one", "chance"), ("two", "chance")}
    (anchor,) = (result for result in standings.agents if result.agent == "chance")
    assert (anchor.rating.elo, anchor.rating.interval) == (0.0, None)
    (gain,) = (gain for gain in standings.gains if {gain.agent, gain.other} == {"one", "two"})
    assert gain.opponents == 1
    points = {result.agent: result.points.estimate for result in standings.agents}
    assert gain.estimate == pytest.approx(points[gain.agent] - points[gain.other]), "Definition 1"


def test_no_game_is_played_twice(three: Path, tmp_path: Path) -> None:
    shutil.copytree(three, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "matches.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:7]) + lines[7][:40])
    told: list[tuple[int, int]] = []
    standings = run_tournament(THREE, tmp_path, progress=lambda *now: told.append(now))
    assert standings is not None
    assert standings.complete
    assert told[0] == (7, 18)
    assert path.read_bytes().startswith(b"".join(lines[:7]))
    assert max(Counter(map(key_of, played(tmp_path))).values()) == 1
    assert len(played(tmp_path)) == 18
    again = path.read_bytes()
    run_tournament(THREE, tmp_path)
    assert path.read_bytes() == again


def test_a_resumed_tournament_plays_the_same_games(tmp_path: Path) -> None:
    """A game depends only on its players, its number and its opening."""
    searching = with_(agents={"a": "alphabeta@30e", "b": "alphabeta(1)@30e"})
    run_tournament(searching, tmp_path / "whole")
    run_tournament(searching, tmp_path / "cut")
    path = tmp_path / "cut" / "matches.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    run_tournament(searching, tmp_path / "cut")
    whole, cut = ({key_of(m): m.result.history for m in played(tmp_path / name)} for name in ("whole", "cut"))
    assert whole == cut


def test_a_sequential_test_ends_a_pair(tmp_path: Path) -> None:
    tested = with_(agents={"two": "mcts:30", "chance": "random"}, matches=200, sequential=Sprt(elo0=0, elo1=200))
    standings = run_tournament(tested, tmp_path)
    assert standings is not None
    ((_, pair),) = standings.pairs
    assert pair.test is not None
    assert pair.test.verdict == "H1"
    assert pair.tally.matches < 60
    assert standings.complete
    before = len(played(tmp_path))
    run_tournament(tested, tmp_path)
    assert len(played(tmp_path)) == before, "what is decided is not gone on with"


def test_the_report_can_be_written_again(three: Path, tmp_path: Path) -> None:
    shutil.copytree(three, tmp_path, dirs_exist_ok=True)
    reports = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".md", ".json", ".csv")}
    for name in ("report.md", "agents.csv", "ratings-1.png"):
        (tmp_path / name).unlink()
    standings = report_tournament(THREE, tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in reports} == reports
    assert (tmp_path / "ratings-1.png").read_bytes().startswith(b"\x89PNG")
    table = json.loads(reports["report.json"])
    assert table["complete"] is True
    assert table["matches"] == 18
    assert sum(row["matches"] for row in table["agents"]) == 36
    assert [row["agent"] for row in table["agents"]] == [result.agent for result in standings.agents]
    text = reports["report.md"].decode()
    assert "6 games, as declared in advance" in text
    assert "with a prior of 1 drawn game" in text


def test_two_games_have_a_mean(tmp_path: Path) -> None:
    both = with_(games=("tic_tac_toe", "connect_four(rows=4,columns=4,x_in_row=3)"), matches=4)
    standings = run_tournament(both, tmp_path)
    assert standings is not None
    assert {mean.games for mean in standings.means} == {2}
    at = {(result.game, result.agent): result.points.estimate for result in standings.agents}
    for mean in standings.means:
        assert mean.estimate == pytest.approx(sum(at[game, mean.agent] for game in both.games) / 2)
    text = (tmp_path / "report.md").read_text()
    assert "## Mean over games" in text
    assert (tmp_path / "ratings-2.png").exists()


def test_balanced_openings_are_the_same_after_a_kill(tmp_path: Path) -> None:
    balanced = with_(openings=OpeningsConfig(kind="balanced", plies=2, bound=0.5))
    run_tournament(balanced, tmp_path, check=True)
    assert not (tmp_path / "tournament.json").exists()
    run_tournament(balanced, tmp_path)
    openings = json.loads((tmp_path / "tournament.json").read_text())["openings"]
    path = tmp_path / "matches.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    run_tournament(balanced, tmp_path)
    assert json.loads((tmp_path / "tournament.json").read_text())["openings"] == openings
    assert "UBFM" in openings["tic_tac_toe"]["told"]


def forged(**changes: Any) -> Any:
    def forge(line: bytes) -> bytes:
        table = json.loads(line)
        return json.dumps(table | changes).encode() + b"\n"

    return forge


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (lambda line: b"{}\n", "line 2 is not a saved game"),
        (forged(game="hex"), "no game 'hex'"),
        (forged(agents=["two", "one"]), "do not meet in the tournament"),
        (forged(number=77), "opening 77 differs from the tournament's"),
        (forged(seed=4), "expected the seed 3, got 4"),
        (forged(returns=[0.5, -0.5]), "its actions return"),
        (None, "another line holds the same game"),
    ],
)
def test_a_forged_line_is_refused(three: Path, tmp_path: Path, forge: Any, problem: str) -> None:
    path = shutil.copytree(three, tmp_path / "three") / "matches.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[0] if forge is None else forge(lines[1])
    path.write_bytes(b"".join(lines))
    with pytest.raises(ArenaError) as error:
        run_tournament(THREE, path.parent)
    assert problem in str(error.value)
    assert "line 2" in str(error.value)


def test_a_folder_with_other_content_is_refused(three: Path, tmp_path: Path) -> None:
    with pytest.raises(ArenaError, match=r"another tournament, started with .* matches is 6, and here 8"):
        run_tournament(with_(matches=8), three)
    with pytest.raises(ConfigError, match="expected the folder of a finished or stopped"):
        report_tournament(THREE, tmp_path / "new")


def test_forged_openings_are_refused(tmp_path: Path) -> None:
    balanced = with_(openings=OpeningsConfig(kind="balanced", plies=2, bound=0.5))
    run_tournament(balanced, tmp_path)
    path = tmp_path / "tournament.json"
    whole = json.loads(path.read_text())
    for openings, kind, problem in (
        ([[0, 1]], ArenaError, "expected 3 openings"),
        ([[0, "1"]] * 3, ArenaError, "expected 3 openings"),
        ([[0, 0]] * 3, ConfigError, "expected a legal move as move 2"),
    ):
        whole["openings"]["tic_tac_toe"]["openings"] = openings
        path.write_text(json.dumps(whole))
        with pytest.raises(kind, match=problem):
            run_tournament(balanced, tmp_path)


@pytest.mark.parametrize(
    ("changes", "kind", "problem"),
    [
        ({"agents": {"a": "random", "b": "mtcs:3"}}, AgentError, "agent 'b': expected an agent"),
        ({"agents": {"a": "random", "b": "human"}}, ConfigError, "agent 'b': expected agents that play by themselves"),
        ({"agents": {"a": "random", "b": "ludii:UCT@1s"}}, AgentError, "agent 'b': "),
        ({"limit": "fast"}, ConfigError, "limit must be like 0.1s"),
        ({"limit": "1i", "agents": {"a": "random", "b": "random"}}, ConfigError, "one that an agent accepts"),
        ({"games": ("morpion_solitaire",)}, ConfigError, "for two or more players"),
        ({"openings": OpeningsConfig(kind="file", file="nowhere.txt")}, ConfigError, "nowhere.txt cannot be read"),
        ({"openings": OpeningsConfig(kind="balanced", judge="mcts:3")}, ConfigError, "must be an agent that reports"),
        ({"openings": OpeningsConfig(plies=50)}, ConfigError, "50 random plies must not end the game"),
    ],
)
def test_errors_are_reported_before_the_first_game(
    tmp_path: Path, changes: dict[str, Any], kind: type[Exception], problem: str
) -> None:
    with pytest.raises(kind) as error:
        run_tournament(with_(**changes), tmp_path / "t")
    assert problem in str(error.value)
    assert not (tmp_path / "t" / "matches.jsonl").exists()


def test_changed_openings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "openings.txt"
    file.write_text("0 1\n0 2\n0 3\n")
    from_file = with_(openings=OpeningsConfig(kind="file", file=str(file)))
    run_tournament(from_file, tmp_path / "t")
    assert {match.result.opening for match in played(tmp_path / "t")} == {(0, 1), (0, 2), (0, 3)}
    file.write_text("0 1\n0 2\n0 4\n")
    with pytest.raises(ConfigError, match="have changed since the tournament started"):
        run_tournament(from_file, tmp_path / "t")


def test_a_limit_applies_to_all_agents_that_accept_it(tmp_path: Path) -> None:
    limited = with_(agents={"a": "alphabeta@2s", "b": "random"}, limit="2i", matches=2)
    standings = run_tournament(limited, tmp_path)
    assert standings is not None
    assert standings.without_limit == ("b",)
    assert played(tmp_path)[0].specs == ("alphabeta@2i", "random")
    text = (tmp_path / "report.md").read_text()
    assert "Limit of all agents: 2i per move, except `b`." in text
    assert "| `a` | `alphabeta@2i` |" in text, "what played is told, not what its word said"


SIX = """
name = "six"
game = "connect_four"
matches = 20
[agents]
chance = "random"
m1 = "mcts:1"
m3 = "mcts:3"
m10 = "mcts:10"
m10b = "mcts:10"
m30 = "mcts:30"
"""


@pytest.mark.slow(reason="300 matches and the start of six processes")
def test_six_agents_killed_once_play_no_match_twice(tmp_path: Path) -> None:
    """300 matches at Connect Four in two processes; SIGKILL after some of them."""
    (tmp_path / "six.toml").write_text(SIX)
    folder = tmp_path / "out"
    words = [*ATHENAN, "tournament", "six.toml", "--folder", "out", "--matches-at-once", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    path = folder / "matches.jsonl"
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= 40:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = path.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    done = kept.count(b"\n")
    assert 40 <= done < 300
    again = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400)
    assert again.returncode == 0, again.stderr
    assert f"games: {done} of 300" in again.stderr
    matches = played(folder)
    assert path.read_bytes().startswith(kept)
    assert len(matches) == 300
    assert max(Counter(map(key_of, matches)).values()) == 1
    whole = tournament_of(SIX, "six")
    assert Counter(match.agents for match in matches) == dict.fromkeys(whole.pairs(), 20)
    for match in matches:
        match.require_true()
    table = json.loads((folder / "report.json").read_text())
    order = [row["agent"] for row in table["agents"]]
    assert order[0] == "m30"
    assert order[-1] in ("chance", "m1")


@pytest.mark.slow(reason="400 matches of MCTS against itself")
def test_an_agent_against_itself_is_even(tmp_path: Path) -> None:
    itself = with_(agents={"a": "mcts:10", "b": "mcts:10"}, matches=400, openings=OpeningsConfig(plies=3))
    standings = run_tournament(itself, tmp_path)
    assert standings is not None
    ((_, pair),) = standings.pairs
    assert pair.points.low <= 0.5 <= pair.points.high
    assert pair.tally.matches == 400
    assert min(pair.binomial_p, pair.wilcoxon_p) > 0.01

"""Fixed opponents of an experiment: pairings, results, and resumption without repeated games."""

from __future__ import annotations

import csv
import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from experiment_runs import TINY, Recorder, results, rows, run_tiny, sorted_rows

from athenan_spiel.arena.record import read_matches
from athenan_spiel.errors import ArenaError, ConfigError
from athenan_spiel.experiments import ExperimentFile, Overrides, check, matches, read_experiment, report, run
from athenan_spiel.experiments.folder import ExperimentFolder
from athenan_spiel.experiments.plan import Entrant, GameResult, Pairing, Plan
from athenan_spiel.experiments.plots import plot_files
from athenan_spiel.experiments.statistics import MEAN, Points, fixed_shares
from athenan_spiel.play.intervals import share_interval
from athenan_spiel.system.tasks import do_tasks

pytestmark = pytest.mark.usefixtures("forked_workers")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "experiments"
FULL = EXAMPLES / "full"
POOL = """
[fixed]
opponents = ["mcts:2", {spec = "random", name = "Chance", games = ["tic_tac_toe"], variants = ["ubfm"]}]
matches = 4
"""
FIXED = 4 * 2 * 2 * (2 * 2 + 1)
"""Matches: four for each repetition, stage, and meeting; of these mcts:2 has four, two variants at two games."""
ALONE = TINY.replace("[training]", 'opponents = "none"\n\n[training]', 1)


def file(pool: str = POOL, text: str = ALONE, overrides: Overrides | None = None) -> ExperimentFile:
    return ExperimentFile(text + pool, "tiny.toml", overrides)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a finished experiment, which tests don't change."""
    path = tmp_path_factory.mktemp("fixed") / "tiny"
    recorder = Recorder()
    assert run_tiny(path, recorder=recorder, file=file()).complete
    assert recorder.match_counts[-1] == (FIXED, FIXED)
    return path


def keys(path: Path) -> Counter[tuple[Any, ...]]:
    return Counter((result.pairing, result.number, result.colour) for result in results(path, file()))


def test_networks_meet_the_opponents_of_the_file(folder: Path) -> None:
    met = keys(folder)
    assert (len(met), set(met.values())) == (FIXED, {1})
    pairings = {pairing for pairing, _, _ in met}
    assert {(p.game, p.a.variant) for p in pairings if p.b == "Chance"} == {("tic_tac_toe", "ubfm")}
    assert {p.a.stage for p in pairings} == {1, 2}
    assert {(number, colour) for _, number, colour in met} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    plan = Plan(file().experiment)
    assert pairings == set(plan.fixed_pairings())
    assert (plan.fixed_count(), plan.match_count()) == (FIXED // 4, FIXED)


def test_both_colours_of_the_same_openings(folder: Path) -> None:
    """All networks of a game have the same openings."""
    openings: dict[tuple[str, int], set[tuple[int, ...]]] = {}
    for row in rows(folder):
        assert row["opening_plies"] == 2
        assert row["forfeit"] is None
        openings.setdefault((row["game"], row["number"]), set()).add(tuple(row["actions"][:2]))
    assert all(len(opening) == 1 for opening in openings.values())


def test_the_report_contains_fixed_opponents(folder: Path) -> None:
    with (folder / "fixed.csv").open(encoding="utf-8") as table:
        found = list(csv.DictReader(table))
    assert {row["stage"] for row in found} == {"1", "2"}
    for row in found:
        assert float(row["wins_minus_losses"]) == pytest.approx(2 * float(row["points"]) - 1)
        assert row["matches"] == ("16" if row["game"] == MEAN else "8")
        assert row["forfeits"] == "0"
    assert {row["game"] for row in found if row["opponent"] == "Chance"} == {"tic_tac_toe"}
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "## Against fixed opponents" in text
    assert "### `Chance` (`random`)" in text
    assert "Networks played no other networks" in text
    assert "## Final points" not in text
    assert "ended because a player failed" not in text
    assert (folder / "fixed.png").read_bytes().startswith(b"\x89PNG")
    assert not (folder / "final.png").exists()


def test_a_share_is_the_mean_over_repetitions(folder: Path) -> None:
    (share,) = (
        s
        for s in report(file(), folder).fixed
        if (s.game, s.variant, s.opponent, s.stage) == ("tic_tac_toe", "ubfm", "mcts:2", 2)
    )
    met = [Pairing("tic_tac_toe", Entrant("ubfm", repetition, 2), "mcts:2") for repetition in (1, 2)]
    points = [result.points for result in results(folder, file()) if result.pairing in met]
    assert share.estimate == pytest.approx(sum(points) / 8)
    assert (share.matches, share.repetitions) == (8, 2)


def of(points: dict[int, list[float]], game: str = "tic_tac_toe", *, failed: bool = False) -> list[GameResult]:
    """Returns games of descent's last networks against mcts:2, by repetition."""
    return [
        GameResult(Pairing(game, Entrant("descent", repetition, 2), "mcts:2"), *divmod(index, 2), value, failed)
        for repetition, values in points.items()
        for index, value in enumerate(values)
    ]


def test_intervals_are_over_repetitions() -> None:
    plan = Plan(file().experiment)
    (share,) = fixed_shares(Points(plan, of({1: [1, 1, 1, 1], 2: [0, 0, 0, 0]})))
    assert share.interval is not None
    assert (share.estimate, share.interval.low, share.interval.high) == (0.5, 0.0, 1.0)
    (alike,) = fixed_shares(Points(plan, of({1: [1, 0, 1, 0], 2: [0, 1, 0, 1]})))
    assert (alike.estimate, alike.interval) == (0.5, None)


def test_with_one_repetition_intervals_are_of_the_matches() -> None:
    plan = Plan(file(overrides=Overrides(repetitions=1)).experiment)
    both = [*of({1: [1, 1, 1, 0]}), *of({1: [0, 0, 1, 0]}, "mnk(m=3,n=4,k=3)", failed=True)]
    first, second, mean = fixed_shares(Points(plan, both))
    alone = share_interval([[1, 1], [1, 0]])
    assert first.interval is not None
    assert (first.interval.low, first.interval.high) == pytest.approx((alone.low, alone.high))
    assert (first.forfeits, second.forfeits, mean.forfeits) == (0, 4, 4)
    assert (mean.game, mean.estimate) == (MEAN, 0.5)
    assert mean.interval is not None
    assert second.interval is not None
    below = math.hypot(0.75 - first.interval.low, 0.25 - second.interval.low) / 2
    assert mean.interval.low == pytest.approx(0.5 - below)
    assert mean.interval.low < 0.5 < mean.interval.high


def test_nothing_is_played_twice(folder: Path, tmp_path: Path) -> None:
    """A kill leaves whole lines and a truncated one; the remaining games are the same as without it."""
    import shutil

    copy = tmp_path / "tiny"
    shutil.copytree(folder, copy)
    lines = (folder / "matches.jsonl").read_text().splitlines(keepends=True)
    left = lines[:7] + lines[30:31] + lines[40:55]
    (copy / "matches.jsonl").write_text("".join(left) + lines[60][:50])
    recorder = Recorder()
    assert run_tiny(copy, recorder=recorder, file=file()).complete
    assert recorder.match_counts[0] == (len(left), FIXED)
    again = (copy / "matches.jsonl").read_text().splitlines(keepends=True)
    assert again[: len(left)] == left
    assert keys(copy) == keys(folder)
    assert sorted_rows(copy) == sorted_rows(folder)


def test_a_match_reported_twice_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster may run a task twice."""

    def twice(tasks: list[Any], processes: int, on_report: Callable[..., None], *others: Any, **options: Any) -> None:
        do_tasks(tasks, processes, lambda task, said: [on_report(task, said) for _ in range(2)], *others, **options)

    monkeypatch.setattr(run, "do_tasks", twice)
    assert run_tiny(tmp_path / "tiny", file=file()).complete
    assert set(keys(tmp_path / "tiny").values()) == {1}


def test_networks_may_meet_each_other_and_the_pool(tmp_path: Path) -> None:
    """Networks meet each other and the pool, in two processes."""
    both = file(text=TINY, overrides=Overrides(repetitions=1, stages=1, pairing_matches=2, fixed_matches=2))
    found = run_tiny(tmp_path / "x", file=both, processes=2)
    assert found.complete
    assert {share.variant for share in found.final} == {"descent", "ubfm"}
    assert {share.opponent for share in found.fixed} == {"mcts:2", "Chance"}
    text = (tmp_path / "x" / "report.md").read_text(encoding="utf-8")
    assert "## Final points" in text
    assert "over its games" in text
    assert {"final.png", "fixed.png"} <= plot_files(found).keys()


def test_one_variant_is_enough(tmp_path: Path) -> None:
    text = ALONE.split("[variants.ubfm]")[0]
    pool = (
        '[fixed]\nopponents = ["random"]\nmatches = 2\nstages = "last"\nplay = {algorithm = "ubfm", iterations = 3}\n'
    )
    one = file(pool, text, Overrides(repetitions=1))
    found = run_tiny(tmp_path / "x", file=one)
    assert (found.complete, len(rows(tmp_path / "x"))) == (True, 4)
    assert {result.pairing.a.stage for result in results(tmp_path / "x", one)} == {2}
    assert found.tables().startswith("against random:\n|  | `descent` |")


def test_a_failing_player_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(pyspiel.Bot):
        def step(self, state: pyspiel.State) -> int:
            return -5

        def restart_at(self, state: pyspiel.State) -> None:
            pass

    monkeypatch.setattr(matches, "make_bot", lambda *arguments: Failing())
    pool = '[fixed]\nopponents = ["random"]\nmatches = 2\nstages = "last"\n'
    failing = file(pool, overrides=Overrides(repetitions=1))
    found = run_tiny(tmp_path / "x", file=failing)
    assert all((result.points, result.failed) == (1, True) for result in results(tmp_path / "x", failing))
    assert all(row["forfeit"]["player"] == 1 - row["colour"] for row in rows(tmp_path / "x"))
    assert "**8 of these 8 games ended because a player failed**" in found.markdown()


@pytest.mark.parametrize(
    ("pool", "problem"),
    [
        ("[fixed]", "fixed.opponents must be a list of agent specs"),
        ("[fixed]\nopponents = []", "fixed.opponents must be a list of agent specs"),
        ("[fixed]\nopponents = [3]", "fixed.opponents must be agent specs, or tables such as"),
        ('[fixed]\nopponents = [""]', "fixed.opponents must have a spec of 1 to 1,000 printable characters, got ''"),
        ('[fixed]\nopponents = ["a", "a"]', "fixed.opponents must have different names, got 'a' twice"),
        ('[fixed]\nopponents = [{name = "a"}]', "fixed.opponents must each have a spec"),
        ('[fixed]\nopponents = [{spec = "a", nmae = "b"}]', "have no 'nmae': did you mean 'name'"),
        ('[fixed]\nopponents = [{word = "a"}]', "fixed.opponents have no 'word': the key is now spec"),
        ('[fixed]\nopponents = [{spec = "a", name = 1}]', "must have a name of 1 to 60 printable characters, got 1"),
        ('[fixed]\nopponents = [{spec = "a", games = []}]', "must have games as a list, got []"),
        ('[fixed]\nopponents = [{spec = "a", games = ["nim"]}]', "have unknown games, 'nim'"),
        (
            '[fixed]\nopponents = [{spec = "a", variants = ["ubmf"]}]',
            "have unknown variants, 'ubmf'.*did you mean 'ubfm'",
        ),
        ('[fixed]\nopponents = ["a"]\nmatches = 3', "fixed.matches must be even and at least 2, got 3"),
        ('[fixed]\nopponents = ["a"]\nmatchs = 4', "fixed.matchs is not a setting: did you mean 'matches'"),
        ('[fixed]\nopponents = ["a"]\nstages = "some"', "fixed.stages must be one of 'all', 'last', got 'some'"),
        (
            '[fixed]\nopponents = ["a"]\nplay = {algorithm = "ubfm"}',
            "fixed.play must be limited by seconds, ",
        ),
        ('[fixed]\nopponents = ["a"]\nplay = {depht = 2}', "fixed.play.depht is not a setting: did you mean 'depth'"),
        ("", "protocol.opponents must be 'all' or 'repetition' without [fixed], got 'none'"),
    ],
)
def test_errors_of_the_pool_have_their_line(pool: str, problem: str) -> None:
    expected = problem if ".*" in problem else re.escape(problem)
    with pytest.raises(ConfigError, match=rf"^tiny.toml, line \d+: .*{expected}"):
        file(pool)


def test_too_many_opponents_are_refused() -> None:
    names = ", ".join(f'"mcts:{number}"' for number in range(1, 102))
    with pytest.raises(ConfigError, match=r"fixed.opponents must be at most 100 agents, got 101"):
        file(f"[fixed]\nopponents = [{names}]\n")


@pytest.mark.parametrize(
    ("pool", "problem"),
    [
        ('[fixed]\nopponents = ["mtcs:3"]', r"fixed.opponents 'mtcs:3': expected an agent.*\(at tic_tac_toe\)"),
        ('[fixed]\nopponents = ["human"]', "fixed.opponents 'human': expected an agent that plays by itself"),
        ('[fixed]\nopponents = ["runs/nowhere"]', "fixed.opponents 'runs/nowhere': expected the folder of a run"),
        (
            '[fixed]\nopponents = ["random"]\nopening_plies = 9',
            "fixed.opening_plies at tic_tac_toe: openings of 9 random plies",
        ),
    ],
)
def test_opponents_are_checked_before_training(pool: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"^tiny.toml, line \d+: {problem}"):
        check(file(pool))
    with pytest.raises(ConfigError, match=problem):
        run_tiny(tmp_path / "x", file=file(pool))
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("agents", "number"),
    [
        (("descent (repetition 1, stage 2)", "mcts:3"), 0),
        (("descent (repetition 1, stage 2)", "Chance"), 0),
        (("descent (repetition 1, stage 3)", "mcts:2"), 0),
        (("descent (repetition 0, stage 1)", "mcts:2"), 0),
        (("other (repetition 1, stage 2)", "mcts:2"), 0),
        (("mcts:2", "descent (repetition 1, stage 2)"), 0),
        (("descent (repetition 1, stage 2)", "mcts:2"), 2),
    ],
)
def test_foreign_games_are_refused(folder: Path, tmp_path: Path, agents: tuple[str, str], number: int) -> None:
    match = dataclasses.replace(next(read_matches(folder / "matches.jsonl")), agents=agents, number=number)
    with pytest.raises(
        ArenaError, match=r"do not meet at 'tic_tac_toe' in the experiment|number must be less than 2, got 2"
    ):
        ExperimentFolder(tmp_path, file()).key_of(match)


def test_an_opponent_cannot_be_named_like_a_network() -> None:
    pool = '[fixed]\nopponents = [{spec = "random", name = "ubfm (repetition 1, stage 2)"}]\n'
    with pytest.raises(ConfigError, match=r"must not have the name of a network, got 'ubfm \(rep.*: give another name"):
        file(pool)


def test_an_experiment_without_a_pool_has_no_fixed_settings() -> None:
    """So older folders remain readable."""
    assert "fixed" not in ExperimentFile(TINY, "tiny.toml").experiment.to_json()
    assert Plan(ExperimentFile(TINY, "tiny.toml").experiment).fixed_count() == 0


@pytest.mark.parametrize(
    ("table", "game", "matches"), [(8, "hex", 2000), (9, "hex", 2400), (10, "othello", 1600), (11, "ludii", 1200)]
)
def test_the_articles_tables_against_engines(table: int, game: str, matches: int) -> None:
    """Checks that need no engine: both times per move, with one training."""
    experiment = read_experiment(FULL / f"table_{table}.toml").experiment
    assert experiment.name == f"table_{table}"
    assert experiment.games[0].startswith(game)
    assert experiment.fixed is not None
    plan = Plan(experiment)
    assert (len(plan.trainings()), plan.match_count(), plan.fixed_count()) == (1, matches, 2)
    for opponent in experiment.fixed.opponents:
        (variant,) = opponent.variants
        play = plan.variants[variant].play
        assert opponent.spec.endswith(f"@{play.search.seconds:g}s"), "equal time a move"
        assert (play.search.algorithm, play.decision) == ("ubfm", "safest")


def test_a_missing_engine_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConfigError, match=r"table_8.toml, line \d+: fixed.opponents 'MoHex, 2.5 s': mohex .*"):
        check(read_experiment(FULL / "table_8.toml"), allow_programs=["mohex"])


@pytest.mark.slow("trains with the searches of the example, thirteen seconds")
def test_the_example_against_uct_runs_in_short(tmp_path: Path) -> None:
    short = Overrides(repetitions=1, matches=2, stages=1, fixed_matches=2)
    found = run_tiny(tmp_path / "x", file=read_experiment(EXAMPLES / "against_uct.toml", short))
    assert found.complete
    assert {share.opponent for share in found.fixed} == {"uct:160"}

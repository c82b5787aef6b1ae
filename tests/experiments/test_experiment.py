"""Whole experiments: their files, their errors, and the command."""

from __future__ import annotations

import csv
import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar

import pytest
from clocks import HANG_SECONDS
from experiment_runs import MATCHES, TINY, TRAININGS, results, rows, run_tiny, tiny_file

import athenan_spiel
from athenan_spiel.arena.record import read_matches
from athenan_spiel.cli.main import main
from athenan_spiel.config import (
    AlphaBetaConfig,
    ExitConfig,
    ExplorationConfig,
    GumbelConfig,
    MctsConfig,
    NetworkConfig,
    SelfPlayConfig,
    TargetsConfig,
    UbfmConfig,
    WarmUpConfig,
)
from athenan_spiel.errors import CheckpointError, ConfigError, ExperimentError
from athenan_spiel.experiments import ExperimentFile, PlayConfig, read_experiment, report
from athenan_spiel.experiments.matches import player_of
from athenan_spiel.experiments.plan import Entrant, Pairing, Plan
from athenan_spiel.experiments.run import shared_cores
from athenan_spiel.experiments.settings import ProtocolConfig, Spacing
from athenan_spiel.experiments.training import TrainingTask, require_same_training, stage_path
from athenan_spiel.games import load_game
from athenan_spiel.search import MCTS, UBFM, Budget
from athenan_spiel.search.choice import best, safest, securest
from athenan_spiel.search.exit import ExItMCTS, ExItUCT
from athenan_spiel.search.gumbel import GumbelMCTS, gumbel_choice
from athenan_spiel.search.uct import UCT
from athenan_spiel.system import processes
from athenan_spiel.system.differences import differences
from athenan_spiel.system.tasks import do_tasks
from athenan_spiel.training import load_agent, preset, train
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.fitting import fit_to, measure
from athenan_spiel.training.presets import FITTED

Out = pytest.CaptureFixture[str]
READY = sorted((Path(__file__).resolve().parents[2] / "examples" / "experiments").glob("*.toml"))
PNG = b"\x89PNG\r\n\x1a\n"


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_each_stage_leaves_a_network(tiny_experiment: Path) -> None:
    for training in Plan(tiny_file().experiment).trainings():
        folder = tiny_experiment / training.folder
        early, late = (read_header(stage_path(folder, stage)).counters.matches for stage in (1, 2))
        assert (early, late) == (2, 4)
        weights = [read_weights(stage_path(folder, stage)) for stage in (1, 2)]
        assert any((weights[0][name] != weights[1][name]).any() for name in weights[0])
        assert not list(folder.rglob("replay.safetensors")), "what is needed to go on is of no use any more"
        assert not list(folder.rglob("optimizer.safetensors"))


def test_a_finished_training_can_be_played_with(tiny_experiment: Path) -> None:
    training = Plan(tiny_file().experiment).trainings()[0]
    agent = load_agent(tiny_experiment / training.folder)
    assert agent.step(agent.game.new_initial_state()) in range(9)


def test_a_variant_trains_with_its_settings(tiny_experiment: Path) -> None:
    plan = Plan(tiny_file().experiment)
    for variant, algorithm in (("descent", "descent"), ("ubfm", "ubfm")):
        header = read_header(stage_path(tiny_experiment / plan.training("tic_tac_toe", variant, 2).folder, 2))
        assert header.config.search.algorithm == algorithm
        assert header.game == "tic_tac_toe()"


def test_a_player_uses_its_variants_search_and_its_stages_network(tiny_experiment: Path) -> None:
    plan = Plan(tiny_file().experiment)
    folder = tiny_experiment / plan.training("tic_tac_toe", "ubfm", 1).folder
    minimax = player_of(stage_path(folder, 1), PlayConfig(), 0)
    assert isinstance(minimax.search, UBFM)
    assert (minimax.search.completion, minimax.decision, minimax.budget) == (False, best, Budget(iterations=1))
    play = PlayConfig(search=MctsConfig(iterations=None, evaluations=3, exploration_constant=0.7), decision="safest")
    mcts = player_of(stage_path(folder, 2), play, 0)
    assert isinstance(mcts.search, MCTS)
    assert (mcts.search.selection, mcts.decision, mcts.budget) == (UCT(0.7), safest, Budget(evaluations=3))
    secure = PlayConfig(search=AlphaBetaConfig(iterations=2), decision="securest")
    assert player_of(stage_path(folder, 2), secure, 0).decision is securest
    start = [mcts.game.new_initial_state()]
    assert minimax.evaluator(start) != mcts.evaluator(start), "networks of two stages"
    assert mcts.evaluator(start) == load_agent(folder).evaluator(start)


def test_omitted_search_options_are_those_of_the_training(tmp_path: Path) -> None:
    config = dataclasses.replace(
        tiny_file().experiment.variants[0].training,
        outcome="gain",
        search=ExitConfig(iterations=2, prior_weight=3.0, first_play_urgency=True),
        self_play=SelfPlayConfig(method="apprentice", values_after=0.5),
        exploration=ExplorationConfig(distribution="visits", completed=False),
        targets=TargetsConfig(method="terminal"),
        network=NetworkConfig(architecture="mlp", layers=1, neurons=8, policy="auto"),
    )
    done = train("tic_tac_toe", config, tmp_path / "exit").checkpoint
    play = PlayConfig(search=ExitConfig(iterations=5), decision="search")
    agent = player_of(done, play, 0)
    assert isinstance(agent.search, ExItMCTS)
    assert (agent.search.selection, agent.decision) == (ExItUCT(0.05, 3.0, 0.75, True), safest)
    said = player_of(
        done, dataclasses.replace(play, search=ExitConfig(iterations=5, prior_weight=7.0, value_weight=0.5)), 0
    )
    assert isinstance(said.search, ExItMCTS)
    assert said.search.selection == ExItUCT(0.05, 7.0, 0.5, True)
    early = player_of(train("tic_tac_toe", config, tmp_path / "early", stop=lambda: True).checkpoint, play, 0)
    assert isinstance(early.search, ExItMCTS)
    assert early.search.selection == ExItUCT(0.05, 3.0, 0.0, True), "values that are not learned yet do not count"


def test_gumbel_plays_its_own_decision_without_noise(tmp_path: Path) -> None:
    config = dataclasses.replace(
        tiny_file().experiment.variants[0].training,
        outcome="gain",
        search=GumbelConfig(iterations=4, root_noise=1.0, considered_actions=3),
        exploration=ExplorationConfig(distribution="search", completed=False),
        targets=TargetsConfig(method="terminal"),
        network=NetworkConfig(architecture="mlp", layers=1, neurons=8, policy="auto"),
    )
    done = train("tic_tac_toe", config, tmp_path / "gumbel").checkpoint
    agent = player_of(done, PlayConfig(search=GumbelConfig(iterations=5), decision="search"), 0)
    assert isinstance(agent.search, GumbelMCTS)
    assert (agent.search.considered_actions, agent.search.root_noise, agent.decision) == (3, 0.0, gumbel_choice)


def test_every_pairing_is_played_with_both_colours_from_the_same_openings(tiny_experiment: Path) -> None:
    pairings: dict[Any, list[dict[str, Any]]] = {}
    for row in rows(tiny_experiment):
        pairings.setdefault((row["game"], *row["agents"]), []).append(row)
    assert len(rows(tiny_experiment)) == MATCHES
    assert len(pairings) == MATCHES // 4
    for played in pairings.values():
        assert sorted((row["number"], row["colour"]) for row in played) == [(0, 0), (0, 1), (1, 0), (1, 1)]
        openings = {(row["number"], *row["actions"][: row["opening_plies"]]) for row in played}
        assert len(openings) == len({opening[1:] for opening in openings}) == 2


def test_every_game_can_be_replayed_and_counts_as_it_ended(tiny_experiment: Path) -> None:
    plan, matches = Plan(tiny_file().experiment), [*read_matches(tiny_experiment / "matches.jsonl")]
    for match, result in zip(matches, results(tiny_experiment), strict=True):
        match.require_true()
        assert match.agents == (str(result.pairing.a), str(result.pairing.b))
        assert result.points == (1 + match.result.returns[match.colour]) / 2
        for one, spec in zip((result.pairing.a, result.pairing.b), match.specs, strict=True):
            assert isinstance(one, Entrant)
            training = plan.training(result.pairing.game, one.variant, one.repetition)
            assert spec == stage_path(training.folder, one.stage).as_posix()


def test_each_player_of_a_pairing_has_its_own_network_and_way_to_play() -> None:
    play = PlayConfig(search=UbfmConfig(iterations=2))
    file = tiny_file(
        'search.algorithm = "ubfm"', 'search.algorithm = "ubfm"\nplay = {algorithm = "ubfm", iterations = 2}'
    )
    plan, descent, ubfm = Plan(file.experiment), Entrant("descent", 2, 1), Entrant("ubfm", 1, 2)
    pairing = Pairing("tic_tac_toe", descent, ubfm)
    assert plan.training("tic_tac_toe", "descent", 2).folder == Path("trainings/tic_tac_toe/descent/2")
    assert (plan.play(pairing, descent), plan.play(pairing, ubfm)) == (PlayConfig(), play)


@pytest.mark.parametrize(("spacing", "expected"), [("equal", [2, 4, 6, 8]), ("doubling", [1, 2, 4, 8])])
def test_stages_are_shares_of_a_training(spacing: Spacing, expected: list[int], tmp_path: Path) -> None:
    file = tiny_file("matches = 4\nmatches_at_once = 2", "matches = 8\nmatches_at_once = 1")
    training = Plan(file.experiment).trainings()[0]
    shares = ProtocolConfig(stages=4, spacing=spacing).shares()
    TrainingTask(tmp_path / "run", training.game, shared_cores(training.config, 1), shares).run(print, lambda: False)
    stages = [read_header(stage_path(tmp_path / "run", stage)).counters.matches for stage in (1, 2, 3, 4)]
    assert stages == expected


def test_pairings_are_distinct_and_between_two_networks() -> None:
    pairings = list(Plan(tiny_file().experiment).pairings())
    assert len({(p.game, frozenset((p.a, p.b))) for p in pairings}) == len(pairings) == MATCHES // 4
    assert all(p.a != p.b for p in pairings)
    first = pairings[0]
    assert first == Pairing("tic_tac_toe", Entrant("descent", 1, 2), Entrant("ubfm", 1, 2))


def test_final_networks_may_meet_their_own_repetition_alone() -> None:
    plan = Plan(tiny_file("opening_plies = 1", 'opening_plies = 1\nopponents = "repetition"').experiment)
    finals = [p for p in plan.pairings() if p.a.stage == p.b.stage]
    assert len(finals) == 4
    assert all(p.a.repetition == p.b.repetition for p in finals)


def test_the_report_is_written(tiny_experiment: Path) -> None:
    text = (tiny_experiment / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# `tiny`\n\n2 variants, 2 games, 2 repetitions; each training lasts 4 games.")
    assert "a draw counting half" in text
    assert "Not finished" not in text
    final = table(tiny_experiment / "final.csv")
    assert [(line["game"], line["variant"]) for line in final] == [
        (game, variant) for variant in ("descent", "ubfm") for game in ("tic_tac_toe", "mnk(m=3,n=4,k=3)", "mean")
    ]
    assert {line["stage"] for line in table(tiny_experiment / "curves.csv")} == {"1", "2"}
    assert len(table(tiny_experiment / "head_to_head.csv")) == 2
    assert [line["matches"] for line in table(tiny_experiment / "training.csv")] == ["4.0"] * 4
    for name in ("final.png", "curves.png"):
        assert (tiny_experiment / name).read_bytes().startswith(PNG)
    assert (tiny_experiment / "experiment.toml").read_text(encoding="utf-8") == TINY
    described = json.loads((tiny_experiment / "experiment.json").read_text(encoding="utf-8"))
    assert described["athenan_spiel"] == athenan_spiel.__version__
    assert described["experiment"]["variants"][1]["training"]["search"]["algorithm"] == "ubfm"


def test_points_of_the_report_are_those_of_the_matches(tiny_experiment: Path) -> None:
    finals = [
        (result, result.pairing.b)
        for result in results(tiny_experiment)
        if isinstance(result.pairing.b, Entrant)
        and result.pairing.a.stage == result.pairing.b.stage
        and result.pairing.game == "tic_tac_toe"
    ]
    points = [result.points for result, _ in finals if result.pairing.a.variant == "descent"]
    points += [1 - result.points for result, b in finals if b.variant == "descent"]  # both sides of its own matches
    (line,) = [
        x for x in table(tiny_experiment / "final.csv") if (x["game"], x["variant"]) == ("tic_tac_toe", "descent")
    ]
    assert int(line["matches"]) == len(points)
    assert float(line["points"]) == pytest.approx(sum(points) / len(points), abs=1e-6)


def test_a_comment_does_not_change_the_experiment(tiny_experiment: Path) -> None:
    assert report(tiny_file("repetitions = 2", "repetitions = 2  # few"), tiny_experiment).complete


def test_a_report_needs_an_experiment(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected the folder of a finished or stopped"):
        report(tiny_file(), tmp_path / "none")


def test_at_least_one_process(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="processes must be at least 1, got 0"):
        run_tiny(tmp_path / "x", processes=0)


def test_differences_name_the_path() -> None:
    old = {"a": {"b": [1, 2]}, "v": [{"name": "x", "n": 1}]}
    assert list(differences(old, old)) == []
    assert list(differences(old, {"a": {"b": [1, 3]}, "v": [{"name": "x", "n": 2}]})) == [
        "a.b is 2, and here 3",
        "v.x.n is 1, and here 2",
    ]


def test_threads_are_shared_among_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.experiments.run.cores", lambda: 16)
    (variant, _) = tiny_file().experiment.variants
    config = shared_cores(variant.training, 2)
    assert (config.engine.threads, config.learner.threads, config.warm_up.processes) == (4, 4, 8)
    config = shared_cores(variant.training, 16)
    assert (config.engine.threads, config.learner.threads, config.warm_up.processes) == (1, 1, 1)


class Doing:
    """A task for `do_tasks` that ends in the given way."""

    keeps_results: ClassVar[bool] = True
    processes_option: ClassVar[str] = "--processes"

    def __init__(self, what: str) -> None:
        self.what = what

    def run(self, tell: Callable[[str], None], stop: Callable[[], bool]) -> bool:
        tell(f"began {self.what}")
        if self.what == "fail":
            raise ConfigError("it failed")
        if self.what == "die":
            os._exit(3)
        if self.what == "disk":
            raise OSError(errno.ENOSPC, "No space left on device", "x/y")
        if self.what == "memory":
            raise MemoryError
        while self.what == "go on for ever" or (self.what == "wait" and not stop()):
            time.sleep(0.01)
        return self.what != "wait"


class Dropped(Doing):
    """A task that has nothing to save when it is stopped."""

    keeps_results: ClassVar[bool] = False
    processes_option: ClassVar[str] = "--processes"


@pytest.mark.usefixtures("forked_workers")
def test_tasks_without_state_are_not_waited_for() -> None:
    heard: list[str] = []

    def on_report(task: Doing, said: str) -> None:
        heard.append(said)
        if len(heard) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        do_tasks([Dropped("go on for ever"), Doing("wait"), Doing("later")], 2, on_report, lambda task: None)
    assert sorted(heard) == ["began go on for ever", "began wait"]


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("fail", ConfigError, "it failed"),
        ("die", ExperimentError, "ended with code 3"),
        (
            "disk",
            ExperimentError,
            "^x/y: No space left on device; finished work is kept: run the command again to continue$",
        ),
        ("memory", ExperimentError, "^memory ran out; finished work is kept: start again with fewer --processes"),
    ],
)
def test_an_error_in_one_process_stops_the_others(what: str, error: type[Exception], message: str) -> None:
    heard: list[str] = []
    done: list[str] = []
    tasks = [Doing("wait"), Doing(what), Doing("later")]
    with pytest.raises(error, match=message):
        do_tasks(tasks, 2, lambda task, said: heard.append(said), lambda task: done.append(task.what))
    assert "began later" not in heard
    assert done == []


@pytest.mark.parametrize(("what", "message"), [("disk", "x/y: No space left"), ("memory", "memory ran out")])
def test_system_errors_in_this_process_are_reported_the_same_way(what: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=f"^{message}"):
        do_tasks([Doing(what)], 1, lambda task, said: None, lambda task: None)


def test_processes_that_cannot_be_started_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(process: BaseProcess) -> None:
        if started:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        started.append(process)
        begin(process)

    kind = processes.spawn_context().Process
    begin = kind.start
    monkeypatch.setattr(kind, "start", start)
    with pytest.raises(
        ExperimentError,
        match=r"^only 1 of 3 processes could be started \(Resource temporarily unavailable\): use fewer",
    ):
        do_tasks([Doing("wait")] * 3, 3, lambda task, said: None, lambda task: None)
    assert not started[0].is_alive()


def test_ctrl_c_saves_and_names_the_command_to_continue(tiny_experiment: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY.replace("[training]\nmatches = 4", "[training]\nseconds = 3600"))
    command = [sys.executable, "-m", "athenan_spiel", "experiment", "tiny.toml", "--folder", "x", "--processes", "2"]
    root = str(Path(athenan_spiel.__file__).resolve().parent.parent)
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + HANG_SECONDS
        while not list((tmp_path / "x").glob("trainings/*/*/*/checkpoints/0*")) and time.monotonic() < until:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "stopped; continue with: athenan experiment tiny.toml --folder x --processes 2"
    assert "Traceback" not in err
    assert list((tmp_path / "x").glob("trainings/*/*/*/checkpoints/0*"))


def test_the_command_prints_a_table_or_json(tiny_experiment: Path, tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["experiment", str(tmp_path / "tiny.toml"), "--folder", str(tiny_experiment)]
    assert main([*words, "--processes", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0] == "|  | `descent` | `ubfm` |"
    assert captured.err.splitlines()[-1] == f"report: {tiny_experiment / 'report.md'}"
    assert main([*words, "--report", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["complete"] is True
    assert len(printed["final"]) == 6


def test_the_command_checks_a_file(tmp_path: Path, capsys: Out) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert main(["experiment", str(path), "--check"]) == 0
    assert capsys.readouterr().err == f"{path} is valid: {TRAININGS} trainings, then {MATCHES} games\n"
    path.write_text(TINY.replace("stages = 2", "stage = 2"))
    assert main(["experiment", str(path), "--check"]) == 2
    assert capsys.readouterr().err == (
        f"athenan experiment: {path}, line 7: protocol.stage is not a setting: did you mean 'stages'?\n"
    )
    assert main(["experiment", str(path), "--check", "--report"]) == 2
    assert "expected --check or --report, got both" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def in_short(file: ExperimentFile) -> ExperimentFile:
    """The experiment with counts of 1 or 2 and the smallest of networks."""
    variants = []
    for variant in file.experiment.variants:
        training = dataclasses.replace(
            variant.training,
            seconds=None,
            matches=2,
            matches_at_once=2,
            search=dataclasses.replace(variant.training.search, seconds=None, iterations=2),
            network=dataclasses.replace(variant.training.network, filters=2, neurons=2),
        )
        if training.warm_up.states is not None:
            states = training.warm_up.states // 10_000  # that variants stay different
            training = dataclasses.replace(training, warm_up=dataclasses.replace(training.warm_up, states=states))
        play = variant.play
        if play.search.algorithm != "minimax":
            play = dataclasses.replace(play, search=dataclasses.replace(play.search, seconds=None, iterations=2))
        variants.append(dataclasses.replace(variant, training=training, play=play))
    file.experiment = dataclasses.replace(
        file.experiment,
        repetitions=1,
        protocol=dataclasses.replace(file.experiment.protocol, matches=2, resamples=10),
        variants=tuple(variants),
    )
    return file


@pytest.mark.slow("trains and plays every variant of every ready experiment")
@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_the_ready_experiments_run(path: Path, tmp_path: Path) -> None:
    found = run_tiny(tmp_path / path.stem, file=in_short(read_experiment(path)))
    assert found.complete
    variants = {variant.name for variant in found.experiment.variants}
    shares = found.final or found.fixed  # where they meet [fixed] alone
    assert {share.variant for share in shares if share.game == "mean"} == variants


@pytest.mark.parametrize("name", ["pig(players=2)", "go(board_size=7)"])
def test_settings_that_were_fitted_to_a_game_are_no_other_training(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that is resumed after a training compares it with the settings before the fit."""
    monkeypatch.setattr("athenan_spiel.training.fitting.explained_by_inputs", lambda *_: 1.0)
    game, settings = load_game(name), preset("quick")
    fitted_game, fitted, _ = fit_to(game, settings, measure(game), FITTED, elapsed=lambda: 1.0)
    assert fitted != settings
    assert (fitted.warm_up.seconds is None) == name.startswith("pig"), "TD(λ) has no warm-up"
    require_same_training(Path("run"), (str(fitted_game), fitted), (str(game), settings), fits=True)
    parts: list[dict[str, Any]] = [
        {"learner": dataclasses.replace(fitted.learner, l2=0.5)},
        {"warm_up": WarmUpConfig(states=9)},
    ]
    for part in parts:
        other = dataclasses.replace(fitted, **part)
        with pytest.raises(CheckpointError, match="other training settings"):
            require_same_training(Path("run"), (str(fitted_game), other), (str(game), settings), fits=True)

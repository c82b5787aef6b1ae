"""An agent as one file: it plays as its run does, and whatever else is in such a file is refused in a line."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import safetensors
import safetensors.torch
import torch
from agent_files import edit_agent, joined, parts, sample_agent, with_header
from command_line import complaint
from training_runs import EVALUATED, TIC_TAC_TOE, TINY

import agents
import athenan_spiel as ath
from athenan_spiel.cli.main import main
from athenan_spiel.config import (
    DescentConfig,
    EncodingConfig,
    ExitConfig,
    ExplorationConfig,
    MemoryConfig,
    NetworkConfig,
    PuctConfig,
    SelfPlayConfig,
    TargetsConfig,
    TrainingConfig,
)
from athenan_spiel.errors import AgentError, CheckpointError
from athenan_spiel.outcomes.calibration import default_calibration
from athenan_spiel.training import exporting, loading
from athenan_spiel.training.agent_file import FORMAT, KEY, MOST_HEADER, VERSION, read_agent_file, read_agent_header
from athenan_spiel.training.callbacks.metrics import as_record, now
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.events import EvaluationFinished
from athenan_spiel.training.loading import agent_path, default_search, game_of
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")

SMALL = dataclasses.replace(
    TINY, matches=2, matches_at_once=2, search=DescentConfig(iterations=1), network=NetworkConfig(filters=8, neurons=16)
)
POLICY = dataclasses.replace(
    SMALL,
    outcome="gain",
    search=PuctConfig(iterations=4, root_noise=0.25, exploration_constant=2.0),
    exploration=ExplorationConfig(distribution="visits", completed=False, plies=4),
    targets=TargetsConfig(method="terminal"),
    network=NetworkConfig(architecture="r1", layers=1, filters=4, neurons=8, policy="auto"),
)
EXIT = dataclasses.replace(
    POLICY,
    search=ExitConfig(iterations=4),
    self_play=SelfPlayConfig(method="apprentice", values_after=0.9),
    exploration=ExplorationConfig(),
    matches=4,
)
TRAININGS: dict[str, tuple[str, TrainingConfig]] = {
    "Connect Four": ("connect_four", SMALL),
    "Hex with edges": ("hex(board_size=5)", dataclasses.replace(SMALL, encoding=EncodingConfig(edges=True))),
    "Othello by score": ("othello", dataclasses.replace(SMALL, outcome="score")),
    "Breakthrough, residual": (
        "breakthrough(rows=6,columns=6)",
        dataclasses.replace(SMALL, network=NetworkConfig(architecture="r2", layers=1, filters=8, neurons=8)),
    ),
    "a policy on cells": ("hex(board_size=4)", POLICY),
    "a policy and playouts": ("tic_tac_toe", EXIT),
}


def moves(agent: ath.Agent, plies: int = 12) -> list[tuple[int, float, bytes]]:
    """What an agent plays against itself after two random actions, and what it thinks of it."""
    rng, state, found = random.Random(5), agent.game.new_initial_state(), []
    for _ in range(2):
        state.apply_action(rng.choice(state.legal_actions()))
    while not state.is_terminal() and len(found) < plies:
        action = agent.step(state)
        assert agent.result is not None
        found.append((action, agent.result.value, np.asarray(agent.result.values).tobytes()))
        state.apply_action(action)
    return found


@pytest.mark.parametrize("name", TRAININGS)
def test_the_file_plays_as_the_run_does_to_the_bit(name: str, tmp_path: Path) -> None:
    game, config = TRAININGS[name]
    run = ath.train(ath.load_game(game), config, tmp_path / "run")
    file = ath.export_agent(run.folder, tmp_path / "agent.safetensors")
    for word in (None, "mcts(0.5)"):
        budget = ath.Budget(iterations=6)
        ours, theirs = (ath.load_agent(x, budget=budget, seed=3, search=word) for x in (file, run.folder))
        played = moves(ours)
        assert played == moves(theirs)
        assert len(played) >= 3
        assert vars(ours.search).keys() == vars(theirs.search).keys()
    header, weights = read_agent_file(file)
    assert (header.game, default_search(header)) == (
        str(ath.load_game(game)),
        default_search(read_header(run.checkpoint)),
    )
    before = read_weights(run.checkpoint)
    assert {key: value.numpy().tobytes() for key, value in weights.items()} == {
        key: value.numpy().tobytes() for key, value in before.items()
    }


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole file, to be left as it is."""
    return ath.export_agent(tiny_run, tmp_path_factory.mktemp("exported") / "ttt.safetensors")


@pytest.fixture
def file(exported: Path, tmp_path: Path) -> Path:
    path = tmp_path / "agent.safetensors"
    path.write_bytes(exported.read_bytes())
    return path


def test_others_read_it_as_safetensors(file: Path) -> None:
    with safetensors.safe_open(file, "pt") as opened:
        told = json.loads(opened.metadata()[KEY])
        names = sorted(opened.keys())
    assert told["format"] == FORMAT
    assert told["game"] == "tic_tac_toe()"
    assert told["counters"]["matches"] == 12
    assert told["settings"]["network"]["neurons"] == 16
    assert names == sorted(read_agent_file(file)[1])


def test_equal_runs_give_equal_files(tiny_run: Path, exported: Path, tmp_path: Path) -> None:
    again = ath.export_agent(tiny_run, tmp_path / "again.safetensors")
    assert again.read_bytes() == exported.read_bytes()


def test_what_is_the_machines_is_not_in_it(tmp_path: Path) -> None:
    evaluation = dataclasses.replace(EVALUATED.evaluation, opponents=("gtp:/home/me/secret --x", "random"))
    config = dataclasses.replace(SMALL, memory=MemoryConfig(bytes=8_000_000_000), evaluation=evaluation)
    folder = RunFolder(tmp_path / "secret")
    run = ath.train(TIC_TAC_TOE, dataclasses.replace(config, evaluation=SMALL.evaluation), folder.path)
    with folder.locked():
        checkpoint = folder.load()
        assert checkpoint is not None
        folder.save_header(run.checkpoint, dataclasses.replace(checkpoint.header, config=config))
    line = json.dumps({"event": "evaluation_finished", **EVALUATION, "opponent": "gtp:/home/me/secret --x"})
    (folder.path / "metrics.jsonl").open("a").write(f"{line}\n")
    data = ath.export_agent(folder.path, tmp_path / "agent.safetensors").read_bytes()
    assert b"secret" not in data
    assert str(tmp_path).encode() not in data
    told, _, _ = parts(data)
    assert {"evaluation", "workers", "memory"}.isdisjoint(told["settings"])
    assert told["settings"]["engine"] == {"name": "torch", "precision": "float32", "threads": None}
    assert told["strength"] == []


EVALUATION = {
    "matches": 2, "opponent": "mcts:2", "wins": 3, "draws": 1, "losses": 0, "points": 0.875, "low": 0.4, "high": 0.99,
    "confidence": 0.95,
}  # fmt: skip


def evaluated(run: Path, matches: int, opponent: str, points: float) -> None:
    """Let the metrics of a run tell of an evaluation."""
    event = EvaluationFinished(
        matches=matches, opponent=opponent, wins=int(4 * points), draws=0, losses=4 - int(4 * points), points=points,
        low=points - 0.2, high=points + 0.2, confidence=0.95, forfeits=0, evaluation_seconds=1.0,
    )  # fmt: skip
    with (run / "metrics.jsonl").open("a") as metrics:
        metrics.write(json.dumps(as_record(event, now())) + "\n")


def test_its_strength_is_what_the_run_has_measured_and_nothing_else(tiny_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    assert read_agent_header(ath.export_agent(run, tmp_path / "none.safetensors")).strength == ()
    for matches, points in ((6, 0.25), (12, 0.5), (15, 1.0)):
        evaluated(run, matches, "mcts:100", points)
        evaluated(run, matches, "random", points)
    evaluated(run, 6, "uct:5", 1.0)
    header = read_agent_header(ath.export_agent(run, tmp_path / "agent.safetensors"))
    assert [(told["opponent"], told["matches"], told["points"]) for told in header.strength] == [
        ("mcts:100", 12, 0.5),
        ("random", 12, 0.5),
    ], "of this network, or else of one before it"
    assert {told["agent"] for told in header.strength} == {"ubfm_k@0.1s"}
    assert header.strength[0]["wins"] == 2


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        json.dumps({"event": "evaluation_finished"}),
        json.dumps({"event": "evaluation_finished", **EVALUATION, "points": "x"}),
        json.dumps({"event": "evaluation_finished", **EVALUATION, "matches": 9}),
        json.dumps({"event": "evaluation_finished", **EVALUATION, "opponent": "runs/other#5"}),
    ],
)
def test_lines_of_metrics_that_say_nothing_of_it_are_passed_over(line: str, tmp_path: Path) -> None:
    run = ath.train(TIC_TAC_TOE, SMALL, tmp_path / "run")
    with (run.folder / "metrics.jsonl").open("a") as metrics:
        metrics.write(f"{json.dumps({'event': 'evaluation_finished', **EVALUATION})}\n{line} evaluation_finished\n")
        metrics.write(f"{line}\n")
    (only,) = exporting.measured_strength(run.checkpoint, read_header(run.checkpoint))
    assert EVALUATION.items() <= only.items()
    (run.folder / "metrics.jsonl").unlink()
    assert exporting.measured_strength(run.checkpoint, read_header(run.checkpoint)) == []
    (run.folder / "metrics.jsonl").symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match=r"metrics.jsonl cannot be read: it is a link"):
        ath.export_agent(run.folder, tmp_path / "agent.safetensors")


def test_a_run_that_is_being_trained_is_exported(tmp_path: Path) -> None:
    written: list[Path] = []

    def at_a_checkpoint(event: Any) -> None:
        if type(event).__name__ == "CheckpointWritten":
            written.append(ath.export_agent(tmp_path / "run", tmp_path / f"{len(written)}.safetensors"))

    run = ath.train(TIC_TAC_TOE, TINY, tmp_path / "run", callbacks=[at_a_checkpoint])
    assert [read_agent_header(written[at]).counters.matches for at in (0, -1)] == [0, run.matches]


def test_a_checkpoint_that_is_gone_by_now_is_none(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is read, the run may write two newer ones and remove it."""
    newest = agent_path(tiny_run)
    paths = iter([tiny_run / "gone", newest])
    monkeypatch.setattr(loading, "agent_path", lambda *_: next(paths))
    assert loading.read_agent(tiny_run)[0] == newest
    monkeypatch.setattr(loading, "agent_path", lambda *_: tiny_run / "gone")
    with pytest.raises(CheckpointError, match=r"gone is damaged: state.json cannot be read"):
        loading.read_agent(tiny_run)


def test_nothing_is_written_over_unasked(exported: Path, tiny_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("mine")
    with pytest.raises(CheckpointError, match=r"kept' exists: choose another name, or use --overwrite"):
        ath.export_agent(tiny_run, path)
    assert path.read_text() == "mine"
    assert ath.export_agent(tiny_run, path, overwrite=True).read_bytes() == exported.read_bytes()
    with pytest.raises(CheckpointError, match="expected the name of a new file, got the folder"):
        ath.export_agent(tiny_run, tmp_path, overwrite=True)
    with pytest.raises(CheckpointError, match=r"x' could not be written: No such file or directory"):
        ath.export_agent(tiny_run, tmp_path / "nowhere" / "x")
    with pytest.raises(CheckpointError, match=r"ttt.safetensors' is an agent file already: copy it"):
        ath.export_agent(exported, tmp_path / "another")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["kept"]


def test_the_usual_name_is_that_of_the_run(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ath.export_agent(tiny_run) == Path("ttt.safetensors")
    assert ath.export_agent(tiny_run, checkpoint=12) == Path("ttt-12.safetensors")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["ttt-12.safetensors", "ttt.safetensors"]


def test_a_file_is_taken_wherever_a_run_is(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for word in (f"{file}@2i", f"{file}:mcts(0.5)@2i", f"{file}:ponder=true@2i"):
        bot = agents.make_bot(word, TIC_TAC_TOE, 0)
        assert bot.step(TIC_TAC_TOE.new_initial_state()) in range(9)
    assert agents.parse_spec(str(file)).learned_game() == "tic_tac_toe()"
    assert main(["eval", f"{file}@2i", "--against", f"{file}:descent@2i", "--matches", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["game"] == "tic_tac_toe()"


def test_a_file_needs_no_slash(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert agents.parse_spec(f"{file.name}@0.5s").params == {"checkpoint": file.name, "seconds": 0.5}
    assert agents.parse_spec(f"{file.name}:mcts(0.5)").params == {"checkpoint": file.name, "search": "mcts(0.5)"}
    assert agents.parse_spec(file.name).params == {"checkpoint": file.name}
    with pytest.raises(AgentError, match=r"^agent files have no checkpoints, got .*: leave out '#3'$"):
        agents.parse_spec(f"{file.name}#3@1s")
    with pytest.raises(AgentError, match="leave out '#best'"):
        agents.parse_spec(f"{file.name}#best")


def test_a_file_has_no_checkpoints(file: Path) -> None:
    with pytest.raises(CheckpointError, match=r"is an agent file and has no checkpoints, got 12: leave it out"):
        ath.load_agent(file, checkpoint=12)
    with pytest.raises(CheckpointError, match=r"which does not exist$"):
        ath.load_agent(file.with_name("nowhere"))
    link = file.with_name("link")
    link.symlink_to(file)
    assert game_of(link) == "tic_tac_toe()", "the user names it"


def test_code_of_a_file_is_imported_only_where_it_is_named(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    told, _, _ = parts(file.read_bytes())
    edit_agent(file, settings={**told["settings"], "outcome": "trap:worth"})
    agent = ath.load_agent(file, budget=ath.Budget(iterations=1))
    assert "outcome 'trap:worth' is code that was not allowed" in caplog.text
    assert agent.step(TIC_TAC_TOE.new_initial_state()) in range(9)
    with pytest.raises(ath.ConfigError, match="'trap:worth' cannot be imported"):
        ath.load_agent(file, outcome="trap:worth")
    assert main(["eval", f"{file}@1i", "--against", "random", "--matches", "2", "--allow-code", "trap:worth"]) == 2


def settings_of(file: Path, table: str, **changes: Any) -> dict[str, Any]:
    settings: dict[str, Any] = parts(file.read_bytes())[0]["settings"]
    return {**settings, table: {**settings[table], **changes}}


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda file: file.write_bytes(b""), "is not an agent file: expected one written by `athenan export`"),
    "text": (lambda file: file.write_text("print('hello')\n" * 50), "is not an agent file"),
    "a picture": (lambda file: file.write_bytes(os.urandom(5000)), "is not an agent file"),
    "other safetensors": (
        lambda file: file.write_bytes(safetensors.torch.save({"x": torch.zeros(3)})),
        "is not an agent file",
    ),
    "metadata of others": (
        lambda file: file.write_bytes(joined("x", {}, b"", key="format")),
        "is not an agent file",
    ),
    "a list for metadata": (
        lambda file: file.write_bytes(with_header({"__metadata__": []}, b"")),
        "is not an agent file",
    ),
    "a list told": (lambda file: file.write_bytes(joined([1], {}, b"")), "is not an agent file"),
    "another format": (lambda file: edit_agent(file, format="another"), "is not an agent file"),
    "a newer format": (
        lambda file: edit_agent(file, version=VERSION + 1),
        rf"has format version {VERSION + 1}, and this athenan_spiel \(.*\) reads up to {VERSION}: install a newer",
    ),
    "no number for a version": (lambda file: edit_agent(file, version=True), "has format version True, and this"),
    "a header of gigabytes": (
        lambda file: file.write_bytes(struct.pack("<Q", 2**62) + file.read_bytes()[8:]),
        "is not an agent file",
    ),
    "a large header": (
        lambda file: file.write_bytes(with_header({"x": " " * MOST_HEADER}, b"")),
        r"its header has [\d,]+ bytes, more than the 1,048,576 that are read",
    ),
    "brackets": (
        lambda file: file.write_bytes(struct.pack("<Q", 10**5) + b"[" * 10**5),
        "is not an agent file",
    ),
    "truncated": (
        lambda file: file.write_bytes(file.read_bytes()[:-4]),
        r"is damaged: its weights \([\d,]+ bytes\) do not match their checksum",
    ),
    "longer": (lambda file: file.write_bytes(file.read_bytes() + b"\0"), "do not match their checksum"),
    "no game": (lambda file: edit_agent(file, game=None), "unexpected content .game must be a string"),
    "another game": (lambda file: edit_agent(file, game="chess()"), "do not fit"),
    "no such game": (lambda file: edit_agent(file, game="tic_tac"), "no game is called 'tic_tac'"),
    "no outcome": (lambda file: edit_agent(file, outcome=[]), "outcome an object"),
    "another outcome": (lambda file: edit_agent(file, outcome={"x": 1}), "expected the parameters of outcome"),
    "no settings": (lambda file: edit_agent(file, settings=5), "is damaged: its header has unexpected content"),
    "a setting out of range": (
        lambda file: edit_agent(file, settings=settings_of(file, "network", filters=10**9)),
        "network.filters must be at most 100,000, got 1000000000",
    ),
    "an unknown setting": (
        lambda file: edit_agent(file, settings=settings_of(file, "network", x=1)),
        "network.x is not a setting",
    ),
    "a network that is too large": (
        lambda file: edit_agent(
            file, settings=settings_of(file, "network", architecture="mlp", neurons=10**5, layers=1000)
        ),
        "this network needs .* GB to play",
    ),
    "a network of another shape": (
        lambda file: edit_agent(file, settings=settings_of(file, "network", neurons=17)),
        "weights do not fit",
    ),
    "no such search": (lambda file: edit_agent(file, search="ufbm"), "unexpected content .*did you mean 'ubfm'"),
    "no word": (lambda file: edit_agent(file, search=5), "unexpected content"),
    "a search for policies": (lambda file: edit_agent(file, search="puct"), "needs a network with a policy"),
    "no counters": (lambda file: edit_agent(file, counters={}), r"unexpected content \('matches'\)"),
    "counters below zero": (
        lambda file: edit_agent(file, counters={"matches": -1, "seconds": 0, "evaluations": 0, "states_learned": 0}),
        "matches must be a counter, got -1",
    ),
    "much strength": (lambda file: edit_agent(file, strength=[{}] * 101), "strength must be a list of at most 100"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told_in_a_line(name: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damage, message = DAMAGES[name]
    damage(file)
    with pytest.raises(ath.AthenanError, match=message) as raised:
        ath.load_agent(file)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1000
    said = complaint(capsys, "eval", f"{file}@1i", "--against", "random", "--matches", "2")
    assert len(said.splitlines()) == 1


def tensors_of(file: Path, change: Callable[[dict[str, Any]], object], body: bytes | None = None) -> None:
    told, tensors, numbers = parts(file.read_bytes())
    change(tensors)
    file.write_bytes(joined(told, tensors, numbers if body is None else body))


def test_tensors_are_not_believed(file: Path) -> None:
    whole = file.read_bytes()
    _, tensors, numbers = parts(whole)
    first = next(iter(tensors))
    changes: dict[str, Callable[[dict[str, Any]], object]] = {
        "cannot be read": lambda all_: all_[first].update(shape=[2**40, 2**40]),
        "cannot be read ": lambda all_: all_[first].update(data_offsets=[0, 2**62]),
        "all finite float32 numbers": lambda all_: all_[first].update(dtype="I32"),
        "do not fit": lambda all_: all_.update(renamed=all_.pop(first)),
    }
    for message, change in changes.items():
        file.write_bytes(whole)
        tensors_of(file, change)
        with pytest.raises(CheckpointError, match=message.strip()):
            ath.load_agent(file)
    file.write_bytes(whole)
    tensors_of(file, lambda _: None, b"\xff" * len(numbers))
    with pytest.raises(CheckpointError, match="its weights are not all finite float32 numbers"):
        ath.load_agent(file)


def test_what_is_no_file_is_not_waited_for(file: Path) -> None:
    fifo = file.with_name("fifo")
    os.mkfifo(fifo)
    for path in (fifo, Path("/dev/zero")):
        with pytest.raises(CheckpointError, match=r"expected the folder of a run, got .*, which is not a folder"):
            ath.load_agent(path)
        with pytest.raises(CheckpointError, match=r"cannot be read: it is no regular file"):
            read_agent_header(path)
    os.truncate(file, 10**13)  # of holes
    with pytest.raises(CheckpointError, match=r"cannot be read: it has [\d,]+ bytes, more than the [\d,]+ that are"):
        ath.load_agent(file)


def test_a_changed_bit_is_noticed(file: Path) -> None:
    whole, header = file.read_bytes(), read_agent_header(file)
    end = 8 + struct.unpack("<Q", whole[:8])[0]
    rng = random.Random(0)
    for place in [
        *range(8),
        *(rng.randrange(8, end) for _ in range(150)),
        *(rng.randrange(end, len(whole)) for _ in range(20)),
    ]:
        data = bytearray(whole)
        data[place] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        try:
            agent = ath.load_agent(file)
        except CheckpointError:
            continue
        assert read_agent_header(file) == header, "white space alone may change"
        assert agent.network is not None


def test_a_sample_without_a_network_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sample"
    path.write_bytes(sample_agent(TINY))
    assert read_agent_header(path).counters.matches == 12
    with pytest.raises(CheckpointError, match="do not fit"):
        ath.load_agent(path)
    assert isinstance(ath.load_game(game_of(path)), pyspiel.Game)


def test_expected_scores_are_those_of_the_run(tmp_path: Path, tiny_run: Path) -> None:
    """The games of a run calibrate its agents, its exported file too; proven positions don't count."""
    header = read_header(agent_path(tiny_run))
    assert header.config.outcome != "gain"
    counted = header.calibration.by_value[:, 0].sum()
    assert 0 < counted < 9 * header.counters.matches
    exported = ath.export_agent(tiny_run, tmp_path / "agent")
    assert read_agent_header(exported).calibration == header.calibration
    for source in (tiny_run, exported):
        search = ath.load_agent(source).search
        assert search.calibration == header.calibration.fit(search.game, search.outcome)
        assert search.calibration.slope is not None


def test_a_file_of_an_earlier_version_has_the_usual_calibration(tmp_path: Path, tiny_run: Path) -> None:
    exported = ath.export_agent(tiny_run, tmp_path / "agent")
    edit_agent(exported, calibration=None)
    search = ath.load_agent(exported).search
    assert search.calibration == default_calibration(search.game, search.outcome)


@pytest.mark.parametrize("wrong", [3, {}, {"by_value": 1, "by_score": 2}])
def test_a_wrong_calibration_is_refused(wrong: Any, tmp_path: Path, tiny_run: Path) -> None:
    exported = ath.export_agent(tiny_run, tmp_path / "agent")
    edit_agent(exported, calibration=wrong)
    with pytest.raises(CheckpointError, match=r"calibration"):
        ath.load_agent(exported)

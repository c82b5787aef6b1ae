"""Game strings on the command line and in the files that it reads: what is wrong with one is said in a line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from agent_files import edit_agent
from command_line import TINY, Out, complaint
from experiment_runs import TINY as EXPERIMENT

from athenan_spiel.cli.main import main
from athenan_spiel.games import all_games
from athenan_spiel.training.checkpoints import signed

pytestmark = pytest.mark.usefixtures("forked_workers")

DEEP = "misere(game=" * 100 + "tic_tac_toe()" + ")" * 100
REFUSED = {
    DEEP: "more than 50 brackets are nested",
    "normal_form_extensive_game(game=tic_tac_toe())": "its players move at the same time; it is a one-shot game",
}
TOURNAMENT = """\
name = "two"
games = ["tic_tac_toe"]
matches = 2
[agents]
one = "random"
two = "mcts:2"
"""

every_refused = pytest.mark.parametrize(("spec", "reason"), REFUSED.items(), ids=("deep", "normal form"))


@every_refused
@pytest.mark.parametrize(
    "words",
    [
        ["train", "GAME", "--folder", "FOLDER/run"],
        ["solve", "GAME"],
        ["bench", "GAME"],
        ["play", "random", "--game", "GAME"],
        ["play", "random", "--game", "GAME", "--web"],
        ["eval", "random", "--against", "mcts:2", "--game", "GAME"],
        ["tournament", "random", "mcts:2", "--game", "GAME"],
        ["gtp", "random", "--game", "GAME"],
        ["uci", "random", "--game", "GAME"],
    ],
    ids=lambda words: words[0] + ("" if words[-1] != "--web" else " on the web"),
)
def test_a_game_that_cannot_be_had_is_refused_on_the_command_line(
    capsys: Out, tmp_path: Path, words: list[str], spec: str, reason: str
) -> None:
    said = complaint(capsys, *(word.replace("GAME", spec).replace("FOLDER", str(tmp_path)) for word in words))
    assert reason in said
    assert len(said) < 500


@every_refused
def test_a_game_that_cannot_be_had_is_refused_in_every_file(
    trained: Path, capsys: Out, tmp_path: Path, spec: str, reason: str
) -> None:
    folder, agent, matches = tmp_path / "run", tmp_path / "a.safetensors", tmp_path / "m.jsonl"
    assert main(["export", str(trained), "--file", str(agent)]) == 0
    words = ["eval", f"{trained}@2i", "--against", "random", "--matches", "2", "--save", str(matches), "--json"]
    assert main(words) == 0
    edit_agent(agent, game=spec)
    lines = [json.dumps({**json.loads(line), "game": spec}) for line in matches.read_text().splitlines()]
    matches.write_text("\n".join(lines))
    shutil.copytree(trained, folder)
    for path in (*folder.rglob("config.toml"), *folder.rglob("*.json")):
        written = path.read_text().replace("tic_tac_toe()", spec)
        path.write_text(written) if path.suffix == ".toml" else path.write_bytes(signed(json.loads(written)))
    tournament, experiment = tmp_path / "t.toml", tmp_path / "e.toml"
    tournament.write_text(TOURNAMENT.replace("tic_tac_toe", spec))
    experiment.write_text(EXPERIMENT.replace("tic_tac_toe", spec))
    for words in (
        ["eval", str(agent), "--against", "random"],
        ["play", str(agent)],
        ["eval", str(folder), "--against", "random"],
        ["resume", str(folder), "--matches", "9"],
        ["solve", "tic_tac_toe", "--run", str(folder)],
        ["replay", str(matches)],
        ["tournament", str(tournament), "--folder", str(tmp_path / "t")],
        ["experiment", str(experiment), "--folder", str(tmp_path / "e")],
    ):
        said = complaint(capsys, *words)
        assert reason in said, words
        assert len(said) < 800, words


def test_rejections_are_counted_by_reason(capsys: Out) -> None:
    assert main(["games", "--why", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["count"] for row in rows] == sorted((len(row["games"]) for row in rows), reverse=True)
    assert {(row["reason"], game) for row in rows for game in row["games"]} == {
        (reason, game.short_name) for game in all_games() for reason in game.reasons
    }
    assert main(["games", "--why", "dark"]) == 0
    text = capsys.readouterr().out
    assert "3 of 3 games cannot be trained" in text
    assert "it hides information" in text
    assert main(["games", "--why", "othello"]) == 0
    assert capsys.readouterr().out == "The game can be trained.\n"


@pytest.mark.parametrize("game", ["mnk(m=3,n=3)", "misere(game=mnk(m=3,n=3))"])
def test_an_agent_of_a_game_that_reads_its_defaults_late_plays_it(capsys: Out, tmp_path: Path, game: str) -> None:
    folder = str(tmp_path / "run")
    assert main(["train", game, "--matches", "2", "--folder", folder, *TINY]) == 0
    capsys.readouterr()
    written_out = game.replace("n=3", "n=3,k=5")
    for given in ([], ["--game", game], ["--game", written_out]):
        words = ["eval", f"{folder}@1i", "--against", "random", f"{folder}#0@1i", "--matches", "2", "--json", *given]
        assert main(words) == 0
        answer = json.loads(capsys.readouterr().out)
        assert [comparison["matches"] for comparison in answer["comparisons"]] == [2, 2]
    assert main(["solve", game, "--run", folder, "--time", "1s"]) in (0, 1, 2, 3)
    assert "expected a run of" not in capsys.readouterr().err
    other = complaint(capsys, "eval", f"{folder}@1i", "--against", "random", "--game", "mnk(m=3,n=3,k=2)")
    assert f"learned {game!r} and cannot play 'mnk(k=2,m=3,n=3)'" in other

"""Every example and every benchmark runs from end to end with its smallest counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import forking
import pytest

from ludii_bridge import LudiiError, installation

ROOT = Path(__file__).resolve().parent.parent
SMALLEST = {
    **{f"examples/{script.name}": ["--dry-run"] for script in (ROOT / "examples").glob("*.py")},
    "benchmarks/checkpoint_pause.py": [
        *("--game", "tic_tac_toe", "--states", "2000", "--seconds", "2", "--spacing", "0.5", "--workers", "1")
    ],
    "benchmarks/commands.py": ["--dry-run", "--before", str(ROOT)],
    "benchmarks/engines.py": ["--quick"],
    "benchmarks/fingerprints.py": ["--only", "Ludii, by the fake"],
    "benchmarks/hex5.py": ["--dry-run"],
    "benchmarks/learner.py": ["--phases", "1", "--games", "tic_tac_toe"],
    "benchmarks/learner_side.py": [
        *("tic_tac_toe", "--record", "1", "--matches", "1", "--seconds", "0.5", "--actors", "1", "64")
    ],
    "benchmarks/learners_ddp.py": ["tic_tac_toe", "--steps", "2"],
    "benchmarks/lost_games.py": ["--dry-run"],
    "benchmarks/move_times.py": ["--dry-run", "--agents", "ubfm_s", "openspiel-uct"],
    "benchmarks/learning_in_play.py": ["tic_tac_toe", "--dry-run"],
    "benchmarks/learning_thread.py": ["--seconds", "0.2", "--games", "tic_tac_toe"],
    "benchmarks/ludii_children.py": ["--dry-run"],
    "benchmarks/ludii_merging.py": ["--dry-run", "--drawn", "3"],
    "benchmarks/ludii_oracle.py": ["--dry-run"],
    "benchmarks/perfect_play.py": ["dots_and_boxes(num_rows=3,num_cols=3)", "random", "mcts:2", "--positions", "3"],
    "benchmarks/pig.py": ["4", "random", "mcts:2"],
    "benchmarks/predicted_results.py": ["--dry-run"],
    "benchmarks/replay_memory.py": ["--states", "200", "--matches", "2", "--game", "tic_tac_toe"],
    "benchmarks/selfplay.py": ["--seconds", "0.2", "--games", "tic_tac_toe"],
    "benchmarks/soak.py": ["--games", "tic_tac_toe", "--minutes", "0.25", "--turn", "5"],
    "benchmarks/solved_positions.py": [
        *("dots_and_boxes(num_rows=3,num_cols=3)", "--sources", "random", "--count", "1")
    ],
    "benchmarks/strength.py": ["--dry-run"],
    "benchmarks/transpositions.py": ["--games", "tic_tac_toe"],
    "benchmarks/workers.py": ["tic_tac_toe", "--workers", "0", "1", "--seconds", "8", "--pairs", "1"],
}


LONG = {
    "benchmarks/checkpoint_pause.py": "two runs with workers, fifteen seconds",
    "benchmarks/commands.py": "commands of two library versions, each in a process of its own",
    "benchmarks/learner_side.py": "a recorded run and a learner beside actors, fourteen seconds",
    "benchmarks/learners_ddp.py": "three groups of processes, thirteen seconds",
    "benchmarks/soak.py": "each game's least time, fifteen seconds",
    "benchmarks/workers.py": "measures trainings of eight seconds, too few on a busy machine",
}
"""Why these take so long even so."""


def _scripts() -> list[Any]:
    return [pytest.param(script, marks=pytest.mark.slow(LONG[script]) if script in LONG else ()) for script in SMALLEST]


@pytest.mark.parametrize("script", _scripts())
def test_runs(script: str, tmp_path: Path) -> None:
    if "ludii" in script:
        _require_ludii()
    done = forking.script(ROOT / script, *SMALLEST[script], folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    ("script", "words", "message"),
    [
        *((script, "conect_four", "did you mean 'connect_four'") for script in ("own_heuristic", "train_a_game")),
        ("value_a_position", "conect_four", "did you mean 'connect_four'"),
        (
            "value_a_position",
            "connect_four --run nowhere",
            "expected the folder of a run or an agent file, got 'nowhere'",
        ),
        ("play_against_mcts", "runs/x --game conect_four", "did you mean 'connect_four'"),
        ("play_against_mcts", "nowhere", "expected the folder of a run or an agent file, got 'nowhere'"),
        ("train_a_game", "kuhn_poker", "kuhn_poker is not supported"),
        ("train_a_game", "--folder /dev/null", "cannot be written"),
    ],
)
def test_an_example_refuses_as_the_command_does(script: str, words: str, message: str, tmp_path: Path) -> None:
    done = forking.script(ROOT / "examples" / f"{script}.py", *words.split(), folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith(f"{script}.py: ")
    assert len(done.stderr.splitlines()) <= 2


def _require_ludii() -> None:
    try:
        installation.find_jar()
        installation.find_java()
    except LudiiError as error:
        pytest.skip(f"needs Java and Ludii: {error}")


def test_every_benchmark_is_run() -> None:
    scripts = [path for path in (ROOT / "benchmarks").glob("*.py") if "def main(" in path.read_text("utf-8")]
    assert {f"benchmarks/{script.name}" for script in scripts} < set(SMALLEST)

"""Checks that play and learning of two versions are bit-identical.

Runs short trainings of every kind, in float32 with one thread, limited by games and iterations. Prints and compares the
SHA-256 of the last weights, of the events of games and learning phases, of the replay, and of games that the trained
agent plays against itself by each search. Results depend on the machine, so run both versions on it, each in its own
checkout:

    python benchmarks/fingerprints.py /tmp/before.json             # in a checkout of the earlier version
    python benchmarks/fingerprints.py --against /tmp/before.json   # in the new one; exit code 1 if anything differs

Uses only the public interface, and the fake of Ludii in `tests/ludii`. Takes about half a minute.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import safetensors.numpy

import athenan_spiel as ath
import ludii_bridge
from athenan_spiel.training.settings_file import config_from_dict

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "ludii"))

from ludii_fake import FakeTransport  # type: ignore[import-not-found]  # noqa: E402

THREE = "connect_four(rows=4,columns=5,x_in_row=3)"
TOLD = ("matches", "length", "returns", "iterations", "evaluations", "targets", "loss", "states_learned", "batches")
SEARCHES = ("ubfm_k", "ubfm_s", "descent", "alphabeta(2)", "mcts(0.5)")
COMMON: dict[str, Any] = {"matches": 12, "matches_at_once": 4, "seed": 7, "search": {"iterations": 8}}
SMALL: dict[str, Any] = {"filters": 8, "layers": 1, "neurons": 16}

TRAININGS: dict[str, tuple[str, dict[str, Any]]] = {
    "descent": (THREE, {}),
    "descent without completion, one at a time": (
        "tic_tac_toe",
        {"search": {"completion": False}, "matches_at_once": 1, "exploration": {"completed": False}},
    ),
    "descent, bounded": ("breakthrough(rows=5,columns=4)", {"search": {"longest_descent": 3}}),
    "descent, proven states kept": ("clobber(rows=3,columns=4)", {"search": {"resolved_hours": 1.0}}),
    "ubfm": (THREE, {"search": {"algorithm": "ubfm"}, "outcome": "gain"}),
    "ubfm without completion": ("nim", {"search": {"algorithm": "ubfm", "completion": False}, "outcome": "gain"}),
    "alphabeta": (THREE, {"search": {"algorithm": "alphabeta", "evaluations": 60, "iterations": None}}),
    "mcts": (THREE, {"search": {"algorithm": "mcts", "iterations": 30}, "exploration": {"completed": False}}),
    "mcts, batches of leaves": (
        "tic_tac_toe",
        {"search": {"algorithm": "mcts", "first_play_urgency": True, "virtual_loss_batch": 4}},
    ),
    "mcts, rollouts": ("tic_tac_toe", {"search": {"algorithm": "mcts", "rollouts": True, "iterations": 20}}),
    "targets of the root": (THREE, {"targets": {"method": "root"}, "replay": {"method": "per_match"}}),
    "targets of the end": (
        THREE,
        {"targets": {"method": "terminal"}, "replay": {"method": "plain"}, "outcome": "multiplicative_depth"},
    ),
    "leaves and coefficients": (
        "tic_tac_toe",
        {"targets": {"leaves": True, "coefficients": True}, "replay": {"method": "none"}},
    ),
    "epsilon, annealed, edges": (
        "hex(board_size=4)",
        {
            "exploration": {"distribution": "epsilon_greedy", "schedule": "annealed"},
            "encoding": {"edges": True, "symmetries": "rotate_180"},
            "network": {"architecture": "r2", **SMALL},
        },
    ),
    "softmax, score, symmetries": (
        "othello",
        {
            "exploration": {"distribution": "softmax"},
            "outcome": "score",
            "encoding": {"symmetries": "all"},
            "matches": 4,
            "search": {"iterations": 2},
        },
    ),
    "mobility, best": (
        "breakthrough(rows=5,columns=4)",
        {"exploration": {"distribution": "best"}, "outcome": "mobility", "matches": 4},
    ),
    "presence, warm-up": (
        "clobber(rows=3,columns=4)",
        {"outcome": "presence", "warm_up": {"states": 256, "processes": 1}},
    ),
    "a score to count": ("dots_and_boxes(num_rows=2,num_cols=2)", {"outcome": "score"}),
    "one player": (
        "morpion_solitaire",
        {"outcome": "score", "matches": 2, "matches_at_once": 2, "search": {"iterations": 1}},
    ),
    "Ludii, by the fake": ("ludii(game=Tic-Tac-Toe)", {}),
    "Ludii, sides exchanged": ("ludii(game=Swap)", {}),
}


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Returns `below`, overridden by `above` table by table."""
    result = dict(below)
    for name, value in above.items():
        result[name] = merged(result[name], value) if isinstance(value, dict) and name in result else value
    return result


def config_of(own: dict[str, Any]) -> ath.TrainingConfig:
    """Returns the settings of a training."""
    exact = {"precision": "float32", "threads": 1}
    table = {**COMMON, "network": SMALL, "engine": exact, "learner": {**exact, "batch_size": 32}}
    return config_from_dict(merged(table, own))


def sha256(*parts: bytes) -> str:
    """Returns the first 16 digits of the SHA-256 of all parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:16]


def arrays_of(file: Path) -> str:
    """Returns the SHA-256 of the arrays in a safetensors file, by their names."""
    arrays = safetensors.numpy.load_file(file)
    return sha256(*(name.encode() + arrays[name].tobytes() for name in sorted(arrays)))


def fingerprint(game: str, config: ath.TrainingConfig, folder: Path) -> dict[str, str]:
    """Trains, and returns the hashes of its results."""
    run = ath.train(game, config, folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    told = [[line[name] for name in TOLD if name in line] for line in lines if "length" in line or "loss" in line]
    found = {
        "weights": sha256((run.checkpoint / "weights.safetensors").read_bytes()),
        "matches": sha256(json.dumps(told).encode()),
        "replay": arrays_of(run.checkpoint / "replay.safetensors"),
    }
    loaded = ath.load_game(game)
    for search in SEARCHES:
        agent = ath.load_agent(folder, budget=ath.Budget(iterations=8), seed=3, search=search)
        match = ath.play_match(loaded, [agent] * loaded.num_players())
        found[f"played by {search}"] = sha256(json.dumps(match.history).encode())
    return found


def main() -> int:
    """Runs all trainings, and writes or compares their hashes."""
    parser = argparse.ArgumentParser(description="Fingerprints of short trainings.")
    parser.add_argument("file", nargs="?", help="JSON file to write")
    parser.add_argument("--against", help="JSON file of another version")
    parser.add_argument("--only", default="", help="part of the names of the trainings to run")
    arguments = parser.parse_args()
    ludii_bridge.connection.use(FakeTransport())
    found: dict[str, dict[str, str]] = {}
    for name, (game, own) in TRAININGS.items():
        if arguments.only in name:
            with tempfile.TemporaryDirectory() as folder:
                found[name] = fingerprint(game, config_of(own), Path(folder) / "run")
            print(f"{found[name]['weights']}  {name}", flush=True)
    if arguments.file:
        Path(arguments.file).write_text(json.dumps(found, indent=1))
    if not arguments.against:
        return 0
    before = json.loads(Path(arguments.against).read_text())
    differing = [
        f"{name}: {what} differs"
        for name, prints in found.items()
        for what, value in prints.items()
        if before[name][what] != value
    ]
    print("\n".join(differing) or f"All {len(found)} trainings are as before.")
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())

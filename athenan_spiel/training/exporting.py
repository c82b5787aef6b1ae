"""Export of a run's agent to a file: `agent_file` for this library, ONNX for others.

Files are written durably and don't overwrite existing ones by default. The run may continue training meanwhile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from athenan_spiel.arguments import require_kind
from athenan_spiel.config import EvaluationConfig
from athenan_spiel.config.training import SPEC_LIMITS
from athenan_spiel.encoding import Encoder, describe_input
from athenan_spiel.errors import CheckpointError, shown
from athenan_spiel.games import load_game
from athenan_spiel.networks import ValueNetwork
from athenan_spiel.outcomes.classic import ScaledGain
from athenan_spiel.system.files import opened, parse_json, replace_durably
from athenan_spiel.training.agent_file import MOST_STRENGTHS, SUFFIX, AgentHeader, agent_file_bytes, read_agent_header
from athenan_spiel.training.checkpoints import Header
from athenan_spiel.training.curves import METRICS, MOST_BYTES, MOST_LINE
from athenan_spiel.training.loading import Which, default_search, read_agent
from athenan_spiel.training.model import load_weights, new_network, policy_shape
from athenan_spiel.training.new_folder import given_folder
from athenan_spiel.training.run_folder import CONFIG

SCORE_FIELDS = ("matches", "opponent", "wins", "draws", "losses", "points", "low", "high", "confidence")
"""Fields of an `evaluation_finished` event that are written to an agent file."""
_FILE = "a file"
_COMMON = re.compile(r"(mcts|uct|alphabeta|random|ludii|pyspiel)\b[\w:@().+ -]{0,100}", re.ASCII)
"""Specs of opponents that exist on every machine; other specs may contain paths and commands."""


def export_agent(
    run: str | os.PathLike[str],
    file: str | os.PathLike[str] | None = None,
    *,
    checkpoint: Which = None,
    overwrite: bool = False,
) -> Path:
    """Write the agent of a run to a file, which `load_agent` and agent specs accept in place of the run.

    The file is in the safetensors format and contains no path, host name, command or code; `docs/agent_file.md`
    describes it. With the same engine, the agent of the file plays the same moves as that of the run.

    Args:
        run: folder of the run, or of one of its checkpoints.
        file: path of the file; by default RUN.safetensors in the current folder, or RUN-CHECKPOINT.safetensors if
            `checkpoint` is given.
        checkpoint: number of games of a checkpoint, or "best"; by default the newest.
        overwrite: whether to replace an existing file.

    Returns:
        The path of the file.

    Raises:
        CheckpointError: `run` is neither a run nor a checkpoint, or is already an agent file; the checkpoint is
            missing, damaged, of another program or of a newer version; `file` exists or cannot be written.
    """
    folder = given_folder(run)
    require_kind("overwrite", overwrite, bool, CheckpointError)
    if folder.is_file():
        read_agent_header(folder)
        raise CheckpointError(f"{shown(str(folder))} is an agent file already: copy it", path=folder)
    path = default_file(folder, checkpoint, SUFFIX) if file is None else given_folder(file, _FILE)
    require_new_file(path, overwrite)
    source, header, weights = read_agent(folder, checkpoint)
    agent_header = AgentHeader(
        game=header.game,
        config=header.config,
        outcome=header.outcome,
        counters=header.counters,
        generators={},
        search=default_search(header),
        strength=measured_strength(source, header),
        calibration=header.calibration,
    )
    _write(path, agent_file_bytes(agent_header, weights))
    return path


def export_onnx(
    agent: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    checkpoint: Which = None,
    overwrite: bool = False,
) -> Path:
    """Write the network of a run or of an agent file as ONNX, for other programs and languages.

    The input is `observations`, float32 `[N, *shape]`, encoded by `Encoder`. The outputs are `values`, float32 [N], for
    the first player, and with a policy `logits`, float32 [N, A]. The model's metadata describes the planes and the
    scale of values. Convolutions are direct (without Winograd's algorithm), in float32.

    Args:
        agent: folder of the run or of one of its checkpoints, or an agent file.
        file: path of the ONNX file.
        checkpoint, overwrite: as for `export_agent`.

    Returns:
        The path of the file.

    Raises:
        ConfigError: onnx or onnxscript is not installed, or the network does not fit the free memory.
        CheckpointError: as `export_agent`, except that an agent file is allowed.
        UnsupportedGameError: the game cannot be loaded.
    """
    from athenan_spiel.networks.onnx_model import onnx_bytes, require_onnx

    require_onnx()
    require_kind("overwrite", overwrite, bool, CheckpointError)
    path = given_folder(file, _FILE)
    require_new_file(path, overwrite)
    _, header, weights = read_agent(agent, checkpoint)
    game = load_game(header.game)
    encoder = Encoder(game, edges=header.config.encoding.edges)
    outcome = ScaledGain(scale=_scale(weights))
    network = new_network(game, encoder, header.config, outcome, policy_shape(game, encoder, header.config.network))
    load_weights(network, weights)
    descriptions = _described(header, describe_input(game, encoder), network, game.num_players())
    _write(path, onnx_bytes(network, f"Athénan: {network.description}", descriptions))
    return path


def default_file(folder: Path, checkpoint: Which, suffix: str) -> Path:
    """Returns the default path of an exported file: the name of the run, with the checkpoint if one is given."""
    name = folder.resolve().name or "agent"
    return Path(f"{name}{'' if checkpoint is None else f'-{checkpoint}'}{suffix}")


def require_new_file(path: Path, overwrite: bool) -> None:
    """Check that `path` can be written.

    Raises:
        CheckpointError: `path` is a folder, or exists and must not be overwritten.
    """
    if path.is_dir():
        raise CheckpointError(f"expected the name of a new file, got the folder {shown(str(path))}", path=path)
    if not overwrite and os.path.lexists(path):
        raise CheckpointError(
            f"{shown(str(path))} exists: choose another name, or use --overwrite (overwrite=True)", path=path
        )


def measured_strength(checkpoint: Path, header: Header) -> list[dict[str, Any]]:
    """Returns the scores of the newest evaluation up to the checkpoint, one for each opponent.

    Opponents whose specs may contain paths or commands are omitted.

    Raises:
        CheckpointError: `metrics.jsonl` cannot be read.
    """
    runs = (folder for folder in (checkpoint.parent, checkpoint.parent.parent) if (folder / CONFIG).is_file())
    if (run := next(runs, None)) is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    conditions = _conditions(header.config.evaluation)
    for record in _evaluations(run / METRICS):
        opponent = record.get("opponent")
        if isinstance(opponent, str) and _COMMON.fullmatch(opponent) and _counts(record, header.counters.matches):
            found[opponent] = {name: record[name] for name in SCORE_FIELDS} | conditions
    newest = max((score["matches"] for score in found.values()), default=0)
    return [score for score in found.values() if score["matches"] == newest][:MOST_STRENGTHS]


def _evaluations(metrics: Path) -> Iterator[Mapping[str, Any]]:
    """Yields the `evaluation_finished` events of a run; none without `metrics.jsonl`."""
    try:
        with opened(metrics, MOST_BYTES) as file:
            while line := file.readline(MOST_LINE):
                if b"evaluation_finished" not in line:
                    continue
                try:
                    record = parse_json(line)
                except ValueError:  # an incomplete line, left by a kill
                    continue
                if isinstance(record, dict) and record.get("event") == "evaluation_finished":
                    yield record
    except FileNotFoundError:
        return
    except OSError as error:
        raise CheckpointError(f"{metrics} cannot be read: {error.strerror}", path=metrics) from None


def _counts(record: Mapping[str, Any], matches: int) -> bool:
    """Whether the evaluated network has learned at most `matches` games, and all fields are numbers."""
    numbers = [record.get(name) for name in SCORE_FIELDS if name != "opponent"]
    return all(type(x) in (int, float) for x in numbers) and 0 <= record["matches"] <= matches


def _conditions(config: EvaluationConfig) -> dict[str, Any]:
    """Returns the agent and the openings of an evaluation."""
    limit = next(f"{getattr(config, name)}{sign}" for name, sign in SPEC_LIMITS.items() if getattr(config, name))
    return {"agent": f"{config.search}@{limit}", "opening_plies": config.opening_plies}


def _described(header: Header, observations: str, network: ValueNetwork, players: int) -> dict[str, str]:
    """Returns descriptions of the game and of the network's input and outputs, by name."""
    size = "1 is a win, -1 a loss" if network.output.bounded else f"large values are about {network.scale:g}"
    sign = "positive if player 0 wins, negative if player 1 wins" if players > 1 else "more is better"
    described = {
        "game": header.game,
        "observations": observations,
        "values": f"outcome {header.config.outcome!r} for player 0, whoever is to move: {sign}; {size}",
    }
    if network.policy is not None:
        described["logits"] = (
            "logits of OpenSpiel's actions 0 to A - 1; the policy is the softmax over the legal actions"
        )
    return described


def _scale(weights: Mapping[str, torch.Tensor]) -> float:
    """Returns the scale of values stored with the weights; 1 if it is missing."""
    scale = weights.get("output.scale")
    return float(scale) if scale is not None and scale.numel() == 1 and float(scale) > 0 else 1.0


def _write(path: Path, content: bytes) -> None:
    try:
        replace_durably(path, content)
    except OSError as error:
        raise CheckpointError(f"{shown(str(path))} could not be written: {error.strerror}", path=path) from None

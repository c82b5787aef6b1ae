"""A run's agent as a file to be shared: `agent_file` for this library, ONNX for others.

Either is written durably, never over a file that is there unless that is asked for. The run may go on training
meanwhile: what is exported is one whole checkpoint of it.
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
from athenan_spiel.config.training import WORD_LIMITS
from athenan_spiel.encoding import Encoder, describe_input
from athenan_spiel.errors import CheckpointError, shown
from athenan_spiel.games import load_game
from athenan_spiel.networks import ValueNetwork
from athenan_spiel.outcomes.classic import ScaledGain
from athenan_spiel.system.files import opened, parse_json, replace_durably
from athenan_spiel.training.agent_file import MOST_STRENGTHS, SUFFIX, AgentHeader, agent_file_bytes, read_agent_header
from athenan_spiel.training.checkpoints import Header
from athenan_spiel.training.curves import METRICS, MOST_BYTES, MOST_LINE
from athenan_spiel.training.loading import Which, read_agent, said_search
from athenan_spiel.training.model import load_weights, new_network, policy_shape
from athenan_spiel.training.new_folder import given_folder
from athenan_spiel.training.run_folder import CONFIG

TOLD = ("matches", "opponent", "wins", "draws", "losses", "points", "low", "high", "confidence")
"""Of an evaluation, in the file."""
A_FILE = "a file"
_COMMON = re.compile(r"(mcts|uct|alphabeta|random|ludii|pyspiel)\b[\w:@().+ -]{0,100}", re.ASCII)
"""The words of opponents that any machine has; others may hold paths and commands."""


def export_agent(
    run: str | os.PathLike[str],
    file: str | os.PathLike[str] | None = None,
    *,
    checkpoint: Which = None,
    overwrite: bool = False,
) -> Path:
    """Write the agent of a run to one file, which `load_agent` and every agent's word take as they take the run.

    The file is safetensors and holds no path, host, command or code of the machine; `docs/agent_file.md` has the
    format. Agents of the file and of the run play the same moves where they have the same engine.

    Args:
        run: the folder of the run, or of one of its checkpoints.
        file: where to; none: NAME.safetensors in the current folder, after the run, and the checkpoint where it is not
            the newest.
        checkpoint: after how many matches it was written, or "best"; none: the newest.
        overwrite: put it in the place of a file of that name.

    Returns:
        The file's path.

    Raises:
        CheckpointError: the folder is neither, or the checkpoint is missing, damaged, foreign or newer; `run` is an
            agent's file already; there is a file of that name, or it cannot be written.
    """
    folder = given_folder(run)
    require_kind("overwrite", overwrite, bool, CheckpointError)
    if folder.is_file():
        read_agent_header(folder)
        raise CheckpointError(f"{shown(str(folder))} is the file of an agent already: copy it as it is", path=folder)
    path = default_file(folder, checkpoint, SUFFIX) if file is None else given_folder(file, A_FILE)
    require_new_file(path, overwrite)
    source, header, weights = read_agent(folder, checkpoint)
    shared = AgentHeader(
        game=header.game,
        config=header.config,
        outcome=header.outcome,
        counters=header.counters,
        generators={},
        search=said_search(header),
        strength=measured_strength(source, header),
    )
    _write(path, agent_file_bytes(shared, weights))
    return path


def export_onnx(
    agent: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    checkpoint: Which = None,
    overwrite: bool = False,
) -> Path:
    """Write the network of a run, or of an agent's file, as ONNX, for other programs and languages.

    Its input is `observations`, float32 `[N, *shape]` as `Encoder` makes them; its outputs are `values`, float32 [N]
    for the first player, and where there is a policy `logits`, float32 [N, A]. What the planes mean, and how large
    values are, stands in the model's metadata and in its text. Convolutions are plain ones, in float32.

    Args:
        agent: the folder of the run, or of one of its checkpoints, or the file of an agent.
        file: where to.
        checkpoint, overwrite: as of `export_agent`.

    Returns:
        The file's path.

    Raises:
        ConfigError: onnx or onnxscript is not installed, or the network does not fit the memory that is free.
        CheckpointError: as `export_agent`, but that an agent's file will do.
        UnsupportedGameError: the game cannot be loaded here.
    """
    from athenan_spiel.networks.onnx_model import onnx_bytes, require_onnx

    require_onnx()
    require_kind("overwrite", overwrite, bool, CheckpointError)
    path = given_folder(file, A_FILE)
    require_new_file(path, overwrite)
    _, header, weights = read_agent(agent, checkpoint)
    game = load_game(header.game)
    encoder = Encoder(game, edges=header.config.encoding.edges)
    worth = ScaledGain(scale=_scale(weights))
    network = new_network(encoder, header.config, worth, policy_shape(game, encoder, header.config.network))
    load_weights(network, weights)
    about = _meaning(header, describe_input(game, encoder), network, game.num_players())
    _write(path, onnx_bytes(network, f"Athénan: {network.description}", about))
    return path


def default_file(folder: Path, checkpoint: Which, suffix: str) -> Path:
    """The name that a file has where none is said: that of the run, and of the checkpoint where one is named."""
    name = folder.resolve().name or "agent"
    return Path(f"{name}{'' if checkpoint is None else f'-{checkpoint}'}{suffix}")


def require_new_file(path: Path, overwrite: bool) -> None:
    """Check that `path` is free, or a file that may be replaced.

    Raises:
        CheckpointError: it is not.
    """
    if path.is_dir():
        raise CheckpointError(f"expected the name of a new file, got the folder {shown(str(path))}", path=path)
    if not overwrite and os.path.lexists(path):
        raise CheckpointError(
            f"{shown(str(path))} is there already: choose another name, or say --overwrite (overwrite=True)", path=path
        )


def measured_strength(checkpoint: Path, header: Header) -> list[dict[str, Any]]:
    """What the network scored against each opponent in the newest evaluation of it, or else of one before it.

    Opponents whose words may name something of the machine, as paths and commands do, are left out.

    Raises:
        CheckpointError: the run's metrics cannot be read.
    """
    runs = (folder for folder in (checkpoint.parent, checkpoint.parent.parent) if (folder / CONFIG).is_file())
    if (run := next(runs, None)) is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    conditions = _conditions(header.config.evaluation)
    for record in _evaluations(run / METRICS):
        opponent = record.get("opponent")
        if isinstance(opponent, str) and _COMMON.fullmatch(opponent) and _counts(record, header.counters.matches):
            found[opponent] = {name: record[name] for name in TOLD} | conditions
    newest = max((told["matches"] for told in found.values()), default=0)
    return [told for told in found.values() if told["matches"] == newest][:MOST_STRENGTHS]


def _evaluations(metrics: Path) -> Iterator[Mapping[str, Any]]:
    """The lines on evaluations in a run's `metrics.jsonl`; none where there is no such file."""
    try:
        with opened(metrics, MOST_BYTES) as file:
            while line := file.readline(MOST_LINE):
                if b"evaluation_finished" not in line:
                    continue
                try:
                    record = parse_json(line)
                except ValueError:  # a line that a kill has cut
                    continue
                if isinstance(record, dict) and record.get("event") == "evaluation_finished":
                    yield record
    except FileNotFoundError:
        return
    except OSError as error:
        raise CheckpointError(f"{metrics} cannot be read: {error.strerror}", path=metrics) from None


def _counts(record: Mapping[str, Any], matches: int) -> bool:
    """Whether an evaluation is of a network that is no newer, and all there is of it are numbers."""
    numbers = [record.get(name) for name in TOLD if name != "opponent"]
    return all(type(x) in (int, float) for x in numbers) and 0 <= record["matches"] <= matches


def _conditions(config: EvaluationConfig) -> dict[str, Any]:
    """How the evaluation's matches were played."""
    limit = next(f"{getattr(config, name)}{sign}" for name, sign in WORD_LIMITS.items() if getattr(config, name))
    return {"agent": f"{config.search}@{limit}", "opening_plies": config.opening_plies}


def _meaning(header: Header, observations: str, network: ValueNetwork, players: int) -> dict[str, str]:
    """What the numbers that go into a network, and come out of it, mean."""
    size = "1 is a won match, -1 a lost one" if network.output.bounded else f"large ones are about {network.scale:g}"
    sign = "above zero where player 0 wins, below where player 1 does" if players > 1 else "more is better"
    meaning = {
        "game": header.game,
        "observations": observations,
        "values": f"of the outcome {header.config.outcome!r}, for player 0 whoever is to move: {sign}; {size}",
    }
    if network.policy is not None:
        meaning["logits"] = "of OpenSpiel's actions 0 to A - 1; the policy is the softmax over those of the legal ones"
    return meaning


def _scale(weights: Mapping[str, torch.Tensor]) -> float:
    """The size of large values, which is among the network's weights; 1 where they lack it, and do not fit anyway."""
    scale = weights.get("output.scale")
    return float(scale) if scale is not None and scale.numel() == 1 and float(scale) > 0 else 1.0


def _write(path: Path, content: bytes) -> None:
    try:
        replace_durably(path, content)
    except OSError as error:
        raise CheckpointError(f"{shown(str(path))} could not be written: {error.strerror}", path=path) from None

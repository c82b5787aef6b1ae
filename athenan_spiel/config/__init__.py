"""All settings of a training run, as one tree of frozen dataclasses.

The command line, a run's `config.toml` and the header of a checkpoint are all `TrainingConfig`. Each field has a
description and the papers' value if they give one. "The article" is Cohen-Solal, *Learning to Play Two-Player
Perfect-Information Games without Knowledge*. Nothing here imports torch.
"""

from __future__ import annotations

from athenan_spiel.config.learning import (
    LearnerConfig,
    RateSchedule,
    ReplayConfig,
    ReplayName,
    TargetsConfig,
    TargetsName,
    ValueLossName,
    WarmUpConfig,
    WarmUpName,
)
from athenan_spiel.config.machine import EngineConfig, EngineName, MemoryConfig, Precision, WorkersConfig
from athenan_spiel.config.network import SYMMETRIES, EncodingConfig, NetworkConfig, NetworkName, PolicyName
from athenan_spiel.config.search import (
    SEARCH_CONFIGS,
    AlphaBetaConfig,
    DescentConfig,
    Distribution,
    ExitConfig,
    ExplorationConfig,
    ExplorationSchedule,
    GumbelConfig,
    MctsConfig,
    MinimaxConfig,
    MonteCarloConfig,
    MoveSearchConfig,
    ProverConfig,
    PuctConfig,
    SearchConfig,
    SearchName,
    SelfPlayConfig,
    SelfPlayName,
    UbfmConfig,
)
from athenan_spiel.config.settings import NONE, Settings
from athenan_spiel.config.training import EvaluationConfig, TrainingConfig

__all__ = [
    "NONE",
    "SEARCH_CONFIGS",
    "SYMMETRIES",
    "AlphaBetaConfig",
    "DescentConfig",
    "Distribution",
    "EncodingConfig",
    "EngineConfig",
    "EngineName",
    "EvaluationConfig",
    "ExitConfig",
    "ExplorationConfig",
    "ExplorationSchedule",
    "GumbelConfig",
    "LearnerConfig",
    "MctsConfig",
    "MemoryConfig",
    "MinimaxConfig",
    "MonteCarloConfig",
    "MoveSearchConfig",
    "NetworkConfig",
    "NetworkName",
    "PolicyName",
    "Precision",
    "ProverConfig",
    "PuctConfig",
    "RateSchedule",
    "ReplayConfig",
    "ReplayName",
    "SearchConfig",
    "SearchName",
    "SelfPlayConfig",
    "SelfPlayName",
    "Settings",
    "TargetsConfig",
    "TargetsName",
    "TrainingConfig",
    "UbfmConfig",
    "ValueLossName",
    "WarmUpConfig",
    "WarmUpName",
    "WorkersConfig",
]

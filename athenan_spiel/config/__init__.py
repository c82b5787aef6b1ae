"""Every setting of a training run: one tree of frozen dataclasses.

The command line, a run's `config.toml` and the header of a checkpoint are all `TrainingConfig`. Under each
field stands its meaning and, where they give one, the papers' value. "The article" is Cohen-Solal, *Learning
to Play Two-Player Perfect-Information Games without Knowledge*. Nothing here imports torch.
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
)
from athenan_spiel.config.memory import MemoryConfig
from athenan_spiel.config.network import (
    SYMMETRIES,
    EncodingConfig,
    EngineConfig,
    EngineName,
    NetworkConfig,
    NetworkName,
    PolicyName,
    Precision,
)
from athenan_spiel.config.search import Distribution, ExplorationConfig, ExplorationSchedule, SearchConfig, SearchName
from athenan_spiel.config.self_play import SelfPlayConfig, SelfPlayName
from athenan_spiel.config.settings import NONE, Settings
from athenan_spiel.config.training import EvaluationConfig, TrainingConfig
from athenan_spiel.config.workers import WorkersConfig

__all__ = [
    "NONE",
    "SYMMETRIES",
    "Distribution",
    "EncodingConfig",
    "EngineConfig",
    "EngineName",
    "EvaluationConfig",
    "ExplorationConfig",
    "ExplorationSchedule",
    "LearnerConfig",
    "MemoryConfig",
    "NetworkConfig",
    "NetworkName",
    "PolicyName",
    "Precision",
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
    "ValueLossName",
    "WarmUpConfig",
    "WorkersConfig",
]

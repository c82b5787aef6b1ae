"""Athénan for OpenSpiel: agents that learn to play a game from its rules alone, by minimax search and tree learning.

Each package imports only those before it in this list: `errors`, `arguments`, `config` and `system` (shared helpers);
`games` (rules); `drawing` (pictures of boards); `outcomes` (terminal values); `encoding` (state to network input);
`networks`, `engines` and `evaluators` (values of states); `search` (Descent, UBFM, alpha-beta, MCTS); `solving`
(proofs); `play` (agents, games, self-play); `learning` and `training`; `measuring` (speed of a machine); `arena` and
`experiments` (strength of agents); `web` (pages); and `cli`. The package `agents` contains bots for OpenSpiel.

Values are player 0's. This package imports each public name on first access, so importing it loads neither torch nor
OpenSpiel.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers know this name; importing `typing` would take most of this import's time
if TYPE_CHECKING:
    from athenan_spiel.config import (
        AlphaBetaConfig,
        DescentConfig,
        EncodingConfig,
        EngineConfig,
        EvaluationConfig,
        ExitConfig,
        ExplorationConfig,
        GumbelConfig,
        LearnerConfig,
        MctsConfig,
        MemoryConfig,
        NetworkConfig,
        PuctConfig,
        ReplayConfig,
        SearchConfig,
        SelfPlayConfig,
        TargetsConfig,
        TrainingConfig,
        UbfmConfig,
        WarmUpConfig,
        WorkersConfig,
    )
    from athenan_spiel.drawing.notebook import load_ipython_extension, show, unload_ipython_extension
    from athenan_spiel.errors import (
        AgentError,
        ArenaError,
        AthenanError,
        BudgetError,
        CheckpointError,
        ConfigError,
        DivergedError,
        DrawingError,
        EncodingError,
        EvaluatorError,
        ExperimentError,
        LearningError,
        MatchAbandonedError,
        NotFiniteError,
        ProgramError,
        ProgramRefusalError,
        ProgramTimeoutError,
        ResignedError,
        SearchError,
        UnsupportedGameError,
    )
    from athenan_spiel.evaluators.base import Evaluation, Evaluator
    from athenan_spiel.games import (
        check_game,
        load_game,
        piece_counts,
        score,
        supported_games,
        unmet_conditions,
    )
    from athenan_spiel.outcomes import Outcome, gain, register_outcome
    from athenan_spiel.play.agent import Agent
    from athenan_spiel.play.match import MatchResult, play_match
    from athenan_spiel.play.series import Series, play_series
    from athenan_spiel.search import (
        MCTS,
        UBFM,
        AlphaBeta,
        AlphaZeroMCTS,
        Budget,
        Descent,
        ExItMCTS,
        Expectiminimax,
        GumbelMCTS,
        SearchResult,
        think,
    )
    from athenan_spiel.solving.solver import Proof, ProofBounds, solve
    from athenan_spiel.training import Run, export_agent, export_onnx, load_agent, preset, resume, train
    from athenan_spiel.training.callbacks import LinePrinter, ProgressBar

__version__ = "0.1.0"

__all__ = [
    "MCTS",
    "UBFM",
    "Agent",
    "AgentError",
    "AlphaBeta",
    "AlphaBetaConfig",
    "AlphaZeroMCTS",
    "ArenaError",
    "AthenanError",
    "Budget",
    "BudgetError",
    "CheckpointError",
    "ConfigError",
    "Descent",
    "DescentConfig",
    "DivergedError",
    "DrawingError",
    "EncodingConfig",
    "EncodingError",
    "EngineConfig",
    "Evaluation",
    "EvaluationConfig",
    "Evaluator",
    "EvaluatorError",
    "ExItMCTS",
    "ExitConfig",
    "Expectiminimax",
    "ExperimentError",
    "ExplorationConfig",
    "GumbelConfig",
    "GumbelMCTS",
    "LearnerConfig",
    "LearningError",
    "LinePrinter",
    "MatchAbandonedError",
    "MatchResult",
    "MctsConfig",
    "MemoryConfig",
    "NetworkConfig",
    "NotFiniteError",
    "Outcome",
    "ProgramError",
    "ProgramRefusalError",
    "ProgramTimeoutError",
    "ProgressBar",
    "Proof",
    "ProofBounds",
    "PuctConfig",
    "ReplayConfig",
    "ResignedError",
    "Run",
    "SearchConfig",
    "SearchError",
    "SearchResult",
    "SelfPlayConfig",
    "Series",
    "TargetsConfig",
    "TrainingConfig",
    "UbfmConfig",
    "UnsupportedGameError",
    "WarmUpConfig",
    "WorkersConfig",
    "check_game",
    "export_agent",
    "export_onnx",
    "gain",
    "load_agent",
    "load_game",
    "load_ipython_extension",
    "piece_counts",
    "play_match",
    "play_series",
    "preset",
    "register_outcome",
    "resume",
    "score",
    "show",
    "solve",
    "supported_games",
    "think",
    "train",
    "unload_ipython_extension",
    "unmet_conditions",
]

_LAZY_NAMES = {
    "config": [
        "AlphaBetaConfig",
        "DescentConfig",
        "EncodingConfig",
        "EngineConfig",
        "EvaluationConfig",
        "ExitConfig",
        "ExplorationConfig",
        "GumbelConfig",
        "LearnerConfig",
        "MctsConfig",
        "MemoryConfig",
        "NetworkConfig",
        "PuctConfig",
        "ReplayConfig",
        "SearchConfig",
        "SelfPlayConfig",
        "TargetsConfig",
        "TrainingConfig",
        "UbfmConfig",
        "WarmUpConfig",
        "WorkersConfig",
    ],
    "errors": [
        "AgentError",
        "ArenaError",
        "AthenanError",
        "BudgetError",
        "CheckpointError",
        "ConfigError",
        "DivergedError",
        "DrawingError",
        "EncodingError",
        "EvaluatorError",
        "ExperimentError",
        "LearningError",
        "MatchAbandonedError",
        "NotFiniteError",
        "ProgramError",
        "ProgramRefusalError",
        "ProgramTimeoutError",
        "ResignedError",
        "SearchError",
        "UnsupportedGameError",
    ],
    "drawing.notebook": ["load_ipython_extension", "show", "unload_ipython_extension"],
    "outcomes": ["Outcome", "gain", "register_outcome"],
    "games": ["check_game", "load_game", "piece_counts", "score", "supported_games", "unmet_conditions"],
    "play": ["Agent", "MatchResult", "Series", "play_match", "play_series"],
    "evaluators.base": ["Evaluation", "Evaluator"],
    "search": [
        "MCTS",
        "UBFM",
        "AlphaBeta",
        "AlphaZeroMCTS",
        "Budget",
        "Descent",
        "ExItMCTS",
        "Expectiminimax",
        "GumbelMCTS",
        "SearchResult",
        "think",
    ],
    "solving": ["Proof", "ProofBounds", "solve"],
    "training": ["Run", "export_agent", "export_onnx", "load_agent", "preset", "resume", "train"],
    "training.callbacks": ["LinePrinter", "ProgressBar"],
}
_MODULE_OF = {name: module for module, names in _LAZY_NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

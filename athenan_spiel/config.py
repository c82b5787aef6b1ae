"""Every setting of a training run: one tree of frozen dataclasses.

The command line, a run's `config.toml` and the header of a checkpoint are all `TrainingConfig`. Under each
field stands its meaning and, where they give one, the papers' value. "The article" is Cohen-Solal, *Learning
to Play Two-Player Perfect-Information Games without Knowledge*. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from athenan_spiel.errors import ConfigError

SearchName = Literal["descent", "ubfm"]
OutcomeName = Literal["gain", "additive_depth", "multiplicative_depth", "score"]
ExplorationSchedule = Literal["uniform", "annealed", "constant"]
NetworkName = Literal["auto", "c", "r1", "r2", "mlp"]
EngineName = Literal["auto", "openvino", "torch", "cuda"]
Precision = Literal["auto", "bfloat16", "float32"]


def require(condition: bool, field_name: str, expected: str, got: object) -> None:
    """Raise `ConfigError` naming the field, what it must be and what came, unless `condition` holds."""
    if not condition:
        raise ConfigError(f"{field_name} must be {expected}, got {got!r}")


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    """How a match's moves are thought out."""

    algorithm: SearchName = "descent"
    """Descent (Algorithm 10) or unbounded best-first minimax (Algorithm 12)."""
    completion: bool = True
    """Prove states and stop at proven ones (Section 5). Without it, Descent is Algorithm 9 as printed."""
    seconds: float | None = None
    """Search time per move. The article: 2 s (Section 3.3.1), 3 s (Section 8.4.3)."""
    iterations: int | None = 20
    """Search iterations per move; with this limit alone, a run is reproducible to the bit."""
    evaluations: int | None = None
    """States valued by the network per move."""

    def __post_init__(self) -> None:
        limits = (self.seconds, self.iterations, self.evaluations)
        require(any(x is not None for x in limits), "search", "limited by seconds, iterations or evaluations", None)
        for name, limit in zip(("seconds", "iterations", "evaluations"), limits, strict=True):
            require(limit is None or limit > 0, f"search.{name}", "more than zero", limit)


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig:
    """The ordinal distribution (Section 7), wrapped in completed action selection (Section 5.2)."""

    schedule: ExplorationSchedule = "uniform"
    """`uniform`: the exploitation parameter is drawn from [0, 1] for each move (the article, Section 8.4.3);
    `annealed`: it grows from 0 to 1 over the run (Algorithm 14); `constant`: always `exploitation`."""
    exploitation: float = 0.5
    """ε' of the `constant` schedule: 0 plays uniformly at random, 1 plays the best action."""

    def __post_init__(self) -> None:
        require(0.0 <= self.exploitation <= 1.0, "exploration.exploitation", "in [0, 1]", self.exploitation)


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """The value network."""

    architecture: NetworkName = "auto"
    """`c`, `r1`, `r2`: the papers' convolutional and residual networks (Minimax Strikes Back, Table 2);
    `mlp`: dense layers, for games without planes; `auto`: chosen by the board's size."""
    filters: int = 64
    """Filters of each convolution. The article: 64 (Section 3.3.1), 132 (Section 8.4.1)."""
    layers: int | None = None
    """Convolutions of `c` (papers: 3), residual blocks of `r1` (2) and `r2` (8), hidden layers of `mlp` (3)."""
    neurons: int = 100
    """Neurons of a hidden dense layer. The article: 100 (Section 3.3.1)."""

    def __post_init__(self) -> None:
        require(self.filters >= 1, "network.filters", "at least 1", self.filters)
        require(self.layers is None or self.layers >= 1, "network.layers", "at least 1", self.layers)
        require(self.neurons >= 1, "network.neurons", "at least 1", self.neurons)


@dataclass(frozen=True, kw_only=True)
class ReplayConfig:
    """Stratified experience replay (Algorithm 8)."""

    matches: int = 100
    """μ, the number of matches kept. The article: 100."""
    duplication: float = 3.0
    """δ, how many times each state is learned on average. The article: 3."""
    max_states: int = 2_000_000
    """Remark 5's bound: the oldest matches leave, as few as possible, when more states would be kept."""

    def __post_init__(self) -> None:
        require(self.matches >= 1, "replay.matches", "at least 1", self.matches)
        require(self.duplication > 0, "replay.duplication", "more than zero", self.duplication)
        require(self.max_states >= 1, "replay.max_states", "at least 1", self.max_states)


@dataclass(frozen=True, kw_only=True)
class LearnerConfig:
    """Stochastic gradient descent by Adam with L2 regularisation (Algorithm 7)."""

    batch_size: int = 128
    """B. The article: 128 (Section 3.3.1), 3000 (Section 8.4.3)."""
    learning_rate: float = 1e-3
    """Adam's step size. The article: 0.001 (Section 3.3.1), 0.0001 (Section 8.4.1)."""
    l2: float = 1e-3
    """Weight of the L2 regularisation. The article: 0.001."""
    precision: Precision = "auto"
    """Arithmetic of the forward and backward pass; the weights themselves are always float32."""
    threads: int | None = None
    """Threads of the learner on a processor; none: one for every two cores, as threads that have to wait for a core
    cost far more than they bring. Weights are reproducible to the bit only with equal threads."""

    def __post_init__(self) -> None:
        require(self.threads is None or self.threads >= 1, "learner.threads", "at least 1", self.threads)
        require(self.batch_size >= 1, "learner.batch_size", "at least 1", self.batch_size)
        require(self.learning_rate > 0, "learner.learning_rate", "more than zero", self.learning_rate)
        require(self.l2 >= 0, "learner.l2", "zero or more", self.l2)


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """What runs the network when the search asks for values."""

    name: EngineName = "auto"
    """`auto` takes CUDA where there is a device, else OpenVINO."""
    precision: Precision = "auto"
    """`auto` takes bfloat16 where the processor has instructions for it, else float32."""
    threads: int | None = None
    """Threads of the engine on a processor; none: one for each core, but one less in training with several matches
    at once, where the search keeps a core busy."""

    def __post_init__(self) -> None:
        require(self.threads is None or self.threads >= 1, "engine.threads", "at least 1", self.threads)


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """Matches against OpenSpiel's own MCTS from time to time while training."""

    every_matches: int | None = None
    """Training matches between two evaluations; none: no evaluation."""
    matches: int = 20
    """Matches of one evaluation, half with each colour."""
    simulations: int = 100
    """Simulations a move of `pyspiel.MCTSBot` (random rollouts, UCT constant 2)."""
    seconds: float = 0.1
    """Thinking time a move of the trained agent."""

    def __post_init__(self) -> None:
        require(
            self.every_matches is None or self.every_matches >= 1,
            "evaluation.every_matches",
            "at least 1",
            self.every_matches,
        )
        require(self.matches >= 2 and self.matches % 2 == 0, "evaluation.matches", "even and at least 2", self.matches)
        require(self.simulations >= 1, "evaluation.simulations", "at least 1", self.simulations)
        require(self.seconds > 0, "evaluation.seconds", "more than zero", self.seconds)


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """A training run. It ends at `matches` or `seconds`, whichever comes first."""

    matches: int | None = None
    """Matches to play in all; none: no limit."""
    seconds: float | None = None
    """Training time in all, summed over resumptions; none: no limit."""
    matches_at_once: int = 8
    """K matches advance together, half of them sharing each network call. 1 is the papers' setting."""
    outcome: OutcomeName = "additive_depth"
    """What a finished match is worth (Section 6). The article prefers score where there is one, else depth."""
    checkpoint_seconds: float = 60.0
    """Time between two checkpoints at least; one is also written at the end and on Ctrl-C."""
    seed: int = 0
    """Seed of everything random in the run."""
    search: SearchConfig = field(default_factory=SearchConfig)
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        require(self.matches is None or self.matches >= 1, "matches", "at least 1", self.matches)
        require(self.seconds is None or self.seconds > 0, "seconds", "more than zero", self.seconds)
        require(self.matches_at_once >= 1, "matches_at_once", "at least 1", self.matches_at_once)
        require(self.checkpoint_seconds >= 0, "checkpoint_seconds", "zero or more", self.checkpoint_seconds)
        require(0 <= self.seed < 2**63, "seed", "in [0, 2^63)", self.seed)
        if self.exploration.schedule == "annealed" and self.matches is None and self.seconds is None:
            raise ConfigError("exploration.schedule='annealed' needs an end to anneal towards: set matches or seconds")

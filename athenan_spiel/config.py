"""Every setting of a training run: one tree of frozen dataclasses.

The command line, a run's `config.toml` and the header of a checkpoint are all `TrainingConfig`. Under each
field stands its meaning and, where they give one, the papers' value. "The article" is Cohen-Solal, *Learning
to Play Two-Player Perfect-Information Games without Knowledge*. Nothing here imports torch.
"""

from __future__ import annotations

import math
import types
import typing
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

from athenan_spiel.errors import ConfigError, nearest

SearchName = Literal["descent", "ubfm", "alphabeta", "mcts"]
Distribution = Literal["ordinal", "epsilon_greedy", "softmax", "best"]
ExplorationSchedule = Literal["uniform", "annealed", "constant"]
TargetsName = Literal["tree", "root", "terminal"]
ReplayName = Literal["stratified", "plain", "per_match", "none"]
NetworkName = Literal["auto", "c", "r1", "r2", "r3", "mlp"]
EngineName = Literal["auto", "openvino", "torch", "cuda"]
Precision = Literal["auto", "bfloat16", "float32"]

NONE = "none"
"""What is written for a setting without a value, in `config.toml` and on the command line."""

SYMMETRIES = (
    "rotate_90",
    "rotate_180",
    "rotate_270",
    "flip_horizontal",
    "flip_vertical",
    "transpose",
    "anti_transpose",
)
"""The symmetries of a square without the identity; `encoding/board_maps.py` says what each does."""


class Settings:
    """What the dataclasses below share: a value of a wrong type, or a number that is not finite, is refused."""

    table: ClassVar[str] = ""
    """Where these settings stand in `config.toml`, with a dot behind it; empty for the outermost."""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for field_ in fields(self):  # type: ignore[arg-type]
            _check_type(self.table + field_.name, hints[field_.name], getattr(self, field_.name))
        self.check()

    def check(self) -> None:
        """Raise `ConfigError` for a value out of range or a contradiction."""

    def require(self, condition: bool, name: str, expected: str) -> None:
        """Raise `ConfigError` naming the setting, what it must be and what it is, unless `condition` holds."""
        if not condition:
            raise ConfigError(f"{self.table}{name} must be {expected}, got {getattr(self, name)!r}")

    def require_some(self, least: int, *names: str) -> None:
        """`require` that each of these numbers, where it is given, is at least `least`."""
        for name in names:
            value = getattr(self, name)
            self.require(value is None or value >= least, name, f"at least {least}")

    def require_positive(self, *names: str) -> None:
        """`require` that each of these numbers, where it is given, is more than zero."""
        for name in names:
            value = getattr(self, name)
            self.require(value is None or value > 0, name, "more than zero")


def _check_type(name: str, hint: Any, value: object) -> None:
    """Raise `ConfigError` unless `value` is what the field's annotation says; a whole number is a number, too."""
    or_none = ""
    if isinstance(hint, types.UnionType):  # X | None
        if value is None:
            return
        (hint,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        or_none = " or none"
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        if value not in choices:
            listed = ", ".join(map(repr, choices))
            raise ConfigError(f"{name} must be one of {listed}{or_none}, got {value!r}{nearest(value, choices)}")
        return
    kinds = {bool: "true or false", int: "a whole number", float: "a finite number"}
    expected = kinds.get(hint, f"of {hint.__name__}")
    of_kind = type(value) is hint or (hint is float and type(value) is int)
    if not of_kind or (hint is float and not math.isfinite(typing.cast(float, value))):
        raise ConfigError(f"{name} must be {expected}{or_none}, got {value!r}")


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Settings):
    """How a match's moves are thought out."""

    table: ClassVar[str] = "search."

    algorithm: SearchName = "descent"
    """Descent (Algorithm 10), unbounded best-first minimax (Algorithm 12), iterative-deepening alpha-beta, or MCTS."""
    completion: bool = True
    """Prove states and stop at proven ones (Section 5). Without it, Descent is Algorithm 9. MCTS has none."""
    seconds: float | None = None
    """Search time per move. The article: 2 s (Section 3.3.1), 3 s (Section 8.4.3)."""
    iterations: int | None = 20
    """Search iterations per move; with this limit alone, a run is reproducible to the bit."""
    evaluations: int | None = None
    """States valued by the network per move."""
    resolved_hours: float | None = None
    """Proven states are kept from match to match, and forgotten every so many hours of training; none: they are not
    kept. Some 4,000,000 are kept at most, about a gigabyte. The article: 12 (Section 8.4.3), 48 (Section 9.3.1)."""
    exploration_constant: float | None = None
    """c of UCT, for MCTS alone, which takes 0.4 where none is given (the article, Section 3.3)."""
    first_play_urgency: bool = False
    """MCTS alone: an action that was never tried counts as worth what its parent is, so not every one must be tried
    first (*Minimax Strikes Back*, first version, Section 3.4)."""
    rollouts: bool = False
    """MCTS alone: a leaf is valued by a random playout in place of the network."""
    virtual_loss_batch: int | None = None
    """MCTS alone: b, so many leaves are valued at once, chosen one after the other with a virtual loss (first version,
    Section 3.5); none: one at a time."""

    def check(self) -> None:
        """The limits are positive, there is one, and nothing is set that the algorithm does not have."""
        self.require_positive("seconds", "iterations", "evaluations", "resolved_hours")
        if self.seconds is self.iterations is self.evaluations is None:
            raise ConfigError("search must be limited by seconds, iterations or evaluations, got none of them")
        self.require(
            self.exploration_constant is None or self.exploration_constant >= 0, "exploration_constant", "zero or more"
        )
        self.require_some(1, "virtual_loss_batch")
        if self.algorithm != "mcts":
            self.require(self.exploration_constant is None, "exploration_constant", "none, as only 'mcts' has it")
            self.require(self.virtual_loss_batch is None, "virtual_loss_batch", "none, as only 'mcts' has it")
            self.require(not self.first_play_urgency, "first_play_urgency", "false, as only 'mcts' has it")
            self.require(not self.rollouts, "rollouts", "false, as only 'mcts' has them")
        if self.algorithm not in ("descent", "ubfm") or not self.completion:
            self.require(
                self.resolved_hours is None,
                "resolved_hours",
                "none, unless Descent or UBFM proves states by completion",
            )


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig(Settings):
    """The distribution that a move is drawn from (Sections 2.3 and 7)."""

    table: ClassVar[str] = "exploration."

    distribution: Distribution = "ordinal"
    """The ordinal distribution (Algorithm 14), ε-greedy (Algorithm 2), softmax (Section 2.3), or always the best."""
    completed: bool = True
    """Completed action selection around it (Section 5.2): a proven win is played, a proven loss is not."""
    schedule: ExplorationSchedule = "uniform"
    """`uniform`: the exploitation parameter is drawn from [0, 1] for each move (the article, Section 8.4.3);
    `annealed`: it grows from 0 to 1 over the run (Algorithms 2 and 14); `constant`: always `exploitation`.
    The distribution `best` has no parameter."""
    exploitation: float | None = None
    """ε' of the `constant` schedule, and of no other: 0 plays uniformly at random, 1 plays the best action."""
    temperature: float | None = None
    """Of softmax alone, which takes 0.1 where none is given: τ at ε' = 1/2, as a share of the outcome's scale.
    τ = temperature · scale · (1 - ε') / ε', so ε' means the same to every distribution."""

    def check(self) -> None:
        """The parameter is a probability, given for `constant` and nothing else; softmax alone has a temperature."""
        given = self.exploitation is not None
        if given != (self.schedule == "constant"):
            raise ConfigError(
                f"exploration.exploitation must be given for schedule 'constant' and no other, "
                f"got {self.exploitation!r} with {self.schedule!r}"
            )
        self.require(self.exploitation is None or 0.0 <= self.exploitation <= 1.0, "exploitation", "in [0, 1]")
        self.require_positive("temperature")
        if self.distribution != "softmax":
            self.require(self.temperature is None, "temperature", "none, as only 'softmax' has one")


@dataclass(frozen=True, kw_only=True)
class TargetsConfig(Settings):
    """What of a match is learned, and as worth what (Sections 2.2 and 3.1)."""

    table: ClassVar[str] = "targets."

    method: TargetsName = "tree"
    """`tree`: every searched state with its value (Algorithm 3); `root`: the states of the match with theirs
    (Algorithm 4); `terminal`: the states of the match with the worth of its end (Algorithm 5)."""
    coefficients: bool = False
    """Coefficiented tree learning (the 2019 article): a state updated n times weighs 1 + ⌊log2(n + 1)⌋."""
    leaves: bool = False
    """Tree learning with the non-terminal leaves, which the article leaves out (Remark 3)."""

    def check(self) -> None:
        """Coefficients and leaves belong to trees."""
        if self.method != "tree":
            self.require(not self.coefficients, "coefficients", "false, as only 'tree' has them")
            self.require(not self.leaves, "leaves", "false, as only 'tree' has them")


@dataclass(frozen=True, kw_only=True)
class EncodingConfig(Settings):
    """What the network is shown of a state."""

    table: ClassVar[str] = "encoding."

    edges: bool = False
    """The board has a margin of one cell with the stones of the players who own the sides, for games such as Hex
    (the article, Section 9.3.1)."""
    symmetries: str = "none"
    """Each learned state is joined by one of its mirror images, drawn at random (Sections 9.3.1 and 10.3): `all` that
    the game was found to have, `none`, or some by name, such as "rotate_180" or "rotate_180,transpose"."""

    def check(self) -> None:
        """Symmetries are known, and each is named once."""
        if self.symmetries in ("none", "all"):
            return
        names = self.symmetries.split(",")
        known = ("none", "all", *SYMMETRIES)
        for name in names:
            if name not in SYMMETRIES:
                raise ConfigError(
                    "encoding.symmetries must be 'none', 'all' or, with commas between, some of "
                    f"{', '.join(SYMMETRIES)}, got {self.symmetries!r}{nearest(name, known)}"
                )
        self.require(len(set(names)) == len(names), "symmetries", "names of which each is given once")


@dataclass(frozen=True, kw_only=True)
class WarmUpConfig(Settings):
    """Learning the values of random terminal states before the first match (the article, Section 8.4.3)."""

    table: ClassVar[str] = "warm_up."

    states: int | None = None
    """How many; none: no warm-up. Its time is not counted in `seconds`. The article: of the order of 10,000,000."""
    processes: int | None = None
    """That play the random matches; none: one for each core. What is learned does not depend on it."""

    def check(self) -> None:
        """There is something to learn and someone to play it."""
        self.require_some(1, "states", "processes")


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(Settings):
    """The value network."""

    table: ClassVar[str] = "network."

    architecture: NetworkName = "auto"
    """`c`, `r1`, `r2`: the papers' convolutional and residual networks (Minimax Strikes Back, Table 2); `r3`: residual
    blocks, a wide 1 x 1 convolution, global sum pooling and a dense layer (the article, Sections 10.3 and 11.4);
    `mlp`: dense layers, for games without planes; `auto`: chosen by the board's size."""
    filters: int = 64
    """Filters of each convolution. The article: 64 (Section 3.3.1), 132 (Section 8.4.1)."""
    layers: int | None = None
    """Convolutions of `c` (papers: 3), residual blocks of `r1` (2), `r2` and `r3` (8), hidden layers of `mlp` (3)."""
    neurons: int = 100
    """Neurons of a hidden dense layer. The article: 100 (Section 3.3.1)."""
    squeeze_excitation: int | None = None
    """Ratio of the squeeze-and-excitation layer that ends each residual block; none: there is no such layer.
    The article: 16 (Sections 10.3 and 12.4)."""
    pointwise_filters: int | None = None
    """Filters of the 1 x 1 convolution of `r3` and of no other, which takes as many as `neurons` where none is given.
    The article: 4453, as its neurons (Section 10.3)."""

    def check(self) -> None:
        """There is something of everything, and nothing that the architecture does not have."""
        self.require_some(1, "filters", "layers", "neurons", "squeeze_excitation", "pointwise_filters")
        if self.architecture not in ("r1", "r2", "r3"):
            self.require(self.squeeze_excitation is None, "squeeze_excitation", "none, unless for 'r1', 'r2' or 'r3'")
        if self.architecture != "r3":
            self.require(self.pointwise_filters is None, "pointwise_filters", "none, as only 'r3' has them")


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(Settings):
    """Which data of past matches is learned again after a match."""

    table: ClassVar[str] = "replay."

    method: ReplayName = "stratified"
    """`stratified` over matches (Algorithm 8); `plain`: a random sample of the last states (Algorithm 6); `per_match`:
    a random sample of the states of the last matches (Section 9.3.1, footnote 8); `none`: the match just played."""
    matches: int = 100
    """μ of `stratified` and `per_match`, the number of matches kept. The article: 100."""
    duplication: float = 3.0
    """δ of `stratified`, how many times each state is learned on average. The article: 3."""
    states: int = 1_000_000
    """μ of `plain`, the number of states kept. The article: 10^6 (Section 3.3.1)."""
    sampling: float = 0.04
    """σ of `plain` and `per_match`, the share of the memory that a phase learns. The article: 4 % and 5 %."""
    megabytes: float = 1000.0
    """Remark 5's bound: the oldest matches (of `plain`, the oldest blocks of states) leave, as few as possible, when
    the memory would take more."""

    def check(self) -> None:
        """There is room for something, and something is learned."""
        self.require_some(1, "matches", "states")
        self.require_positive("duplication", "megabytes", "sampling")
        self.require(self.sampling <= 1, "sampling", "at most 1")


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(Settings):
    """Stochastic gradient descent by Adam with L2 regularisation (Algorithm 7)."""

    table: ClassVar[str] = "learner."

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

    def check(self) -> None:
        """Each step goes somewhere."""
        self.require_some(1, "threads", "batch_size")
        self.require_positive("learning_rate")
        self.require(self.l2 >= 0, "l2", "zero or more")


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Settings):
    """What runs the network when the search asks for values."""

    table: ClassVar[str] = "engine."

    name: EngineName = "auto"
    """`auto` takes CUDA where there is a device, else OpenVINO."""
    precision: Precision = "auto"
    """`auto` takes bfloat16 where the processor has instructions for it, else float32."""
    threads: int | None = None
    """Threads of the engine on a processor; none: one for every two cores, since the search keeps another one busy, and
    threads that have to wait for a core cost far more than they bring."""

    def check(self) -> None:
        """A thread at least."""
        self.require_some(1, "threads")


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig(Settings):
    """Matches against OpenSpiel's own MCTS from time to time while training."""

    table: ClassVar[str] = "evaluation."

    every_matches: int | None = None
    """Training matches between two evaluations; none: no evaluation."""
    matches: int = 20
    """Matches of one evaluation, half with each colour."""
    simulations: int = 100
    """Simulations a move of `pyspiel.MCTSBot` (random rollouts, UCT constant 2)."""
    seconds: float = 0.1
    """Thinking time a move of the trained agent."""

    def check(self) -> None:
        """Both colours are played."""
        self.require_some(1, "every_matches", "simulations")
        self.require(self.matches >= 2 and self.matches % 2 == 0, "matches", "even and at least 2")
        self.require_positive("seconds")


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Settings):
    """A training run. It ends at `matches` or `seconds`, whichever comes first."""

    matches: int | None = None
    """Matches to play in all; none: no limit."""
    seconds: float | None = None
    """Training time in all, summed over resumptions; none: no limit."""
    matches_at_once: int = 8
    """K matches advance together, half of them sharing each network call. 1 is the papers' setting."""
    outcome: str = "additive_depth"
    """What a finished match is worth (Section 6): gain, additive_depth, multiplicative_depth, score, mobility,
    presence, or "module:name" for one of your own. The article prefers score where there is one, else depth."""
    checkpoint_seconds: float = 60.0
    """Time between two checkpoints at least; one is also written at the end and on Ctrl-C."""
    seed: int = 0
    """Seed of everything random in the run."""
    search: SearchConfig = field(default_factory=SearchConfig)
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    targets: TargetsConfig = field(default_factory=TargetsConfig)
    encoding: EncodingConfig = field(default_factory=EncodingConfig)
    warm_up: WarmUpConfig = field(default_factory=WarmUpConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def check(self) -> None:
        """The limits are positive, and what anneals has an end."""
        self.require_some(1, "matches", "matches_at_once")
        self.require_positive("seconds")
        self.require(self.checkpoint_seconds >= 0, "checkpoint_seconds", "zero or more")
        self.require(0 <= self.seed < 2**63, "seed", "in [0, 2^63)")
        if self.exploration.schedule == "annealed" and self.matches is None and self.seconds is None:
            raise ConfigError(
                "exploration.schedule must be 'uniform' or 'constant' in a run without an end, got 'annealed': "
                "set matches or seconds"
            )

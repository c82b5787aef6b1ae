"""Settings of targets, replay and the learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from athenan_spiel.config.machine import Megabytes, Precision, Threads
from athenan_spiel.config.settings import Count, Range, Seconds, Settings, Share

TargetsName = Literal["tree", "root", "terminal"]
ValueLossName = Literal["squared", "cross_entropy"]
WarmUpName = Literal["ends", "games"]
ReplayName = Literal["stratified", "plain", "per_match", "none"]
RateSchedule = Literal["constant", "cosine"]
OptimizerName = Literal["adam", "muon"]


@dataclass(frozen=True, kw_only=True)
class TargetsConfig(Settings):
    """Training samples of a game and their values (Sections 2.2 and 3.1)."""

    table: ClassVar[str] = "targets."

    method: TargetsName = "tree"
    """Training samples of a game. `tree`: every searched state with its value (Algorithm 3); `root`: the states of the
    game with their values (Algorithm 4); `terminal`: the states of the game with its terminal value (Algorithm 5)."""
    trace_decay: Annotated[float, Range(0, 1, above=True)] | None = None
    """λ of TD(λ) (Sutton 1988), for root learning: the value learned for a state is (1 - λ) times its own, plus λ times
    the value learned for the next state of the game, which may be a chance state. 1: terminal learning; none: 0."""
    coefficients: bool = False
    """Weight a state that was updated n times by 1 + ⌊log2(n + 1)⌋ (coefficiented tree learning, the 2019 article)."""
    leaves: bool = False
    """Add the non-terminal leaves to tree learning, which the article omits (Remark 3)."""
    playout_ends: bool = False
    """Replace the terminal states that the search has seen by ends of random playouts, one from every other learned
    state (the 2019 article, Section 4.1). Tree learning only."""

    def check(self) -> None:
        """Check that options of tree learning and of root learning are set for these only."""
        if self.method != "root":
            self.require_unset(["trace_decay"], "as only 'root' has it")
        if self.method != "tree":
            self.require_unset(["coefficients", "leaves", "playout_ends"], "as only 'tree' has them")


@dataclass(frozen=True, kw_only=True)
class WarmUpConfig(Settings):
    """Learning states of random games before the first game (the article, Section 8.4.3).

    There is a warm-up if `states` is set, or `seconds` in a run with a time limit.
    """

    table: ClassVar[str] = "warm_up."

    method: WarmUpName = "ends"
    """States to learn. `ends`: terminal states (the article); `games`: states of all parts of random games, with the
    terminal value of their game. If the network explains less than 2 % of the variance of these values, its weights are
    reset."""
    states: Count | None = None
    """Number of states, in place of `seconds`; none: `seconds` is the limit. Their time does not count towards the
    run's `seconds`. The article: about 10,000,000."""
    seconds: Seconds | None = None
    """Training time at which the warm-up ends, in seconds, at most 15 % of the run's `seconds`; none: no warm-up unless
    `states` is set."""
    processes: Annotated[int, Range(1, 1024)] | None = None
    """Processes that play the random games of `states`, at most 8 per core; none: one per core. The samples do not
    depend on it. With `seconds`, one process plays and learns."""


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(Settings):
    """Data of past games that is learned again after a game."""

    table: ClassVar[str] = "replay."

    method: ReplayName = "stratified"
    """Sampling of past games. `stratified` over games (Algorithm 8); `plain`: a random sample of the last states
    (Algorithm 6); `per_match`: a random sample of the states of the last games (Section 9.3.1, footnote 8); `none`: the
    last game only."""
    matches: Count = 100
    """Number of games kept, μ of `stratified` and `per_match`. The article: 100."""
    duplication: Annotated[float, Range(0, 1000, above=True)] = 3.0
    """Average number of times that each state is learned, δ of `stratified`. The article: 3."""
    learning_share: Share | None = None
    """Fraction of the training time that learning should take, in runs with a time limit. If it takes less,
    `stratified` learns states more often, at most three times as often as δ, also before μ games are stored. None: as
    in the article."""
    states: Count = 1_000_000
    """Number of states kept, μ of `plain`. The article: 10^6 (Section 3.3.1)."""
    sampling: Annotated[float, Range(0, 1, above=True)] = 0.04
    """Fraction of the memory that a phase learns, σ of `plain` and `per_match`. The article: 4 % and 5 %."""
    megabytes: Megabytes = 1000.0
    """Maximum memory (Remark 5), in MB. Beyond it the oldest games are dropped, or with `plain` the oldest blocks of
    states. A run refuses more than the machine has."""


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(Settings):
    """Stochastic gradient descent with L2 regularisation (Algorithm 7)."""

    table: ClassVar[str] = "learner."

    batch_size: Annotated[int, Range(1, 1_000_000)] = 128
    """Batch size B. A batch that does not fit into memory is refused. The article: 128 (Section 3.3.1), 3000
    (Section 8.4.3)."""
    optimizer: OptimizerName = "adam"
    """Optimiser. `muon`: Muon for the matrices of all layers but the last of values or policies, and Adam for all other
    weights (`learning/optimizers.py`); the step size grows during the first 20 steps. The article: Adam."""
    learning_rate: Annotated[float, Range(0, above=True)] = 1e-3
    """Step size. The article: 0.001 (Section 3.3.1), 0.0001 (Section 8.4.1)."""
    schedule: RateSchedule = "constant"
    """Schedule of the step size. `cosine`: it falls over the run from `learning_rate` to a hundredth of it, as the
    cosine from 0 to π; each round uses the fraction of the run completed, so a run resumed with a later end learns
    faster again, and in a run without an end the step size is constant. The article: constant."""
    beta2: float = 0.999
    """Adam's β₂, the decay of the second moment. The article: 0.999 (Section 3.3.1), 0.99 (Sections 11.4 and 12.4)."""
    epsilon: Annotated[float, Range(0, 1, above=True)] = 1e-7
    """Adam's ε. The article: 10⁻⁷ (Section 3.3.1), 10⁻⁵ (Section 10.3), 10⁻⁸ (Section 12.4)."""
    l2: Annotated[float, Range(0)] = 1e-3
    """Weight of the L2 regularisation. The article: 0.001."""
    value_loss: ValueLossName = "squared"
    """Loss of values. `squared`: the squared error (Algorithm 7; AlphaZero); `cross_entropy`: ExIt's KL loss of the
    probability to win (Section 8.1), for the outcome `gain` only."""
    policy_weight: Annotated[float, Range(0, 1000)] = 1.0
    """Weight of the policy loss relative to the value loss, for networks with a policy. AlphaZero and ExIt: 1."""
    precision: Precision = "auto"
    """Arithmetic of the forward and backward pass; weights are always float32."""
    threads: Threads | None = None
    """Threads of the learner on a processor; none: one for every two cores, since threads that wait for a core cost
    more than they gain. Weights are bit-reproducible only with equal threads. A run refuses more than 64 per core."""

    def check(self) -> None:
        """Check the range of β₂, which excludes 1."""
        self.require(0 <= self.beta2 < 1, "beta2", "zero or more, and less than 1")

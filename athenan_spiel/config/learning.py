"""What is learned of the matches, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from athenan_spiel.config.network import MOST_THREADS, Precision
from athenan_spiel.config.settings import Settings

TargetsName = Literal["tree", "root", "terminal"]
ValueLossName = Literal["squared", "cross_entropy"]
ReplayName = Literal["stratified", "plain", "per_match", "none"]
RateSchedule = Literal["constant", "cosine"]

MOST_PROCESSES = 1024
"""On any machine; `RandomEnds` takes fewer on a small one."""
LARGEST_BATCH = 1_000_000
"""Its memory is compared with the machine's before a run begins (`networks.memory`)."""
MOST_DUPLICATION = 1000
LARGEST_WEIGHT = 1000
"""Of the policy's loss."""
MOST_MEGABYTES = 1_000_000_000
"""A petabyte. Where a run begins, the memory that the machine has is the bound."""


@dataclass(frozen=True, kw_only=True)
class TargetsConfig(Settings):
    """Which states of a match are learned, and with which values (Sections 2.2 and 3.1)."""

    table: ClassVar[str] = "targets."

    method: TargetsName = "tree"
    """`tree`: every searched state with its value (Algorithm 3); `root`: the states of the match with theirs
    (Algorithm 4); `terminal`: the states of the match with the worth of its end (Algorithm 5)."""
    coefficients: bool = False
    """Coefficiented tree learning (the 2019 article): a state updated n times weighs 1 + ⌊log2(n + 1)⌋."""
    leaves: bool = False
    """Tree learning with the non-terminal leaves, which the article leaves out (Remark 3)."""
    playout_ends: bool = False
    """Tree learning with ends of random playouts, one from every other state that is learned, in place of the terminal
    states that the search has seen (the 2019 article, Section 4.1)."""

    def check(self) -> None:
        """`coefficients` and `leaves` are set for tree learning alone."""
        if self.method != "tree":
            self.require(not self.coefficients, "coefficients", "false, as only 'tree' has them")
            self.require(not self.leaves, "leaves", "false, as only 'tree' has them")
            self.require(not self.playout_ends, "playout_ends", "false, as only 'tree' has them")


@dataclass(frozen=True, kw_only=True)
class WarmUpConfig(Settings):
    """Learning the values of random terminal states before the first match (the article, Section 8.4.3)."""

    table: ClassVar[str] = "warm_up."

    states: int | None = None
    """The number of states; none: no warm-up. Its time is not counted in `seconds`. The article: of the order of
    10,000,000."""
    processes: int | None = None
    """That play the random matches, at most 8 for each core of the machine; none: one for each. What is learned does
    not depend on it."""

    def check(self) -> None:
        """The numbers of states and of processes are at least 1."""
        self.require_some(1, "states")
        self.require_some(1, "processes", most=MOST_PROCESSES)


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
    the memory would take more. A run refuses more than the machine has."""

    def check(self) -> None:
        """Every size is positive and within its bound, and the share that is sampled is at most 1."""
        self.require_some(1, "matches", "states")
        self.require_positive("duplication", "megabytes", "sampling")
        self.require_at_most(MOST_DUPLICATION, "duplication")
        self.require_at_most(MOST_MEGABYTES, "megabytes")
        self.require(self.sampling <= 1, "sampling", "at most 1")


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(Settings):
    """Stochastic gradient descent by Adam with L2 regularisation (Algorithm 7)."""

    table: ClassVar[str] = "learner."

    batch_size: int = 128
    """B. The article: 128 (Section 3.3.1), 3000 (Section 8.4.3)."""
    learning_rate: float = 1e-3
    """Adam's step size. The article: 0.001 (Section 3.3.1), 0.0001 (Section 8.4.1)."""
    schedule: RateSchedule = "constant"
    """`cosine`: over the run the step size falls from `learning_rate` to a hundredth of it, as the cosine does from 0
    to π. How much of the run lies behind is asked for each round, so a longer run that is resumed learns faster again;
    in one without an end nothing falls. The article: constant."""
    beta2: float = 0.999
    """Adam's β₂, the decay of the second moment. The article: 0.999 (Section 3.3.1), 0.99 (Sections 11.4 and 12.4)."""
    epsilon: float = 1e-7
    """Adam's ε. The article: 10⁻⁷ (Section 3.3.1), 10⁻⁵ (Section 10.3), 10⁻⁸ (Section 12.4)."""
    l2: float = 1e-3
    """Weight of the L2 regularisation. The article: 0.001."""
    value_loss: ValueLossName = "squared"
    """`squared`: the squared error of values (Algorithm 7; AlphaZero); `cross_entropy`: ExIt's KL loss of the chance to
    win (Section 8.1), for the gain alone."""
    policy_weight: float = 1.0
    """How much the loss of the policy counts beside that of the value, where the network has one. AlphaZero and ExIt:
    1."""
    precision: Precision = "auto"
    """Arithmetic of the forward and backward pass; the weights themselves are always float32."""
    threads: int | None = None
    """Threads of the learner on a processor; none: one for every two cores, as threads that have to wait for a core
    cost far more than they bring. Weights are reproducible to the bit only with equal threads. A run refuses more than
    64 for each core."""

    def check(self) -> None:
        """Sizes and the learning rate are positive, L2 is zero or more, and Adam's numbers are in their ranges."""
        self.require_some(1, "threads", most=MOST_THREADS)
        self.require_some(1, "batch_size", most=LARGEST_BATCH)
        self.require_positive("learning_rate", "epsilon")
        self.require_at_most(1, "epsilon")
        self.require(0 <= self.beta2 < 1, "beta2", "zero or more, and less than 1")
        self.require(self.l2 >= 0, "l2", "zero or more")
        self.require(0 <= self.policy_weight <= LARGEST_WEIGHT, "policy_weight", f"from zero to {LARGEST_WEIGHT:,}")

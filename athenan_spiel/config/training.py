"""A whole run, of all the other settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from athenan_spiel.config.learning import LearnerConfig, ReplayConfig, TargetsConfig, WarmUpConfig
from athenan_spiel.config.memory import MemoryConfig
from athenan_spiel.config.network import EncodingConfig, EngineConfig, NetworkConfig
from athenan_spiel.config.search import (
    MOST_AT_ONCE,
    POLICY_ASKERS,
    POLICY_TELLERS,
    ExplorationConfig,
    SearchConfig,
)
from athenan_spiel.config.self_play import SelfPlayConfig
from athenan_spiel.config.settings import LONGEST, MOST_OPENING_PLIES, Settings
from athenan_spiel.config.workers import WorkersConfig
from athenan_spiel.errors import ConfigError, shown

MOST_EVALUATION_MATCHES = 100_000
"""Against one opponent; their openings are drawn before the first of them."""
MOST_OPPONENTS = 20
LONGEST_WORD = 1_000
"""Characters of an opponent's word."""
WORD_LIMITS = {"seconds": "s", "iterations": "i", "evaluations": "e"}
"""The limits of a move, each with the letter that follows its number in a word."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig(Settings):
    """Matches against other agents from time to time while training, in a process beside it, which uses one thread.

    Every evaluation of a run has the same opponents, openings and seed, so what they say can be compared.
    """

    table: ClassVar[str] = "evaluation."
    renamed: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
        "simulations": lambda count: {"opponents": (f"mcts:{count}",)}
    }

    every_matches: int | None = None
    """Training matches between two evaluations; none: they are not what evaluations follow."""
    every_seconds: float | None = None
    """Training time between two evaluations; none: likewise. With neither there is no evaluation."""
    opponents: tuple[str, ...] = ("mcts:100",)
    """Against whom, as agents' words (docs/using.md): mcts:100, uct:160, runs/other#640@0.1s."""
    matches: int = 20
    """Matches against each opponent in an evaluation, half with each colour."""
    opening_plies: int = 2
    """Random actions at the beginning of a match; each opening is played with both colours."""
    search: str = "ubfm_k"
    """What the trained agent plays with, as in its word: ubfm_k, ubfm_s, descent, alphabeta(3), mcts(0.5)."""
    seconds: float | None = 0.1
    """Thinking time a move of the trained agent."""
    iterations: int | None = None
    """Search iterations a move, in place of `seconds`."""
    evaluations: int | None = None
    """States valued a move, in place of `seconds`."""
    final_seconds: float | None = None
    """After the end of the training an evaluation under way is waited for and the last network evaluated, for so long
    at most; none: what is under way is dropped. A request to stop always drops it."""

    @property
    def asked(self) -> bool:
        """Whether there are evaluations at all."""
        return self.every_matches is not None or self.every_seconds is not None

    def check(self) -> None:
        """Both colours are played alike, there are opponents and one limit of a move, and numbers are bounded."""
        self.require_some(1, "every_matches", "iterations", "evaluations")
        self.require_some(0, "opening_plies", most=MOST_OPENING_PLIES)
        self.require(self.matches >= 2 and self.matches % 2 == 0, "matches", "even and at least 2")
        self.require_at_most(MOST_EVALUATION_MATCHES, "matches")
        self.require_time("every_seconds", "seconds", "final_seconds")
        self.require(
            0 < len(self.opponents) <= MOST_OPPONENTS, "opponents", f"from 1 to {MOST_OPPONENTS} agents' words"
        )
        for i, word in enumerate(self.opponents):
            if not 0 < len(word) <= LONGEST_WORD or word in self.opponents[:i]:
                raise ConfigError.at(
                    "evaluation.opponents",
                    f"must be different words of at most {LONGEST_WORD:,} characters, got {shown(word)} among them",
                )
            if word.startswith("-"):  # an option of `athenan eval`, which is given them
                raise ConfigError.at(
                    "evaluation.opponents", f"must be words of which none begins with a dash, got {shown(word)}"
                )
        given = [name for name in WORD_LIMITS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigError.at(
                "evaluation.seconds",
                f"or one of iterations and evaluations must limit a move, got {' and '.join(given) or 'none of them'}"
                + (": with another one seconds is none" if "seconds" in given else ""),
            )


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
    keep: int = 2
    """How many of the newest checkpoints stay on disk; at least 2, as the disk may damage one."""
    milestone_matches: int | None = None
    """Matches between two milestones, whose networks stay for good, to be compared (`runs/NAME#48`); none: there are
    no milestones."""
    seed: int = 0
    """Seed of everything random in the run."""
    search: SearchConfig = field(default_factory=SearchConfig)
    self_play: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    targets: TargetsConfig = field(default_factory=TargetsConfig)
    encoding: EncodingConfig = field(default_factory=EncodingConfig)
    warm_up: WarmUpConfig = field(default_factory=WarmUpConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    engine: EngineConfig = field(default_factory=EngineConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    workers: WorkersConfig = field(default_factory=WorkersConfig)
    memory: MemoryConfig = field(default_factory=MemoryConfig)

    def check(self) -> None:
        """Numbers are within their bounds, and a run whose exploration goes by its end has one."""
        self.require_some(1, "matches", "milestone_matches")
        self.require_some(1, "matches_at_once", most=MOST_AT_ONCE)
        self.require_some(2, "keep")
        self.require_time("seconds")
        self.require(self.checkpoint_seconds >= 0, "checkpoint_seconds", "zero or more")
        self.require_at_most(LONGEST, "checkpoint_seconds")
        self.require(0 <= self.seed < 2**63, "seed", "in [0, 2^63)")
        least = 2 * self.workers.count * self.matches_at_once
        if self.workers.max_staleness is not None and self.workers.max_staleness < least:
            raise ConfigError.at(
                "workers.max_staleness",
                f"must be at least {least}, twice the matches that {self.workers.count} workers play at once, "
                f"got {self.workers.max_staleness!r}",
            )
        self._check_policy()
        self._check_self_play()
        if self.matches is None and self.seconds is None:
            self._check_endless()

    def _check_endless(self) -> None:
        """Nothing has to know how much of the run lies behind."""
        if self.exploration.schedule == "annealed":
            raise ConfigError.at(
                "exploration.schedule",
                "must be 'uniform' or 'constant' in a run without an end, got 'annealed': set matches or seconds",
            )

    def _check_policy(self) -> None:
        """A policy is learned of searches that tell one, and searches that ask for one have it."""
        search, policy = self.search.algorithm, self.network.policy
        if policy != "none" and search not in POLICY_TELLERS:
            raise ConfigError.at(
                "network.policy",
                f"must be 'none' with search.algorithm {search!r}, which tells no policy to learn, got {policy!r}: "
                f"only {', '.join(map(repr, POLICY_TELLERS))} do",
            )
        if policy == "none" and search in POLICY_ASKERS:
            raise ConfigError.at(
                "network.policy", f"must be 'auto', 'planes' or 'dense' with search.algorithm {search!r}, got 'none'"
            )
        if policy != "none" and self.targets.method == "tree":
            raise ConfigError.at(
                "targets.method",
                "must be 'terminal' or 'root' where a policy is learned, which a search tells of its root alone, "
                "got 'tree'",
            )
        if self.learner.value_loss == "cross_entropy" and self.outcome != "gain":
            raise ConfigError.at(
                "learner.value_loss", f"must be 'squared' with outcome {self.outcome!r}: 'cross_entropy' is for 'gain'"
            )

    def _check_self_play(self) -> None:
        """An apprentice has a policy that is learned, phases an end, and what is not learned is not used."""
        own, search = self.self_play, self.search
        if own.method == "apprentice":
            if self.network.policy == "none":
                raise ConfigError.at(
                    "network.policy",
                    "must be 'auto', 'planes' or 'dense' with self_play.method 'apprentice', got 'none'",
                )
            if self.learner.policy_weight == 0:
                raise ConfigError.at(
                    "learner.policy_weight", "must be more than zero with self_play.method 'apprentice', got 0"
                )
        if own.has_phases and self.matches is None and self.seconds is None:
            name = "values_after" if own.warm_start is None else "warm_start"
            raise ConfigError.at(
                f"self_play.{name}",
                f"must be none in a run without an end, got {getattr(own, name)!r}: set matches or seconds",
            )
        if own.values_after is not None and search.algorithm != "exit" and not search.rollouts:
            raise ConfigError.at(
                "self_play.values_after",
                f"must be none with search.algorithm {search.algorithm!r}, which looks at values from the beginning, "
                f"got {own.values_after!r}",
            )
        if search.algorithm == "exit" and own.values_after == 1 and search.value_weight != 0:
            raise ConfigError.at(
                "search.value_weight",
                f"must be 0 with self_play.values_after 1, as values are never learned, got {search.value_weight!r}",
            )

    def has_milestone_between(self, before: int, now: int) -> bool:
        """Whether a run comes to a milestone after the match of number `before`, and until that of number `now`."""
        every = self.milestone_matches
        return every is not None and now // every > before // every

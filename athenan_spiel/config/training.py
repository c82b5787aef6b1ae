"""Settings of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from athenan_spiel.config.learning import LearnerConfig, ReplayConfig, TargetsConfig, WarmUpConfig
from athenan_spiel.config.machine import EngineConfig, MemoryConfig, WorkersConfig
from athenan_spiel.config.network import EncodingConfig, NetworkConfig
from athenan_spiel.config.search import (
    SEARCH_CONFIGS,
    AtOnce,
    DescentConfig,
    ExitConfig,
    ExplorationConfig,
    MctsConfig,
    SearchConfig,
    SelfPlayConfig,
)
from athenan_spiel.config.settings import LONGEST, MOST, Count, OpeningPlies, Range, Seconds, Settings
from athenan_spiel.errors import ConfigError, shown

WARM_UP_SHARE = 0.15
"""Maximum of `warm_up.seconds`, as a fraction of the training time."""
MOST_OPPONENTS = 20
MAX_SPEC_CHARACTERS = 1_000
"""Maximum length of an opponent's spec string."""
SPEC_LIMITS = {"seconds": "s", "iterations": "i", "evaluations": "e"}
"""Limits of a move, with the unit that follows the number in an agent's spec string."""


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig(Settings):
    """Games against other agents while training, in a separate process with one thread.

    Every evaluation of a run has the same opponents, openings and seed, so results are comparable.
    """

    table: ClassVar[str] = "evaluation."
    renamed: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
        "simulations": lambda count: {"opponents": (f"mcts:{count}",)}
    }

    every_matches: Count | None = None
    """Training games between two evaluations; none: no evaluation by number of games."""
    every_seconds: Seconds | None = None
    """Training time between two evaluations, in seconds; none: no evaluation by time. It can be combined with
    `every_matches`; without both there is no evaluation."""
    opponents: tuple[str, ...] = ("mcts:100",)
    """Opponents, as agents' spec strings (docs/using.md): mcts:100, uct:160, runs/other#640@0.1s."""
    matches: Annotated[int, Range(2, 100_000)] = 20
    """Games against each opponent in an evaluation, half with each colour."""
    opening_plies: OpeningPlies = 2
    """Random actions at the beginning of a game; each opening is played with both colours."""
    search: str = "ubfm_k"
    """Search of the trained agent, as in its spec string: ubfm_k, ubfm_s, descent, alphabeta(3), mcts(0.5)."""
    seconds: Seconds | None = 0.1
    """Time per move of the trained agent, in seconds."""
    iterations: Count | None = None
    """Search iterations per move, in place of `seconds`; none: `seconds` is the limit."""
    evaluations: Count | None = None
    """Evaluations per move, in place of `seconds`; none: `seconds` is the limit."""
    final_seconds: Seconds | None = None
    """Maximum time, after the end of the training, to finish a running evaluation and evaluate the last network, in
    seconds; none: a running evaluation is dropped. A request to stop always drops it."""

    @property
    def asked(self) -> bool:
        """Whether there are evaluations at all."""
        return self.every_matches is not None or self.every_seconds is not None

    def check(self) -> None:
        """Check that both colours get as many games, and that there are opponents and one limit of a move."""
        self.require(self.matches % 2 == 0, "matches", "even and at least 2")
        self.require(0 < len(self.opponents) <= MOST_OPPONENTS, "opponents", f"from 1 to {MOST_OPPONENTS} agent specs")
        for i, spec in enumerate(self.opponents):
            if not 0 < len(spec) <= MAX_SPEC_CHARACTERS or spec in self.opponents[:i]:
                expected = (
                    f"different specs of at most {MAX_SPEC_CHARACTERS:,} characters, got {shown(spec)} among them"
                )
            elif spec.startswith("-"):  # an option of `athenan eval`, which gets them as arguments
                expected = f"specs of which none begins with a dash, got {shown(spec)}"
            else:
                continue
            raise ConfigError.at("evaluation.opponents", f"must be {expected}")
        given = [name for name in SPEC_LIMITS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ConfigError.at(
                "evaluation.seconds",
                f"or one of iterations and evaluations must limit a move, got {' and '.join(given) or 'none of them'}"
                + (": with another one seconds is none" if "seconds" in given else ""),
            )


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Settings):
    """A training run. It ends at `matches` or `seconds`, whichever comes first."""

    matches: Count | None = None
    """Total number of games; none: no limit."""
    seconds: Seconds | None = None
    """Total training time in seconds, summed over resumptions; none: no limit."""
    matches_at_once: AtOnce = 8
    """Number K of games played at once; half of them share each network call. The papers: 1."""
    outcome: str = "additive_depth"
    """Terminal value of a game (Section 6): gain, additive_depth, multiplicative_depth, score, mobility, presence, or
    "module:name" for a custom one. The article prefers score if the game has one, else depth."""
    checkpoint_seconds: Annotated[float, Range(0, LONGEST)] = 60.0
    """Minimum time between two checkpoints, in seconds; one is also written at the end and on Ctrl-C."""
    keep: Annotated[int, Range(2, MOST)] = 2
    """Number of newest checkpoints kept on disk; at least 2, as the disk may damage one."""
    milestone_matches: Count | None = None
    """Games between two milestones, whose networks are kept for comparison (`runs/NAME#48`); none: no milestones."""
    seed: Annotated[int, Range(0, 2**63 - 1)] = 0
    """Random seed."""
    search: SearchConfig = field(default_factory=DescentConfig)
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
        """Check that the settings of different tables fit together."""
        at_once = self.workers.count * self.matches_at_once
        self.require(
            self.workers.max_staleness is None or self.workers.max_staleness >= 2 * at_once,
            "workers.max_staleness",
            f"at least {2 * at_once}, twice the games that {self.workers.count} workers play at once",
        )
        self._check_policy()
        self._check_self_play()
        if self.matches is None and self.seconds is None:
            self._check_endless()

    def _check_endless(self) -> None:
        """Check that nothing depends on the fraction of the run completed."""
        own, advice = self.self_play, ": set matches or seconds"
        self.require(
            self.exploration.schedule != "annealed",
            "exploration.schedule",
            "'uniform' or 'constant' in a run without an end",
            advice,
        )
        for name in ("warm_start", "values_after"):
            self.require(getattr(own, name) is None, f"self_play.{name}", "none in a run without an end", advice)

    def _check_policy(self) -> None:
        """Check that a learned policy has a source, and that a search that needs a policy gets one."""
        search, policy = self.search, self.network.policy
        tellers = ", ".join(name for name, kind in SEARCH_CONFIGS.items() if kind.tells_policy)
        self.require(
            policy == "none" or search.tells_policy,
            "network.policy",
            f"'none' with search.algorithm {search.algorithm!r}, which provides no policy, unlike {tellers}",
        )
        required = "'auto', 'planes' or 'dense' with"
        self.require(
            policy != "none" or not search.needs_priors,
            "network.policy",
            f"{required} search.algorithm {search.algorithm!r}",
        )
        self.require(
            policy == "none" or self.targets.method != "tree",
            "targets.method",
            "'terminal' or 'root' where a policy is learned, which a search provides for its root only",
        )
        self.require(
            self.learner.value_loss != "cross_entropy" or self.outcome == "gain",
            "learner.value_loss",
            f"'squared' with outcome {self.outcome!r}, as 'cross_entropy' is for 'gain'",
        )
        if self.self_play.method == "apprentice":
            self.require(policy != "none", "network.policy", f"{required} self_play.method 'apprentice'")
            self.require(
                self.learner.policy_weight > 0,
                "learner.policy_weight",
                "more than zero with self_play.method 'apprentice'",
            )

    def _check_self_play(self) -> None:
        """Check that values are used only if they are learned."""
        own, search = self.self_play, self.search
        self.require(
            own.values_after is None
            or isinstance(search, ExitConfig)
            or (isinstance(search, MctsConfig) and search.rollouts),
            "self_play.values_after",
            f"none with search.algorithm {search.algorithm!r}, which uses values from the beginning",
        )
        self.require(
            not isinstance(search, ExitConfig) or own.values_after != 1 or search.value_weight == 0,
            "search.value_weight",
            "0 with self_play.values_after 1, as values are never learned",
        )

    @property
    def warm_up_seconds(self) -> float:
        """Training time of the warm-up, in seconds; 0 if `warm_up.states` limits it, or without a warm-up."""
        wanted = self.warm_up.seconds
        if wanted is None or self.warm_up.states is not None or self.seconds is None:
            return 0.0
        return min(wanted, WARM_UP_SHARE * self.seconds)

    def has_milestone_between(self, before: int, now: int) -> bool:
        """Return whether a milestone is due after game number `before` and by game number `now`."""
        every = self.milestone_matches
        return every is not None and now // every > before // every

    def fraction_done(self, matches: int, seconds: float) -> float:
        """Returns the fraction of the run completed after `matches` and `seconds`, in [0, 1]; 0 without limits."""
        by_matches = matches / self.matches if self.matches is not None else 0.0
        by_seconds = seconds / self.seconds if self.seconds is not None else 0.0
        return min(1.0, max(by_matches, by_seconds))

    def limit_reached(self, matches: int, seconds: float) -> Literal["matches", "seconds"] | None:
        """Returns the limit that the run has reached after `matches` and `seconds`; None if it has reached none."""
        if self.matches is not None and matches >= self.matches:
            return "matches"
        if self.seconds is not None and seconds >= self.seconds:
            return "seconds"
        return None

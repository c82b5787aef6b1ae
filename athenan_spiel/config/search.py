"""Settings of the search for moves, one class per search, of self-play and of exploration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, get_args

from athenan_spiel.config.settings import (
    LONGEST,
    Count,
    Factor,
    PositiveFactor,
    Range,
    Seconds,
    Settings,
    Share,
)
from athenan_spiel.errors import ConfigError

ProverName = Literal["descent", "ubfm"]
SolverName = Literal["proof_numbers", ProverName]
"""Searches that prove states and use states proven before."""
SearchName = Literal[ProverName, "alphabeta", "mcts", "puct", "gumbel", "exit"]
"""All searches; `search.algorithms` maps the names to classes."""
PlayName = Literal["minimax", SearchName]
"""Searches of games between trained networks."""
DecisionName = Literal["best", "safest", "securest", "search"]
Distribution = Literal["ordinal", "epsilon_greedy", "softmax", "best", "visits", "search"]
ExplorationSchedule = Literal["uniform", "annealed", "constant"]
SelfPlayName = Literal["search", "apprentice"]

MOST_AT_ONCE = 10_000
"""Maximum number of leaves of a batch, and of games played at once, all of which are held in memory."""
DEEPEST = 256
"""Maximum depth of alpha-beta: each ply is a generator within a generator, and Python's stack has room for 1000."""

AlphaBetaDepth = Annotated[int, Range(1, DEEPEST)]
AtOnce = Annotated[int, Range(1, MOST_AT_ONCE)]

LIMITS = ("seconds", "iterations", "evaluations", "network_seconds")
"""Limits of the search for a move, of which at least one is required."""


@dataclass(frozen=True, kw_only=True)
class MoveSearchConfig(Settings):
    """Search for the moves of a game.

    Each search is a subclass with further options.
    """

    table: ClassVar[str] = "search."
    tells_policy: ClassVar[bool] = False
    """Whether the search provides a policy to learn."""
    needs_priors: ClassVar[bool] = False
    """Whether the search needs a policy."""
    for_training: ClassVar[tuple[str, ...]] = ()
    """Options for training only; trained networks play without them."""

    algorithm: PlayName
    """Search algorithm: Descent (Algorithm 10), unbounded best-first minimax (Algorithm 12), iterative-deepening
    alpha-beta, MCTS by UCT, AlphaZero's by PUCT, Gumbel AlphaZero's, or ExIt's. The last three need a network with a
    policy."""
    seconds: Seconds | None = None
    """Search time per move, in seconds, counted for each game separately: K games at once take K times as long;
    none: no limit. The article: 2 s (Section 3.3.1), 3 s (Section 8.4.3)."""
    iterations: Count | None = 20
    """Search iterations per move. With this limit alone a run is bit-reproducible."""
    evaluations: Count | None = None
    """States evaluated by the network per move; none: no limit."""
    network_seconds: Seconds | None = None
    """Time per move spent waiting for evaluations, in seconds (*Minimax Strikes Back*, first version, Section 7.2);
    none: no limit."""
    batched: bool = True
    """Evaluate the children of a state, or the leaves of a batch, in one call; false: one call for each (first version,
    Section 7.1)."""

    def check(self) -> None:
        """Check that there is a limit."""
        if all(getattr(self, name) is None for name in LIMITS):
            listed = f"{', '.join(LIMITS[:-1])} or {LIMITS[-1]}"
            raise ConfigError.at("search", f"must be limited by {listed}, got none of them")

    def own_options(self) -> list[str]:
        """Return the names of the options that not all searches have."""
        shared = {field.name for field in fields(MoveSearchConfig)}
        return [field.name for field in fields(self) if field.name not in shared]


@dataclass(frozen=True, kw_only=True)
class _CompletionConfig(Settings):
    completion: bool = True
    """Prove states and stop at proven ones (Section 5). Without it, Descent is Algorithm 9."""


@dataclass(frozen=True, kw_only=True)
class _ChanceConfig(Settings):
    chance_samples: Count | None = None
    """Maximum number of outcomes of a chance state in the tree; more are sampled. none: 64; 1: an approximation by
    deterministic games (Cohen-Solal and Cazenave 2023)."""


@dataclass(frozen=True, kw_only=True)
class _ExplorationConstantConfig(Settings):
    exploration_constant: Factor | None = None
    """Exploration constant: c of UCT for MCTS and ExIt, c_init of PUCT; none: 0.4 for MCTS (the article, Section 3.3),
    0.05 for ExIt (Section 8.4.2), 1.25 for PUCT (AlphaZero). UBFM adds UCT's term to its values only if this is given
    (the 2019 article, Section 4.3; √2 in theory)."""


@dataclass(frozen=True, kw_only=True)
class _FirstPlayConfig(Settings):
    first_play_urgency: bool = False
    """Give an untried action the value of its parent, so not every action must be tried first (*Minimax Strikes Back*,
    first version, Section 3.4)."""


@dataclass(frozen=True, kw_only=True)
class _RootNoiseConfig(Settings):
    root_noise: Share | None = None
    """Noise at the root of a move, in [0, 1]: for PUCT the fraction of Dirichlet noise in the priors (AlphaZero: 0.25),
    for Gumbel the factor of Gumbel noise (Danihelka et al. 2022: 1); none: no noise, as in play."""


@dataclass(frozen=True, kw_only=True)
class ProverConfig(_ChanceConfig, _CompletionConfig, MoveSearchConfig):
    """Options that Descent and UBFM have."""

    for_training: ClassVar[tuple[str, ...]] = ("resolved_hours",)

    resolved_hours: Annotated[float, Range(0, LONGEST // 3600, above=True)] | None = None
    """Training time after which proven states are dropped, in hours; until then they are kept from game to game, at
    most 4,000,000 (about a gigabyte). none: they are not kept. The article: 12 (Section 8.4.3), 48 (9.3.1)."""
    wins_ahead: bool = False
    """Count children whose mover wins with one action as proven, without evaluating them."""
    random_outcomes: bool = False
    """Follow a random outcome at a chance state, instead of the least visited one relative to its probability."""
    evaluate_outcomes: bool = False
    """Estimate a chance state by evaluating the states after its outcomes, instead of the chance state itself. It takes
    an evaluation for each outcome."""
    paranoid: bool = False
    """Assume that all other players want the player who searches to do badly (Sturtevant and Korf 2000), in a game with
    a value for each player; false: each player wants its own best (max^n)."""

    def check(self) -> None:
        """Check that there is a limit, and that options for proofs are used with completion."""
        super().check()
        if not self.completion:
            self.require_unset(["wins_ahead", "resolved_hours"], "unless states are proven by completion")


@dataclass(frozen=True, kw_only=True)
class MonteCarloConfig(MoveSearchConfig):
    """Options that MCTS, PUCT, Gumbel and ExIt have."""

    tells_policy: ClassVar[bool] = True

    virtual_loss_batch: AtOnce | None = None
    """Batch size b: leaves evaluated at once, chosen one after the other with a virtual loss (first version, Section
    3.5); none: one at a time."""


@dataclass(frozen=True, kw_only=True)
class DescentConfig(ProverConfig):
    """Descent (Algorithm 10)."""

    for_training: ClassVar[tuple[str, ...]] = ("resolved_hours", "longest_descent")

    algorithm: Literal["descent"] = "descent"
    longest_descent: Count | None = None
    """Maximum number of states that an iteration adds to the tree; the next iteration continues from there. none: to
    the end of the game (Algorithm 10); 1: unbounded best-first minimax."""


@dataclass(frozen=True, kw_only=True)
class UbfmConfig(_ExplorationConstantConfig, ProverConfig):
    """Unbounded best-first minimax (Algorithm 12)."""

    algorithm: Literal["ubfm"] = "ubfm"
    lines: AtOnce | None = None
    """Maximum number of states that an iteration expands. Each is the next leaf, found by treating the previous line as
    lost; their children, about a hundred at most, are evaluated in one call. none: 1 (Algorithm 12)."""


@dataclass(frozen=True, kw_only=True)
class AlphaBetaConfig(_ChanceConfig, _CompletionConfig, MoveSearchConfig):
    """Iterative-deepening alpha-beta."""

    algorithm: Literal["alphabeta"] = "alphabeta"
    depth: AlphaBetaDepth | None = None
    """Maximum depth of alpha-beta, in actions of players; none: the limits decide."""


@dataclass(frozen=True, kw_only=True)
class MctsConfig(_FirstPlayConfig, _ExplorationConstantConfig, MonteCarloConfig):
    """MCTS by UCT."""

    algorithm: Literal["mcts"] = "mcts"
    rollouts: bool = False
    """Evaluate a leaf by a random playout to the end of the game instead of the network."""


@dataclass(frozen=True, kw_only=True)
class PuctConfig(_RootNoiseConfig, _ExplorationConstantConfig, MonteCarloConfig):
    """AlphaZero's MCTS by PUCT."""

    needs_priors: ClassVar[bool] = True
    for_training: ClassVar[tuple[str, ...]] = ("root_noise", "dirichlet_alpha")

    algorithm: Literal["puct"] = "puct"
    dirichlet_alpha: PositiveFactor | None = None
    """Dirichlet parameter α of the root's noise; none: 10 divided by the number of legal actions. AlphaZero: 0.3 in
    chess, 0.15 in shogi, 0.03 in Go."""

    def check(self) -> None:
        """Check that there is a limit, and noise for its parameter."""
        super().check()
        if self.root_noise is None:
            self.require_unset(["dirichlet_alpha"], "unless there is search.root_noise")


@dataclass(frozen=True, kw_only=True)
class GumbelConfig(_RootNoiseConfig, MonteCarloConfig):
    """Gumbel AlphaZero's MCTS."""

    needs_priors: ClassVar[bool] = True
    for_training: ClassVar[tuple[str, ...]] = ("root_noise",)

    algorithm: Literal["gumbel"] = "gumbel"
    considered_actions: Count | None = None
    """Number m of root actions that sequential halving begins with; none: 16 (Danihelka et al. 2022). Without a limit
    in iterations nothing is halved: simulations at the root follow the improved policy, too."""


@dataclass(frozen=True, kw_only=True)
class ExitConfig(_FirstPlayConfig, _ExplorationConstantConfig, MonteCarloConfig):
    """ExIt's MCTS (the article, Section 8.1)."""

    needs_priors: ClassVar[bool] = True

    algorithm: Literal["exit"] = "exit"
    prior_weight: Factor | None = None
    """Weight w_a of the policy; none: 100 (Section 8.4.2, for 2500 iterations). It should be of the order of an
    action's iterations: with far fewer, visits only repeat the policy."""
    value_weight: Factor | None = None
    """Weight w_v of the network's values relative to the results of playouts; none: 0.75 (Section 8.4.2); 0: playouts
    only."""


SearchConfig = DescentConfig | UbfmConfig | AlphaBetaConfig | MctsConfig | PuctConfig | GumbelConfig | ExitConfig
"""Search for the moves of a game."""
SEARCH_CONFIGS: Mapping[str, Any] = MappingProxyType({kind.algorithm: kind for kind in get_args(SearchConfig)})
"""Classes of the settings by `algorithm`."""


@dataclass(frozen=True, kw_only=True)
class MinimaxConfig(_ChanceConfig, MoveSearchConfig):
    """Minimax of depth 1 (Section 3.3), for games between trained networks."""

    algorithm: Literal["minimax"] = "minimax"
    iterations: Count | None = None

    def check(self) -> None:
        """Check that there is no limit."""
        self.require_unset(LIMITS, "as 'minimax' looks one action ahead")

    def as_ubfm(self) -> UbfmConfig:
        """Return the same search as one iteration of UBFM without completion."""
        return UbfmConfig(completion=False, iterations=1, batched=self.batched, chance_samples=self.chance_samples)


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig(Settings):
    """Distribution that moves are drawn from (Sections 2.3 and 7)."""

    table: ClassVar[str] = "exploration."

    distribution: Distribution = "ordinal"
    """Distribution of moves: the ordinal distribution (Algorithm 14), ε-greedy (Algorithm 2), softmax (Section 2.3), or
    always the best; `visits`: probabilities proportional to n(s, a)^(1/temperature), for MCTS and PUCT (AlphaZero);
    `search`: the search's own decision."""
    completed: bool = True
    """Completed action selection (Section 5.2): play a proven win and never a proven loss. `search` ignores it."""
    schedule: ExplorationSchedule = "uniform"
    """Schedule of the exploitation parameter. `uniform`: drawn from [0, 1] for each move (the article, Section 8.4.3);
    `annealed`: from 0 to 1 over the run (Algorithms 2 and 14); `constant`: always `exploitation`. The distributions
    `best`, `visits` and `search` have no parameter."""
    exploitation: Share | None = None
    """Exploitation parameter ε' of the `constant` schedule: 0 plays uniformly at random, 1 plays the best action;
    none: another schedule."""
    temperature: PositiveFactor | None = None
    """Temperature of softmax or `visits`; none: 0.1 for softmax, 1 for `visits`. For softmax it is τ at ε' = 1/2, as a
    fraction of the outcome's scale: τ = temperature · scale · (1 - ε') / ε', so ε' means the same for every
    distribution."""
    plies: Count | None = None
    """Number of first actions of a game whose moves are drawn. Later moves are the best ones, or for `visits` the most
    visited. none: all moves are drawn. AlphaZero: 30."""

    def check(self) -> None:
        """Check that options fit the distribution and the schedule."""
        given = self.exploitation is not None
        if given != (self.schedule == "constant"):
            raise ConfigError.at(
                "exploration.exploitation",
                f"must be given for schedule 'constant' and no other, got {self.exploitation!r} with {self.schedule!r}",
            )
        if self.distribution not in ("softmax", "visits"):
            self.require_unset(["temperature"], "as only 'softmax' and 'visits' have one")
        if self.distribution in ("visits", "search"):
            self.require(
                self.schedule == "uniform", "schedule", f"'uniform', as {self.distribution!r} has no parameter"
            )
        if self.distribution in ("best", "search"):
            self.require_unset(["plies"], f"as {self.distribution!r} draws no moves")


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig(Settings):
    """Self-play: by the search alone, or as in ExIt (the article, Section 8.1)."""

    table: ClassVar[str] = "self_play."

    method: SelfPlayName = "search"
    """Self-play. `search`: the search chooses each move. `apprentice`: the network's policy plays without search, and
    only one random state of each game is searched and learned (Algorithm 15)."""
    temperature: PositiveFactor | None = None
    """Temperature of the apprentice's moves, drawn by π(a|s)^(1/temperature); none: 0.1 (Section 8.4.2)."""
    warm_start: Share | None = None
    """Fraction of the run, at its beginning, in which MCTS with playouts plays and every state is learned; its
    exploration constant is 0.25, and `exploration` draws the moves. none: no such phase. The article: 1/30, 12 hours
    of 15 days. Apprentice only."""
    opening_plies: Annotated[int, Range(1, 10_000)] | None = None
    """Maximum number of random actions at the beginning of a game, drawn for each game from zero on. They are neither
    searched nor learned. none: no random actions, as in the article. Not for an apprentice."""
    values_after: Share | None = None
    """Fraction of the run after which values are learned besides the policy, and used by ExIt's search; 1: never; none:
    from the beginning. The article: 2/15, from the third day of 15. Apprentice only."""

    def check(self) -> None:
        """Check that options fit the method."""
        if self.method != "apprentice":
            self.require_unset(["temperature", "warm_start", "values_after"], "as only 'apprentice' has it")
        else:
            self.require_unset(["opening_plies"], "as only 'search' has them")

    def is_warm_start(self, progress: float) -> bool:
        """Return whether plain MCTS plays at this fraction of the run, in [0, 1]."""
        return self.warm_start is not None and progress < self.warm_start

    def has_values(self, progress: float) -> bool:
        """Return whether values are learned at this fraction of the run, in [0, 1]."""
        after = self.values_after
        return after is None or (after < 1 and progress >= after)

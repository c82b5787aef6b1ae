"""Settings of the search for moves, of self-play and of exploration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal

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
LISTED_LIMITS = f"{', '.join(LIMITS[:-1])} or {LIMITS[-1]}"

OWN_SETTINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "descent": (
            "completion",
            "longest_descent",
            "resolved_hours",
            "wins_ahead",
            "random_outcomes",
            "chance_samples",
            "paranoid",
        ),
        "ubfm": (
            "completion",
            "exploration_constant",
            "resolved_hours",
            "wins_ahead",
            "lines",
            "random_outcomes",
            "chance_samples",
            "paranoid",
        ),
        "alphabeta": ("completion", "depth", "chance_samples"),
        "mcts": ("exploration_constant", "first_play_urgency", "rollouts", "virtual_loss_batch"),
        "puct": ("exploration_constant", "root_noise", "dirichlet_alpha", "virtual_loss_batch"),
        "gumbel": ("considered_actions", "root_noise", "virtual_loss_batch"),
        "exit": ("exploration_constant", "first_play_urgency", "prior_weight", "value_weight", "virtual_loss_batch"),
    }
)
"""Options of each search besides its limits. All others keep their defaults, except `completion`, which searches that
don't prove ignore."""
POLICY_TELLERS = ("mcts", "puct", "gumbel", "exit")
"""Searches that provide a policy to learn."""
POLICY_ASKERS = ("puct", "gumbel", "exit")
"""Searches that need a policy."""
ROOT_NOISE = ("root_noise", "dirichlet_alpha")
"""Options for training only: trained networks play without noise."""
_OWNERS = {
    option: [repr(search) for search, own in OWN_SETTINGS.items() if option in own]
    for options in OWN_SETTINGS.values()
    for option in options
    if option != "completion"
}


@dataclass(frozen=True, kw_only=True)
class MoveSearchConfig(Settings):
    """Search for a move, in training and between trained networks."""

    algorithm: PlayName = "descent"
    completion: bool = True
    """Prove states and stop at proven ones (Section 5). Without it, Descent is Algorithm 9. MCTS, PUCT, Gumbel and
    ExIt don't prove."""
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
    wins_ahead: bool = False
    """Count children whose mover wins with one action as proven, without evaluating them. Descent and UBFM only."""
    lines: AtOnce | None = None
    """Maximum number of states that an iteration expands. Each is the next leaf, found by treating the previous line as
    lost; their children, about a hundred at most, are evaluated in one call. none: 1 (Algorithm 12). UBFM only."""
    random_outcomes: bool = False
    """Follow a random outcome at a chance state, instead of the least visited one relative to its probability. Descent
    and UBFM only."""
    chance_samples: Count | None = None
    """Maximum number of outcomes of a chance state in the tree; more are sampled. none: 64; 1: an approximation by
    deterministic games (Cohen-Solal and Cazenave 2023). Descent, UBFM and alpha-beta only."""
    paranoid: bool = False
    """Assume that all other players want the player who searches to do badly (Sturtevant and Korf 2000), in a game with
    a value for each player; false: each player wants its own best (max^n). Descent and UBFM only."""
    depth: AlphaBetaDepth | None = None
    """Maximum depth of alpha-beta, in actions of players; none: the limits decide."""
    exploration_constant: Factor | None = None
    """Exploration constant: c of UCT for MCTS and ExIt, c_init of PUCT; none: 0.4 for MCTS (the article, Section 3.3),
    0.05 for ExIt (Section 8.4.2), 1.25 for PUCT (AlphaZero). UBFM adds UCT's term to its values only if this is given
    (the 2019 article, Section 4.3; √2 in theory)."""
    first_play_urgency: bool = False
    """Give an untried action the value of its parent, so not every action must be tried first (*Minimax Strikes Back*,
    first version, Section 3.4). MCTS and ExIt only."""
    rollouts: bool = False
    """Evaluate a leaf by a random playout to the end of the game instead of the network. MCTS only."""
    virtual_loss_batch: AtOnce | None = None
    """Batch size b: leaves evaluated at once, chosen one after the other with a virtual loss (first version, Section
    3.5); none: one at a time. MCTS, PUCT, Gumbel and ExIt only."""
    considered_actions: Count | None = None
    """Number m of root actions that sequential halving begins with; none: 16 (Danihelka et al. 2022). Without a limit
    in iterations nothing is halved: simulations at the root follow the improved policy, too. Gumbel only."""
    prior_weight: Factor | None = None
    """Weight w_a of the policy; none: 100 (Section 8.4.2, for 2500 iterations). It should be of the order of an
    action's iterations: with far fewer, visits only repeat the policy. ExIt only."""
    value_weight: Factor | None = None
    """Weight w_v of the network's values relative to the results of playouts; none: 0.75 (Section 8.4.2); 0: playouts
    only. ExIt only."""

    def check(self) -> None:
        """Check that no option of another search is set."""
        own = OWN_SETTINGS["ubfm" if self.algorithm == "minimax" else self.algorithm]
        for name, owners in _OWNERS.items():
            if name not in own and hasattr(self, name):
                listed = f"{', '.join(owners[:-1])} and {owners[-1]} have" if owners[1:] else f"{owners[0]} has"
                self.require_unset([name], f"as only {listed} it")
        if not self.completion or self.algorithm == "minimax":
            self.require_unset(["wins_ahead"], "unless states are proven by completion")


@dataclass(frozen=True, kw_only=True)
class SearchConfig(MoveSearchConfig):
    """Search for the moves of a game."""

    table: ClassVar[str] = "search."

    algorithm: SearchName = "descent"
    """Search algorithm: Descent (Algorithm 10), unbounded best-first minimax (Algorithm 12), iterative-deepening
    alpha-beta, MCTS by UCT, AlphaZero's by PUCT, Gumbel AlphaZero's, or ExIt's. The last three need a network with a
    policy."""
    longest_descent: Count | None = None
    """Maximum number of states that an iteration adds to the tree; the next iteration continues from there. none: to
    the end of the game (Algorithm 10); 1: unbounded best-first minimax. Descent only."""
    resolved_hours: Annotated[float, Range(0, LONGEST // 3600, above=True)] | None = None
    """Training time after which proven states are dropped, in hours; until then they are kept from game to game, at
    most 4,000,000 (about a gigabyte). none: they are not kept. The article: 12 (Section 8.4.3), 48 (9.3.1)."""
    root_noise: Share | None = None
    """Noise at the root of a move, in [0, 1]: for PUCT the fraction of Dirichlet noise in the priors (AlphaZero: 0.25),
    for Gumbel the factor of Gumbel noise (Danihelka et al. 2022: 1); none: no noise, as in play. PUCT and Gumbel
    only."""
    dirichlet_alpha: PositiveFactor | None = None
    """Dirichlet parameter α of the root's noise; none: 10 divided by the number of legal actions. AlphaZero: 0.3 in
    chess, 0.15 in shogi, 0.03 in Go. PUCT only."""

    def check(self) -> None:
        """Check that there is a limit, and that options fit the search and each other."""
        if all(getattr(self, name) is None for name in LIMITS):
            raise ConfigError.at("search", f"must be limited by {LISTED_LIMITS}, got none of them")
        super().check()
        if self.root_noise is None:
            self.require_unset(["dirichlet_alpha"], "unless there is search.root_noise")
        if not self.completion:
            self.require_unset(["resolved_hours"], "unless states are proven by completion")


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

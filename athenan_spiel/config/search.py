"""How moves are searched for, and drawn while training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import ClassVar, Literal

from athenan_spiel.config.settings import LONGEST, MOST, Settings
from athenan_spiel.errors import ConfigError

ProverName = Literal["descent", "ubfm"]
"""The searches that prove as they go, and look into what is proven already."""
SearchName = Literal[ProverName, "alphabeta", "mcts", "puct", "gumbel", "exit"]
"""All searches; what each name stands for is in `search.algorithms`."""
PlayName = Literal["minimax", SearchName]
"""What matches between trained networks are played with."""
DecisionName = Literal["best", "safest", "securest", "search"]
Distribution = Literal["ordinal", "epsilon_greedy", "softmax", "best", "visits", "search"]
ExplorationSchedule = Literal["uniform", "annealed", "constant"]

MOST_AT_ONCE = 10_000
"""Leaves of a batch, or matches: all of them are held in memory at once."""
LARGEST_FACTOR = 1_000_000
"""Of c, τ and the weights of the expert; far from it already, one term decides alone."""
DEEPEST = 256
"""No alpha-beta goes deeper: each ply is a generator within a generator, and Python's stack has room for 1000."""

LIMITS = ("seconds", "iterations", "evaluations", "network_seconds")
"""What may bound the search for a move; one of them must."""
LISTED_LIMITS = f"{', '.join(LIMITS[:-1])} or {LIMITS[-1]}"

OWN_SETTINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "descent": ("completion", "longest_descent", "resolved_hours", "wins_ahead"),
        "ubfm": ("completion", "exploration_constant", "resolved_hours", "wins_ahead", "lines"),
        "alphabeta": ("completion", "depth"),
        "mcts": ("exploration_constant", "first_play_urgency", "rollouts", "virtual_loss_batch"),
        "puct": ("exploration_constant", "root_noise", "dirichlet_alpha", "virtual_loss_batch"),
        "gumbel": ("considered_actions", "root_noise", "virtual_loss_batch"),
        "exit": ("exploration_constant", "first_play_urgency", "prior_weight", "value_weight", "virtual_loss_batch"),
    }
)
"""What each search takes beside its limits. What it does not take keeps its default, but for `completion`, which stands
in one table for searches that prove and searches that do not."""
POLICY_TELLERS = ("mcts", "puct", "gumbel", "exit")
"""The searches that tell a policy to learn."""
POLICY_ASKERS = ("puct", "gumbel", "exit")
"""The searches that need one."""
ROOT_NOISE = ("root_noise", "dirichlet_alpha")
"""What is of training alone: where a trained network plays there is none."""


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Settings):
    """How a match's moves are searched for."""

    table: ClassVar[str] = "search."

    algorithm: SearchName = "descent"
    """Descent (Algorithm 10), unbounded best-first minimax (Algorithm 12), iterative-deepening alpha-beta, MCTS
    by UCT, AlphaZero's by PUCT, Gumbel AlphaZero's, or ExIt's; the last three need a network with a policy."""
    completion: bool = True
    """Prove states and stop at proven ones (Section 5). Without it, Descent is Algorithm 9. MCTS, PUCT, Gumbel and
    ExIt have none."""
    seconds: float | None = None
    """Search time per move, of each match its own: K matches at once take K times as long. The article: 2 s
    (Section 3.3.1), 3 s (Section 8.4.3)."""
    iterations: int | None = 20
    """Search iterations per move; with this limit alone, a run is reproducible to the bit."""
    evaluations: int | None = None
    """States valued by the network per move."""
    network_seconds: float | None = None
    """Time per move in which values are waited for (*Minimax Strikes Back*, first version, Section 7.2)."""
    batched: bool = True
    """The children of a state, or the leaves of a batch, are valued in one call; false: each in one of its own (first
    version, Section 7.1)."""
    longest_descent: int | None = None
    """Descent alone: states beyond the tree that an iteration goes through at most; the next one goes on from there.
    none: it goes on to the end of the match (Algorithm 10). With 1 it is unbounded best-first minimax."""
    wins_ahead: bool = False
    """Descent and UBFM alone: of the children of a state those whose mover wins by one action are taken for proven, and
    not valued."""
    lines: int | None = None
    """UBFM alone: states that an iteration expands at most, each where the best line would leave the tree if the lines
    before it were lost; their children, about a hundred at most, are valued in one call. none: 1 (Algorithm 12)."""
    depth: int | None = None
    """Alpha-beta alone: the greatest depth, in actions; none: as deep as the limits let it."""
    resolved_hours: float | None = None
    """Proven states are kept from match to match, and dropped each time this many hours of training have passed; none:
    they are not kept. At most 4,000,000 are kept, about a gigabyte. The article: 12 (Section 8.4.3), 48 (9.3.1)."""
    exploration_constant: float | None = None
    """c of UCT: for MCTS, which takes 0.4 where none is given (the article, Section 3.3), and for UBFM, which adds
    UCT's term to its values if one is given (the 2019 article, Section 4.3; √2 in theory). Of PUCT it is
    c_init, and 1.25 where none is given (AlphaZero); ExIt takes 0.05 (Section 8.4.2)."""
    first_play_urgency: bool = False
    """MCTS and ExIt alone: an action that was never tried has the value of its parent, so not every action must be
    tried first (*Minimax Strikes Back*, first version, Section 3.4)."""
    rollouts: bool = False
    """MCTS alone: a leaf is valued by a random playout, a match from there to its end, in place of the network."""
    virtual_loss_batch: int | None = None
    """Of MCTS and its kin alone: b, the number of leaves that are valued at once, each chosen after the other with a
    virtual loss (first version, Section 3.5); none: one at a time."""
    root_noise: float | None = None
    """PUCT and Gumbel alone, in [0, 1]: of PUCT the share of Dirichlet noise in the priors of a move's root (AlphaZero:
    0.25), of Gumbel the factor of its Gumbel noise (Danihelka et al. 2022: 1); none: there is no noise, as where a
    trained network plays."""
    dirichlet_alpha: float | None = None
    """PUCT alone: α of the root's noise; none: 10 divided by the number of legal actions. AlphaZero: 0.3 at chess, 0.15
    at shogi, 0.03 at Go."""
    considered_actions: int | None = None
    """Gumbel alone: m, actions of the root that sequential halving begins with; none: 16 (Danihelka et al. 2022). Where
    the search is not limited in iterations nothing is halved: simulations follow the improved policy there, too."""
    prior_weight: float | None = None
    """ExIt alone: w_a, the weight of the policy; none: 100 (Section 8.4.2, for 2500 iterations). It should be of the
    order of the iterations that an action has: with far fewer, visits would only repeat the policy."""
    value_weight: float | None = None
    """ExIt alone: w_v, the weight of the network's values beside the results of playouts; none: 0.75 (Section 8.4.2).
    0: of playouts alone."""

    def check(self) -> None:
        """At least one limit is given, all are positive, and nothing is set that the algorithm does not have."""
        self.require_time("seconds", "network_seconds")
        self.require_positive("iterations", "evaluations", "resolved_hours")
        self.require_at_most(MOST, "iterations", "evaluations")
        self.require_some(1, "longest_descent")
        self.require_some(1, "lines", most=MOST_AT_ONCE)
        self.require_some(1, "depth", most=DEEPEST)
        self.require_at_most(LONGEST // 3600, "resolved_hours")
        if all(getattr(self, name) is None for name in LIMITS):
            raise ConfigError.at("search", f"must be limited by {LISTED_LIMITS}, got none of them")
        self.require(
            self.exploration_constant is None or self.exploration_constant >= 0, "exploration_constant", "zero or more"
        )
        self.require_at_most(LARGEST_FACTOR, "exploration_constant")
        self.require_some(1, "virtual_loss_batch", most=MOST_AT_ONCE)
        self.require(self.root_noise is None or 0 <= self.root_noise <= 1, "root_noise", "in [0, 1]")
        self.require_positive("dirichlet_alpha")
        self.require_at_most(LARGEST_FACTOR, "dirichlet_alpha")
        self.require_some(1, "considered_actions")
        for name in ("prior_weight", "value_weight"):
            self.require(getattr(self, name) is None or getattr(self, name) >= 0, name, "zero or more")
            self.require_at_most(LARGEST_FACTOR, name)
        self._refuse_what_others_have()
        if self.root_noise is None:
            self.require(self.dirichlet_alpha is None, "dirichlet_alpha", "none, unless there is search.root_noise")
        if not self.completion:
            self.require(self.resolved_hours is None, "resolved_hours", "none, unless states are proven by completion")
            self.require(not self.wins_ahead, "wins_ahead", "false, unless states are proven by completion")

    def _refuse_what_others_have(self) -> None:
        own = OWN_SETTINGS[self.algorithm]
        for field_ in fields(self):
            owners = [repr(name) for name, settings in OWN_SETTINGS.items() if field_.name in settings]
            if owners and field_.name not in own and field_.name != "completion":
                listed = f"{', '.join(owners[:-1])} and {owners[-1]} have" if owners[1:] else f"{owners[0]} has"
                only = f"as only {listed} it"
                default = "false" if field_.default is False else "none"
                self.require(getattr(self, field_.name) == field_.default, field_.name, f"{default}, {only}")


@dataclass(frozen=True, kw_only=True)
class ExplorationConfig(Settings):
    """The distribution that a move is drawn from (Sections 2.3 and 7)."""

    table: ClassVar[str] = "exploration."

    distribution: Distribution = "ordinal"
    """The ordinal distribution (Algorithm 14), ε-greedy (Algorithm 2), softmax (Section 2.3), or always the best;
    `visits`: probabilities are proportional to n(s, a)^(1/temperature), for MCTS and PUCT (AlphaZero); `search`: what
    the search decides itself."""
    completed: bool = True
    """Completed action selection around it (Section 5.2): a proven win is played, a proven loss is not. It means
    nothing to `search`."""
    schedule: ExplorationSchedule = "uniform"
    """`uniform`: the exploitation parameter is drawn from [0, 1] for each move (the article, Section 8.4.3);
    `annealed`: it grows from 0 to 1 over the run (Algorithms 2 and 14); `constant`: always `exploitation`.
    The distributions `best`, `visits` and `search` have no parameter."""
    exploitation: float | None = None
    """ε' of the `constant` schedule, and of no other: 0 plays uniformly at random, 1 plays the best action."""
    temperature: float | None = None
    """Of softmax, which takes 0.1 where none is given: τ at ε' = 1/2, as a share of the outcome's scale.
    τ = temperature · scale · (1 - ε') / ε', so ε' means the same to every distribution. Of `visits`, which takes 1."""
    plies: int | None = None
    """Moves are drawn so in the first `plies` actions of a match; in the others the best is played, of `visits` the
    most visited. none: in all of it. AlphaZero: 30."""

    def check(self) -> None:
        """What a distribution or a schedule does not have is not given, and numbers are in their range."""
        given = self.exploitation is not None
        if given != (self.schedule == "constant"):
            raise ConfigError.at(
                "exploration.exploitation",
                f"must be given for schedule 'constant' and no other, got {self.exploitation!r} with {self.schedule!r}",
            )
        self.require(self.exploitation is None or 0.0 <= self.exploitation <= 1.0, "exploitation", "in [0, 1]")
        self.require_positive("temperature")
        self.require_at_most(LARGEST_FACTOR, "temperature")
        self.require_some(1, "plies")
        if self.distribution not in ("softmax", "visits"):
            self.require(self.temperature is None, "temperature", "none, as only 'softmax' and 'visits' have one")
        if self.distribution in ("visits", "search"):
            self.require(
                self.schedule == "uniform", "schedule", f"'uniform', as {self.distribution!r} has no parameter"
            )
        if self.distribution in ("best", "search"):
            self.require(self.plies is None, "plies", f"none, as {self.distribution!r} draws no moves")

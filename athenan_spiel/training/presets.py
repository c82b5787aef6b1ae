"""Presets: `quick`, `hour`, `day`, TD(λ), variants of AlphaZero and ExIt, and one for each training in the papers.

Sections without a title belong to the article. A preset of a paper has the settings of the named section, and those of
the common protocol (Section 3.3.1) for everything the section leaves out. It has no time limit if the section gives the
length in games. All presets of the papers play one game at once. `docs/algorithms.md` lists the remaining differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from athenan_spiel.config import (
    DescentConfig,
    EncodingConfig,
    EvaluationConfig,
    ExitConfig,
    ExplorationConfig,
    GumbelConfig,
    LearnerConfig,
    NetworkConfig,
    PuctConfig,
    ReplayConfig,
    SelfPlayConfig,
    TargetsConfig,
    TrainingConfig,
    UbfmConfig,
    WarmUpConfig,
)
from athenan_spiel.errors import ConfigError, nearest, shown

BY_TIME = ("matches_at_once", "search.evaluations", "search.longest_descent")
"""Settings that are reduced until the first games end early in the run (`fitting`, `adaptation`)."""
BY_LENGTH = (*BY_TIME, "replay.matches", "max_length")
"""Settings that depend on the length and speed of games, and the game parameter `max_length`."""
FITTED = (*BY_LENGTH, "outcome", "encoding.symmetries", "network.filters", "warm_up.seconds", "chance")
"""Settings that the presets with `Preset.fits` choose for the game and the training time. "warm_up.seconds"
stands for its method, too, and "chance" for the search, the targets and the exploration of `quick`, `hour` and `day`.
In games with much chance these become those of `TD_LAMBDA`, and the games at once and in replay are chosen from its
numbers."""

_HOUR = 3600.0
_DAY = 24 * _HOUR


@dataclass(frozen=True)
class Preset:
    """A named set of settings.

    Attributes:
        about: purpose and source, in a few words.
        fits: whether the settings in `FITTED` are chosen for the game before a run begins (`fitting`).
    """

    about: str
    config: TrainingConfig
    fits: bool = False


QUICK = TrainingConfig(
    seconds=180.0,
    matches_at_once=16,
    search=DescentConfig(iterations=10, evaluations=2000),
    replay=ReplayConfig(matches=200, duplication=1.0, learning_share=0.25),
    learner=LearnerConfig(batch_size=512, optimizer="muon", learning_rate=8e-3, schedule="cosine", l2=1e-5),
)
"""For minutes on two cores: many games with short searches.

The outcome is the score if the game has one, else the depth heuristic (Section 6.2.2). The maximum of evaluations
limits a round of a large game to about half a minute. With a small branching factor, learning takes as long as search,
so each state is learned once (δ = 1). In long or slow games it would take a few per cent of the time, so states are
learned more often there (`docs/strength.md`). Targets are divided by their scale, so the article's L2 penalty would be
too large relative to the loss. Muon learns more from each state than Adam (`docs/strength.md`). Its own time per step
doesn't depend on the size of minibatches, so they are large. The learning rate falls over the whole run, which suits a
small number of gradient steps."""

TD_LAMBDA = dataclasses.replace(
    QUICK,
    matches_at_once=64,
    search=UbfmConfig(iterations=1),
    exploration=ExplorationConfig(distribution="best"),
    targets=TargetsConfig(method="root", trace_decay=0.9),
    replay=ReplayConfig(matches=40, duplication=1.0),
)
"""TD(λ) in many games, with a search of one iteration, for games with much chance, as TD-Gammon (Tesauro 1995).

Dice make games different and explore. A descent follows one outcome of many, and so says little about the value of its
states. The λ-returns take the results of whole games back to their beginning. A phase learns at least one state of each
stored game, so few games are stored (`docs/measured.md`)."""

HOUR = dataclasses.replace(QUICK, seconds=_HOUR)
"""`quick` for an hour. The learning rate falls over the hour, and the network is as wide as the time allows. A residual
network kept fewer results after 18 minutes with Adam (`docs/strength.md`)."""

DAY = dataclasses.replace(QUICK, seconds=_DAY)
"""`quick` for a day."""

ALPHAZERO = TrainingConfig(
    seconds=180.0,
    matches_at_once=64,
    outcome="gain",
    search=PuctConfig(iterations=64, root_noise=0.25),
    exploration=ExplorationConfig(distribution="visits", completed=False, plies=12),
    targets=TargetsConfig(method="terminal"),
    network=NetworkConfig(policy="auto"),
    replay=ReplayConfig(method="plain", states=50_000, sampling=0.00256),
    learner=LearnerConfig(batch_size=128, l2=1e-5),
    evaluation=EvaluationConfig(search="puct"),
)
"""AlphaZero (Silver et al. 2018; *Minimax Strikes Back*, Section 2.3 and Algorithm 2) for minutes on two cores.

PUCT with root noise; moves are drawn by visit counts in the first 12 plies. The value targets are the results of the
games, the policy targets the visit counts. The trunk is that of `quick`. A game adds some dozens of states. After each
game one minibatch of the last 50,000 states is learned. Stratified replay would learn at least one state of each stored
game, so each state would be learned far more often than `replay.duplication` specifies."""

GUMBEL = dataclasses.replace(
    ALPHAZERO,
    search=GumbelConfig(iterations=32, root_noise=1.0),
    exploration=ExplorationConfig(distribution="search", completed=False),
    evaluation=EvaluationConfig(search="gumbel"),
)
"""Gumbel AlphaZero (Danihelka et al. 2022), which learns from few simulations.

Sequential halving over at most 16 root actions, sampled by Gumbel noise. The policy target is the improved policy from
completed values. All other settings are those of `ALPHAZERO`."""

EXIT = TrainingConfig(
    seconds=180.0,
    matches_at_once=64,
    outcome="gain",
    search=ExitConfig(iterations=200, prior_weight=10.0),
    self_play=SelfPlayConfig(method="apprentice", warm_start=0.1, values_after=0.3),
    exploration=ExplorationConfig(distribution="visits", completed=False),
    targets=TargetsConfig(method="terminal"),
    network=NetworkConfig(policy="auto"),
    replay=ReplayConfig(method="plain", states=100_000, sampling=0.0025),
    learner=LearnerConfig(batch_size=250, l2=1e-5, value_loss="cross_entropy"),
    evaluation=EvaluationConfig(search="exit"),
)
"""ExIt, online Expert Iteration (Anthony, Tian and Barber 2017; the article, Sections 8.1 and 8.4.2), for minutes on
two cores.

A search has 200 iterations instead of 2500, and w_a = 10 instead of 100. MCTS without a network, and later the
policy without values, take larger fractions of the run, because each needs some seconds. The trunk, head and L2
penalty are those of `ALPHAZERO`. A game of the apprentice adds one state. After each game one minibatch of B = 250
is drawn from the last 100,000 states."""

TABLES_2_AND_3 = TrainingConfig(
    seconds=48 * _HOUR,
    matches_at_once=1,
    outcome="gain",
    checkpoint_seconds=600.0,
    search=DescentConfig(completion=False, seconds=2.0, iterations=None),
    exploration=ExplorationConfig(distribution="epsilon_greedy", completed=False, schedule="annealed"),
    network=NetworkConfig(architecture="auto", filters=64, layers=3, neurons=100),
    replay=ReplayConfig(method="plain", states=1_000_000, sampling=0.04),
    learner=LearnerConfig(batch_size=128),
)
"""The common protocol of Section 3.3.1: 48 hours, 2 s per move, the gain, and ε-greedy annealed over the run.

The network has three convolutions. A sample of 4 % of the last million states is learned after each game. The
architecture `auto` is the article's network on boards of at least 8 x 8. On smaller boards it adds padding. For
Surakarta the article uses two convolutions instead."""

TABLE_4 = dataclasses.replace(
    TABLES_2_AND_3,
    search=DescentConfig(seconds=2.0, iterations=None),
    exploration=dataclasses.replace(TABLES_2_AND_3.exploration, completed=True),
)
"""`TABLES_2_AND_3` with completion, for the heuristics of Section 6.3; `--outcome` selects one."""

PAPER = TrainingConfig(
    seconds=15 * _DAY,
    matches_at_once=1,
    outcome="gain",
    checkpoint_seconds=600.0,
    search=DescentConfig(seconds=3.0, iterations=None, resolved_hours=12.0),
    exploration=ExplorationConfig(schedule="uniform"),
    warm_up=WarmUpConfig(states=10_000_000),
    network=NetworkConfig(architecture="r2", filters=132, layers=8, neurons=228),
    replay=ReplayConfig(matches=100, duplication=3.0),
    learner=LearnerConfig(batch_size=3000, learning_rate=1e-4, l2=1e-3),
)
"""Athénan as in the article's comparison with ExIt (Section 8.4): 15 days, 3 s per move.

- Section 8.3: Descent with completion and the gain. By its footnote 7, score, or else depth, would have been stronger.
- Section 8.4.1: a residual network with 132 filters and 8 blocks. Table 5 gives 228 neurons for Hex and Go 11 x 11.
- Section 8.4.3: B = 3000, μ = 100, δ = 3, a uniformly random parameter of the ordinal distribution, a warm-up on
  10,000,000 random terminal states, and resolved states kept for 12 hours."""

_LONG = dataclasses.replace(PAPER, seconds=None)

HEX_11 = dataclasses.replace(
    _LONG,
    matches=34_321,
    outcome="additive_depth",
    search=DescentConfig(seconds=2.0, iterations=None, resolved_hours=48.0),
    encoding=EncodingConfig(edges=True, symmetries="rotate_180"),
    warm_up=WarmUpConfig(states=15_168_000),
    network=NetworkConfig(architecture="r2", filters=83, layers=4, neurons=74, dense_layers=1),
    replay=ReplayConfig(method="per_match", matches=100, sampling=0.05),
    learner=LearnerConfig(batch_size=3000),
)
"""Hex 11 x 11, Section 9.3.1."""

HEX_13 = dataclasses.replace(
    HEX_11,
    matches=5_288,
    search=dataclasses.replace(HEX_11.search, seconds=5.0),
    warm_up=WarmUpConfig(),
    network=NetworkConfig(architecture="r2", filters=186, layers=8, neurons=220),
    replay=ReplayConfig(method="per_match", matches=250, sampling=0.02),
)
"""Hex 13 x 13, Section 9.4.1; otherwise as `HEX_11`."""

OTHELLO = dataclasses.replace(
    _LONG,
    matches=52_470,
    outcome="score",
    search=dataclasses.replace(_LONG.search, seconds=5.0),
    encoding=EncodingConfig(symmetries="all"),
    network=NetworkConfig(architecture="r3", filters=373, layers=8, neurons=4453, squeeze_excitation=16),
    learner=LearnerConfig(batch_size=4000, learning_rate=1e-4, epsilon=1e-5),
)
"""Othello, Section 10.3.

The section gives 0.99 as the parameter of L2. With the mean loss of scaled values used here, that would drive all
weights to zero, so the parameter is that of Section 3.3.1, 0.001."""

ARIMAA = dataclasses.replace(
    _LONG,
    matches=6_317,
    outcome="presence",
    search=dataclasses.replace(_LONG.search, seconds=5.0),
    encoding=EncodingConfig(symmetries="all"),
    network=NetworkConfig(architecture="r3", filters=263, layers=4, neurons=2217),
    learner=LearnerConfig(batch_size=4000, learning_rate=1e-4, beta2=0.99),
)
"""Arimaa, Section 11.4.

The article's heuristic weights pieces by kind (Section 11.3), which requires a custom outcome (`docs/heuristics.md`).
`presence` counts every piece as 1. A game of more than 900 moves is a draw: use `max_length=900`."""

MORPION_SOLITAIRE = dataclasses.replace(
    _LONG,
    matches=58_971,
    outcome="score",
    search=dataclasses.replace(_LONG.search, seconds=1.0),
    encoding=EncodingConfig(symmetries="all"),
    network=NetworkConfig(architecture="r2", filters=186, layers=8, neurons=104, squeeze_excitation=16),
    learner=LearnerConfig(batch_size=3000, learning_rate=1e-4, beta2=0.99, epsilon=1e-8),
)
"""Morpion Solitaire, Section 12.4, with resolution (Remark 30), although the gain of a single player is always 0."""

STRIKES_BACK = dataclasses.replace(
    PAPER,
    search=DescentConfig(seconds=3.0, iterations=None),
    warm_up=WarmUpConfig(),
    network=NetworkConfig(architecture="r2", filters=132, layers=8, neurons=477),
    learner=LearnerConfig(batch_size=3000),
)
"""*Minimax Strikes Back* (2023), Section 3.1.1: B = 3000, μ = 100, δ = 3.

The network is R2 of its Table 2, with the sizes for Othello and Breakthrough in its Table 3. Settings that the paper
gives in an appendix are those of the article's Sections 8.4 and 3.3.1."""

_A_PARAMETERS = dataclasses.replace(
    TABLE_4,
    seconds=30 * _DAY,
    outcome="additive_depth",
    search=dataclasses.replace(TABLE_4.search, seconds=1.0),
    warm_up=WarmUpConfig(states=10_000_000),
    replay=ReplayConfig(method="plain", states=2_000_000, sampling=0.05),
    learner=LearnerConfig(batch_size=3000),
)

STRIKES_BACK_BREAKTHROUGH = dataclasses.replace(
    _A_PARAMETERS, network=NetworkConfig(architecture="c", filters=166, neurons=751)
)
"""Breakthrough in the first version of *Minimax Strikes Back* (2020), Section 5.1: its A-parameters and Table 2."""

STRIKES_BACK_OTHELLO = dataclasses.replace(
    _A_PARAMETERS, outcome="score", network=NetworkConfig(architecture="r2", filters=59, neurons=213)
)
"""Othello 8 x 8 in the same paper and section."""

STRIKES_BACK_OTHELLO_10 = dataclasses.replace(
    STRIKES_BACK_OTHELLO, network=NetworkConfig(architecture="r2", filters=59, neurons=128)
)
"""Othello 10 x 10 in the same paper and section; the game is `ludii(game=Reversi,options=Board Size/10x10)`."""

STRIKES_BACK_HEX = dataclasses.replace(
    _A_PARAMETERS,
    search=dataclasses.replace(_A_PARAMETERS.search, seconds=2.0),
    encoding=EncodingConfig(edges=True, symmetries="rotate_180"),
    network=NetworkConfig(architecture="r1", filters=240, neurons=1024),
    replay=ReplayConfig(method="per_match", matches=250, sampling=0.02),
)
"""Hex 11 x 11 in the same paper and section: its B-parameters, and the network of its heuristic h₃."""

STRIKES_BACK_HEX_C = dataclasses.replace(
    STRIKES_BACK_HEX,
    search=dataclasses.replace(STRIKES_BACK_HEX.search, seconds=1.0),
    network=NetworkConfig(architecture="c", filters=150, neurons=81),
    replay=ReplayConfig(method="none"),
    learner=LearnerConfig(batch_size=2048),
)
"""`STRIKES_BACK_HEX` for the heuristics h₁ and h₂: the C-network, 1 s per move, no experience replay, B = 2048."""

_MSB = "Minimax Strikes Back, first version, Section 5.1 and Table 2"
ALL: Mapping[str, Preset] = {
    "quick": Preset("minutes on two cores", QUICK, fits=True),
    "hour": Preset("an hour on two cores", HOUR, fits=True),
    "day": Preset("a day on several cores", DAY, fits=True),
    "td_lambda": Preset("TD(λ), for games with chance, for minutes on two cores", TD_LAMBDA, fits=True),
    "alphazero": Preset("AlphaZero, for minutes on two cores", ALPHAZERO),
    "gumbel": Preset("Gumbel AlphaZero, for minutes on two cores", GUMBEL),
    "exit": Preset("ExIt, Section 8.1, for minutes on two cores", EXIT),
    "paper": Preset("the comparison with ExIt, Section 8.4", PAPER),
    "tables_2_and_3": Preset("the common protocol, Section 3.3.1, of Tables 2 and 3", TABLES_2_AND_3),
    "table_4": Preset("the common protocol with completion, of Table 4 (Section 6.3)", TABLE_4),
    "hex_11": Preset("a long training for Hex 11 x 11, Section 9.3", HEX_11),
    "hex_13": Preset("a long training for Hex 13 x 13, Section 9.4", HEX_13),
    "othello": Preset("a long training for Othello, Section 10.3", OTHELLO),
    "arimaa": Preset("a long training for Arimaa, Section 11.4", ARIMAA),
    "morpion_solitaire": Preset("a long training for Morpion Solitaire, Section 12.4", MORPION_SOLITAIRE),
    "strikes_back": Preset("Minimax Strikes Back (2023), Section 3.1.1 and Table 2", STRIKES_BACK),
    "strikes_back_breakthrough": Preset(f"{_MSB}: Breakthrough", STRIKES_BACK_BREAKTHROUGH),
    "strikes_back_othello": Preset(f"{_MSB}: Othello", STRIKES_BACK_OTHELLO),
    "strikes_back_othello_10": Preset(f"{_MSB}: Othello 10 x 10", STRIKES_BACK_OTHELLO_10),
    "strikes_back_hex": Preset(f"{_MSB}: Hex 11 x 11, h3", STRIKES_BACK_HEX),
    "strikes_back_hex_c": Preset(f"{_MSB}: Hex 11 x 11, h1 and h2", STRIKES_BACK_HEX_C),
}
"""Presets by name."""

PRESETS: Mapping[str, TrainingConfig] = {name: preset.config for name, preset in ALL.items()}


def preset(name: str) -> TrainingConfig:
    """Returns the settings of a preset; change single ones with `dataclasses.replace`.

    Args:
        name: name of the preset, such as "quick"; `athenan train --preset` lists all.

    Raises:
        ConfigError: there is no such preset.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError.at(
            "preset", f"must be one of {', '.join(PRESETS)}, got {shown(name)}{nearest(name, PRESETS)}"
        )
    return PRESETS[name]

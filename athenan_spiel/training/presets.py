"""Named settings to start from, one for each purpose."""

from __future__ import annotations

from collections.abc import Mapping

from athenan_spiel.config import (
    ExplorationConfig,
    LearnerConfig,
    NetworkConfig,
    ReplayConfig,
    SearchConfig,
    TrainingConfig,
    WarmUpConfig,
)
from athenan_spiel.errors import ConfigError, nearest, shown

QUICK = TrainingConfig(
    seconds=180.0,
    matches_at_once=16,
    search=SearchConfig(iterations=10, evaluations=2000),
    replay=ReplayConfig(matches=200, duplication=1.0),
    learner=LearnerConfig(batch_size=256, l2=1e-5),
)
"""Minutes on two cores, with the depth heuristic (Section 6.2.2): many matches of little thought. The bound on
evaluations keeps a round of a large game within half a minute or so. At small branching learning takes as long as
searching, so each state is learned once (δ = 1); values are learned divided by their scale, beside which the article's
L2 would weigh too much."""

PAPER = TrainingConfig(
    seconds=15 * 24 * 3600.0,
    matches_at_once=1,
    outcome="gain",
    checkpoint_seconds=600.0,
    search=SearchConfig(algorithm="descent", completion=True, seconds=3.0, iterations=None, resolved_hours=12.0),
    exploration=ExplorationConfig(schedule="uniform"),
    warm_up=WarmUpConfig(states=10_000_000),
    network=NetworkConfig(architecture="r2", filters=132, layers=8, neurons=228),
    replay=ReplayConfig(matches=100, duplication=3.0),
    learner=LearnerConfig(batch_size=3000, learning_rate=1e-4, l2=1e-3),
)
"""Athénan as in the article's comparison with ExIt: 15 days (Section 8.4.1), Descent with completion and the gain
(Section 8.3; its footnote 7 says that score, or else depth, would have been stronger), one residual network with 132
filters and 8 blocks (8.4.1; 228 neurons is Table 5's for Hex and Go 11 x 11), 3 s a move, B = 3000, μ = 100, δ = 3 and
a uniformly random parameter of the ordinal distribution, a warm-up on 10,000,000 random terminal states, and resolved
states kept for 12 hours (8.4.3)."""

PRESETS: Mapping[str, TrainingConfig] = {"quick": QUICK, "paper": PAPER}


def preset(name: str) -> TrainingConfig:
    """The settings called `name`; change single ones with `dataclasses.replace`.

    Raises:
        ConfigError: there are none of that name.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise ConfigError.at(
            "preset", f"must be one of {', '.join(PRESETS)}, got {shown(name)}{nearest(name, PRESETS)}"
        )
    return PRESETS[name]

"""Terminal values: the gain, and the reinforcement heuristics (the article, Section 6).

An outcome maps a terminal state to a number for player 0. It is a reinforcement heuristic if it keeps the order of the
gain (Definition 21): a win has a larger value than a draw, and a draw a larger value than a loss. All outcomes of this
package keep it strictly, whatever their constants, so an estimate never turns a win into a loss. Custom outcomes are
tested for it on random games. docs/heuristics.md lists the outcomes by game.
"""

from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.classic import Gain, gain
from athenan_spiel.outcomes.depth import AdditiveDepth, MultiplicativeDepth
from athenan_spiel.outcomes.mobility import Mobility
from athenan_spiel.outcomes.own import Kind
from athenan_spiel.outcomes.presence import Presence
from athenan_spiel.outcomes.registry import (
    Given,
    allowed_kind,
    is_code,
    kind_called,
    make_outcome,
    not_allowed,
    offered,
    outcome_from_parameters,
    outcome_to_play_by,
    outcomes_for,
    register_outcome,
    suggested,
    suited_kind,
)
from athenan_spiel.outcomes.sample import SAMPLE_MATCHES, Sample, sample_matches
from athenan_spiel.outcomes.score import Score

__all__ = [
    "SAMPLE_MATCHES",
    "AdditiveDepth",
    "Gain",
    "Given",
    "Kind",
    "Mobility",
    "MultiplicativeDepth",
    "Outcome",
    "Presence",
    "Sample",
    "Score",
    "allowed_kind",
    "gain",
    "is_code",
    "kind_called",
    "make_outcome",
    "not_allowed",
    "offered",
    "outcome_from_parameters",
    "outcome_to_play_by",
    "outcomes_for",
    "register_outcome",
    "sample_matches",
    "suggested",
    "suited_kind",
]

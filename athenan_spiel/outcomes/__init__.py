"""What a finished match is worth: the gain, and the reinforcement heuristics (the article, Section 6).

An outcome maps a terminal state to a number from the first player's view. It is a reinforcement heuristic if it
keeps the order of the gain (Definition 21): a won match is worth more than a drawn one, a drawn one more than
a lost one. Everything here keeps it strictly, whatever the constants, so an estimate can never turn a win into
a loss; an outcome of one's own is held to it on random matches. docs/heuristics.md lists them by game.
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

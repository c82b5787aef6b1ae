"""Base class of Descent, UBFM and alpha-beta: completion, and trees of states with all their children."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config.settings import Count, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.games.chance import CHANCE_SAMPLES, has_chance
from athenan_spiel.games.transpositions import Key
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search.ahead import WinsAhead
from athenan_spiel.search.base import Search, SearchOptions
from athenan_spiel.search.choice import (
    Decision,
    ThroughChance,
    all_outcomes,
    best_action,
    completed_best_action_dual,
    least_visited_outcome,
)
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.proven_states import Known
from athenan_spiel.search.tree import Store


class ProvingOptions(SearchOptions, total=False):
    """Keyword arguments common to all searches with completion, except the game."""

    completion: bool
    chance_samples: int


class MinimaxOptions(ProvingOptions, total=False):
    """Keyword arguments common to Descent and UBFM, except the game."""

    known: Known | None
    wins_ahead: bool
    chance_selection: Decision
    evaluate_outcomes: bool
    paranoid: bool


class MinimaxSearch(Search):
    """A search whose values are minimax values of its tree.

    Args:
        game, outcome, key, batched, most_states: as for every search.
        completion: whether to prove states, and never descend into proven ones (Section 5). Algorithms 1 and 9 do
            neither.
        known: proofs from elsewhere, such as earlier games, which the trees look up.
        wins_ahead: whether the trees look one action beyond the children of a state. A child whose mover can win by one
            action is then proven (`ahead`).
        chance_selection: selects the outcome that a walk follows at a chance node: `choice.least_visited_outcome` or
            `choice.random_outcome`. With `choice.all_outcomes` an iteration follows each; in Descent the number of
            states that it expands grows exponentially with the rolls, up to `longest`.
        chance_samples: maximum number of outcomes of a chance state in the tree; more are sampled
            (`chance.sampled_outcomes`). With 1 the search approximates the game by a deterministic one.
        evaluate_outcomes: whether the estimate of a new chance state is the expectation of the estimates of its
            outcomes, requested in the same batch; otherwise the evaluator is asked for the chance state itself.
        paranoid: whether all other players prefer the smallest value of the player who searches (Sturtevant and Korf
            2000), in a game with rows; otherwise each player prefers its largest value (max^n).

    Attributes:
        accepts_known: whether the search accepts `known` and `wins_ahead`.
        follows_all: whether an iteration follows all outcomes of the chance nodes it passes.
        select: decision of a walk through the tree at an unresolved node.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: as every search; or `known` or `wins_ahead` is given to a search that does not use it: alpha-beta,
            or any search without completion; or the outcome is infinite in a game with chance or rows; or `paranoid` or
            the outcome does not suit the game: only in a game with rows an outcome returns rows.
    """

    tree_type: ClassVar[type[MinimaxTree]] = MinimaxTree
    accepts_known: ClassVar[bool] = True

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        outcome: Callable[[pyspiel.State], float] | None = None,
        completion: bool = True,
        key: Key | None = None,
        known: Known | None = None,
        wins_ahead: bool = False,
        chance_selection: Decision = least_visited_outcome,
        chance_samples: int = CHANCE_SAMPLES,
        evaluate_outcomes: bool = False,
        paranoid: bool = False,
        batched: bool = True,
        most_states: int | None = None,
    ) -> None:
        super().__init__(game, outcome=outcome, key=key, batched=batched, most_states=most_states)
        require_kind("completion", completion, bool, SearchError)
        require_kind("wins_ahead", wins_ahead, bool, SearchError)
        require_callable("chance_selection", chance_selection, SearchError)
        require_argument("chance_samples", chance_samples, Count, SearchError)
        if (known is not None or wins_ahead) and not (completion and self.accepts_known):
            raise SearchError(
                f"known and wins_ahead require Descent or UBFM with completion, got a {type(self).__name__} "
                f"with completion={completion}"
            )
        if isinstance(self.outcome, InfiniteTerminal) and has_chance(self.game):
            raise SearchError(f"a game with chance requires finite values for its expectations, got {self.outcome!r}")
        require_kind("evaluate_outcomes", evaluate_outcomes, bool, SearchError)
        require_kind("paranoid", paranoid, bool, SearchError)
        if paranoid and (self.rows is None or wins_ahead):
            reason = "is for games with a value for each player" if self.rows is None else "excludes wins_ahead"
            raise SearchError(f"paranoid search {reason}, got {str(self.game)!r}")
        self.paranoid = paranoid
        self.completion = completion
        self.chance_selection = chance_selection
        self.chance_samples = chance_samples
        self.evaluate_outcomes = evaluate_outcomes
        self.select = self._through_chance(completed_best_action_dual if completion else best_action)
        self.follows_all = chance_selection is all_outcomes and has_chance(self.game)
        self.known = known
        self.wins_ahead = wins_ahead

    def _through_chance(self, decision: Decision) -> Decision:
        """Returns the selection of a walk that selects by `decision` where a player is to move."""
        return ThroughChance(decision, self.chance_selection) if has_chance(self.game) else decision

    def _new_tree(self, store: Store | None) -> MinimaxTree:
        return self.tree_type(
            outcome=self.outcome,
            key=self.key,
            completion=self.completion,
            store=store,
            known=self.known,
            ahead=WinsAhead(self.outcome, self.rows) if self.wins_ahead else None,
            paranoid=self.paranoid,
            game=self.game,
            chance_samples=self.chance_samples,
            evaluate_outcomes=self.evaluate_outcomes,
        )

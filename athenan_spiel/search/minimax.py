"""What Descent, UBFM and alpha-beta have in common: completion, and trees of states with all their children."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pyspiel

from athenan_spiel.arguments import require_kind
from athenan_spiel.errors import SearchError
from athenan_spiel.games.transpositions import Key
from athenan_spiel.search.ahead import WinsAhead
from athenan_spiel.search.base import Search, SearchOptions
from athenan_spiel.search.choice import Decision, best_action, completed_best_action_dual
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.proven_states import Known
from athenan_spiel.search.tree import Store


class ProvingOptions(SearchOptions, total=False):
    """What every search that may prove states may be given beside the game."""

    completion: bool


class MinimaxOptions(ProvingOptions, total=False):
    """What Descent and UBFM may be given beside the game."""

    known: Known | None
    wins_ahead: bool


class MinimaxSearch(Search):
    """A search whose values are minimax values of the tree it has grown.

    Args:
        game, outcome, key, batched, most_states: as for every search.
        completion: prove states, and never go into what is proven (Section 5). False is Algorithm 9 or 1 as printed.
        known: states proven otherwise, as in earlier matches, which its trees look into.
        wins_ahead: its trees look one action beyond the children of a state, and take those for proven whose mover wins
            by one (`ahead`).

    Attributes:
        looks_into_known: it takes `known`.
        select: which action a walk through its trees takes of a node that is not resolved.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: as every search; or states are `known`, or looked for, to one that does not look into them, as
            alpha-beta and whatever does without completion.
    """

    tree_type: ClassVar[type[MinimaxTree]] = MinimaxTree
    looks_into_known: ClassVar[bool] = True

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        outcome: Callable[[pyspiel.State], float] | None = None,
        completion: bool = True,
        key: Key | None = None,
        known: Known | None = None,
        wins_ahead: bool = False,
        batched: bool = True,
        most_states: int | None = None,
    ) -> None:
        super().__init__(game, outcome=outcome, key=key, batched=batched, most_states=most_states)
        require_kind("completion", completion, bool, SearchError)
        require_kind("wins_ahead", wins_ahead, bool, SearchError)
        if (known is not None or wins_ahead) and not (completion and self.looks_into_known):
            raise SearchError(
                f"states proven otherwise are for Descent and UBFM with completion, got a {type(self).__name__} "
                f"with completion={completion}"
            )
        self.completion = completion
        self.select: Decision = completed_best_action_dual if completion else best_action
        self.known = known
        self.wins_ahead = wins_ahead

    def _new_tree(self, store: Store | None) -> MinimaxTree:
        return self.tree_type(
            outcome=self.outcome,
            key=self.key,
            completion=self.completion,
            store=store,
            known=self.known,
            ahead=WinsAhead(self.outcome) if self.wins_ahead else None,
            game=self.game,
        )

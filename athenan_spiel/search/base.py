"""What every search is to those who drive it: a maker of trees and a generator of iterations."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import pyspiel

from athenan_spiel.errors import LearningError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import Gain
from athenan_spiel.resolved import Known
from athenan_spiel.search.infinite_terminal import InfiniteTerminal
from athenan_spiel.search.walk import Questions
from athenan_spiel.transpositions import Key, history_key, key_function
from athenan_spiel.tree import Node, Store, Tree


class Search(ABC):
    """A search that grows a tree iteration by iteration, each one starting at the root.

    It holds no tree, no evaluator and no clock: those who drive it pass the tree, answer its questions and decide
    when it has done enough. One search object can serve many matches at once.

    Args:
        game: the game whose states it will be given.
        outcome: f_t, the worth of a terminal state for player 0; the gain by default.
        completion: prove states, and never go into what is proven (Section 5). False is Algorithm 9 or 1 as printed.
        key: states with equal keys share a node; by default what `transpositions` knows to be sound, and the history
            where the outcome is `path_dependent`.
        known: states proven otherwise, as in earlier matches, which its trees look into; for Descent and UBFM with
            completion.

    Attributes:
        tree_type: the trees that it grows.
        interruptible: an iteration may be long, and may be given up after any answer once a first one has ended: the
            root is then as the last whole iteration left it.
    """

    tree_type: ClassVar[type[Tree]] = Tree
    interruptible: ClassVar[bool] = False

    def __init__(
        self,
        game: pyspiel.Game,
        *,
        outcome: Callable[[pyspiel.State], float] | None = None,
        completion: bool = True,
        key: Key | None = None,
        known: Known | None = None,
    ) -> None:
        self.game = game
        self.outcome = outcome or Gain()
        self.completion = completion
        self._has_own_key = key is not None
        self.key = key or self._default_key()
        self.known = known

    def _default_key(self) -> Key:
        separate = getattr(self.outcome, "path_dependent", False)
        return history_key(self.game) if separate else key_function(self.game)

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle`: the game by its string, and no key function that is made anew from it."""
        state = {**vars(self), "game": str(self.game)}
        if not self._has_own_key:
            del state["key"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, game=load_game(state["game"]))
        if not self._has_own_key:
            self.key = self._default_key()

    def new_tree(self, store: Store | None = None) -> Tree:
        """An empty tree for one match, which leaves the observations of its states in `store`, if any.

        Raises:
            LearningError: there is a store, and the outcome is infinite (Remark 18).
        """
        if store is not None and isinstance(self.outcome, InfiniteTerminal):
            raise LearningError(
                f"expected an outcome with finite values to learn, got {self.outcome!r}: it is for play alone"
            )
        return self.tree_type(
            outcome=self.outcome, key=self.key, completion=self.completion, store=store, known=self.known
        )

    def finished(self, root: Node) -> bool:
        """Whether no further iteration from `root`, a node of its tree, could change anything there."""
        return root.resolved

    @abstractmethod
    def iteration(
        self, tree: Tree, state: pyspiel.State, rng: random.Random, root: Node | None = None
    ) -> Questions[Node]:
        """One iteration from `state`: yields batches of states to be valued, returns the node of `state`."""

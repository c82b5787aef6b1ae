"""What every search is to those who drive it: a maker of trees and a generator of iterations."""

from __future__ import annotations

import inspect
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, TypedDict

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config.settings import Count, require_argument
from athenan_spiel.errors import LearningError, SearchError, shown
from athenan_spiel.games import given_game, load_game
from athenan_spiel.games.transpositions import Key, history_key, key_function
from athenan_spiel.outcomes import Gain
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.outcomes.own import OwnFunction
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.walk import Questions


class SearchOptions(TypedDict, total=False):
    """What every search may be given beside the game."""

    outcome: Callable[[pyspiel.State], float] | None
    key: Key | None
    batched: bool
    most_states: int | None


class Search(ABC):
    """A search that grows a tree iteration by iteration, each one starting at the root.

    It holds no tree, no evaluator and no clock: those who drive it pass the tree, answer its questions and decide
    when it has done enough. One search object can serve many matches at once.

    Args:
        game: the game whose states it will be given, or its string.
        outcome: f_t, the worth of a terminal state for player 0; the gain by default. A plain function is held to
            finite numbers.
        key: states with equal keys share a node; by default what `transpositions` knows to be sound, and the history
            where the outcome is `path_dependent`.
        batched: the states of a question are asked about together. False: each by itself (*Minimax Strikes Back*, first
            version, Section 7.1).
        most_states: that each of its trees holds; in one that is full the search for a move ends (`drive`). None: there
            is no bound.

    Attributes:
        tree_type: the trees that it grows.
        completion: it proves states, and never goes into what is proven (Section 5).
        interruptible: an iteration may be long, and may be given up after any answer once a first one has ended: the
            root is then as the last whole iteration left it.
        curtails: an iteration may ask many questions, and ends at once if `Enough` is thrown into it in place of an
            answer: what it has found is carried back.
        tells_policy: it answers the `policy` of a node.
        needs_priors: the evaluator must have priors.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        SearchError: another argument is not of its kind.
    """

    tree_type: ClassVar[type[Tree]]
    interruptible: ClassVar[bool] = False
    curtails: ClassVar[bool] = False
    tells_policy: ClassVar[bool] = False
    completion = False
    needs_priors = False

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        outcome: Callable[[pyspiel.State], float] | None = None,
        key: Key | None = None,
        batched: bool = True,
        most_states: int | None = None,
    ) -> None:
        require_callable("outcome", outcome, SearchError, or_none=True)
        require_callable("key", key, SearchError, or_none=True)
        require_kind("batched", batched, bool, SearchError)
        require_argument("the states of a tree", most_states, Count, SearchError, or_none=True)
        self.game = game = given_game(game)
        self.outcome = OwnFunction(outcome) if inspect.isfunction(outcome) else outcome or Gain()
        self._has_own_key = key is not None
        self.key = key or self._default_key()
        self.batched = batched
        self.most_states = most_states

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
        tree = self._new_tree(store)
        tree.most = self.most_states
        return tree

    @abstractmethod
    def _new_tree(self, store: Store | None) -> Tree:
        """An empty tree of `tree_type`."""

    def require_own(self, tree: Tree) -> None:
        """Raise `SearchError` unless this search may grow `tree`: its own `new_tree` gives such a one."""
        require_kind("tree", tree, Tree, SearchError)
        ours = (self.tree_type, self.outcome, self.completion)
        theirs = (type(tree), tree.outcome, tree.completion)
        same_game = tree.game is self.game or str(tree.game) == str(self.game)
        if theirs != ours or not same_game:
            raise SearchError(
                f"expected a tree of this search, a {type(self).__name__} of {shown(str(self.game))} with the same "
                f"outcome and completion, got another search's {type(tree).__name__}: make one by search.new_tree()"
            )

    def finished(self, root: Node) -> bool:
        """Whether no further iteration from `root`, a node of its tree, could change anything there."""
        return root.resolved

    def policy(self, node: Node) -> list[float] | None:
        """The probability of each action of `node`, in their order, as a policy network is to learn it; sums to 1.

        None if the search tells none (`tells_policy`).
        """
        return None

    def depth_of(self, root: Node) -> int | None:
        """Returns the depth, in actions, to which `root` was searched.

        None for a search whose lines end at different depths.
        """
        return None

    def to_depth(self, depth: int) -> Self | None:
        """Returns this search with another greatest depth, in actions from the root.

        None for a search that has no limit of depth.
        """
        return None

    @abstractmethod
    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Questions[Node]:
        """One iteration from `state`: yields batches of states to be valued, returns the node of `state`.

        Args:
            root: the node that the last iteration returned. None in the first iteration: the node is then looked up in
                the tree, or made.
            root_actions: some of the legal actions, in their order, to which the root is restricted. A first iteration
                makes a restricted root, which `Tree` describes; later iterations go by `root`.
        """

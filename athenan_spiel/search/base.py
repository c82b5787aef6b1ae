"""Base class of all searches: a factory of trees and a generator of iterations."""

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
from athenan_spiel.games.rows import rows_of
from athenan_spiel.games.transpositions import Key, history_key, key_function
from athenan_spiel.outcomes.calibration import default_calibration
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.outcomes.own import FunctionOutcome
from athenan_spiel.outcomes.registry import BUILT_IN
from athenan_spiel.outcomes.rows import RowOutcome, gain_of
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.walk import Requests


class SearchOptions(TypedDict, total=False):
    """Keyword arguments common to all searches, except the game."""

    outcome: Callable[[pyspiel.State], float] | None
    key: Key | None
    batched: bool
    most_states: int | None


class Search(ABC):
    """A search that grows a tree iteration by iteration, each starting at the root.

    A search holds no tree, no evaluator and no clock. Its driver passes the tree, answers the requests for evaluations,
    and decides when to stop. One search object can serve many games at once.

    Args:
        game: game whose states are searched, or its string.
        outcome: f_t, the terminal value for player 0; the gain by default. A plain function must return finite numbers.
        key: maps a state to a key; states with equal keys share a node. The default is a key that `transpositions`
            knows to be sound, or the history if the outcome is `path_dependent`.
        batched: whether one request contains all states of a batch. False makes one request per state (*Minimax Strikes
            Back*, first version, Section 7.1).
        most_states: maximum number of states per tree. The search for a move ends when its tree is full (`drive`). None
            sets no limit.

    Attributes:
        tree_type: class of the trees that the search grows.
        completion: whether the search proves states, and never descends into a proven one (Section 5).
        rows: range of the rows of the game's values; None if they are single numbers.
        calibration: maps values to expected scores, for display.
        interruptible: whether the driver may abandon an iteration after any answer, because iterations may be long. The
            root then keeps the labels of the last whole iteration. The first iteration must not be abandoned.
        curtails: whether an iteration ends at once, and backs up what it has found, if the driver throws
            `SearchInterrupted` into it in place of an answer. Such an iteration may make many requests.
        tells_policy: whether the search implements `policy`.
        needs_priors: whether the evaluator must return priors.

    Raises:
        UnsupportedGameError: the game is invalid, or violates an assumption of the algorithms.
        SearchError: another argument has the wrong type.
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
        self.rows = rows_of(game)
        own = gain_of(game)
        plain = inspect.isfunction(outcome)
        self.outcome: Callable[[pyspiel.State], Any] = FunctionOutcome(outcome) if plain and outcome else outcome or own
        with_rows = isinstance(self.outcome, RowOutcome)
        with_numbers = isinstance(self.outcome, (InfiniteTerminal, *BUILT_IN.values())) and not with_rows
        if with_rows if self.rows is None else with_numbers:
            raise SearchError(f"expected an outcome for the values of {shown(str(game))}, got {self.outcome!r}")
        self.calibration = default_calibration(game, self.outcome)
        self._has_own_key = key is not None
        self.key = key or self._default_key()
        self.batched = batched
        self.most_states = most_states

    def _default_key(self) -> Key:
        separate = getattr(self.outcome, "path_dependent", False)
        return history_key(self.game) if separate else key_function(self.game)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for `pickle`: the game as its string, without a default key function."""
        state = {**vars(self), "game": str(self.game)}
        if not self._has_own_key:
            del state["key"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, game=load_game(state["game"]))
        if not self._has_own_key:
            self.key = self._default_key()

    def new_tree(self, store: Store | None = None) -> Tree:
        """Returns an empty tree for one game.

        Args:
            store: receives the observation of each state of the tree. None stores no observations.

        Raises:
            LearningError: there is a store, and the outcome is infinite (Remark 18).
        """
        if store is not None and isinstance(self.outcome, InfiniteTerminal):
            raise LearningError(
                f"expected an outcome with finite values to learn, got {self.outcome!r}: use it only to play"
            )
        tree = self._new_tree(store)
        tree.most = self.most_states
        return tree

    @abstractmethod
    def _new_tree(self, store: Store | None) -> Tree:
        """Returns an empty tree of type `tree_type`."""

    def require_own(self, tree: Tree) -> None:
        """Raises `SearchError` unless this search can grow `tree`. Trees from its `new_tree` are accepted."""
        require_kind("tree", tree, Tree, SearchError)
        ours = (self.tree_type, self.outcome, self.completion)
        theirs = (type(tree), tree.outcome, tree.completion)
        same_game = tree.game is self.game or str(tree.game) == str(self.game)
        if theirs != ours or not same_game:
            raise SearchError(
                f"expected a tree of this search, a {type(self).__name__} of {shown(str(self.game))} with the same "
                f"outcome and completion, got another search's {type(tree).__name__}: create one by search.new_tree()"
            )

    def finished(self, root: Node) -> bool:
        """Returns whether no further iteration from `root` can change its labels."""
        return root.resolved

    def policy(self, node: Node) -> list[float] | None:
        """Returns the probability of each action of `node`, in order, as the training target of a policy network.

        The probabilities sum to 1. Returns None if the search has no policy (`tells_policy`).
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

    def with_exact_actions(self, count: int) -> Self:
        """Returns this search such that the `count` best actions of the root have values, not bounds."""
        return self

    @abstractmethod
    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Requests[Node]:
        """Runs one iteration from `state`.

        The generator yields batches of states to evaluate and returns the node of `state`.

        Args:
            root: node returned by the last iteration. None in the first iteration: the node is then looked up in the
                tree, or created.
            root_actions: legal actions, in order, to which the root is restricted. The first iteration creates the
                restricted root, as described in `tree`; later iterations use `root`.
        """

"""UBFM, unbounded best-first minimax (the article, Algorithm 1; Algorithm 12 with completion).

Each iteration follows the best unresolved actions from the root to the first state that is not in the tree, expands it,
and backs up its value. UBFM_s plays the most selected action of the root instead of the best one (`choice.safest`,
Algorithm 13).

With an exploration constant the descent is that of UBFM_s + UCT (the 2019 article, Section 4.3).

With several lines an iteration expands several leaves, and their children are evaluated in one call. The next leaf is
found by treating the previous line as lost for the player who moves last on it. Lines are added until the batch has
`lines.BATCH_STATES` states.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack, cast

import pyspiel

from athenan_spiel.config.search import AtOnce
from athenan_spiel.config.settings import Factor, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search.choice import draw
from athenan_spiel.search.lines import iteration_over_lines
from athenan_spiel.search.minimax import MinimaxOptions, MinimaxSearch
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Requests, Walk, expand, through_all_outcomes


@dataclass(frozen=True)
class BestWithUCT:
    """Selection of the unresolved action that maximises the normalised v(s, a) with UCT's exploration term:

        (1 ± v(s, a) / scale) / 2 + c · sqrt(ln N(s) / N(a(s)))

    The visits N of a state include its first evaluation: N(a(s)) = 1 + n(s, a), N(s) = 1 + the sum of n(s, a). In a
    state that was just expanded the best action is therefore selected.

    Attributes:
        exploration_constant: c; √2 in theory.
        scale: scale of the outcome.
    """

    exploration_constant: float
    scale: float

    def __call__(self, node: Node, rng: random.Random) -> int:
        """Returns the index of the action. `rng` breaks ties."""
        logarithm = math.log(1 + sum(node.visits.values()))
        best, candidates = -math.inf, []
        for i, value in enumerate(node.values):
            if node.resolutions[i]:
                continue
            share = (1 + node.kind.won * value / self.scale) / 2
            score = share + self.exploration_constant * math.sqrt(logarithm / (1 + node.count(i)))
            if score > best:
                best, candidates = score, [i]
            elif score == best:
                candidates.append(i)
        return draw(candidates, rng)


class UBFM(MinimaxSearch):
    """Unbounded best-first minimax with completion and resolution stop.

    Args:
        game, outcome, completion, key, known, batched: as for every `MinimaxSearch`.
        exploration_constant: c of UCT's term, zero or more. None selects by values alone.
        lines: maximum number of states expanded per iteration. About `lines.BATCH_STATES` children end an iteration
            sooner.

    Raises:
        SearchError: as every `MinimaxSearch`; c is negative, not finite or too large; `lines` is out of range; or there
            is a c or more than one line and the outcome is infinite, or more than one line and all outcomes of chance
            are followed.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        exploration_constant: float | None = None,
        lines: int = 1,
        **options: Unpack[MinimaxOptions],
    ) -> None:
        super().__init__(game, **options)
        self.exploration_constant = exploration_constant
        if exploration_constant is not None:
            require_argument("the exploration constant of UBFM", exploration_constant, Factor, SearchError)
            if isinstance(self.outcome, InfiniteTerminal):
                raise SearchError(f"UBFM with UCT requires finite values, got {self.outcome!r}")
            self.select = self._through_chance(
                BestWithUCT(exploration_constant, float(getattr(self.outcome, "scale", 1.0)))
            )
        require_argument("the lines of UBFM", lines, AtOnce, SearchError)
        if lines > 1 and isinstance(self.outcome, InfiniteTerminal):
            raise SearchError(f"UBFM over several lines requires finite values, got {self.outcome!r}")
        if lines > 1 and self.follows_all:
            raise SearchError("UBFM over several lines follows one outcome of each chance state, not all")
        self.lines = lines

    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Requests[Node]:
        """Runs one `ubfms_iteration`: expands the state where the best line leaves the tree, unless the line ends
        before."""
        grown = cast(MinimaxTree, tree)
        if self.lines > 1 and root is not None:
            return (yield from iteration_over_lines(grown, self.select, state, rng, root, self.lines))
        if root is None and root_actions is not None:
            return (yield from expand(grown, None, state, root_actions))
        if self.follows_all:
            return (yield from through_all_outcomes(grown, self.select, state, rng, root, length=1))
        walk = Walk(grown, self.select, state, rng, root)
        if walk.reaches_leaf():
            walk.node = yield from walk.expand()
        return walk.backup()

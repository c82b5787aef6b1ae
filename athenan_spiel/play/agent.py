"""Agent: a search, an evaluator, a decision rule and a budget, with the search tree of the current game.

The tree lives as long as the game (Remark 1 of the article), so each search starts with what earlier ones found. A
position that does not continue the game starts a new one, and the tree is dropped.
"""

from __future__ import annotations

import copy
import numbers
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.games import given_game, load_game, require_open_state, same_game
from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.validation import mover_of
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.play.game_clock import LEAST_SECONDS, ClockedPlayer, clock_of
from athenan_spiel.play.player import seed_of_game
from athenan_spiel.play.pondering import Ponderable, Ponderer
from athenan_spiel.play.prover import GameProver
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, safest, suited
from athenan_spiel.search.drive import Budget, Clock, answered, thought
from athenan_spiel.search.minimax import MinimaxSearch
from athenan_spiel.search.node import Node
from athenan_spiel.search.policy import SoftPolicy
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Requests

if TYPE_CHECKING:
    from athenan_spiel.encoding.encoder import Encoder
    from athenan_spiel.networks import ValueNetwork


class Agent(ClockedPlayer):
    """Plays `game` by a search at each move; a `player.Player` for either colour or a single-player game.

    `pickle` and `copy.deepcopy` keep its settings, network weights and the state of `rng`, but not the tree. `clone`
    keeps the tree, too.

    Args:
        game: game or game string.
        search: grows the tree, such as `UBFM(game)`.
        evaluator: evaluates states for player 0; called from the agent's thread.
        decision: chooses the action after a search; by default `safest`, which with UBFM is the papers' UBFM_s, and
            `safest_alone` in a single-player game.
        budget: budget per move; optional with a game clock.
        match_seconds, match_increment: game clock: seconds for all own moves of a game, and seconds that each own move
            adds. `game_clock` divides them; `budget` still bounds each move. Exceeding the clock loses the game.
        rng: breaks ties; `random.Random(0)` by default.
        ponder: whether to search in a background thread during the opponent's turn. That search ends when the agent or
            a clone is used, or when `inform_action` reports the opponent's action (`pondering`). Until then only the
            thread may call the evaluator.
        proofs: whether a part of each move's time limit goes to compiled proof search, if it is available for the game,
            the search proves states, and neither iterations nor evaluations are limited (`play.prover`). The papers'
            agents have no such search.
        network, encoder: source of the evaluator's values, if it is a network.

    Attributes:
        network: value network of an agent from `load_agent`, a torch module in evaluation mode. It maps float32
            states, each of `encoder.shape`, to player 0's values, float32 [N], or to values and a policy
            (`ValueNetwork.forward`). It is a copy that the agent's search doesn't use. None without a network.
        encoder: `encoder.encode(states)` returns the network's input, a numpy array. None without a network.
        result: result of the last search of this game; None before the first.
        ponders, proofs: as `ponder` and `proofs`; may be changed.

    Raises:
        UnsupportedGameError: the game is invalid, or violates an assumption of the algorithms.
        AgentError: the search is for another game, or an argument has the wrong type.
        BudgetError: `match_seconds` is not positive, or `match_increment` is negative or given alone.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        search: Search,
        evaluator: Evaluator,
        *,
        decision: Decision | None = None,
        budget: Budget | None = None,
        match_seconds: float | None = None,
        match_increment: float = 0.0,
        rng: random.Random | None = None,
        ponder: bool = False,
        proofs: bool = False,
        network: ValueNetwork | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        require_kind("search", search, Search, AgentError)
        require_callable("evaluator", evaluator, AgentError)
        require_callable("decision", decision, AgentError, or_none=True)
        require_kind("budget", budget, Budget, AgentError, or_none=match_seconds is not None)
        require_kind("rng", rng, random.Random, AgentError, or_none=True)
        require_kind("ponder", ponder, bool, AgentError)
        require_kind("proofs", proofs, bool, AgentError)
        self.game = game = given_game(game)
        if search.game is not game and not same_game(search.game, game):
            raise AgentError(
                f"expected a search of {shown(str(game))}, got a {type(search).__name__} of {shown(str(search.game))}"
            )
        self.search = search
        self.evaluator = evaluator
        self.decision = decision or suited(safest, game)
        self._clock = clock_of(game, match_seconds, match_increment)
        self.budget = _within(budget, None if self._clock is None else self._clock.most)
        self.rng = rng or random.Random(0)
        self.network = network
        self.encoder = encoder
        self.ponders = ponder
        self._ponderer = Ponderer()
        self.proofs = proofs
        self.restart()

    def __repr__(self) -> str:
        network = getattr(self.network, "description", None)
        evaluator = getattr(self.evaluator, "__name__", type(self.evaluator).__name__)
        values = evaluator if network is None else f"<{network}>"
        limits = "" if self._clock is None else f", match_seconds={self._clock.seconds:g}"
        return (
            f"{type(self).__name__}({str(self.game)!r}, {type(self.search).__name__}, {values}, "
            f"budget={self.budget}{limits}{', ponder=True' if self.ponders else ''})"
        )

    def restart(self) -> None:
        """Starts a new game: drops the tree, the last position and errors of pondering."""
        self._ponderer.forget()
        self.tree: Tree = self.search.new_tree()
        accepts = isinstance(self.search, MinimaxSearch) and self.search.accepts_known and self.search.completion
        self._game_prover = GameProver(self.game) if self.proofs and accepts else None
        self.result: SearchResult | None = None
        self._last: pyspiel.State | None = None
        self._action: int | None = None
        if self._clock is not None:
            self._clock.restart()

    def bound_tree(self, states: int) -> None:
        """Sets the maximum number of states of its trees. The agent moves as soon as its tree is full."""
        self.stop_pondering()
        self.search.most_states = self.tree.most = states

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state`."""
        self.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Ends pondering, since `player_id` has chosen `action`. `step` takes everything else from the state."""
        self._ponderer.leave()

    @property
    def is_pondering(self) -> bool:
        """Whether the background thread is running."""
        return self._ponderer.is_pondering

    def stop_pondering(self) -> None:
        """Stops pondering. When it returns, nothing uses the tree or the evaluator."""
        self._ponderer.stop()

    def resume_pondering(self) -> None:
        """Continues pondering after `stop_pondering` or a clone's search, unless the game has moved on."""
        if self.ponders:
            self._ponderer.resume()

    def for_game(self, number: int) -> Self:
        """Returns this agent for one game of a series; see `player.PerGamePlayer`.

        The first game uses a copy of `rng`, every other one a generator seeded from it.
        """
        twin = self._twin()
        if number:
            twin.rng = random.Random(seed_of_game(twin.rng.getrandbits(64), number))
        twin.restart()
        return twin

    def think(self, state: pyspiel.State, *, root_actions: Sequence[int] | None = None) -> SearchResult:
        """Searches from `state` until the budget is spent, with the tree of this game.

        Args:
            root_actions: legal actions to which the search is restricted, as in `athenan_spiel.think`.

        Returns:
            Search result. Its `action` is the one that `step` would play.

        Raises:
            SearchError: `state` is terminal or of another game; `root_actions` is empty or contains an illegal action.
            EvaluatorError: the evaluator returned the wrong number of values or a value that is not finite, possibly
                while pondering.
        """
        with without_garbage_collection():
            return answered(self.thought(state, root_actions=root_actions), self.evaluator)

    def thought(
        self,
        state: pyspiel.State,
        clock: Clock | None = None,
        *,
        root_actions: Sequence[int] | None = None,
        on_game_clock: bool = True,
    ) -> Requests[SearchResult]:
        """`think` for a driver that answers the requests itself.

        Args:
            clock: clock for the time limits; the machine's by default.
            root_actions: as for `think`.
            on_game_clock: whether the game clock limits the search and is charged for it. An analysis is not a move.
        """
        require_open_state(self.game, state)
        clock = clock or time.perf_counter
        game_clock = self._clock if on_game_clock else None
        start = clock()
        self._ponderer.end()
        if not self._continues(state):
            self.restart()
        budget = self.budget if game_clock is None else _within(self.budget, game_clock.allot(state))
        proofs: Mapping[int, int] = {}
        if self._game_prover is not None and budget.seconds is not None and budget.only_timed:
            proofs = yield from self._game_prover.proofs(state, budget.seconds, clock)
            budget = replace(budget, seconds=max(LEAST_SECONDS, budget.seconds - (clock() - start)))
        result = yield from thought(
            *(self.search, self.tree, state, budget, self.rng, clock),
            punctual=True,
            decision=self._decision_for(state),
            root_actions=root_actions,
            order=self.decision,
            proofs=proofs,
        )
        if self._game_prover is not None:
            result = replace(result, seconds=clock() - start)
        # A clone, since callers continue to play in the state that they passed.
        self._last = state.clone()
        self._action = None
        self.result = result
        if game_clock is not None:
            game_clock.spend(clock() - start)
        return result

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`. Repeated calls with the same state return the same action.

        Raises:
            SearchError: `state` is terminal or of another game.
            EvaluatorError: the evaluator returned the wrong number of values or a value that is not finite, possibly
                while pondering.
            AgentError: the decision is not the index of an action.
        """
        with without_garbage_collection():
            return answered(self.thinks(state), self.evaluator)

    def thinks(self, state: pyspiel.State, clock: Clock | None = None) -> Requests[int]:
        """`step` for a driver that answers the requests itself; see `player.AskingPlayer`."""
        require_open_state(self.game, state)
        if self._action is None or not self._is_last(state):
            self._action = (yield from self.thought(state, clock)).action
            if self.ponders:
                self._ponder_after(state, self._action)
        return self._action

    def _ponder_after(self, state: pyspiel.State, action: int) -> None:
        """Ponders the state after `action` if another player is to move there, without a roll before."""
        after = state.clone()
        after.apply_action(action)
        if not after.is_terminal() and not is_chance(after) and mover_of(after) != mover_of(state):
            rng = random.Random(self.rng.getrandbits(64))
            self._ponderer.begin(Ponderable(self.search, self.tree, after, self.evaluator, rng))

    def think_again(self) -> None:
        """Lets the next `step` search again in the same state, with the same tree.

        In a proven state the answer stays the same.
        """
        self._action = None

    def policy(self, state: pyspiel.State, temperature: float | None = None) -> list[tuple[int, float]]:
        """Returns (action, probability) for each legal action.

        Args:
            temperature: temperature of a softmax over the values of `think`, proven results first; `SoftPolicy` has the
                formula. None: probability 1 for the action that `step` plays.

        Raises:
            SearchError: `state` is terminal or of another game.
            EvaluatorError: the evaluator returned the wrong number of values or a value that is not finite.
            AgentError: the temperature is not positive.
        """
        soft = None if temperature is None else self.soft_policy(temperature)
        played = self.step(state)
        if soft is None:
            return [(action, float(action == played)) for action in state.legal_actions()]
        assert self.result is not None, "`step` stores a result"
        node = self.result.node
        return sorted(zip(node.actions, soft.probabilities(node), strict=True))

    def soft_policy(self, temperature: float) -> SoftPolicy:
        """Returns the softmax policy on the scale of this agent's outcome; as a `decision` it draws the action to play.

        Raises:
            AgentError: the temperature is not positive.
        """
        return SoftPolicy(temperature, float(getattr(self.search.outcome, "scale", 1.0)))

    def clone(self) -> Agent:
        """Returns an independent agent that continues from the same state; both share the search and the evaluator."""
        twin = self._twin()
        self.stop_pondering()
        twin.tree = self.tree.copy()
        twin._game_prover = None if self._game_prover is None else GameProver(self.game)
        return twin

    def _twin(self) -> Self:
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin.rng = copy.deepcopy(self.rng)
        twin._clock = None if self._clock is None else self._clock.copy()
        twin._ponderer = self._ponderer.twin()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for `pickle`: everything but the tree, with the game as a string."""
        memory = {"tree", "result", "_last", "_action", "_ponderer", "_game_prover"}
        kept = {name: value for name, value in vars(self).items() if name not in memory}
        return {**kept, "game": str(self.game)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, game=load_game(state["game"]), _ponderer=Ponderer())
        self.restart()

    def decided(self, node: Node, rng: random.Random) -> int:
        """Returns the index of the action that the agent's decision selects.

        Args:
            node: root of the search.
            rng: breaks ties.

        Raises:
            AgentError: the decision is not the index of an action.
        """
        index: object = self.decision(node, rng)
        if not isinstance(index, numbers.Integral) or not 0 <= int(index) < len(node.actions):
            raise AgentError(f"a decision must be the index of one of {len(node.actions)} actions, got {shown(index)}")
        return int(index)

    def _decision_for(self, state: pyspiel.State) -> Decision:
        """Returns the decision for a search of `state`.

        If the last state is proven, another search of it finds nothing new. The selected action is then kept, so that
        the agent plays the action that it reported.
        """
        known = self.result
        if known is None or known.root_actions is not None or not (known.is_resolved and self._is_last(state)):
            return self.decided

        def kept(node: Node, rng: random.Random) -> int:
            return known.actions.tolist().index(known.action) if node is known.node else self.decided(node, rng)

        return kept

    def _is_last(self, state: pyspiel.State) -> bool:
        return self._last is not None and state.history() == self._last.history() and str(state) == str(self._last)

    def _continues(self, state: pyspiel.State) -> bool:
        """Returns whether `state` continues the game of the last search; equal histories may have different starts."""
        if self._last is None:
            return False
        past, history = self._last.history(), state.history()
        if history[: len(past)] != past:
            return False
        ahead = self._last.clone()
        for action in history[len(past) :]:
            if action not in ahead.legal_actions():
                return False
            ahead.apply_action(action)
        return str(ahead) == str(state)


def _within(budget: Budget | None, seconds: float | None) -> Budget:
    if budget is None or seconds is None:
        assert budget is not None or seconds is not None
        return Budget(seconds=seconds) if budget is None else budget
    return replace(budget, seconds=seconds if budget.seconds is None else min(seconds, budget.seconds))

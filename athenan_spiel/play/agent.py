"""An agent: a search, an evaluator, a decision rule and a budget, with the memory of the match it is playing.

The tree of a match lives as long as the match (Remark 1 of the article): what was learned about a line of play while
thinking about one move is there at the next. A position that does not continue the match begins another one,
whether or not anyone said so, and the tree is then forgotten.
"""

from __future__ import annotations

import copy
import numbers
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.games import given_game, load_game, require_open_state, same_game
from athenan_spiel.games.given import mover_of
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.play.match_clock import clock_of
from athenan_spiel.play.player import seed_of_match
from athenan_spiel.play.pondering import Ponderable, Ponderer
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, safest, safest_alone
from athenan_spiel.search.drive import Budget, Clock, answered, thought
from athenan_spiel.search.node import Node
from athenan_spiel.search.policy import SoftPolicy
from athenan_spiel.search.result import SearchResult
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Questions

if TYPE_CHECKING:
    from athenan_spiel.encoding.encoder import Encoder
    from athenan_spiel.networks import ValueNetwork


class Agent:
    """Plays `game` by thinking about each of its moves; a `player.Player`, for either colour or alone.

    `pickle` and `copy.deepcopy` keep its settings, the weights of its network and the state of its `rng`, and not the
    memory of the match: what comes back begins a match as this one would. `clone` keeps the memory, too.

    Args:
        game: the game played, or its string.
        search: grows the tree, such as `UBFM(game)`.
        evaluator: values states for player 0; called from the thread that calls the agent.
        decision: chooses the action at the end of a search; by default `safest`, which over UBFM is the papers'
            UBFM_s, and in a game for one player `safest_alone`.
        budget: how long to think about a move; not needed with a match clock.
        match_seconds, match_increment: a match clock: seconds for all moves of a match, and those that each own move
            brings once it is made; `match_clock` says how many the next move gets, at most as many as the budget says.
            A match in which they are exceeded is lost.
        rng: breaks ties; `random.Random(0)` by default.
        ponder: think on in a thread beside once an action is chosen that another player has to answer, until anything
            else is asked of the agent or a clone of it, or the other player's action is told (`pondering`). Meanwhile
            the evaluator is that thread's: nobody else may ask it.
        network, encoder: what the evaluator's values come from, where it is a network.

    Attributes:
        network: the value network of an agent that `load_agent` gives, as a torch module in its evaluating mode:
            `float32 [N, *encoder.shape]` to player 0's values, float32 [N]. It is a copy, which the agent's own
            thinking does not ask. None where there is no network.
        encoder: what the network is shown of states: `encoder.encode(states)` is its input, a numpy array. None where
            there is no network.
        result: what the last search of this match has found; None before the first.
        ponders: as `ponder`; it may be changed.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        AgentError: the search is one of another game, or another argument is not of its kind.
        BudgetError: `match_seconds` is not more than zero, or `match_increment` is less than zero or alone.
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
        network: ValueNetwork | None = None,
        encoder: Encoder | None = None,
    ) -> None:
        require_kind("search", search, Search, AgentError)
        require_callable("evaluator", evaluator, AgentError)
        require_callable("decision", decision, AgentError, or_none=True)
        require_kind("budget", budget, Budget, AgentError, or_none=match_seconds is not None)
        require_kind("rng", rng, random.Random, AgentError, or_none=True)
        require_kind("ponder", ponder, bool, AgentError)
        self.game = game = given_game(game)
        if search.game is not game and not same_game(search.game, game):
            raise AgentError(
                f"expected a search of {shown(str(game))}, got a {type(search).__name__} of {shown(str(search.game))}"
            )
        self.search = search
        self.evaluator = evaluator
        self.decision = decision or (safest_alone if game.num_players() == 1 else safest)
        self._clock = clock_of(game, match_seconds, match_increment)
        self.budget = _within(budget, None if self._clock is None else self._clock.most)
        self.rng = rng or random.Random(0)
        self.network = network
        self.encoder = encoder
        self.ponders = ponder
        self._ponderer = Ponderer()
        self.restart()

    def restart(self) -> None:
        """Forget the match: its tree, its last position, and what may have failed while pondering."""
        self._ponderer.forget()
        self.tree: Tree = self.search.new_tree()
        self.result: SearchResult | None = None
        self._last: pyspiel.State | None = None
        self._action: int | None = None
        if self._clock is not None:
            self._clock.restart()

    def bound_tree(self, states: int) -> None:
        """Let the trees of its search have no more states from now on: where one is full, it moves sooner."""
        self.stop_pondering()
        self.search.most_states = self.tree.most = states

    @property
    def match_seconds(self) -> float | None:
        """The seconds of its match clock, which begins anew with each match; None without one."""
        return None if self._clock is None else self._clock.seconds

    @property
    def match_increment(self) -> float:
        """The seconds that each own move brings to its match clock."""
        return 0.0 if self._clock is None else self._clock.increment

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`."""
        self.restart()

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Ponder no more, as `player_id` has chosen `action`; all else `step` sees from the state itself."""
        self._ponderer.leave()

    @property
    def is_pondering(self) -> bool:
        """Whether its thread is at work beside."""
        return self._ponderer.is_pondering

    def stop_pondering(self) -> None:
        """Ponder no more for now: once it returns, nothing touches the tree or asks the evaluator."""
        self._ponderer.stop()

    def resume_pondering(self) -> None:
        """Go on with what `stop_pondering`, or a clone's thinking, has broken off, unless the match has gone on."""
        if self.ponders:
            self._ponderer.resume()

    def for_match(self, number: int) -> Self:
        """This agent for one match of a series, as `player.MatchPlayer` has it.

        The first match is played with a copy of `rng`, each other one with a generator that is seeded from it.
        """
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin.rng = copy.deepcopy(self.rng)
        twin._clock = None if self._clock is None else self._clock.copy()
        twin._ponderer = self._ponderer.twin()
        if number:
            twin.rng = random.Random(seed_of_match(twin.rng.getrandbits(64), number))
        twin.restart()
        return twin

    def think(self, state: pyspiel.State, *, root_actions: Sequence[int] | None = None) -> SearchResult:
        """Search from `state` until the budget is spent, on top of what this match's tree already holds.

        Args:
            root_actions: legal actions to which the search is restricted, as for `think` of this package.

        Returns:
            What was found. Its `action` is the one that the agent's decision selects, as `step` would play it.

        Raises:
            SearchError: `state` is terminal, or none of the agent's game; `root_actions` is empty or has an action that
                is not legal.
            EvaluatorError: the evaluator answered with the wrong number of values, or one that is not finite; so it may
                have done while pondering.
        """
        with without_garbage_collection():
            return answered(self.thought(state, root_actions=root_actions), self.evaluator)

    def thought(
        self, state: pyspiel.State, clock: Clock | None = None, *, root_actions: Sequence[int] | None = None
    ) -> Questions[SearchResult]:
        """`think` for a driver that answers the questions itself.

        Args:
            clock: by which the budget's seconds count; the machine's by default.
        """
        require_open_state(self.game, state)
        clock = clock or time.perf_counter
        start = clock() if self._clock is not None else 0.0
        self._ponderer.end()
        if not self._continues(state):
            self.restart()
        budget = self.budget if self._clock is None else _within(self.budget, self._clock.allot(state))
        result = yield from thought(
            *(self.search, self.tree, state, budget, self.rng, clock),
            punctual=True,
            decision=self._decision_for(state),
            root_actions=root_actions,
        )
        # A clone: callers, C++ ones too, go on to play in the state that they have passed.
        self._last = state.clone()
        self._action = None
        self.result = result
        if self._clock is not None:
            self._clock.spend(clock() - start)
        return result

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`. Asked again about the same state, it answers the same without thinking.

        Raises:
            SearchError: `state` is terminal, or none of the agent's game.
            EvaluatorError: the evaluator answered with the wrong number of values, or one that is not finite; so it may
                have done while pondering.
            AgentError: the decision is not the index of an action.
        """
        with without_garbage_collection():
            return answered(self.thinks(state), self.evaluator)

    def thinks(self, state: pyspiel.State, clock: Clock | None = None) -> Questions[int]:
        """`step` for a driver that answers the questions itself; see `player.AskingPlayer`."""
        require_open_state(self.game, state)
        if self._action is None or not self._is_last(state):
            self._action = (yield from self.thought(state, clock)).action
            if self.ponders:
                self._ponder_after(state, self._action)
        return self._action

    def _ponder_after(self, state: pyspiel.State, action: int) -> None:
        """Ponder the state to which its action leads, if another player is to move there."""
        after = state.clone()
        after.apply_action(action)
        if not after.is_terminal() and mover_of(after) != mover_of(state):
            rng = random.Random(self.rng.getrandbits(64))
            self._ponderer.begin(Ponderable(self.search, self.tree, after, self.evaluator, rng))

    def think_again(self) -> None:
        """Asked about the same state once more, think, on top of what the tree holds, and do not answer as before.

        In a proven state there is nothing to think about: the answer is the same.
        """
        self._action = None

    def policy(self, state: pyspiel.State, temperature: float | None = None) -> list[tuple[int, float]]:
        """(action, probability) for each legal action.

        Args:
            temperature: of a softmax over the values that `think` finds, with what is proven first: `SoftPolicy` has
                the formula. None: 1 for the action that `step` plays, 0 for the others.

        Raises:
            SearchError: `state` is terminal, or none of the agent's game.
            EvaluatorError: the evaluator answered with the wrong number of values, or one that is not finite.
            AgentError: the temperature is not above zero.
        """
        soft = None if temperature is None else self.soft_policy(temperature)
        played = self.step(state)
        if soft is None:
            return [(action, float(action == played)) for action in state.legal_actions()]
        assert self.result is not None, "it has just thought, or has not forgotten"
        node = self.result.node
        return sorted(zip(node.actions, soft.probabilities(node), strict=True))

    def soft_policy(self, temperature: float) -> SoftPolicy:
        """The softmax policy in the unit of this agent's outcome; as a `decision` it draws the action that is played.

        Raises:
            AgentError: the temperature is not above zero.
        """
        return SoftPolicy(temperature, float(getattr(self.search.outcome, "scale", 1.0)))

    def clone(self) -> Agent:
        """An agent that goes on from here as this one would; they share only the search and what values states."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        twin.rng = copy.deepcopy(self.rng)
        twin._clock = None if self._clock is None else self._clock.copy()
        twin._ponderer = self._ponderer.twin()
        self.stop_pondering()
        twin.tree = self.tree.copy()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle`: all but the memory of the match, the game by its string."""
        memory = {"tree", "result", "_last", "_action", "_ponderer"}
        kept = {name: value for name, value in vars(self).items() if name not in memory}
        return {**kept, "game": str(self.game)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, game=load_game(state["game"]), _ponderer=Ponderer())
        self.restart()

    def decided(self, node: Node, rng: random.Random) -> int:
        """Returns the index of the action that the agent's decision selects.

        Args:
            rng: breaks ties.

        Raises:
            AgentError: it is none.
        """
        index: object = self.decision(node, rng)
        if not isinstance(index, numbers.Integral) or not 0 <= int(index) < len(node.actions):
            raise AgentError(f"a decision must be the index of one of {len(node.actions)} actions, got {shown(index)}")
        return int(index)

    def _decision_for(self, state: pyspiel.State) -> Decision:
        """Returns the decision for a search of `state`.

        A search of the last state, where that is proven, finds nothing new. The action selected then is kept, so that
        the one that was reported is the one that is played.
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
        """Whether `state` lies ahead of the last one thought about; equal histories alone may have begun apart."""
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
    """The budget, and no more seconds than these; one of the two is given."""
    if budget is None or seconds is None:
        assert budget is not None or seconds is not None
        return Budget(seconds=seconds) if budget is None else budget
    return replace(budget, seconds=seconds if budget.seconds is None else min(seconds, budget.seconds))

"""Self-play of ExIt's apprentice, with one state per game for the expert (the article, Section 8.1, Algorithm 15).

The apprentice is a network's policy. It plays without search, so a move costs one evaluation. The expert, a search,
analyses one random state of the game, since states of one game are similar. Only that state becomes a training sample.
Its policy target is the policy of the search. Its value target is the game's terminal value, or the search's value.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.errors import EvaluatorError
from athenan_spiel.games.chance import roll
from athenan_spiel.play.lazy_states import LazyStates
from athenan_spiel.play.self_play import SelfPlayGame, Thinking
from athenan_spiel.search.drive import Clock, search_under
from athenan_spiel.search.tree import Store
from athenan_spiel.search.walk import Requests

TEMPERATURE = 0.1
"""Default temperature T_softmax of the apprentice (the article, Section 8.4.2)."""

Draw = Callable[[Sequence[float], random.Random], int]
"""Function that draws the index of an action from the probabilities of a policy."""


def sharpened(temperature: float) -> Draw:
    """Returns a function that draws from π(a|s)^(1 / temperature), the softmax of the logits with this temperature.

    Args:
        temperature: above zero. Near 0 the most likely action is drawn; 1 draws from π itself.
    """

    def draw(policy: Sequence[float], rng: random.Random) -> int:
        most = max(policy)
        weights = [p and math.exp(math.log(p / most) / temperature) for p in policy]
        return rng.choices(range(len(policy)), weights)[0]

    return draw


def apprentice_match(
    game: pyspiel.Game,
    thinking: Thinking,
    draw: Draw,
    seed: int,
    store: Store | None = None,
    clock: Clock | None = None,
) -> Requests[SelfPlayGame]:
    """Plays one game from the initial state, then searches one of its decisions, all equally likely.

    The generator requests the priors of each state of the game, one state per request, and then the expert's requests.
    The seed also determines the outcomes of chance, which the apprentice does not choose.

    Args:
        game: game to play.
        thinking: search and budget of the expert.
        draw: draws the apprentice's actions.
        seed: random seed of the game.
        store: store for the observations of the expert's tree.
        clock: clock for the budget's time limits; the machine's by default.

    Raises:
        EvaluatorError: the evaluator returns no priors.
    """
    rng = random.Random(seed)
    state = game.new_initial_state()
    roll(state, rng.random)
    plies: list[int] = []
    while not state.is_terminal():
        priors = (yield [state]).priors
        if priors is None:
            raise EvaluatorError(
                "an apprentice plays by the probability of each action, and this evaluator returns only values: "
                "use a network with a policy"
            )
        plies.append(state.move_number())
        state.apply_action(state.legal_actions()[draw(priors[0], rng)])
        roll(state, rng.random)
    history = state.history()
    moves = len(plies)
    states = LazyStates(game, history, [plies[rng.randrange(moves)], state.move_number()])
    searched = states[0]
    expert = thinking.search
    tree = expert.new_tree(store)
    node, used = yield from search_under(expert, tree, searched, thinking, rng, clock)
    policy = expert.policy(node)
    return SelfPlayGame(
        seed,
        history,
        state.returns(),
        tree,
        states,
        [node.value, expert.outcome(state)],
        [node.resolved],
        [] if policy is None else [(node.actions, policy)],
        used.iterations,
        used.evaluations + moves,
        used.requests + moves,
    )

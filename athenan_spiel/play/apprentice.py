"""Matches of an apprentice, of which an expert analyses one state each (ExIt; the article, Section 8.1, Algorithm 15).

The apprentice is a network's policy: it plays without search, so a match costs one question a move. A search, the
expert, then analyses one state of the match, drawn at random, as states of one match resemble each other. Only that
state is learned: with the shares of its visits, and with the worth of the end of the match, or with its value.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.errors import EvaluatorError
from athenan_spiel.play.lazy_states import LazyStates
from athenan_spiel.play.self_play import SelfPlayGame, Thinking
from athenan_spiel.search.drive import Clock, search_under
from athenan_spiel.search.tree import Store
from athenan_spiel.search.walk import Questions

TEMPERATURE = 0.1
"""T_softmax (the article, Section 8.4.2)."""

Draw = Callable[[Sequence[float], random.Random], int]
"""Draws the index of an action by the probabilities of a policy."""


def sharpened(temperature: float) -> Draw:
    """Draws by π(a|s)^(1 / temperature): the softmax, with this temperature, of what a network's policy is made of.

    Args:
        temperature: above zero; near 0 the likeliest action is played, and at 1 each as likely as the policy says.
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
) -> Questions[SelfPlayGame]:
    """One match from the initial state, and the analysis of one of its states but the last, all equally likely.

    It asks for the priors of each state of the match, one a question, and then what the expert asks.

    Args:
        thinking: of the expert, for the analysis.
        clock: by which the budget's seconds count; the machine's by default.

    Raises:
        EvaluatorError: the evaluator has no priors.
    """
    rng = random.Random(seed)
    state = game.new_initial_state()
    while not state.is_terminal():
        priors = (yield [state]).priors
        if priors is None:
            raise EvaluatorError(
                "an apprentice plays by the probability of each action, and this evaluator says values alone: "
                "take a network with a policy"
            )
        state.apply_action(state.legal_actions()[draw(priors[0], rng)])
    history = state.history()
    moves = len(history)
    states = LazyStates(game, history, [rng.randrange(moves), moves])
    analysed = states[0]
    expert = thinking.search
    tree = expert.new_tree(store)
    node, used = yield from search_under(expert, tree, analysed, thinking, rng, clock)
    policy = expert.policy(node)
    return SelfPlayGame(
        seed,
        history,
        state.returns(),
        tree,
        states,
        [node.value, expert.outcome(state)],
        [] if policy is None else [(node.actions, policy)],
        used.iterations,
        used.evaluations + moves,
        used.questions + moves,
    )

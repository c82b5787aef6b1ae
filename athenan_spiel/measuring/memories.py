"""Measures the memory of a tree node and of a training sample."""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from collections.abc import Callable

from athenan_spiel.games.chance import roll
from athenan_spiel.measuring.learners import filled_replay
from athenan_spiel.measuring.report import MemoryUse
from athenan_spiel.measuring.stand_ins import InstantEngine
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.search import Budget, think
from athenan_spiel.search.algorithms import make_search
from athenan_spiel.search.tree import Tree
from athenan_spiel.training.actor import Actor

NODES = 5000
"""Maximum number of nodes of the measured tree."""
SEARCH_BUDGET = Budget(evaluations=1000)


def memory(subject: Subject, seconds: float, say: Callable[[str], object]) -> MemoryUse:
    """Measures for at most about `seconds`.

    Args:
        say: called with a description of the next measurement.
    """
    say("memory")
    side = subject.learner
    actor = Actor(subject.game, subject.config, side.outcome, InstantEngine())
    actor.load(side.published())
    search = make_search(subject.game, subject.config.search, side.outcome)
    rng, end = random.Random(0), time.perf_counter() + seconds

    def grow(tree: Tree, nodes: int) -> None:
        """Searches the states of random games until the tree has `nodes` nodes."""
        state = subject.game.new_initial_state()
        while True:
            roll(state, rng.random)
            if state.is_terminal():
                state = subject.game.new_initial_state()
                continue
            think(search, state, SEARCH_BUDGET, actor.evaluator, tree=tree, rng=rng)
            if len(tree.nodes) >= nodes or time.perf_counter() >= end:
                return
            state.apply_action(rng.choice(state.legal_actions()))

    grow(search.new_tree(), 1)  # allocates buffers that are not measured
    tree = search.new_tree()
    gc.collect()
    tracemalloc.start()
    try:
        grow(tree, NODES)
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    replay = filled_replay(subject)
    return MemoryUse(
        nodes=len(tree.nodes),
        bytes_per_node=grown / len(tree.nodes),
        states=replay.states(),
        bytes_per_learned_state=replay.nbytes / replay.states(),
    )

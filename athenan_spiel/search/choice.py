"""Which action is taken of a node: by a walk through the tree, and once a search has ended.

The orders of choice of Algorithms 11 and 13 come first. Each narrows the candidates by one key after another, and draws
among those left.

A decision takes the root's node and an `rng`, and answers the index of an action. A rule does the same among
given candidates only, by their values v(s, a) alone. Two functions make a decision of a rule: `completed` (Section 5.2
of the article) plays what is proven won, does not play what is proven lost, and lets the rule choose among the rest;
`uncompleted` lets it choose among all, blind to proofs.

The rules of Sections 2.3 and 7 share one exploitation parameter ε': 0 is uniform play, 1 plays the best action.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from athenan_spiel.config import ExplorationConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.search.node import Kind, Node

Decision = Callable[[Node, random.Random], int]
Rule = Callable[[Node, Sequence[int], random.Random], int]
Exploitation = Callable[[random.Random], float]
"""Answers the parameter ε' in [0, 1]; asked before each choice."""

TEMPERATURE = 0.1
"""τ of softmax at ε' = 1/2, as a share of the outcome's scale, where none is given."""


def _narrow(
    candidates: Sequence[int], key: Callable[[int], float], best: Callable[[Iterable[float]], float]
) -> Sequence[int]:
    if len(candidates) == 1:
        return candidates
    keys = [key(i) for i in candidates]
    extreme = best(keys)
    return [i for i, k in zip(candidates, keys, strict=True) if k == extreme]


def draw(candidates: Sequence[int], rng: random.Random) -> int:
    """Returns one of the candidates, which tie, at random; nothing is drawn for a single one."""
    return candidates[0] if len(candidates) == 1 else rng.choice(candidates)


def argmax(scores: Mapping[int, float], rng: random.Random) -> int:
    """Returns the index of the largest score; ties are broken by `draw`."""
    return draw(_narrow([*scores], scores.__getitem__, max), rng)


def best_action(node: Node, rng: random.Random) -> int:
    """Algorithms 1 and 9, without completion: the mover's best by v(s, a), then at random (Remark 11)."""
    best = node.kind.best
    return draw(_narrow(range(len(node.values)), node.values.__getitem__, best), rng)


def best_candidates(node: Node) -> Sequence[int]:
    """Returns the actions that tie for best by (c(s, a), v(s, a), n(s, a))."""
    best = node.kind.best
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, best)
    candidates = _narrow(candidates, node.values.__getitem__, best)
    return _narrow(candidates, node.count, max)


def completed_best_action(node: Node, rng: random.Random) -> int:
    """Algorithm 11: the mover's best by (c(s, a), v(s, a)), then the most visited, then at random."""
    return draw(best_candidates(node), rng)


def completed_best_action_dual(node: Node, rng: random.Random) -> int:
    """Algorithm 11 over the unresolved actions: the mover's best by v(s, a), then the least visited, then at random.

    Completions of unresolved actions are all 0 (clause 2), so the order (c, v, -n) begins with v here.
    """
    values = node.values
    is_open = node.unresolved == len(values)
    unresolved = values if is_open else [v for v, r in zip(values, node.resolutions, strict=True) if not r]
    extreme = node.kind.best(unresolved)
    if values.count(extreme) == 1:
        return values.index(extreme)
    candidates = [i for i, v in enumerate(values) if v == extreme and not node.resolutions[i]]
    return draw(_narrow(candidates, node.count, min), rng)


def _most_visited_candidates(node: Node, candidates: Sequence[int]) -> Sequence[int]:
    return _narrow(_narrow(candidates, node.count, max), node.values.__getitem__, node.kind.best)


def most_visited(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
    """The rule of the most visited, then the mover's best by v(s, a), then at random."""
    return draw(_most_visited_candidates(node, candidates), rng)


def safest_candidates(node: Node) -> Sequence[int]:
    """Returns the actions that tie for best by (c(s, a), n(s, a), v(s, a))."""
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, node.kind.best)
    return _most_visited_candidates(node, candidates)


def safest_action(node: Node, rng: random.Random) -> int:
    """Algorithm 13: the mover's best by c(s, a), then the most visited, then by v(s, a), then at random."""
    return draw(safest_candidates(node), rng)


def draw_preferring(selected: int, candidates: Sequence[int], rng: random.Random) -> int:
    """Returns `selected` if it is a candidate, else a random candidate.

    A second rule that ties between the action already selected and others so reports the same action.
    """
    return selected if selected in candidates else draw(candidates, rng)


def securest_action(node: Node, rng: random.Random) -> int:
    """Remark 16: as Algorithm 13, but among actions of equal c(s, a) one that is resolved comes first.

    With nothing won, a proven draw is thus played before what is still open: the order is (c, r, n, v) for player 0,
    and the smallest (c, -r, -n, v) for player 1.
    """
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, node.kind.best)
    return most_visited(node, _narrow(candidates, node.resolutions.__getitem__, max), rng)


best: Decision = completed_best_action
"""By (c(s, a), v(s, a), n(s, a)): Algorithm 11."""

safest: Decision = safest_action
"""By (c(s, a), n(s, a), v(s, a)): Algorithm 13, the decision of UBFM_s."""

securest: Decision = securest_action
"""By (c(s, a), r(s, a), n(s, a), v(s, a)): prefers to secure a draw (Remark 16)."""


def safest_alone(node: Node, rng: random.Random) -> int:
    """UBFM_s's decision in a game for one player: `safest`, but in a resolved state `best`.

    Nobody can win there, so c(s, a) is always 0; where all values are exact, visits would speak against the best.
    """
    return (best if node.resolved else safest)(node, rng)


def _by_worth(node: Node, candidates: Sequence[int], rng: random.Random) -> list[int]:
    """The candidates from the mover's best value to its worst, equal ones in random order."""
    shuffled = list(candidates)
    rng.shuffle(shuffled)
    shuffled.sort(key=node.values.__getitem__, reverse=node.kind is Kind.MAXIMISER)
    return shuffled


def greedy(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
    """The rule of no exploration: the mover's best by v(s, a), then at random."""
    return _by_worth(node, candidates, rng)[0]


def epsilon_greedy(exploitation: Exploitation) -> Rule:
    """The ε-greedy distribution (Algorithm 2): the best action with probability ε', else any, all equally likely."""

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        parameter = exploitation(rng)
        if rng.random() < parameter:  # the article has ≤, but with ε' = 0 no draw may exploit
            return greedy(node, candidates, rng)
        return rng.choice(candidates)

    return rule


def softmax(exploitation: Exploitation, temperature: float) -> Rule:
    """The softmax distribution (Section 2.3): P(a) is proportional to exp(v(s, a) / τ), of the mover's own values.

    τ = temperature · (1 - ε') / ε', from uniform play (τ = ∞) to the best action (τ = 0). Only differences to the best
    value are raised to a power, so nothing overflows, and infinite values have their limits: they are taken alone, or
    never but at ε' = 0.

    Args:
        temperature: τ at ε' = 1/2, above zero, in the unit of the values.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        parameter = exploitation(rng)
        if parameter == 0.0:
            return rng.choice(candidates)
        if parameter == 1.0:
            return greedy(node, candidates, rng)
        tau = temperature * (1 - parameter) / parameter
        values = [node.values[i] for i in candidates]
        best = node.kind.best(values)
        return rng.choices(candidates, [_boltzmann(abs(best - v) if v != best else 0.0, tau) for v in values])[0]

    return rule


def _boltzmann(gap: float, tau: float) -> float:
    """exp(-gap / τ), also for the limits of both: no gap weighs 1, whatever τ."""
    if gap == 0.0 or tau == math.inf:
        return 1.0
    return math.exp(-gap / tau) if tau > 0.0 else 0.0


def ordinal(exploitation: Exploitation) -> Rule:
    """The ordinal distribution (Section 7, Algorithm 14).

    The best action is played with probability p, else the second best with about the same probability, and so on.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        parameter = exploitation(rng)
        ranked = _by_worth(node, candidates, rng)
        n = len(ranked)
        for i, action in enumerate(ranked[:-1]):
            if rng.random() <= (parameter * (n - i - 1) + 1) / (n - i):
                return action
        return ranked[-1]

    return rule


def visits(temperature: float) -> Rule:
    """P(a) is proportional to n(s, a)^(1 / temperature) (AlphaZero); where nothing was visited, all are alike.

    Args:
        temperature: above zero; near 0 the most visited action is played, and at 1 each as often as it was visited.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        counts = [node.count(i) for i in candidates]
        if not (most := max(counts)):
            return rng.choice(candidates)
        return rng.choices(candidates, [n and math.exp(math.log(n / most) / temperature) for n in counts])[0]

    return rule


def in_first(plies: int, rule: Rule, later: Rule) -> Rule:
    """`rule` for the first `plies` actions of a match, and `later` for the others."""
    return lambda node, candidates, rng: (rule if node.ply < plies else later)(node, candidates, rng)


def uniform_exploitation(rng: random.Random) -> float:
    """A parameter drawn from [0, 1] for each move (Section 8.4.3)."""
    return rng.random()


def constant_exploitation(value: float) -> Exploitation:
    """The same parameter for each move.

    Raises:
        ConfigError: `value` is outside [0, 1].
    """
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"the exploitation parameter must be in [0, 1], got {value!r}")
    return lambda rng: value


def completed(rule: Rule) -> Decision:
    """Completed action selection (Section 5.2, point 3) around `rule`.

    The best of the actions proven won, if there are any; else the rule's choice among those not proven lost; else,
    all being lost, the one of best value.
    """

    def decision(node: Node, rng: random.Random) -> int:
        winning = [i for i, c in enumerate(node.completions) if c == node.kind.won]
        if winning:
            return _by_worth(node, winning, rng)[0]
        open_ = [i for i, c in enumerate(node.completions) if c == 0]
        if open_:
            return rule(node, open_, rng)
        return _by_worth(node, range(len(node.values)), rng)[0]

    return decision


def uncompleted(rule: Rule) -> Decision:
    """The rule's choice among all actions, whatever is proven of them."""
    return lambda node, rng: rule(node, range(len(node.values)), rng)


def scheduled_exploitation(config: ExplorationConfig, progress: float) -> Exploitation:
    """ε' by the schedule when `progress` of the run, in [0, 1], lies behind (Sections 2.3 and 8.4.3)."""
    if config.schedule == "uniform":
        return uniform_exploitation
    return constant_exploitation(progress if config.exploitation is None else config.exploitation)


def make_decision(config: ExplorationConfig, progress: float, scale: float, own: Decision = safest) -> Decision:
    """The decision of a training match: a distribution, its schedule, completed or not.

    Args:
        progress: how much of the run lies behind, in [0, 1], for the `annealed` schedule.
        scale: of the outcome, the unit of softmax's temperature.
        own: what the search decides itself, for the distribution `search`.

    Raises:
        ConfigError: `progress` is outside [0, 1] and the schedule asks for it.
    """
    if config.distribution == "search":
        return own
    rule = _make_rule(config, scheduled_exploitation(config, progress), scale)
    if config.plies is not None:
        rule = in_first(config.plies, rule, most_visited if config.distribution == "visits" else greedy)
    return completed(rule) if config.completed else uncompleted(rule)


def _make_rule(config: ExplorationConfig, exploitation: Exploitation, scale: float) -> Rule:
    match config.distribution:
        case "ordinal":
            return ordinal(exploitation)
        case "epsilon_greedy":
            return epsilon_greedy(exploitation)
        case "softmax":
            return softmax(exploitation, scale * (TEMPERATURE if config.temperature is None else config.temperature))
        case "visits":
            return visits(1.0 if config.temperature is None else config.temperature)
        case "best" | "search":  # the latter is no rule, but a decision
            return greedy

"""Action selection at a node: while a search descends the tree, and once it has ended.

The selection orders of Algorithms 11 and 13 come first. Each narrows the candidates by one key after another, and draws
at random among those left.

A decision takes the root's node and an `rng`, and returns the index of an action. A rule selects among given candidates
only, by their values v(s, a) alone. Two functions turn a rule into a decision. `completed` (Section 5.2 of the article)
plays an action proven won, avoids actions proven lost, and applies the rule to the others. `uncompleted` applies the
rule to all actions and ignores proofs.

The rules of Sections 2.3 and 7 share one exploitation parameter ε': 0 is uniform play, 1 plays the best action.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import pyspiel

from athenan_spiel.config import ExplorationConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.search.node import Node, NodeKind, StochasticNode

Decision = Callable[[Node, random.Random], int]
Rule = Callable[[Node, Sequence[int], random.Random], int]
Exploitation = Callable[[random.Random], float]
"""Returns the parameter ε' in [0, 1]. It is called before each choice."""

TEMPERATURE = 0.1
"""Default τ of softmax at ε' = 1/2, as a fraction of the outcome's scale."""


def _narrow(
    candidates: Sequence[int], key: Callable[[int], float], best: Callable[[Iterable[float]], float]
) -> Sequence[int]:
    if len(candidates) == 1:
        return candidates
    keys = [key(i) for i in candidates]
    extreme = best(keys)
    return [i for i, k in zip(candidates, keys, strict=True) if k == extreme]


def draw(candidates: Sequence[int], rng: random.Random) -> int:
    """Returns a random candidate. It draws no number for a single candidate."""
    return candidates[0] if len(candidates) == 1 else rng.choice(candidates)


def argmax(scores: Mapping[int, float], rng: random.Random) -> int:
    """Returns the index of the largest score. Ties are broken by `draw`."""
    return draw(_narrow([*scores], scores.__getitem__, max), rng)


def best_action(node: Node, rng: random.Random) -> int:
    """Selects the mover's best action by v(s, a), then at random (Algorithms 1 and 9, Remark 11)."""
    best = node.kind.best
    return draw(_narrow(range(len(node.values)), node.values.__getitem__, best), rng)


def best_candidates(node: Node) -> Sequence[int]:
    """Returns the actions that tie for best by (c(s, a), v(s, a), n(s, a))."""
    best = node.kind.best
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, best)
    candidates = _narrow(candidates, node.values.__getitem__, best)
    return _narrow(candidates, node.count, max)


def completed_best_action(node: Node, rng: random.Random) -> int:
    """Selects the mover's best action by (c(s, a), v(s, a)), then the most visited, then at random (Algorithm 11)."""
    return draw(best_candidates(node), rng)


def completed_best_action_dual(node: Node, rng: random.Random) -> int:
    """Selects the mover's best unresolved action by v(s, a), then the least visited, then at random (Algorithm 11).

    Completions of unresolved actions are all 0 (law 2 of `node`), so the order (c, v, -n) starts with v here.
    """
    values = node.values
    is_open = node.unresolved == len(values)
    unresolved = values if is_open else [v for v, r in zip(values, node.resolutions, strict=True) if not r]
    extreme = node.kind.best(unresolved)
    if values.count(extreme) == 1:
        return values.index(extreme)
    candidates = [i for i, v in enumerate(values) if v == extreme and not node.resolutions[i]]
    return draw(_narrow(candidates, node.count, min), rng)


def least_visited_outcome(node: Node, rng: random.Random) -> int:
    """Selects the unresolved outcome with the largest p(o) / (n(s, o) + 1), then at random.

    The visits of n iterations thus deviate less from n p(o) than those of random outcomes.
    """
    probabilities = cast(StochasticNode, node).probabilities
    return argmax({i: probabilities[i] / (node.count(i) + 1) for i in _open_outcomes(node)}, rng)


def random_outcome(node: Node, rng: random.Random) -> int:
    """Selects an unresolved outcome by its probability."""
    probabilities, candidates = cast(StochasticNode, node).probabilities, _open_outcomes(node)
    return rng.choices(candidates, [probabilities[i] for i in candidates])[0]


def all_outcomes(node: Node, rng: random.Random) -> int:
    """Selects the first unresolved outcome. An iteration then follows the others, too (`walk.through_all_outcomes`)."""
    return _open_outcomes(node)[0]


def _open_outcomes(node: Node) -> Sequence[int]:
    """Returns the unresolved outcomes of a chance node; all if none is left, as in a sample of its outcomes."""
    return [i for i, r in enumerate(node.resolutions) if not r] or range(len(node.resolutions))


@dataclass(frozen=True)
class ThroughChance:
    """Selection of a walk in a game with chance: `outcome` at chance nodes, `decision` at all others."""

    decision: Decision
    outcome: Decision

    def __call__(self, node: Node, rng: random.Random) -> int:
        """Returns the index of the action or outcome."""
        return (self.outcome if node.kind is NodeKind.CHANCE else self.decision)(node, rng)


def _most_visited_candidates(node: Node, candidates: Sequence[int]) -> Sequence[int]:
    return _narrow(_narrow(candidates, node.count, max), node.values.__getitem__, node.kind.best)


def most_visited(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
    """Selects the most visited candidate, then the mover's best by v(s, a), then at random."""
    return draw(_most_visited_candidates(node, candidates), rng)


def safest_candidates(node: Node) -> Sequence[int]:
    """Returns the actions that tie for best by (c(s, a), n(s, a), v(s, a))."""
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, node.kind.best)
    return _most_visited_candidates(node, candidates)


def safest_action(node: Node, rng: random.Random) -> int:
    """Selects the mover's best action by c(s, a), then by visits, v(s, a) and at random (Algorithm 13)."""
    return draw(safest_candidates(node), rng)


def draw_preferring(selected: int, candidates: Sequence[int], rng: random.Random) -> int:
    """Returns `selected` if it is a candidate, else a random candidate.

    A second rule whose ties include the selected action therefore reports that action.
    """
    return selected if selected in candidates else draw(candidates, rng)


def securest_action(node: Node, rng: random.Random) -> int:
    """Selects as Algorithm 13, but prefers a resolved action among actions of equal c(s, a) (Remark 16).

    If no action wins, a proven draw is therefore played before an unresolved action. The order is (c, r, n, v) for
    player 0 and the smallest (c, -r, -n, v) for player 1.
    """
    candidates = _narrow(range(len(node.values)), node.completions.__getitem__, node.kind.best)
    return most_visited(node, _narrow(candidates, node.resolutions.__getitem__, max), rng)


best: Decision = completed_best_action
"""Decision by (c(s, a), v(s, a), n(s, a)), Algorithm 11."""

safest: Decision = safest_action
"""Decision by (c(s, a), n(s, a), v(s, a)), Algorithm 13. UBFM_s uses it."""

securest: Decision = securest_action
"""Decision by (c(s, a), r(s, a), n(s, a), v(s, a)). It prefers to secure a draw (Remark 16)."""


def safest_alone(node: Node, rng: random.Random) -> int:
    """Selects in a game for one player: `safest`, but `best` in a resolved state, and with chance in a minimax tree.

    In such a game c(s, a) is always 0. Once all values are exact, visits could contradict the best one. With chance the
    values are expectations over many leaves; at 2048 the best value scores twice as much as the most visits
    (`docs/measured.md`).
    """
    return (best if node.resolved or isinstance(node, StochasticNode) else safest)(node, rng)


def suited(decision: Decision, game: pyspiel.Game) -> Decision:
    """Returns `decision`, or `safest_alone` in place of `safest` in a game for one player."""
    return safest_alone if decision is safest and game.num_players() == 1 else decision


def _by_value(node: Node, candidates: Sequence[int], rng: random.Random) -> list[int]:
    """Returns the candidates from the mover's best value to its worst, with equal ones in random order."""
    shuffled = list(candidates)
    rng.shuffle(shuffled)
    shuffled.sort(key=node.values.__getitem__, reverse=node.kind.won > 0)
    return shuffled


def greedy(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
    """Selects the mover's best candidate by v(s, a), then at random. It does not explore."""
    return _by_value(node, candidates, rng)[0]


def epsilon_greedy(exploitation: Exploitation) -> Rule:
    """Returns the ε-greedy rule (Algorithm 2).

    The rule plays the best action with probability ε', else a uniformly random one.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        parameter = exploitation(rng)
        if rng.random() < parameter:  # the article has ≤, but with ε' = 0 no draw may exploit
            return greedy(node, candidates, rng)
        return rng.choice(candidates)

    return rule


def softmax(exploitation: Exploitation, temperature: float) -> Rule:
    """Returns the softmax rule (Section 2.3): P(a) is proportional to exp(v(s, a) / τ), with v from the mover's view.

    τ = temperature · (1 - ε') / ε', from uniform play (τ = ∞) to the best action (τ = 0). Only differences to the best
    value are exponentiated, so nothing overflows. Infinite values follow their limits: a winning one takes all
    probability, a losing one has probability only at ε' = 0.

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
    """Returns exp(-gap / τ) and its limits. A gap of zero has weight 1 at every τ."""
    if gap == 0.0 or tau == math.inf:
        return 1.0
    return math.exp(-gap / tau) if tau > 0.0 else 0.0


def ordinal(exploitation: Exploitation) -> Rule:
    """Returns the ordinal rule (Section 7, Algorithm 14).

    The rule plays the best action with probability p, else the second best with about the same probability, and so on.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        parameter = exploitation(rng)
        ranked = _by_value(node, candidates, rng)
        n = len(ranked)
        for i, action in enumerate(ranked[:-1]):
            if rng.random() <= (parameter * (n - i - 1) + 1) / (n - i):
                return action
        return ranked[-1]

    return rule


def visits(temperature: float) -> Rule:
    """Returns AlphaZero's rule: P(a) is proportional to n(s, a)^(1 / temperature).

    If no candidate was visited, all are equally likely.

    Args:
        temperature: above zero. Near 0 the most visited action is played; at 1 P(a) is proportional to the visits.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        counts = [node.count(i) for i in candidates]
        if not (most := max(counts)):
            return rng.choice(candidates)
        return rng.choices(candidates, [n and math.exp(math.log(n / most) / temperature) for n in counts])[0]

    return rule


def in_first(plies: int, rule: Rule, later: Rule) -> Rule:
    """Returns a rule that applies `rule` to the first `plies` actions of a game, and `later` afterwards."""
    return lambda node, candidates, rng: (rule if node.ply < plies else later)(node, candidates, rng)


def uniform_exploitation(rng: random.Random) -> float:
    """Returns a parameter drawn uniformly from [0, 1] for each move (Section 8.4.3)."""
    return rng.random()


def constant_exploitation(value: float) -> Exploitation:
    """Returns an exploitation parameter that is the same for every move.

    Raises:
        ConfigError: `value` is outside [0, 1].
    """
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"the exploitation parameter must be in [0, 1], got {value!r}")
    return lambda rng: value


def completed(rule: Rule) -> Decision:
    """Returns the decision that adds completed action selection (Section 5.2, point 3) to `rule`.

    The decision plays the best of the actions proven won. Without one it applies the rule to the actions not proven
    lost. If all actions are proven lost, it plays the one of best value.
    """

    def decision(node: Node, rng: random.Random) -> int:
        winning = [i for i, c in enumerate(node.completions) if c == node.kind.won]
        if winning:
            return _by_value(node, winning, rng)[0]
        open_ = [i for i, c in enumerate(node.completions) if c != -node.kind.won]
        if open_:
            return rule(node, open_, rng)
        return _by_value(node, range(len(node.values)), rng)[0]

    return decision


def uncompleted(rule: Rule) -> Decision:
    """Returns the decision that applies `rule` to all actions and ignores proofs."""
    return lambda node, rng: rule(node, range(len(node.values)), rng)


def scheduled_exploitation(config: ExplorationConfig, progress: float) -> Exploitation:
    """Returns the schedule's ε' (Sections 2.3 and 8.4.3).

    Args:
        progress: fraction of the run completed, in [0, 1].
    """
    if config.schedule == "uniform":
        return uniform_exploitation
    return constant_exploitation(progress if config.exploitation is None else config.exploitation)


def make_decision(config: ExplorationConfig, progress: float, scale: float, own: Decision = safest) -> Decision:
    """Returns the decision of a training game: a distribution and its schedule, with or without completion.

    Args:
        progress: fraction of the run completed, in [0, 1], for the `annealed` schedule.
        scale: scale of the outcome, the unit of softmax's temperature.
        own: decision of the search, for the distribution `search`.

    Raises:
        ConfigError: `progress` is outside [0, 1] and the schedule uses it.
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

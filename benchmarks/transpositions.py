"""Time of a transposition key, and histories per key.

For each game, over states of random games: the time of a key; the time to create and observe the children of the same
state, which expanding it costs at least without a network; their ratio; and the histories per key in a narrow tree (the
first BREADTH actions in a random order, DEPTH deep).

    python benchmarks/transpositions.py                  # all games of the table; half a minute
    python benchmarks/transpositions.py --games hex go
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Sequence

import pyspiel
from open_spiel.python.observation import make_observation

from athenan_spiel.games import load_game
from athenan_spiel.games.transpositions import TRANSPOSITIONS, Key, key_function
from common import make_parser

STATES = 200
"""Number of timed states per game."""
BREADTH = 3
DEPTH = 6


def sample(game: pyspiel.Game, rng: random.Random) -> list[pyspiel.State]:
    """Returns non-terminal states of random games."""
    states: list[pyspiel.State] = []
    while len(states) < STATES:
        state = game.new_initial_state()
        while not state.is_terminal():
            states.append(state.clone())
            state.apply_action(rng.choice(state.legal_actions()))
    return rng.sample(states, STATES)


def microseconds(work: Callable[[pyspiel.State], object], states: Sequence[pyspiel.State]) -> float:
    """Returns the mean time of `work` per state, the smallest of three rounds."""
    rounds = []
    for _ in range(3):
        start = time.perf_counter()
        for state in states:
            work(state)
        rounds.append(time.perf_counter() - start)
    return min(rounds) / len(states) * 1e6


def histories_for_each_key(game: pyspiel.Game, key: Key, rng: random.Random) -> float:
    """Returns the number of histories in a narrow tree divided by the number of their keys."""
    rank: dict[int, float] = {}
    keys: set[Hashable] = set()
    histories = 0
    states = [game.new_initial_state()]
    for _ in range(DEPTH):
        ranked = [(s, sorted(s.legal_actions(), key=lambda a: rank.setdefault(a, rng.random()))) for s in states]
        states = [s.child(a) for s, actions in ranked for a in actions[:BREADTH]]
        states = [s for s in states if not s.is_terminal()]
        histories += len(states)
        keys.update(key(s) for s in states)
    return histories / max(1, len(keys))


def main() -> None:
    """Prints a line per game."""
    parser = make_parser(__doc__)
    parser.add_argument("--games", nargs="+", default=list(TRANSPOSITIONS), help="OpenSpiel game strings")
    specs = parser.parse_args().games
    print(f"{'game':<24} {'key µs':>8} {'children µs':>12} {'ratio':>6} {'histories per key':>18}")
    for spec in specs:
        game, rng = load_game(spec), random.Random(0)
        key, observation = key_function(game), make_observation(game)

        def expand(state: pyspiel.State, observation: object = observation) -> None:
            for action in state.legal_actions():
                observation.set_from(state.child(action), 0)  # type: ignore[attr-defined]

        states = sample(game, rng)
        cost, children = microseconds(key, states), microseconds(expand, states)
        shared = histories_for_each_key(game, key, rng)
        print(f"{spec:<24} {cost:>8.1f} {children:>12.1f} {cost / children:>6.2f} {shared:>18.1f}")


if __name__ == "__main__":
    main()

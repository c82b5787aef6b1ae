"""Win probability that an agent loses against optimal play of Pig, computed exactly from its policy.

The agent moves once in every state that can occur in `pig(players=2,winscore=N)`: two scores, the turn total and the
player. Its policy is then evaluated by solving for win probabilities, without sampling. Prints, as first and as second
player against an optimal opponent, the agent's win probability, that of optimal play, and the loss; and the share of
states in which it moves optimally. Optimal play of Pig to 100 wins 0.5306 as first player (Neller and Presser 2004).

    python benchmarks/pig.py 100 runs/pig@1i
    python benchmarks/pig.py 20 runs/pig20@30i random --json

With `@1i` a run is asked for depth-1 minimax by its network. Pig to 100 has a million states.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from dataclasses import dataclass

import numpy as np
import pyspiel
from numpy.typing import NDArray

import agents
import athenan_spiel as ath
from athenan_spiel.arena.contestant import Contestant
from athenan_spiel.errors import AthenanError
from common import fail, make_parser

TOLERANCE = 1e-12
"""Largest change of a win probability in the last sweep."""
Wins = NDArray[np.float64]
"""Win probability of the player to move, [own score, other score, turn total]. Its turn total may exceed the goal."""


class PigValues:
    """Value iteration for Pig to `goal`, over all states at once."""

    def __init__(self, goal: int) -> None:
        self.goal = goal
        own, _, turn = np.ogrid[:goal, :goal, : goal + 6]
        self._won = np.broadcast_to(own + turn >= goal, (goal, goal, goal + 6))
        self._held = np.clip(own + turn, 0, goal - 1)[:, 0, :]

    def hold(self, start: NDArray[np.float64]) -> Wins:
        """Returns the win probabilities after a hold, with `start` [own, other] of the other player's turn."""
        kept = 1 - start[np.arange(self.goal)[None, :, None], self._held[:, None, :]]
        return np.where(self._won, 1.0, kept)

    def roll(self, wins: Wins, start: NDArray[np.float64]) -> Wins:
        """Returns the win probabilities after a roll: a 1 ends the turn, 2 to 6 add to it."""
        total = np.repeat(1 - start.T[:, :, None], self.goal + 6, axis=2)
        for face in range(2, 7):
            shifted = np.ones_like(wins)
            shifted[:, :, :-face] = wins[:, :, face:]
            total += shifted
        return total / 6

    def optimal(self) -> Wins:
        """Returns the win probabilities of two optimal players."""
        wins = np.where(self._won, 1.0, 0.5)
        while True:
            start = wins[:, :, 0]
            new = np.where(self._won, 1.0, np.maximum(self.hold(start), self.roll(wins, start)))
            if np.abs(new - wins).max() < TOLERANCE:
                return new
            wins = new

    def rolls_optimally(self) -> NDArray[np.bool_]:
        """Returns whether a roll is the better move, by state."""
        wins = self.optimal()
        return self.roll(wins, wins[:, :, 0]) > self.hold(wins[:, :, 0])

    def against(self, rolls: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[Wins, Wins]:
        """Returns the win probabilities, when each is to move, of a player that rolls where `rolls` and of its opponent
        that rolls where `other`.
        """
        mine, theirs = np.where(self._won, 1.0, 0.5), np.where(self._won, 1.0, 0.5)
        while True:
            starts = theirs[:, :, 0], mine[:, :, 0]
            new = [
                np.where(self._won, 1.0, np.where(policy, self.roll(wins, start), self.hold(start)))
                for policy, wins, start in zip((rolls, other), (mine, theirs), starts, strict=True)
            ]
            change = max(np.abs(new[0] - mine).max(), np.abs(new[1] - theirs).max())
            mine, theirs = new
            if change < TOLERANCE:
                return mine, theirs


def states_of(game: pyspiel.Game, goal: int) -> dict[tuple[int, int, int, int], pyspiel.State]:
    """Returns a decision for each (player, own score, other score, turn total) that can occur in play."""
    found: dict[tuple[int, int, int, int], pyspiel.State] = {}
    waiting = [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            key = position_of(state)
            if key in found or key[1] + key[3] >= goal:
                continue
            found[key] = state
        waiting.extend(state.child(action) for action in state.legal_actions())
    return found


def position_of(state: pyspiel.State) -> tuple[int, int, int, int]:
    """Returns (player, own score, other score, turn total) of a decision."""
    words = str(state).replace(",", " ").split()
    scores, turn, player = (int(words[1]), int(words[2])), int(words[5]), int(state.current_player())
    return player, scores[player], scores[1 - player], turn


@dataclass(frozen=True)
class Loss:
    """Win probabilities of an agent against an optimal player."""

    agent: str
    first: float
    second: float
    optimal_first: float
    same: float
    """Share of the states with the optimal move."""

    @property
    def loss(self) -> float:
        """Mean win probability lost in the two seats."""
        return 0.5 - (self.first + self.second) / 2


def measure(agent: str, goal: int, seed: int) -> Loss:
    """Asks the agent in every state and evaluates its policy."""
    game = ath.load_game(f"pig(players=2,winscore={goal})")
    values = PigValues(goal)
    best = values.rolls_optimally()
    rolls = np.stack([best, best])
    players = Contestant(agents.parse_spec(agent), game, seed).players
    same = 0
    states = states_of(game, goal)
    for (player, own, other, turn), state in states.items():
        players[player].restart_at(state)
        rolls[player, own, other, turn] = players[player].step(state) == 0
        same += int(rolls[player, own, other, turn] == best[own, other, turn])
    optimal = values.optimal()[0, 0, 0]
    as_first = float(values.against(rolls[0], best)[0][0, 0, 0])
    as_second = 1 - float(values.against(best, rolls[1])[0][0, 0, 0])
    return Loss(agent, as_first, as_second, float(optimal), same / len(states))


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__, "%(prog)s GOAL AGENT [AGENT ...] [--seed N] [--json]")
    parser.add_argument("goal", type=int, metavar="GOAL", help="winning score, 2 to 200")
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="agent specs, such as runs/pig@1i or random")
    parser.add_argument("--seed", type=int, default=0, help="seed of the agents (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if not 2 <= arguments.goal <= 200:
        parser.error(f"argument GOAL: expected 2 to 200, got {arguments.goal}")
    return arguments


def main() -> None:
    """Runs the command."""
    arguments = read_arguments()
    try:
        measured = [measure(agent, arguments.goal, arguments.seed) for agent in arguments.agents]
    except AthenanError as error:
        fail(error)
    if arguments.json:
        print(json.dumps([{**dataclasses.asdict(found), "loss": found.loss} for found in measured]))
        return
    for found in measured:
        print(
            f"{found.agent}: wins {found.first:.4f} as first player (optimal {found.optimal_first:.4f}), "
            f"{found.second:.4f} as second (optimal {1 - found.optimal_first:.4f}); loses {found.loss:.4f}; "
            f"optimal in {found.same:.1%} of the states"
        )


if __name__ == "__main__":
    main()

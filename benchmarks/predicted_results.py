"""Knowledge of a trained network: how often its value of a position has the sign of the game's result.

The games are played by OpenSpiel's MCTS with few simulations against itself, from openings of four random plies. In a
game with slow rules `--player random` is faster; but such games end as playouts do, which is an advantage of playouts.
Drawn games don't count. The mean of some random playouts, with which MCTS evaluates positions, is measured on the same
positions. A network that is right in half of the positions has learned nothing that helps.

Where one side wins most games, a constant value is often right. The AUC (area under the ROC curve) is the fraction of
all pairs of a game that player 0 won and one that it lost, in which the value of the won game is higher. It is 0.5
without any knowledge. A value of zero, or two equal ones, count half.

    python benchmarks/predicted_results.py runs/amazons runs/clobber    # a minute each
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyspiel

import agents
import athenan_spiel as ath
from athenan_spiel.games.playout import playout
from athenan_spiel.play.openings import random_openings
from common import fail, make_parser, train

OPENING_PLIES = 4
PHASES = (0.25, 0.5, 0.75, 0.9)
"""Fractions of a game after which a position is taken."""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folders of runs of two-player games")
    parser.add_argument("--matches", type=int, default=200, help="games (default 200)")
    parser.add_argument("--player", default="mcts:100", metavar="SPEC", help="player of both sides (default mcts:100)")
    parser.add_argument("--playouts", type=int, default=50, help="random playouts of a position (default 50)")
    parser.add_argument("--seed", type=int, default=11, help="random seed (default 11)")
    parser.add_argument("--dry-run", action="store_true", help="trains Tic-Tac-Toe for a moment and plays four games")
    arguments = parser.parse_args()
    if not arguments.runs and not arguments.dry_run:
        parser.error("name at least one run")
    return arguments


def positions(game: pyspiel.Game, arguments: argparse.Namespace) -> list[tuple[list[pyspiel.State], float]]:
    """Returns a state of each phase and the gain of player 0, for each game that was won."""
    spec = agents.parse_spec(arguments.player)
    players = [agents.make_bot(spec, game, player, arguments.seed) for player in range(2)]
    openings = random_openings(game, arguments.matches, OPENING_PLIES, random.Random(arguments.seed))
    found: list[tuple[list[pyspiel.State], float]] = []
    for opening in openings:
        history = ath.play_match(game, players, opening=opening, seed=arguments.seed).history
        state, states = game.new_initial_state(), []
        for action in history:
            states.append(state.clone())
            state.apply_action(action)
        if won := ath.gain(state):
            found.append(([states[int(len(states) * phase)] for phase in PHASES], won))
    return found


def agreement(values: Sequence[float], gains: Sequence[float]) -> str:
    """Returns how often a value has the sign of the gain, in percent. A value of zero counts half."""
    return f"{np.mean(0.5 + 0.5 * np.sign(values) * np.sign(gains)):.0%}"


def auc(values: Sequence[float], gains: Sequence[float]) -> str:
    """Returns how often the value of a won game is above that of a lost one, in [0, 1]. Equal values count half."""
    won, lost = (np.asarray(values)[np.sign(gains) == sign] for sign in (1, -1))
    if not won.size or not lost.size:
        return "unknown"
    return f"{np.mean(0.5 + 0.5 * np.sign(won[:, None] - lost)):.2f}"


def report(folder: Path, arguments: argparse.Namespace) -> None:
    """Prints a line for each phase of the run's game."""
    agent = ath.load_agent(folder)
    if agent.game.num_players() != 2:
        raise ath.ConfigError(f"{folder}: {agent.game} is not a game for two players")
    rng = random.Random(arguments.seed)
    found = positions(agent.game, arguments)
    gains = [won for _, won in found]
    first = sum(won > 0 for won in gains)
    print(
        f"{folder}, {agent.game}: player 0 won {first} and player 1 {len(gains) - first} of {arguments.matches} games"
    )
    for i, phase in enumerate(PHASES):
        states = [of_game[i] for of_game, _ in found]
        by_playouts = [
            float(np.mean([ath.gain(playout(state.clone(), rng.choice)) for _ in range(arguments.playouts)]))
            for state in states
        ]
        by_network = np.asarray(agent.evaluator(states), np.float64).tolist()
        print(
            f"  {phase:.0%} of the game: network {agreement(by_network, gains)}, {arguments.playouts} playouts "
            f"{agreement(by_playouts, gains)}; AUC {auc(by_network, gains)}, {auc(by_playouts, gains)}",
            flush=True,
        )


def main() -> None:
    """Prints the results, or one line that describes an error."""
    arguments = read_arguments()
    try:
        for run in arguments.runs:
            report(Path(run), arguments)
        if arguments.dry_run:
            arguments.matches, arguments.player, arguments.playouts = 4, "mcts:2", 2
            with tempfile.TemporaryDirectory() as folder:
                report(train("tic_tac_toe", Path(folder) / "run", "--time", "1s"), arguments)
    except ath.AthenanError as error:
        fail(error)


if __name__ == "__main__":
    main()

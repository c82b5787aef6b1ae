"""Plays a trained agent against OpenSpiel's MCTS bot through OpenSpiel's `evaluate_bots`.

    python examples/play_against_mcts.py runs/connect_four --matches 10 --simulations 1000

Train the run first, for example with `athenan train connect_four --time 3m --folder runs/connect_four`. With
`--dry-run`, a run of two games is trained instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import pyspiel

import agents
import athenan_spiel as ath


def play(game: pyspiel.Game, run: str, matches: int, simulations: int, iterations: int) -> None:
    """Plays games with alternating colours, and prints each result."""
    # Both bots play either colour; `evaluate_bots` restarts them before each game.
    athenan = agents.load_bot("athenan", game, 0, {"checkpoint": run, "iterations": iterations})
    mcts = agents.load_bot("mcts", game, 1, {"simulations": simulations})
    points = 0.0
    for match in range(matches):
        colour = match % 2
        state = game.new_initial_state()
        # `evaluate_bots` applies the moves to the given state, which then is the finished game.
        returns = pyspiel.evaluate_bots(state, [athenan, mcts] if colour == 0 else [mcts, athenan], match)
        points += (1 + returns[colour]) / 2
        print(
            f"match {match + 1}, athenan is player {colour}: {returns[colour]:+.0f} after {len(state.history())} moves"
        )
    print(f"{points:g} points of {matches}")


def main() -> None:
    """Reads the arguments and plays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", default="runs/connect_four", help="run folder")
    parser.add_argument("--game", default="connect_four", help="game of the run")
    parser.add_argument("--matches", type=int, default=10)
    parser.add_argument("--simulations", type=int, default=1000, help="simulations of MCTS per move")
    parser.add_argument("--iterations", type=int, default=200, help="search iterations of the agent per move")
    parser.add_argument("--dry-run", action="store_true", help="use the smallest counts, for a test of a few seconds")
    arguments = parser.parse_args()
    game = ath.load_game(arguments.game)
    if not arguments.dry_run:
        play(game, arguments.run, arguments.matches, arguments.simulations, arguments.iterations)
        return
    with tempfile.TemporaryDirectory() as folder:
        config = ath.TrainingConfig(matches=2, matches_at_once=2, search=ath.DescentConfig(iterations=1))
        run = ath.train(game, config, f"{folder}/run")
        play(game, str(run.folder), matches=2, simulations=1, iterations=1)


if __name__ == "__main__":
    try:
        main()
    except ath.AthenanError as error:  # answered as the athenan command does
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(2)

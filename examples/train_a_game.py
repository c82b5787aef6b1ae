"""Trains an agent, then lets it play against OpenSpiel's MCTS.

    python examples/train_a_game.py "breakthrough(rows=6,columns=6)" --seconds 120

`--dry-run` uses the smallest counts and takes a few seconds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import agents
import athenan_spiel as ath
from athenan_spiel.training import events


def report(event: events.Event) -> None:
    """Callback: prints a line after each round."""
    if isinstance(event, events.RoundFinished):
        print(f"{event.seconds:6.0f} s  {event.matches:6} matches  {event.replay_states:8} states in the replay")


def main() -> None:
    """Reads the arguments, trains and plays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="connect_four", help="OpenSpiel game string")
    parser.add_argument("--seconds", type=float, default=60.0, help="training time")
    parser.add_argument("--folder", help="run folder; by default a temporary one")
    parser.add_argument("--dry-run", action="store_true", help="use the smallest counts")
    arguments = parser.parse_args()

    game = ath.load_game(arguments.game)
    limits = {"seconds": arguments.seconds}
    matches, thinking, simulations = 20, {"seconds": 0.1}, 100
    if arguments.dry_run:
        limits = {"matches": 2}
        matches, thinking, simulations = 2, {"iterations": 2}, 2

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary)
        run = ath.train(game, folder=folder, callbacks=[report], **limits)
        print(f"{run.matches} matches learned in {run.seconds:.0f} s")
        series = ath.play_series(
            game,
            lambda player: agents.load_bot("athenan", game, player, {"checkpoint": str(folder), **thinking}),
            lambda player: agents.load_bot("mcts", game, player, {"simulations": simulations}),
            matches,
        )
    print(f"against mcts:{simulations}: {series.wins} won, {series.draws} drawn, {series.losses} lost")


if __name__ == "__main__":
    try:
        main()
    except ath.AthenanError as error:  # answered as the athenan command does
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(2)

"""Trains a Gumbel AlphaZero with Pgx's rules, mctx's search, and a trunk like this library's network.

Needs an environment of its own (README.md in this folder). Writes `weights.npz`, the settings (`rival.json`) and
`log.jsonl`: minutes, games, played states, training samples, evaluations per second. Compiling counts as training.
`gtp_server.py` plays the trained network.

    python benchmarks/rivals/pgx_gumbel.py connect_four --minutes 3 --folder runs/gumbel
    python benchmarks/rivals/pgx_gumbel.py othello --verify      # compares Pgx's rules with OpenSpiel's
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from rival_arguments import LONGEST_MINUTES, Parser, number, refuse, require
from rival_folder import Log, new_folder, write_about

if TYPE_CHECKING:
    import pgx_training

WEIGHTS = "weights.npz"
LOG_SECONDS = 15.0


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = Parser(__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", help="connect_four, hex(board_size=N) or othello")
    parser.add_argument("--minutes", type=number(float, 0, LONGEST_MINUTES), default=3.0, help="default 3")
    parser.add_argument("--folder", help="new folder for the training")
    parser.add_argument("--seed", type=number(int, 0, 2**31 - 1), default=0, help="random seed (default 0)")
    parser.add_argument("--matches", type=number(int, 1, 65536), default=64, help="concurrent games (default 64)")
    parser.add_argument("--simulations", type=number(int, 1, 10_000), default=32, help="per move (default 32)")
    parser.add_argument(
        "--reuse",
        type=number(float, 0.01, 1000),
        default=4.0,
        help="mean repetitions of a state (default 4)",
    )
    parser.add_argument("--verify", action="store_true", help="only compare the rules with OpenSpiel's")
    parser.add_argument(
        "--verify-matches", type=number(int, 1, 1_000_000), default=200, help="random games to compare (default 200)"
    )
    arguments = parser.parse_args()
    if not arguments.verify and arguments.folder is None:
        parser.error("expected --folder, a new folder for the training, or --verify")
    return arguments


def verify(arguments: argparse.Namespace) -> None:
    """Compares Pgx's rules with OpenSpiel's; ends the script with an error if they differ."""
    import pgx_games

    try:
        compared = pgx_games.verify(arguments.game, arguments.verify_matches, arguments.seed)
    except ValueError as error:
        refuse(str(error))
    print(f"{arguments.game}: {arguments.verify_matches} random games, {compared:,} positions: no difference")


def train(arguments: argparse.Namespace) -> None:
    """Trains until the time is over, or Ctrl-C."""
    import pgx_games
    import pgx_network
    import pgx_training

    try:
        env = pgx_games.load(arguments.game)
    except ValueError as error:
        refuse(str(error))
    folder = new_folder(arguments.folder)
    log = Log(folder)
    training = pgx_training.Training(env, arguments.matches, arguments.simulations, arguments.reuse, arguments.seed)
    settings = ("game", "minutes", "seed", "matches", "simulations", "reuse")
    about = {"rival": "pgx_gumbel"} | {name: getattr(arguments, name) for name in settings}
    write_about(folder, about | {"weights": pgx_network.count(training.weights)})
    try:
        while log.minutes < arguments.minutes:
            _train_for(training, log, min(LOG_SECONDS / 60, arguments.minutes - log.minutes))
            pgx_network.save(training.weights, folder / WEIGHTS)
    except KeyboardInterrupt:
        print("stopped: the weights are saved")
    pgx_network.save(training.weights, folder / WEIGHTS)


def _train_for(training: pgx_training.Training, log: Log, minutes: float) -> None:
    """Trains for some minutes, and logs a line."""
    until, start, before = log.minutes + minutes, time.monotonic(), training.counts.evaluations
    while log.minutes < until:
        training.round()
    counts = training.counts
    log.write(
        matches=counts.matches,
        states_played=counts.states_played,
        states_learned=counts.states_learned,
        evaluations_per_second=round((counts.evaluations - before) / (time.monotonic() - start)),
    )


def main() -> None:
    """Verifies or trains."""
    arguments = read_arguments()
    require("jax", "mctx", "optax", "pgx", "pyspiel")
    if arguments.verify:
        verify(arguments)
    else:
        train(arguments)


if __name__ == "__main__":
    main()

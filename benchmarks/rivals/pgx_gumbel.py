"""Train a Gumbel AlphaZero by Pgx's rules and mctx's search, with a trunk like this library's network.

Needs an environment of its own (README.md beside this file). Writes to the folder `weights.npz`, `rival.json`, which
says what was trained, and `log.jsonl`: minutes, matches, states played and learned, evaluations a second. Compiling
counts as training. `gtp_server.py` plays what was trained.

    python benchmarks/rivals/pgx_gumbel.py connect_four --minutes 3 --folder runs/gumbel
    python benchmarks/rivals/pgx_gumbel.py othello --verify      # Pgx's rules beside OpenSpiel's, 200 random matches
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
    """The command line, with every count's default declared."""
    parser = Parser(__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", help="connect_four, hex(board_size=N) or othello")
    parser.add_argument("--minutes", type=number(float, 0, LONGEST_MINUTES), default=3.0, help="(default 3)")
    parser.add_argument("--folder", help="a new folder for what is learned")
    parser.add_argument("--seed", type=number(int, 0, 2**31 - 1), default=0, help="(default 0)")
    parser.add_argument("--matches", type=number(int, 1, 65536), default=64, help="at once (default 64)")
    parser.add_argument("--simulations", type=number(int, 1, 10_000), default=32, help="a move (default 32)")
    parser.add_argument(
        "--reuse", type=number(float, 0.01, 1000), default=4.0, help="how often a state is learned (default 4)"
    )
    parser.add_argument("--verify", action="store_true", help="compare the rules with OpenSpiel's, and train nothing")
    parser.add_argument(
        "--verify-matches", type=number(int, 1, 1_000_000), default=200, help="random ones (default 200)"
    )
    arguments = parser.parse_args()
    if not arguments.verify and arguments.folder is None:
        parser.error("expected --folder, a new folder for what is learned, or --verify")
    return arguments


def verify(arguments: argparse.Namespace) -> None:
    """Compare Pgx's rules with OpenSpiel's; the script ends with an error where they differ."""
    import pgx_games

    try:
        compared = pgx_games.verify(arguments.game, arguments.verify_matches, arguments.seed)
    except ValueError as error:
        refuse(str(error))
    print(f"{arguments.game}: {arguments.verify_matches} random matches, {compared:,} positions: the same in both")


def train(arguments: argparse.Namespace) -> None:
    """Train until the minutes are over, or Ctrl-C."""
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
            _go_on(training, log, min(LOG_SECONDS / 60, arguments.minutes - log.minutes))
            pgx_network.save(training.weights, folder / WEIGHTS)
    except KeyboardInterrupt:
        print("stopped: what was learned is saved")
    pgx_network.save(training.weights, folder / WEIGHTS)


def _go_on(training: pgx_training.Training, log: Log, minutes: float) -> None:
    """Some minutes of the training, and a line about them."""
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
    """Verify or train."""
    arguments = read_arguments()
    require("jax", "mctx", "optax", "pgx", "pyspiel")
    if arguments.verify:
        verify(arguments)
    else:
        train(arguments)


if __name__ == "__main__":
    main()

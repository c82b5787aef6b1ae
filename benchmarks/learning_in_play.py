"""Gain of learning during play, for the agent that learns a game from nothing (`athenan-ggp`).

Two such agents play each other from random openings with both colours. Both learn during the start clock, one of them
also during play. The other is trained first, so it has the machine for itself. Both keep their networks, so the one
that continues has learned more in each further game. Prints its points in each series and in total, with 95 %
intervals. The games are played one after another in this process; `athenan eval` would play one per core.

    python benchmarks/learning_in_play.py "hex(board_size=7)" connect_four    # two to three minutes each
    python benchmarks/learning_in_play.py tic_tac_toe --dry-run               # a few seconds, to check that it runs
"""

from __future__ import annotations

import argparse

import agents
import athenan_spiel as ath
from athenan_spiel.play.intervals import share_interval
from common import fail, make_parser, percent

SEED = 5


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("games", nargs="+", metavar="GAME")
    parser.add_argument("--start-clock", type=float, default=30.0, help="seconds of training before play (default 30)")
    parser.add_argument("--play-clock", type=float, default=0.5, help="seconds per move (default 0.5)")
    parser.add_argument("--matches", type=int, default=8, help="games of each series (default 8)")
    parser.add_argument("--opening-plies", type=int, default=4, help="random plies of an opening (default 4)")
    parser.add_argument("--dry-run", action="store_true", help="smallest times and counts")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.start_clock, arguments.play_clock, arguments.matches = 0.1, 0.01, 2
    return arguments


def played(name: str, arguments: argparse.Namespace) -> ath.Series:
    """Returns the games of the agent that learns during play against the other one."""
    game = ath.load_game(name)
    clocks = {"start_clock": arguments.start_clock, "play_clock": arguments.play_clock, "seed": SEED}
    before = agents.load_bot("athenan-ggp", game, 0, {**clocks, "learn_during_play": False})
    during = agents.load_bot("athenan-ggp", game, 0, clocks)
    try:
        before.restart()
        during.restart()
        return ath.play_series(
            game,
            lambda player: during,
            lambda player: before,
            arguments.matches,
            opening_plies=arguments.opening_plies,
            seed=SEED,
        )
    finally:
        before.agent.close()
        during.agent.close()


def report(arguments: argparse.Namespace) -> None:
    """Plays and prints the series of each game, and all together."""
    together: list[list[float]] = []
    for name in arguments.games:
        series = played(name, arguments)
        groups = [list(points) for points in series.points_by_opening.values()]
        together += groups
        tally = series.tally
        print(
            f"{name}: {percent(share_interval(groups))}; {tally.wins} won, {tally.draws} drawn, {tally.losses} lost",
            flush=True,
        )
    print(f"together: {percent(share_interval(together))}")


def main() -> None:
    """Prints the results, or one line that describes an error."""
    try:
        report(read_arguments())
    except ath.AthenanError as error:
        fail(error)


if __name__ == "__main__":
    main()

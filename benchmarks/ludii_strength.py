"""How strong a short training makes an agent in games that OpenSpiel lacks, measured against Ludii's own UCT.

Trains Ataxx, Santorini and Squava by the preset `quick` for ten minutes each. Then each plays 100 matches against
`ludii:UCT@0.1s`: 50 random openings of two plies, both colours, 0.1 s a move. Prints the points with their 95 %
interval. The numbers of matches are fixed beforehand; nothing stops early. The figure to reach is above 60 % of the
points in at least two of the games.

Where the gain teaches nothing, the presence of pieces is learned: in Ataxx, where it is a count of pieces, and in
Surakarta, where a match between beginners hardly ever ends by itself. Matches end as draws after 200 moves, or they
would last up to 1,000.

    python benchmarks/ludii_strength.py                       # an hour on two cores
    python benchmarks/ludii_strength.py --games Ataxx --keep runs
    python benchmarks/ludii_strength.py --dry-run             # some seconds, to see that it works
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import agents
import athenan_spiel as ath
from athenan_spiel.arena import Comparison


@dataclass(frozen=True)
class Training:
    """What a game's training has of its own, beside the preset `quick`.

    Attributes:
        outcome: what a match is worth.
        evaluations: states valued for a move. The preset's 2,000 would make a round of 16 long matches take minutes.
        filters: of the network's convolutions.
    """

    outcome: str = "additive_depth"
    evaluations: int = 200
    filters: int = 64


TRAININGS = {
    "Ataxx": Training(outcome="presence"),
    "Santorini": Training(filters=32),
    "Squava": Training(evaluations=2000),
    "Surakarta": Training(outcome="presence"),
}
GAMES = ["Ataxx", "Santorini", "Squava"]
AGENT_SEED, OPENINGS_SEED = 1, 3


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=list(TRAININGS), default=GAMES, help=f"default {' '.join(GAMES)}")
    parser.add_argument("--train-seconds", type=float, default=600.0, help="length of each training (default 600)")
    parser.add_argument("--train-seed", type=int, default=0, help="seed of the training (default 0)")
    parser.add_argument("--max-length", type=int, default=200, help="moves after which a match is drawn (default 200)")
    parser.add_argument("--matches", type=int, default=100, help="of each game, half with each colour (default 100)")
    parser.add_argument("--opening-plies", type=int, default=2, help="random plies of an opening (default 2)")
    parser.add_argument("--seconds", type=float, default=0.1, help="thinking time a move, of both (default 0.1)")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder, and take those that are there")
    parser.add_argument("--dry-run", action="store_true", help="all counts at their least")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.matches, arguments.seconds, arguments.max_length = 2, 0.01, 6
    return arguments


def train(name: str, arguments: argparse.Namespace, folder: Path) -> Path:
    """Train a game in `folder`, unless it was before; returns the run's folder."""
    if folder.exists():
        print(f"{name}: the run {folder} is taken as it is", flush=True)
        return folder
    own, quick = TRAININGS[name], ath.preset("quick")
    config = dataclasses.replace(
        quick,
        seconds=arguments.train_seconds,
        seed=arguments.train_seed,
        outcome=own.outcome,
        search=dataclasses.replace(quick.search, evaluations=own.evaluations),
        network=dataclasses.replace(quick.network, filters=own.filters),
    )
    if arguments.dry_run:
        config = dataclasses.replace(config, matches=2, matches_at_once=2, search=ath.SearchConfig(iterations=1))
    run = ath.train(ath.load_game(game_string(name, arguments)), config, folder)
    print(f"{name}: trained {run.matches} matches in {run.seconds:.0f} s", flush=True)
    return run.folder


def game_string(name: str, arguments: argparse.Namespace) -> str:
    """The game as it is trained and played."""
    return f"ludii(game={name},max_length={arguments.max_length})"


def measure(name: str, run: Path, arguments: argparse.Namespace) -> Comparison:
    """The series of `run` against Ludii's UCT."""
    game = ath.load_game(game_string(name, arguments))
    word, other = f"{run}@{arguments.seconds}s", f"ludii:UCT@{arguments.seconds}s"
    series = ath.play_series(
        game,
        lambda player: agents.make_bot(word, game, player, AGENT_SEED),
        lambda player: agents.make_bot(other, game, player),
        arguments.matches,
        opening_plies=arguments.opening_plies,
        seed=OPENINGS_SEED,
    )
    return Comparison.of(f"{name}@{arguments.seconds}s", other, series)


def main() -> None:
    """Train and measure each game, and print three lines for it."""
    arguments = read_arguments()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        for name in arguments.games:
            run = train(name, arguments, (arguments.keep or Path(temporary)) / f"ludii_{name.lower()}")
            comparison = measure(name, run, arguments)
            print(comparison)
            for player, words in enumerate(("first", "second")):
                tally = comparison.series.as_player(player)
                print(f"    as {words} player: {tally.wins} won, {tally.draws} drawn, {tally.losses} lost", flush=True)


if __name__ == "__main__":
    main()

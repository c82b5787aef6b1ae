"""Strength of the agent that `athenan train GAME --time TIME` makes, against other agents at equal time.

For each seed, trains an agent by that command unless its run exists. Prints the share of its moves that keep the result
in the game's solved positions, if there are some (`perfect_play.py`), and its points against other agents, from random
openings with both colours, with 95 % intervals. The default opponent is OpenSpiel's MCTS with the same time per move.
The number of games is fixed. The last lines combine the seeds; their intervals account for positions and openings, not
for the variation between trainings.

    python benchmarks/strength.py                                  # Connect Four, three minutes: an hour on two cores
    python benchmarks/strength.py othello --time 30m --seeds 0 --folder runs
    python benchmarks/strength.py --against mcts:100 mcts:1000     # simulations instead of seconds
    python benchmarks/strength.py --time 3m -- --network.filters 64   # with options of `athenan train`
    python benchmarks/strength.py --dry-run                        # a few seconds, to check that it runs
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import agents
import athenan_spiel as ath
from athenan_spiel.play.intervals import share_interval
from common import fail, make_parser, parse_with_options, percent, train
from solved.games import GAMES
from solved.measurements import Measurement, PositionSet
from solved.positions import SOURCES, read

AGENT_SEED, OPPONENT_SEED, OPENINGS_SEED = 1, 2, 3

Groups = dict[Any, list[float]]
"""Points or kept results by position or by opening, of all seeds."""


def read_arguments() -> tuple[argparse.Namespace, list[str]]:
    """Returns the arguments, and the options of `athenan train`."""
    parser = make_parser(__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", metavar="GAME", help="default connect_four")
    parser.add_argument("--time", default="3m", help="time of a training (default 3m)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one training each (default 0 1 2)")
    parser.add_argument("--folder", type=Path, help="folder of the runs; existing ones are not trained again")
    parser.add_argument("--limit", default="0.1s", help="limit per move, as in an agent spec (default 0.1s)")
    parser.add_argument("--against", nargs="*", metavar="AGENT", help="opponents (default mcts with the same limit)")
    parser.add_argument("--matches", type=int, default=200, help="games per opponent (default 200)")
    parser.add_argument("--opening-plies", type=int, default=4, help="random plies of an opening (default 4)")
    parser.add_argument("--positions", type=int, help="maximum number of positions per source (default all)")
    parser.add_argument("--dry-run", action="store_true", help="smallest counts")
    arguments, options = parse_with_options(parser)
    if arguments.dry_run:
        arguments.time, arguments.seeds, arguments.limit = "1s", [0], "1i"
        arguments.matches, arguments.positions, arguments.against = 2, 1, ["mcts:1", "random"]
    if arguments.against is None:
        arguments.against = [f"mcts@{arguments.limit}"]
    return arguments, options


def measured(game: str, spec: str, most: int | None) -> dict[str, Measurement]:
    """Returns by source the agent's measurement in the game's solved positions, if there are some."""
    if game not in GAMES:
        return {}
    positions, loaded = read(game, "judging"), GAMES[game].load()
    chosen = {source: [position for position in positions if position.source == source][:most] for source in SOURCES}
    bots = [agents.make_bot(spec, loaded, player, AGENT_SEED) for player in range(loaded.num_players())]
    return {source: PositionSet(GAMES[game], some).measure(spec, None, bots) for source, some in chosen.items()}


def played(game: str, spec: str, opponent: str, arguments: argparse.Namespace) -> ath.Series:
    """Returns the games of two agents."""
    loaded = ath.load_game(game)
    return ath.play_series(
        loaded,
        lambda player: agents.make_bot(spec, loaded, player, AGENT_SEED),
        lambda player: agents.make_bot(opponent, loaded, player, OPPONENT_SEED),
        arguments.matches,
        opening_plies=arguments.opening_plies,
        seed=OPENINGS_SEED,
    )


def report(arguments: argparse.Namespace, options: Sequence[str], folder: Path) -> None:
    """Trains and measures seed by seed, and prints the results of all."""
    game, together = arguments.game, dict[str, Groups]()

    def add(what: str, groups: Mapping[Any, Sequence[float]], details: str = "") -> None:
        for key, numbers in groups.items():
            together.setdefault(what, {}).setdefault(key, []).extend(numbers)
        print(f"    {what}: {percent(share_interval(groups.values()))}{details}", flush=True)

    for seed in arguments.seeds:
        name = re.sub(r"\W+", "_", " ".join([game, *options])).strip("_")
        words = ["--time", arguments.time, "--seed", str(seed), *options]
        spec = f"{train(game, folder / f'{name}-{arguments.time}-{seed}', *words)}@{arguments.limit}"
        print(f"athenan train {game!r} {' '.join(words)}; {arguments.limit} per move", flush=True)
        for source, measurement in measured(game, spec, arguments.positions).items():
            kept = {index: [float(kept)] for index, kept in enumerate(measurement.kept)}
            add(f"{source} positions, result kept", kept)
        for opponent in arguments.against:
            series = played(game, spec, opponent, arguments)
            tally = series.tally
            results = f"; {tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            add(f"points against {opponent}", series.points_by_opening, results)
    print(f"seeds {', '.join(map(str, arguments.seeds))} together")
    for what, groups in together.items():
        print(f"    {what}: {percent(share_interval(groups.values()))}")


def main() -> None:
    """Prints the results, or one line that describes an error."""
    arguments, options = read_arguments()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            report(arguments, options, arguments.folder or Path(temporary))
    except (ath.AthenanError, subprocess.CalledProcessError) as error:
        fail(error)


if __name__ == "__main__":
    main()

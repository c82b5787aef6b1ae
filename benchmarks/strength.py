"""How strong `athenan train GAME --time TIME` makes an agent, without any other option, against others at equal time.

For each seed an agent is trained by that command, unless its run is there already. Printed are the share of its moves
that keep the result in the solved positions of the game, where it has some (`perfect_play.py`), and its points against
other agents: random openings, both colours, 95 % intervals. By default the opponent is OpenSpiel's MCTS, with as many
seconds a move. The numbers of matches are fixed beforehand; nothing stops early. Trainings of other seeds differ, and
the intervals of all seeds together know of the positions and openings alone.

    python benchmarks/strength.py                                  # Connect Four, three minutes: an hour on two cores
    python benchmarks/strength.py othello --time 30m --seeds 0 --folder runs
    python benchmarks/strength.py --against mcts:100 mcts:1000     # simulations in place of seconds
    python benchmarks/strength.py --dry-run                        # some seconds, to see that it works
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import agents
import athenan_spiel as ath
from athenan_spiel.arena.statistics import Interval, share_interval
from solved.games import GAMES
from solved.measurements import Measurement, PositionSet
from solved.positions import SOURCES, read

AGENT_SEED, OPPONENT_SEED, OPENINGS_SEED = 1, 2, 3


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("game", nargs="?", default="connect_four", metavar="GAME", help="default connect_four")
    parser.add_argument("--time", default="3m", help="of a training, as `athenan train` takes it (default 3m)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of trainings (default 0 1 2)")
    parser.add_argument("--folder", type=Path, help="of the runs: those that are there are not trained again")
    parser.add_argument("--limit", default="0.1s", help="of a move, as in an agent's word (default 0.1s)")
    parser.add_argument("--against", nargs="*", metavar="AGENT", help="opponents (default mcts with the same limit)")
    parser.add_argument("--matches", type=int, default=200, help="against each, half with each colour (default 200)")
    parser.add_argument("--opening-plies", type=int, default=4, help="random plies of an opening (default 4)")
    parser.add_argument("--positions", type=int, help="solved positions of each source at most (default all)")
    parser.add_argument("--dry-run", action="store_true", help="all counts at their least")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.time, arguments.seeds, arguments.limit = "1s", [0], "1i"
        arguments.matches, arguments.positions, arguments.against = 2, 1, ["mcts:1", "random"]
    if arguments.against is None:
        arguments.against = [f"mcts@{arguments.limit}"]
    return arguments


def trained(game: str, time: str, seed: int, folder: Path) -> Path:
    """The run of that seed, trained by the command line unless it is there."""
    name = re.sub(r"\W+", "_", game).strip("_")
    run = folder / f"{name}-{time}-{seed}"
    words = ["train", game, "--time", time, "--seed", str(seed), "--folder", str(run), "--quiet"]
    if not run.exists():
        subprocess.run([sys.executable, "-m", "athenan_spiel", *words], check=True)
    return run


def measured(game: str, word: str, most: int | None) -> dict[str, Measurement]:
    """By its sources, what the agent's moves in the game's solved positions are worth; none where it has none."""
    if game not in GAMES:
        return {}
    positions, loaded = read(game, "judging"), GAMES[game].load()
    chosen = {source: [position for position in positions if position.source == source][:most] for source in SOURCES}
    bots = [agents.make_bot(word, loaded, player, AGENT_SEED) for player in range(loaded.num_players())]
    return {source: PositionSet(GAMES[game], some).measure(word, None, bots) for source, some in chosen.items()}


def met(game: str, word: str, opponent: str, matches: int, opening_plies: int) -> ath.Series:
    """The matches of two agents."""
    loaded = ath.load_game(game)
    return ath.play_series(
        loaded,
        lambda player: agents.make_bot(word, loaded, player, AGENT_SEED),
        lambda player: agents.make_bot(opponent, loaded, player, OPPONENT_SEED),
        matches,
        opening_plies=opening_plies,
        seed=OPENINGS_SEED,
    )


class Together:
    """Shares of all seeds: what they made of one position, or of one opening, is a group."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[Any, list[float]]] = {}

    def add(self, what: str, groups: Mapping[Any, Sequence[float]]) -> Interval:
        """Add one seed's; returns its share by itself."""
        for key, numbers in groups.items():
            self._groups.setdefault(what, {}).setdefault(key, []).extend(numbers)
        return share_interval(groups.values())

    def shares(self) -> dict[str, Interval]:
        """Of each that was added, by its name."""
        return {what: share_interval(groups.values()) for what, groups in self._groups.items()}


def in_percent(share: Interval) -> str:
    """A share and its interval."""
    return f"{100 * share.estimate:.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})"


def report(arguments: argparse.Namespace, folder: Path) -> None:
    """Train and measure seed by seed, and say what all come to."""
    game, together = arguments.game, Together()
    for seed in arguments.seeds:
        run = trained(game, arguments.time, seed, folder)
        word = f"{run}@{arguments.limit}"
        print(f"athenan train {game!r} --time {arguments.time} --seed {seed}; {arguments.limit} a move", flush=True)
        for source, measurement in measured(game, word, arguments.positions).items():
            what = f"{source} positions, result kept"
            share = together.add(what, {index: [float(kept)] for index, kept in enumerate(measurement.kept)})
            print(f"    {what}: {in_percent(share)}", flush=True)
        for opponent in arguments.against:
            series = met(game, word, opponent, arguments.matches, arguments.opening_plies)
            what, tally = f"points against {opponent}", series.tally
            share = together.add(what, series.points_by_opening)
            results = f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
            print(f"    {what}: {in_percent(share)}; {results}", flush=True)
    print(f"seeds {', '.join(map(str, arguments.seeds))} together")
    for what, share in together.shares().items():
        print(f"    {what}: {in_percent(share)}")


def main() -> None:
    """Print it all, or one line that says what is wrong."""
    arguments = read_arguments()
    try:
        if arguments.folder is not None:
            report(arguments, arguments.folder)
        else:
            with tempfile.TemporaryDirectory() as folder:
                report(arguments, Path(folder))
    except (ath.AthenanError, subprocess.CalledProcessError) as error:
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

"""How strong a short training makes an agent, measured against OpenSpiel's MCTS.

Trains Connect Four by the preset `quick` for three minutes, or takes a run that is there. Then, against
`pyspiel.MCTSBot` (random rollouts, UCT constant 2, solver on) with 100 and with 1,000 simulations a move, 200 matches
each: 100 random openings of two plies, both colours, 0.1 s a move. Prints the points with their 95 % interval. The
numbers of matches are fixed beforehand; nothing stops early. The figures to reach are 95 % and 65 % of the points.

    python benchmarks/strength.py                         # about 20 minutes on two cores
    python benchmarks/strength.py --run runs/connect_four
    python benchmarks/strength.py --dry-run               # a few seconds, to see that it works
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path

import agents
import athenan_spiel as ath
from athenan_spiel.arena import Comparison
from athenan_spiel.play.openspiel_mcts import mcts_bot

GAME = "connect_four"
AGENT_SEED, OPPONENT_SEED, OPENINGS_SEED = 1, 2, 3


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="measure this run instead of training one")
    parser.add_argument("--train-seconds", type=float, default=180.0, help="length of the training (default 180)")
    parser.add_argument("--train-seed", type=int, default=0, help="seed of the training (default 0)")
    parser.add_argument("--simulations", type=int, nargs="+", default=[100, 1000], help="of MCTS (default 100 1000)")
    parser.add_argument("--matches", type=int, default=200, help="against each, half with each colour (default 200)")
    parser.add_argument("--opening-plies", type=int, default=2, help="random plies of an opening (default 2)")
    parser.add_argument("--seconds", type=float, default=0.1, help="the agent's thinking time a move (default 0.1)")
    parser.add_argument("--dry-run", action="store_true", help="all counts at their least")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.simulations, arguments.matches, arguments.seconds = [1, 2], 2, 0.01
    return arguments


def train(arguments: argparse.Namespace, folder: Path) -> Path:
    """Train in `folder`; returns the run's folder."""
    config = dataclasses.replace(ath.preset("quick"), seconds=arguments.train_seconds, seed=arguments.train_seed)
    if arguments.dry_run:
        config = dataclasses.replace(config, matches=2, matches_at_once=2, search=ath.SearchConfig(iterations=1))
    run = ath.train(ath.load_game(GAME), config, folder / "run")
    print(f"trained {run.matches} matches of {GAME} in {run.seconds:.0f} s", flush=True)
    return run.folder


def measure(run: str, simulations: int, arguments: argparse.Namespace) -> Comparison:
    """The series of `run` against MCTS with so many simulations."""
    game = ath.load_game(GAME)
    word = f"{run}@{arguments.seconds}s"
    series = ath.play_series(
        game,
        lambda player: agents.make_bot(word, game, player, AGENT_SEED),
        lambda player: mcts_bot(game, simulations, OPPONENT_SEED + player),
        arguments.matches,
        opening_plies=arguments.opening_plies,
        seed=OPENINGS_SEED,
    )
    return Comparison(f"{Path(run).name}@{arguments.seconds}s", f"mcts:{simulations}", series)


def main() -> None:
    """Train unless there is a run, then print two lines for each opponent."""
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        run = arguments.run or str(train(arguments, Path(folder)))
        for simulations in arguments.simulations:
            comparison = measure(run, simulations, arguments)
            print(comparison)
            for player, name in enumerate(("first", "second")):
                tally = comparison.series.as_player(player)
                print(f"    as {name} player: {tally.wins} won, {tally.draws} drawn, {tally.losses} lost", flush=True)


if __name__ == "__main__":
    main()

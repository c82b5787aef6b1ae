"""Whether the score of a game for one player rises with training, at OpenSpiel's Morpion Solitaire.

Trains by the preset `quick` for some minutes with the score as the outcome, and prints the mean score of the training
matches, which explore, by fifths of the run. Then 20 matches of random play, and 20 of the trained network with 0.1 s a
move. No match can score more than 35.

    python benchmarks/one_player.py              # some 7 minutes on two cores
    python benchmarks/one_player.py --dry-run    # a few seconds, to see that it works
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import tempfile
from pathlib import Path
from statistics import mean

import agents
import athenan_spiel as ath
from athenan_spiel.arena import Scores
from athenan_spiel.play.series import play_by_itself

GAME = "morpion_solitaire"
AGENT_SEED, OPENINGS_SEED = 1, 2


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train-seconds", type=float, default=300.0, help="length of the training (default 300)")
    parser.add_argument("--train-seed", type=int, default=0, help="seed of the training (default 0)")
    parser.add_argument("--matches", type=int, default=20, help="of each player (default 20)")
    parser.add_argument("--seconds", type=float, default=0.1, help="thinking time a move (default 0.1)")
    parser.add_argument("--dry-run", action="store_true", help="all counts at their least")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.matches, arguments.seconds = 2, 0.001
    return arguments


def train(arguments: argparse.Namespace, folder: Path) -> ath.Run:
    """Train in `folder`."""
    config = dataclasses.replace(
        ath.preset("quick"), outcome="score", seconds=arguments.train_seconds, seed=arguments.train_seed
    )
    if arguments.dry_run:
        config = dataclasses.replace(config, matches=5, matches_at_once=5, search=ath.SearchConfig(iterations=1))
    return ath.train(ath.load_game(GAME), config, folder)


def training_scores(run: ath.Run) -> list[float]:
    """The score of each training match, in order."""
    lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    return [event["returns"][0] for event in events if event["event"] == "match_finished"]


def measure(word: str, arguments: argparse.Namespace) -> Scores:
    """The scores of the agent that `word` names, which plays by itself from the first position."""
    game = ath.load_game(GAME)
    results: list[ath.MatchResult] = []
    bot = agents.make_bot(word, game, 0, AGENT_SEED)
    play_by_itself(game, bot, arguments.matches, opening_plies=0, seed=OPENINGS_SEED, on_match=results.append)
    return Scores(word, tuple(results))


def main() -> None:
    """Train, and print a line for each thing measured."""
    arguments = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        run = train(arguments, Path(folder) / "run")
        trained = training_scores(run)
        fifth = len(trained) // 5
        means = ", ".join(f"{mean(trained[i * fifth : (i + 1) * fifth]):.1f}" for i in range(5))
        print(f"{run.matches} training matches in {run.seconds:.0f} s; mean scores by fifths: {means}", flush=True)
        for name, word in (("random", "random"), ("trained", f"{run.folder}@{arguments.seconds}s")):
            found = measure(word, arguments)
            low, high = found.mean.low, found.mean.high
            print(
                f"{name}: mean {found.mean.estimate:.2f} (95 % {low:.2f} to {high:.2f}), best {found.best:g}",
                flush=True,
            )


if __name__ == "__main__":
    main()

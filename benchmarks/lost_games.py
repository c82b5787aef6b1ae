"""Where the games of two agents were lost: the results of best play along the games of a series.

The script solves the states of each game from the last one back, until one takes too long. A move that worsens the
mover's result of best play is a mistake.

    python benchmarks/lost_games.py ggp/games/clobber/matches/matches.jsonl --seconds 60    # hours
    python benchmarks/lost_games.py matches.jsonl    # a file of `athenan eval --save`
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyspiel

import athenan_spiel as ath
from athenan_spiel.arena.record import SavedMatch, read_matches
from athenan_spiel.cli.main import main as athenan
from common import fail, make_parser


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path, help="saved games of two players")
    parser.add_argument("--seconds", type=float, default=20.0, help="maximum time per state (default 20)")
    parser.add_argument("--dry-run", action="store_true", help="plays and solves two games of Tic-Tac-Toe")
    arguments = parser.parse_args()
    if not arguments.files and not arguments.dry_run:
        parser.error("name at least one file")
    return arguments


def solved(
    game: pyspiel.Game, states: list[pyspiel.State], first: int, bounds: ath.ProofBounds
) -> Iterator[tuple[int, float]]:
    """Yields the ply and the value for player 0 of the states that can be solved, from the last one back to `first`."""
    for ply in reversed(range(first, len(states))):
        if states[ply].is_terminal():
            yield ply, ath.gain(states[ply])
            continue
        proof = ath.solve(game, states[ply], bounds=bounds)
        if not proof.proven:
            return
        yield ply, proof.value


def report(match: SavedMatch, bounds: ath.ProofBounds, counts: Counter[str]) -> None:
    """Prints a line for the game, and counts results and mistakes."""
    game = ath.load_game(match.game)
    if len(match.agents) != 2 or game.get_type().chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
        raise ath.ArenaError(f"{game} is not a deterministic game for two players")
    match.require_true()
    states = [game.new_initial_state()]
    for action in match.result.history:
        states.append(states[-1].child(action))
    values = list(solved(game, states, match.result.opening_plies, bounds))[::-1]
    if not values:  # a forfeit or the length limit ended the game
        print(f"{len(match.result.history)} plies, not solved", flush=True)
        counts["not solved"] += 1
        return
    mistakes = [
        (ply, match.players[states[ply].current_player()])
        for (ply, before), (_, after) in itertools.pairwise(values)
        if before != after
    ]
    contender, (first, value) = match.agents[0], values[0]
    own = value * (1 if match.colour == 0 else -1)
    kind = "won" if own > 0 else "lost" if own < 0 else "drawn"
    counts.update([f"{kind} for {contender} at the first solved ply", *(f"mistakes by {name}" for _, name in mistakes)])
    shown = ", ".join(f"{name} at ply {ply}" for ply, name in mistakes) or "none"
    print(
        f"{len(match.result.history)} plies, solved from ply {first} on: {kind} for {contender}; mistakes: {shown}",
        flush=True,
    )


def main() -> None:
    """Prints the games and the totals, or one line that describes an error."""
    arguments = read_arguments()
    counts: Counter[str] = Counter()
    try:
        bounds = ath.ProofBounds(seconds=arguments.seconds)
        with tempfile.TemporaryDirectory() as folder:
            if arguments.dry_run:
                saved = Path(folder) / "matches.jsonl"
                series = "eval random --against mcts:2 --game tic_tac_toe --matches 2 --save"
                athenan([*series.split(), str(saved)])
                arguments.files.append(saved)
            for file in arguments.files:
                for match in read_matches(file):
                    report(match, bounds, counts)
    except ath.AthenanError as error:
        fail(error)
    for text, count in sorted(counts.items()):
        print(f"{text}: {count}")


if __name__ == "__main__":
    main()

"""The share of an agent's moves that keep the result of the position, at Connect Four, by an exact solver.

Each agent moves once in each of 550 solved positions (`connect_four_positions.py`), in all of which some move gives the
result away. Prints the share with its 95 % interval, and the time of a move. An agent is a word as `athenan eval`
takes it, engines and rivals among them.

    python benchmarks/rivals/solved_share.py random mcts:100 runs/c4@0.1s
    python benchmarks/rivals/solved_share.py "gtp:ENV/bin/python benchmarks/rivals/gtp_server.py --folder F"
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from statistics import mean

import pyspiel

import agents
import athenan_spiel as ath
import connect_four_positions
from athenan_spiel.arena.intervals import share_interval
from connect_four_positions import SolvedPosition
from rival_arguments import Parser, number, refuse

GAME = "connect_four"


def read_arguments() -> argparse.Namespace:
    """The command line, with every count's default declared."""
    parser = Parser(__doc__)
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="words of agents, such as mcts:100")
    most = connect_four_positions.COUNT
    parser.add_argument("--positions", type=number(int, 1, most), default=most, help="the first N (default all)")
    parser.add_argument("--seed", type=number(int, 0, 2**31 - 1), default=0, help="of the agents (default 0)")
    return parser.parse_args()


def state_of(game: pyspiel.Game, position: SolvedPosition) -> pyspiel.State:
    """The state that the position's moves lead to."""
    state = game.new_initial_state()
    for action in position.moves:
        state.apply_action(action)
    return state


def measure(word: str, game: pyspiel.Game, positions: Sequence[SolvedPosition], seed: int) -> str:
    """A line about the agent.

    Raises:
        AthenanError: there is no such agent, or it fails.
    """
    bots = [agents.make_bot(word, game, player, seed) for player in range(game.num_players())]
    kept, seconds = [], 0.0
    for position in positions:
        state = state_of(game, position)
        bot = bots[state.current_player()]
        bot.restart_at(state)
        start = time.perf_counter()
        action = bot.step(state)
        seconds += time.perf_counter() - start
        kept.append(float(action in position.keeping))
    share = share_interval([mark] for mark in kept)
    return (
        f"{100 * share.estimate:5.1f} % ({100 * share.low:.1f} to {100 * share.high:.1f})  {len(kept)} positions  "
        f"{1000 * seconds / len(kept):8.2f} ms a move  {word}"
    )


def chance(game: pyspiel.Game, positions: Sequence[SolvedPosition]) -> float:
    """The share that uniformly random moves keep on average."""
    return mean(len(position.keeping) / len(state_of(game, position).legal_actions()) for position in positions)


def main() -> None:
    """Measure each agent."""
    arguments = read_arguments()
    game, positions = ath.load_game(GAME), connect_four_positions.read()[: arguments.positions]
    print(f"{100 * chance(game, positions):5.1f} %  uniformly random moves on average")
    try:
        for word in arguments.agents:
            print(measure(word, game, positions, arguments.seed), flush=True)
    except ath.AthenanError as error:
        refuse(str(error))


if __name__ == "__main__":
    main()

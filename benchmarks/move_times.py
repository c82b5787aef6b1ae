"""Excess of move times over their limit.

Each agent plays games against a random player. Its moves are measured as in games between agents: without pauses of
Python's garbage collector, which a custom loop around `bot.step` may have. Prints percentiles of the excess in
milliseconds; it is negative if a state was proven earlier. At most 20 ms and one network batch are promised at the 99th
percentile on an idle machine. The column `batch` is the median time to evaluate all children of the first state; `kept`
shows whether the promise held. With `--processor-time` limits and moves are measured in processor time, which other
programs do not affect, for the agents with a network; `evals` is then the mean number of evaluations per move.

    python benchmarks/move_times.py                           # three games, 0.1 s per move, 200 moves each
    python benchmarks/move_times.py --seconds 1 --moves 50
    python benchmarks/move_times.py --agents ubfm_k descent mcts --processor-time
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

import numpy as np
import pyspiel

import agents
import athenan_spiel as ath
from agents.athenan import AthenanBot
from athenan_spiel.outcomes import Gain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.play.match import play_match
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.search.drive import answered
from athenan_spiel.training.model import make_model
from common import make_parser, seconds_of

GAMES = ("connect_four", "othello", "hex(board_size=7)")
AGENTS = ("ubfm_k", "ubfm_s", "descent", "alphabeta", "mcts", "openspiel-mcts", "openspiel-uct", "rollout-alphabeta")
PROMISED_MILLISECONDS = 20.0
"""Promised maximum of the excess, without the network batch."""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = make_parser(__doc__)
    parser.add_argument("--agents", nargs="+", default=AGENTS, choices=AGENTS, help="agents to measure (default all)")
    parser.add_argument("--games", nargs="+", default=GAMES, help="OpenSpiel game strings")
    parser.add_argument("--seconds", type=float, default=0.1, help="time per move (default 0.1)")
    parser.add_argument("--moves", type=int, default=200, help="measured moves per agent (default 200)")
    parser.add_argument(
        "--processor-time", action="store_true", help="measure processor time, which is the process's own"
    )
    parser.add_argument("--dry-run", action="store_true", help="one game, two moves")
    arguments = parser.parse_args()
    if arguments.dry_run:
        arguments.games, arguments.moves, arguments.seconds = GAMES[:1], 2, 0.01
    return arguments


def network_agent(game: pyspiel.Game, search: str, seconds: float) -> pyspiel.Bot:
    """Returns an agent with a network of random weights."""
    model = make_model(game, ath.TrainingConfig(), Gain())
    model.load(model.network.state_dict())
    spec = parse_search(search)
    budget = ath.Budget(seconds=seconds)
    return AthenanBot(
        Agent(game, spec.make(game, Gain()), model.evaluator, decision=spec.algorithm.decision, budget=budget)
    )


def make(name: str, game: pyspiel.Game, seconds: float) -> pyspiel.Bot:
    """Returns the bot of an entry of `AGENTS`."""
    if name.startswith("openspiel-"):
        return agents.make_bot(f"{name.partition('-')[2]}@{seconds}s", game, 0)
    if name == "rollout-alphabeta":
        return agents.make_bot(f"alphabeta@{seconds}s", game, 0)
    return network_agent(game, name, seconds)


def batch_milliseconds(bot: pyspiel.Bot, game: pyspiel.Game) -> float:
    """Returns the time of the bot's evaluator for all children of the first state; 0 for a bot without one."""
    if not isinstance(bot, AthenanBot):
        return 0.0
    state = game.new_initial_state()
    children = [state.child(action) for action in state.legal_actions()]
    return 1000 * statistics.median(seconds_of(lambda: bot.evaluator(children)) for _ in range(20))


def excesses(bot: pyspiel.Bot, game: pyspiel.Game, seconds: float, moves: int) -> list[float]:
    """Returns the excess of each move over the limit, in milliseconds."""
    other = agents.make_bot("random", game, 1)
    found: list[float] = []
    while len(found) < moves:
        result = play_match(game, [bot, other])
        pairs = zip(result.movers, result.move_seconds, strict=True)
        found += [1000 * (taken - seconds) for mover, taken in pairs if mover == 0]
    return found[:moves]


def processor_excesses(bot: AthenanBot, game: pyspiel.Game, seconds: float, moves: int) -> tuple[list[float], float]:
    """Returns the excess of each move in milliseconds of processor time, and the mean number of evaluations."""
    rng = random.Random(1)
    found: list[float] = []
    evaluations: list[int] = []
    while len(found) < moves:
        state = game.new_initial_state()
        bot.restart()
        while not state.is_terminal() and len(found) < moves:
            if state.current_player() != 0:
                state.apply_action(rng.choice(state.legal_actions()))
                continue
            with without_garbage_collection():
                start = time.process_time()
                action = answered(bot.thinks(state, time.process_time), bot.evaluator)
                found.append(1000 * (time.process_time() - start - seconds))
            assert bot.agent.result is not None
            evaluations.append(bot.agent.result.evaluations)
            state.apply_action(action)
    return found, statistics.mean(evaluations)


def main() -> None:
    """Prints a line per game and agent."""
    arguments = read_arguments()
    columns = f"{'game':<20} {'agent':<18} {'moves':>5} {'batch':>6} {'p50':>7} {'p90':>7} {'p99':>7} {'most':>7}"
    print(f"{columns} {'evals':>6}  kept")
    for spec in arguments.games:
        game = ath.load_game(spec)
        for name in arguments.agents:
            bot = make(name, game, arguments.seconds)
            evaluations = ""
            if not arguments.processor_time:
                found = excesses(bot, game, arguments.seconds, arguments.moves)
            elif isinstance(bot, AthenanBot):
                found, mean = processor_excesses(bot, game, arguments.seconds, arguments.moves)
                evaluations = f"{mean:.0f}"
            else:
                continue
            batch = batch_milliseconds(bot, game)
            p50, p90, p99 = np.percentile(found, [50, 90, 99])
            kept = "yes" if p99 <= PROMISED_MILLISECONDS + batch else "NO"
            print(
                f"{spec:<20} {name:<18} {len(found):>5} {batch:>6.1f} {p50:>7.1f} {p90:>7.1f} {p99:>7.1f} "
                f"{max(found):>7.1f} {evaluations:>6}  {kept}",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""Share of an agent's moves that keep the result of best play, in exactly solved positions.

Each agent moves once in each position of a set; in each, some move gives the result away. Prints the share of moves
that keep it with the 95 % interval, by the source of the positions and by thirds of a game; the time per move; and the
mean share of uniformly random moves. `benchmarks/solved` contains the positions and describes their origin.

Agents are given as spec strings, as for `athenan eval`. A run without a limit, such as `runs/c4`, is measured at each
of `--limits` (iterations or seconds per move). For each limit but the first, the script prints the share of the
positions failed at the limit before that are now kept. One iteration is depth-1 minimax by the network, whatever the
run's search. Choose settings by `--set choosing`; published figures use `judging`.

    python benchmarks/perfect_play.py connect_four runs/c4 mcts:30 mcts:300 mcts@0.1s
    python benchmarks/perfect_play.py "hex(board_size=5)" runs/hex5 --limits 1 30 300 --set choosing --json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, zip_longest

import agents
import athenan_spiel as ath
from agents.limits import LIMITS, read_limit
from common import fail, make_parser, percent
from solved.games import GAMES, THIRDS, SolvedGame
from solved.measurements import Measurement, Mended, PositionSet
from solved.positions import SETS, SOURCES, SolvedPosition, read

DEFAULT_LIMITS = ("1", "30", "300", "0.1s", "1s")
WIDTH = 22
"""Characters per column."""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    usage = "%(prog)s GAME AGENT [AGENT ...] [--set SET] [--positions N] [--limits LIMIT ...] [--seed N] [--json]"
    parser = make_parser(__doc__, usage)
    parser.add_argument("game", metavar="GAME", help=f"one of {', '.join(GAMES)}")
    parser.add_argument("agents", nargs="+", metavar="AGENT", help="agent specs, such as runs/c4 or mcts:100")
    parser.add_argument("--set", choices=SETS, default="judging", help="set of positions (default judging)")
    parser.add_argument("--positions", type=int, metavar="N", help="number, from all sources in turn (default all)")
    parser.add_argument(
        "--limits", nargs="+", metavar="LIMIT", default=DEFAULT_LIMITS, help="limits of runs without one"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the agents (default 0)")
    parser.add_argument("--json", action="store_true", help="print JSON, with the result in each position")
    arguments = parser.parse_args()
    if arguments.positions is not None and arguments.positions < 1:
        parser.error(f"argument --positions: expected 1 or more, got {arguments.positions}")
    if not 0 <= arguments.seed < 2**31:
        parser.error(f"argument --seed: expected 0 to {2**31 - 1}, got {arguments.seed}")
    return arguments


def find_game(spec: str) -> SolvedGame:
    """Returns the game of a game string.

    Raises:
        ConfigError: there are no solved positions of the game.
        UnsupportedGameError: the game can't be played.
    """
    if spec in GAMES:
        return GAMES[spec]
    wanted = str(ath.load_game(spec))
    for game in GAMES.values():
        if str(game.load()) == wanted:
            return game
    raise ath.ConfigError(f"expected a game with solved positions, one of {', '.join(GAMES)}; got {spec!r}")


def read_agents(texts: Sequence[str], limits: Sequence[str]) -> list[tuple[agents.AgentSpec, str | None]]:
    """Returns the agents, each with the spec of its run without the limit if it is measured at `limits`.

    Raises:
        AgentError: an invalid spec, or a limit other than iterations or seconds per move.
        BudgetError: a limit is zero or too large.
    """
    found: list[tuple[agents.AgentSpec, str | None]] = []
    for spec in map(agents.parse_spec, texts):
        if spec.is_human:
            raise ath.AgentError(f"expected agents that play by themselves, got {spec.text!r}")
        if spec.bot == "athenan" and LIMITS.keys().isdisjoint(spec.params):
            found += [(at_limit(spec, limit), spec.text) for limit in limits]
        else:
            found.append((spec, None))
    return found


def at_limit(run: agents.AgentSpec, text: str) -> agents.AgentSpec:
    """Returns the run with a limit.

    Raises:
        AgentError: the limit is neither iterations nor seconds per move.
        BudgetError: the limit is zero or too large.
    """
    text = f"{text}i" if text.isdecimal() else text
    limit = read_limit(text, text)
    if limit is None or not {"iterations", "seconds"} & limit.params.keys():
        raise ath.AgentError(f"expected a limit such as 30 (iterations) or 0.1s (seconds) per move, got {text!r}")
    alone = {"search": "ubfm"} if limit.iterations == 1 else {}
    return dataclasses.replace(run, text=f"{run.text}@{text}", params={**run.params, **limit.params, **alone})


def chosen(positions: Sequence[SolvedPosition], count: int | None) -> list[SolvedPosition]:
    """Returns the first `count` positions, or all, taken from each source in turn."""
    by_source = [[position for position in positions if position.source == source] for source in SOURCES]
    in_turn = [position for row in zip_longest(*by_source) for position in row if position is not None]
    return in_turn[:count]


def mended_line(mended: Mended) -> str:
    """Returns the effect of a larger limit as text."""
    if mended.share is None:
        return f"{mended.before} fails nowhere"
    share = percent(mended.share, "")
    return f"where {mended.before} fails ({mended.positions}), {mended.after} keeps the result in % {share}"


class Table:
    """Prints shares of groups of positions, a line per agent. The head is printed on construction."""

    def __init__(self, positions: PositionSet, names: Iterable[str]) -> None:
        self._groups = {name: indices for name, indices in positions.groups.items() if name in names}
        chance = [f"{100 * positions.chance[name]:.1f}" for name in self._groups]
        self._print_row([f"{name}, {len(indices)}" for name, indices in self._groups.items()], "ms a move", "agent")
        self._print_row(chance, "", "uniformly random moves")

    def add(self, measurement: Measurement) -> None:
        """Prints the line of an agent."""
        cells = [percent(measurement.share(indices), "") for indices in self._groups.values()]
        self._print_row(cells, f"{measurement.milliseconds:.2f}", measurement.spec)

    def _print_row(self, cells: Sequence[str], milliseconds: str, agent: str) -> None:
        print("".join(f"{cell:<{WIDTH}}" for cell in cells) + f"{milliseconds:>9}  {agent}", flush=True)


def print_tables(positions: PositionSet, measurements: Iterable[Measurement]) -> None:
    """Prints each measurement by source as it is made, then all by thirds, then the effect of larger limits."""
    by_source, found = Table(positions, ("all", *SOURCES)), []
    for measurement in measurements:
        by_source.add(measurement)
        found.append(measurement)
    print()
    by_third = Table(positions, THIRDS)
    for measurement in found:
        by_third.add(measurement)
    for mended in mended_by_limits(found):
        print(mended_line(mended))


def print_json(about: Mapping[str, str], positions: PositionSet, measurements: Iterable[Measurement]) -> None:
    """Prints all measurements as one JSON object that contains `about`."""
    found = list(measurements)
    told = {
        **about,
        "positions": {name: len(indices) for name, indices in positions.groups.items()},
        "uniformly_random": positions.chance,
        "agents": [measurement.to_json(positions.groups) for measurement in found],
        "mended": [mended.to_json() for mended in mended_by_limits(found)],
    }
    print(json.dumps(told, indent=2))


def mended_by_limits(measurements: Sequence[Measurement]) -> list[Mended]:
    """Compares each limit of a run with the limit before."""
    return [Mended.of(a, b) for a, b in pairwise(measurements) if a.run is not None and a.run == b.run]


def report(arguments: argparse.Namespace) -> None:
    """Measures each agent, and prints the results."""
    solved = find_game(arguments.game)
    game = solved.load()
    entrants = [
        (spec.text, run, [agents.make_bot(spec, game, player, arguments.seed) for player in range(game.num_players())])
        for spec, run in read_agents(arguments.agents, arguments.limits)
    ]
    positions = PositionSet(solved, chosen(read(solved.name, arguments.set), arguments.positions))
    measurements = (positions.measure(*entrant) for entrant in entrants)
    if arguments.json:
        print_json({"game": solved.name, "set": arguments.set}, positions, measurements)
    else:
        print(f"{solved.name}, {arguments.set}: % of moves that keep the result, with the 95 % interval")
        print_tables(positions, measurements)


def main() -> None:
    """Prints the tables, or one line that describes an error."""
    arguments = read_arguments()
    try:
        report(arguments)
    except ath.AthenanError as error:
        fail(error)


if __name__ == "__main__":
    main()

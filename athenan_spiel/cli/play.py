"""`athenan play`: a match between a person at the terminal and a trained agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from athenan_spiel.cli.console import output, progress
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError

if TYPE_CHECKING:
    import pyspiel

    from athenan_spiel.matches import MatchResult


@dataclass(frozen=True, kw_only=True)
class PlayArguments:
    """Play a match against the agent of a run, in the terminal; a game for one player you play, or the agent does.

    Type a move as it is listed or its number; `?` lists the moves, `quit` ends the match.

    Example: athenan play runs/connect_four --seconds 0.5 --second
    """

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run's folder."""
    seconds: float = 1.0
    """How long the agent thinks about a move."""
    first: tyro.conf.FlagCreatePairsOff[bool] = False
    """You begin; so it is unless `--second` is said."""
    second: tyro.conf.FlagCreatePairsOff[bool] = False
    """The agent begins; in a game for one player it plays, and you see how it ends."""
    seed: int = 0
    """Of the agent's choices among equal moves."""


def run(words: Sequence[str]) -> int:
    """Run `athenan play` with these words; returns the exit code."""
    arguments = parse(PlayArguments, words, "athenan play")
    if arguments.first and arguments.second:
        raise ConfigError("expected --first or --second, got both")
    from agents import HumanBot, MatchAbandonedError, load_bot
    from athenan_spiel.games import load_game
    from athenan_spiel.matches import play_match
    from athenan_spiel.training.run_folder import RunFolder

    person = 1 if arguments.second else 0
    game = load_game(RunFolder(arguments.run).require_run().settings()[0])
    parameters = {"checkpoint": arguments.run, "seconds": arguments.seconds, "seed": arguments.seed}
    with progress().status("loading the agent"):
        agent = load_bot("athenan", game, 1 - person, parameters)
    human = HumanBot(width=output().width)
    try:
        players = [human, agent] if person == 0 else [agent, human]
        result = play_match(game, players[: game.num_players()])
    except MatchAbandonedError as reason:
        print(f"\n{reason}")
        return DONE
    print(_ending(game, result, person))
    return DONE


def _ending(game: pyspiel.Game, result: MatchResult, person: int) -> str:
    state = game.new_initial_state()
    for action in result.history:
        state.apply_action(action)
    if game.num_players() == 1:
        outcome = f"{'The agent has' if person else 'You have'} scored {result.returns[0]:g}."
    else:
        outcome = {1.0: "You have won.", 0.5: "A draw.", 0.0: "The agent has won."}[result.points(person)]
    return f"\n{state}\n{outcome}"

"""The games of an experiment: saved networks play each other and the opponents of [fixed].

1. Each game is reported as it ends. Without a time limit it depends only on the experiment, its pairing and its number,
   so the remaining games can be played in any order and by any process.
2. Games between networks that share batches are replayed together if one of them is missing. So batches and values are
   bit-identical to those of an uninterrupted experiment.
3. An opponent of [fixed], or a network that meets it, loses a game in which it fails. Among networks a failure is an
   error.
"""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from agents import make_bot, parse_spec
from athenan_spiel.arena.processes import play_until_stopped
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.plan import Entrant, Pairing, Plan, seed_of
from athenan_spiel.experiments.settings import Experiment, PlayConfig
from athenan_spiel.experiments.training import require_same_training, stage_path
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import allowed_kind, outcome_from_parameters
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.player import Player
from athenan_spiel.play.series import Fixture, fixtures, parts, play_together, sides_of
from athenan_spiel.search.algorithms import budget_of, decision_of, make_search
from athenan_spiel.training.checkpoints import Header, read_header, read_weights
from athenan_spiel.training.loading import suited_search
from athenan_spiel.training.model import Model, make_model

NETWORKS_KEPT = 64
"""Maximum number of loaded networks per process."""
PAIRINGS_PER_TASK = 32
"""Maximum number of pairings of networks per task; the next pairings reuse the loaded networks."""
GAMES_PER_TASK = 20
"""Maximum number of games per task against an opponent of [fixed]."""

_load_game = functools.lru_cache(load_game)


@dataclass(frozen=True)
class GamesTask:
    """A task that plays games of an experiment and reports each as a `SavedMatch` when it ends.

    Attributes:
        folder: the experiment's folder.
        left: pairings, each with the indices of the games to play.
    """

    keeps_results: ClassVar[bool] = False  # the caller stores what was reported
    processes_option: ClassVar[str] = "--processes"
    experiment: Experiment
    folder: Path
    left: Sequence[tuple[Pairing, Sequence[int]]]

    def run(self, report: Callable[[SavedMatch], None], stop: Callable[[], bool]) -> bool:
        """Play all games; returns False if `stop` ended it after a game.

        Raises:
            CheckpointError: a network is damaged or comes from another training.
        """

        def play(on_game: Callable[[SavedMatch], None]) -> None:
            plan = Plan(self.experiment)
            for pairing, indices in self.left:
                _play_pairing(plan, self.folder, pairing, indices, on_game)

        return play_until_stopped(play, report, stop)


def game_tasks(
    experiment: Experiment, folder: Path, left: Sequence[tuple[Pairing, Sequence[int]]], processes: int
) -> list[GamesTask]:
    """Returns the tasks that play the remaining games of an experiment in `folder`, in the order of the pairings.

    Args:
        left: pairings with the indices of the games to play.
        processes: number of processes; tasks are small enough to keep all of them busy.
    """
    among_networks = [item for item in left if not item[0].is_fixed]
    size = max(1, min(PAIRINGS_PER_TASK, len(among_networks) // (2 * processes)))
    chunks = [among_networks[start : start + size] for start in range(0, len(among_networks), size)]
    chunks += [
        [(pairing, indices[start : start + GAMES_PER_TASK])]
        for pairing, indices in left
        if pairing.is_fixed
        for start in range(0, len(indices), GAMES_PER_TASK)
    ]
    return [GamesTask(experiment, folder, chunk) for chunk in chunks]


def _play_pairing(
    plan: Plan, folder: Path, pairing: Pairing, left: Sequence[int], on_game: Callable[[SavedMatch], None]
) -> None:
    game, meeting, wanted = _load_game(pairing.game), plan.meeting(pairing), frozenset(left)
    seed, opening_seed = plan.seeds(pairing)
    specs, code = [], []
    for one in (pairing.a, pairing.b):
        if isinstance(one, Entrant):
            training = plan.training(pairing.game, one.variant, one.repetition)
            path = stage_path(training.folder, one.stage)
            _require_network(folder / path, pairing.game, training.config)
            code.append(training.config.outcome)  # allowed, because the experiment's file contains it
            specs.append(path.as_posix())
        else:
            specs.append(plan.opponent(one).spec)

    def player(one: Entrant | str, spec: str, side: str, player_id: int) -> Player:
        player_seed = seed_of(seed, side, player_id)
        if isinstance(one, Entrant):
            return player_of(folder / spec, plan.play(pairing, one), player_seed, tuple(code))
        bot: Player = make_bot(parse_spec(spec).allowing(code), game, player_id, player_seed)
        return bot

    def on_result(fixture: Fixture, result: MatchResult) -> None:
        if fixture.index in wanted:
            number, colour = fixture.number, fixture.colour
            on_game(SavedMatch(pairing.game, pairing.agents, tuple(specs), colour, number, seed, result))

    a, b = (functools.partial(player, *one) for one in zip((pairing.a, pairing.b), specs, "ab", strict=True))
    sides = sides_of(a, b)
    planned = fixtures(game, meeting.matches, meeting.opening_plies, opening_seed)
    if pairing.is_fixed:
        planned = [planned[index] for index in left]
    for part in parts(sides, planned):
        if any(fixture.index in wanted for fixture in part):
            play_together(game, sides, part, on_result, forfeits=pairing.is_fixed)


def player_of(network: Path, play: PlayConfig, seed: int, code: tuple[str, ...] = ()) -> Agent:
    """Returns the agent that plays with a saved network.

    Args:
        code: outcomes "module:name" that may be imported.
    """
    header, model = _model(network, code)
    return Agent(
        model.game,
        make_search(model.game, suited_search(play.search_config(), header), model.outcome),
        model.evaluator,
        decision=decision_of(play.search.algorithm, play.decision),
        budget=budget_of(play.search_config()),
        rng=random.Random(seed),
    )


@functools.lru_cache
def _require_network(path: Path, game: str, training: TrainingConfig) -> None:
    header = read_header(path)
    require_same_training(path, (header.game, header.config), (str(_load_game(game)), training))


@functools.lru_cache(maxsize=NETWORKS_KEPT)
def _model(path: Path, code: tuple[str, ...]) -> tuple[Header, Model]:
    """Loads a network, and returns its header and model. The files at `path` never change."""
    header, weights = read_header(path), read_weights(path)
    outcome = outcome_from_parameters(header.config.outcome, header.outcome, allowed_kind(header.config.outcome, code))
    engine = dataclasses.replace(header.config.engine, threads=1)
    return header, make_model(_load_game(header.game), header.config, outcome, weights, engine=engine)

"""The games of an experiment: saved networks play each other and the opponents of [fixed].

1. Each game is reported as it ends. Without a time limit it depends only on the experiment, its pairing and its number,
   so the remaining games can be played in any order and by any process.
2. Among networks, games that are played side by side are replayed together if one of them is missing. So batches and
   values are bit-identical to those of an uninterrupted experiment.
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

import pyspiel

from agents import make_bot, parse_word
from athenan_spiel.arena.processes import play_until_stopped
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.plan import Entrant, Pairing, Plan, seed_of
from athenan_spiel.experiments.settings import PlayConfig
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


@dataclass(frozen=True)
class Network:
    """A saved network, its training settings, and how it plays.

    Attributes:
        folder: folder of the saved network.
        spec: the same folder relative to the experiment's, for saved games.
    """

    folder: Path
    spec: str
    training: TrainingConfig
    play: PlayConfig


@dataclass(frozen=True)
class PairingGames:
    """The remaining games of a pairing.

    Attributes:
        opponent: a network, or the spec of an opponent of [fixed].
        matches: number of all games of the pairing, which determines its openings.
        left: indices of the remaining games.
    """

    pairing: Pairing
    network: Network
    opponent: Network | str
    matches: int
    opening_plies: int
    seed: int
    opening_seed: int
    left: frozenset[int]

    def play(self, on_game: Callable[[SavedMatch], None]) -> None:
        """Play the games.

        Args:
            on_game: called with each game as it ends.

        Raises:
            CheckpointError: a network is damaged or comes from another training.
        """
        networks = [one for one in (self.network, self.opponent) if isinstance(one, Network)]
        for network in networks:
            require_network(network.folder, self.pairing.game, network.training)
        code = tuple(network.training.outcome for network in networks)  # allowed, as the experiment's file names it
        game = loaded_game(self.pairing.game)
        specs = tuple(one.spec if isinstance(one, Network) else one for one in (self.network, self.opponent))

        def player(side: str, player_id: int) -> Player:
            seed, one = seed_of(self.seed, side, player_id), self.network if side == "a" else self.opponent
            if isinstance(one, Network):
                return player_of(one.folder, one.play, seed, code)
            bot: Player = make_bot(parse_word(one).allowing(code), game, player_id, seed)
            return bot

        def on_result(fixture: Fixture, result: MatchResult) -> None:
            pairing, colour, number = self.pairing, fixture.colour, fixture.number
            if fixture.index in self.left:
                on_game(SavedMatch(pairing.game, pairing.agents, specs, colour, number, self.seed, result))

        sides = sides_of(functools.partial(player, "a"), functools.partial(player, "b"))
        planned = fixtures(game, self.matches, self.opening_plies, self.opening_seed)
        if self.pairing.is_fixed:
            planned = [planned[index] for index in sorted(self.left)]
        for part in parts(sides, planned):
            if any(fixture.index in self.left for fixture in part):
                play_together(game, sides, part, on_result, forfeits=self.pairing.is_fixed)


@dataclass(frozen=True)
class GamesTask:
    """A task that plays games of some pairings and reports each as a `SavedMatch` when it ends."""

    keeps: ClassVar[bool] = False  # the caller keeps what was reported
    processes_option: ClassVar[str] = "--processes"
    pairings: Sequence[PairingGames]

    def run(self, report: Callable[[SavedMatch], None], stop: Callable[[], bool]) -> bool:
        """Play all games; returns False if `stop` ended it after a game."""

        def play(on_game: Callable[[SavedMatch], None]) -> None:
            for games in self.pairings:
                games.play(on_game)

        return play_until_stopped(play, report, stop)


def game_tasks(
    plan: Plan, folder: Path, left: Sequence[tuple[Pairing, Sequence[int]]], processes: int
) -> list[GamesTask]:
    """Returns the tasks that play the remaining games of an experiment in `folder`, in the order of the pairings.

    Args:
        left: pairings with the indices of the games to play.
        processes: number of processes; tasks are small enough to keep all of them busy.
    """
    among_networks = [games_of(plan, folder, *one) for one in left if not one[0].is_fixed]
    size = max(1, min(PAIRINGS_PER_TASK, len(among_networks) // (2 * processes)))
    tasks = [GamesTask(among_networks[start : start + size]) for start in range(0, len(among_networks), size)]
    for pairing, indices in left:
        if pairing.is_fixed:
            chunks = (indices[start : start + GAMES_PER_TASK] for start in range(0, len(indices), GAMES_PER_TASK))
            tasks += [GamesTask([games_of(plan, folder, pairing, chunk)]) for chunk in chunks]
    return tasks


def games_of(plan: Plan, folder: Path, pairing: Pairing, left: Sequence[int]) -> PairingGames:
    """Returns the remaining games of a pairing, with its networks."""
    pool = plan.experiment.fixed
    opponent: Network | str
    if isinstance(pairing.b, Entrant):
        play, opponent = None, _network(plan, folder, pairing.game, pairing.b, None)
    else:
        assert pool is not None, "the experiment has a [fixed]"
        play, opponent = pool.play, next(one.word for one in pool.opponents if one.name == pairing.b)
    meeting = plan.meeting(pairing)
    network = _network(plan, folder, pairing.game, pairing.a, play)
    seeds = plan.seeds(pairing)
    return PairingGames(pairing, network, opponent, meeting.matches, meeting.opening_plies, *seeds, frozenset(left))


def _network(plan: Plan, folder: Path, game: str, player: Entrant, play: PlayConfig | None) -> Network:
    training = plan.training(game, player.variant, player.repetition)
    below = stage_path(training.folder, player.stage)
    return Network(folder / below, below.as_posix(), training.config, play or plan.play(player.variant))


def player_of(network: Path, play: PlayConfig, seed: int, code: tuple[str, ...] = ()) -> Agent:
    """Returns the agent that plays with a saved network.

    Args:
        code: outcomes "module:name" that the network's file may name.
    """
    header, model = _model(network, code)
    return Agent(
        model.game,
        make_search(model.game, suited_search(play.search(), header), model.outcome),
        model.evaluator,
        decision=decision_of(play.algorithm, play.decision),
        budget=budget_of(play.search()),
        rng=random.Random(seed),
    )


@functools.lru_cache
def require_network(path: Path, game: str, training: TrainingConfig) -> None:
    """Check that the network at `path` comes from the training.

    Raises:
        CheckpointError: it comes from another one, or it is damaged.
    """
    header = read_header(path)
    require_same_training(path, (header.game, header.config), (str(loaded_game(game)), training))


@functools.lru_cache
def loaded_game(spec: str) -> pyspiel.Game:
    """Returns the game, loaded once per process."""
    return load_game(spec)


@functools.lru_cache(maxsize=NETWORKS_KEPT)
def _model(path: Path, code: tuple[str, ...]) -> tuple[Header, Model]:
    """The header and the loaded network; the files at `path` never change."""
    header, weights = read_header(path), read_weights(path)
    outcome = outcome_from_parameters(header.config.outcome, header.outcome, allowed_kind(header.config.outcome, code))
    engine = dataclasses.replace(header.config.engine, threads=1)
    return header, make_model(loaded_game(header.game), header.config, outcome, weights, engine=engine)

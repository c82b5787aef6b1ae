"""The matches of an experiment: which player meets which, played from saved networks."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyspiel

from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.plan import Pairing, seed_of
from athenan_spiel.experiments.settings import PlayConfig
from athenan_spiel.experiments.training import require_same_training
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import allowed_kind, outcome_from_parameters
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.series import Series, play_series
from athenan_spiel.search.algorithms import budget_of, decision_of, make_search
from athenan_spiel.training.checkpoints import Header, read_header, read_weights
from athenan_spiel.training.loading import suited_search
from athenan_spiel.training.model import Model, make_model

NETWORKS_KEPT = 64
"""Networks that a process keeps ready to play."""


@dataclass(frozen=True)
class MatchUp:
    """A pairing with what is needed to play it.

    Attributes:
        network_a, network_b: folders of the saved networks.
        training_a, training_b: how they were trained.
    """

    pairing: Pairing
    network_a: Path
    network_b: Path
    training_a: TrainingConfig
    training_b: TrainingConfig
    play_a: PlayConfig
    play_b: PlayConfig


@dataclass(frozen=True)
class MatchesTask:
    """To play some pairings. Reports (pairing, its rows) after each, a row being a match as a JSON object."""

    keeps: ClassVar[bool] = False  # a pairing that is not played to its end is played again
    processes_option: ClassVar[str] = "--processes"
    matchups: Sequence[MatchUp]
    matches: int
    opening_plies: int
    seed: int

    def run(self, report: Callable[[tuple[Pairing, list[dict[str, Any]]]], None], stop: Callable[[], bool]) -> bool:
        """Play them all, or until `stop` between two matches."""
        for matchup in self.matchups:
            rows = self._play(matchup, stop)
            if rows is None:
                return False
            report((matchup.pairing, rows))
        return True

    def _play(self, matchup: MatchUp, stop: Callable[[], bool]) -> list[dict[str, Any]] | None:
        pairing = matchup.pairing
        require_network(matchup.network_a, pairing.game, matchup.training_a)
        require_network(matchup.network_b, pairing.game, matchup.training_b)
        seed = seed_of(self.seed, "matches", dataclasses.astuple(pairing))
        code = (matchup.training_a.outcome, matchup.training_b.outcome)  # of the experiment's file, and allowed

        def on_match(series: Series) -> None:
            if stop():
                raise StoppedError

        try:
            series = play_series(
                loaded_game(pairing.game),
                lambda player: player_of(matchup.network_a, matchup.play_a, seed_of(seed, "a", player), code),
                lambda player: player_of(matchup.network_b, matchup.play_b, seed_of(seed, "b", player), code),
                self.matches,
                opening_plies=self.opening_plies,
                seed=seed,
                on_match=on_match,
            )
        except StoppedError:
            return None
        return _rows(pairing, series)


class StoppedError(Exception):
    """The matches were asked to stop."""


def _rows(pairing: Pairing, series: Series) -> list[dict[str, Any]]:
    """A row for each match: who was who, who began, what was played, and what came out for a."""
    who = {
        f"{name}_{side}": value
        for side, player in (("a", pairing.a), ("b", pairing.b))
        for name, value in dataclasses.asdict(player).items()
    }
    return [
        {
            "game": pairing.game,
            **who,
            "match": number,
            "player_id_a": colour,
            "points_a": result.points(colour),
            "opening_plies": result.opening_plies,
            "returns": list(result.returns),
            "seconds_a": round(result.seconds[colour], 4),
            "seconds_b": round(result.seconds[1 - colour], 4),
            "actions": list(result.history),
        }
        for number, (result, colour) in enumerate(zip(series.results, series.colours, strict=True), 1)
    ]


def player_of(network: Path, play: PlayConfig, seed: int, code: tuple[str, ...] = ()) -> Agent:
    """The agent that plays with a saved network as `play` says.

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
    """Check that the network at `path` is one that the training has made.

    Raises:
        CheckpointError: it is not, or it is damaged.
    """
    header = read_header(path)
    require_same_training(path, (header.game, header.config), (str(loaded_game(game)), training))


@functools.lru_cache
def loaded_game(spec: str) -> pyspiel.Game:
    """The game, loaded once in a process."""
    return load_game(spec)


@functools.lru_cache(maxsize=NETWORKS_KEPT)
def _model(path: Path, code: tuple[str, ...]) -> tuple[Header, Model]:
    """A network ready to be asked, and what is known of it; what lies at `path` never changes."""
    header, weights = read_header(path), read_weights(path)
    outcome = outcome_from_parameters(header.config.outcome, header.outcome, allowed_kind(header.config.outcome, code))
    engine = dataclasses.replace(header.config.engine, threads=1)
    return header, make_model(loaded_game(header.game), header.config, outcome, weights, engine=engine)

"""Checks of an experiment before anything is trained.

First, the number of games and the memory of the bootstrap are checked. Then each variant is set up for training and for
play at each of its games. This finds heuristics that the game doesn't support, symmetries that its rules don't have,
networks that don't fit its board, and missing devices.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection, Mapping, Sequence

import pyspiel

from agents import make_bot, parse_spec, require_programs
from athenan_spiel.config import EngineConfig, TrainingConfig
from athenan_spiel.config.converter import KeyPath
from athenan_spiel.errors import AgentError, ConfigError
from athenan_spiel.experiments.file import ExperimentFile
from athenan_spiel.experiments.plan import Plan, slug
from athenan_spiel.experiments.settings import PlayConfig
from athenan_spiel.experiments.statistics import MOST_BYTES, bootstrap_bytes
from athenan_spiel.games import load_game, same_game
from athenan_spiel.games.chance import has_chance
from athenan_spiel.outcomes import Outcome, is_code, not_allowed
from athenan_spiel.play.openings import random_openings, series_openings
from athenan_spiel.search.algorithms import budget_of, make_search
from athenan_spiel.system.machine import free_memory, gigabytes
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.preflight import learning_device, network_bytes, require_resources

MOST_MATCHES = 2_000_000
"""Maximum number of games of an experiment; the article's Tables 2, 3 and 4 have up to 1,304,640."""
PROCESS_BYTES = 250_000_000
"""Measured memory of a process with torch and OpenSpiel, without its network, in bytes."""
CHECK_ENGINE = EngineConfig(name="torch", precision="float32", threads=1)
"""Engine of the checks, which compiles nothing. Whether a variant suits a game does not depend on the engine."""


def check(
    file: ExperimentFile,
    allow_code: Collection[str] = (),
    allow_programs: Collection[str] = (),
    *,
    processes: int = 1,
) -> None:
    """Set up every variant for every game.

    Args:
        allow_code: outcomes "module:name" that the file may name; nothing else in it is imported.
        allow_programs: commands of engines that the file may name as opponents; no other program is started.
        processes: number of concurrent trainings.

    Raises:
        ConfigError: a variant cannot be set up (with the line of the setting), or there would be too many games or too
            little memory.
    """
    _require_feasible(file)
    experiment = file.experiment
    for variant in experiment.variants:
        if is_code(variant.training.outcome) and variant.training.outcome not in allow_code:
            raise file.variant_error(variant.name, not_allowed(variant.training.outcome))
    games = {spec: _game(file, spec) for spec in experiment.games}
    for i, spec in enumerate(games):
        for other in list(games)[:i]:
            if same_game(games[spec], games[other]):
                raise file.error(("games",), f"games: {other!r} and {spec!r} are the same game")
    _require_different_folders(file, ("games",), "games", experiment.games)
    _require_different_folders(file, ("variants",), "variants", [variant.name for variant in experiment.variants])
    for variant in experiment.variants:
        if variant.training.evaluation.asked:
            with file.variant_errors(variant.name):
                require_programs(map(parse_spec, variant.training.evaluation.opponents), allow_programs)
    _require_opponents(file, games, allow_code, allow_programs)
    outcomes: dict[tuple[str, TrainingConfig], Outcome] = {}
    needed = 0
    fixed_play = None if experiment.fixed is None else experiment.fixed.play
    for variant in experiment.variants:
        for spec in variant.games:
            with file.variant_errors(variant.name, f" (at {spec})"):
                if (spec, variant.training) not in outcomes:
                    outcomes[spec, variant.training], network_bytes = _set_up_training(games[spec], variant.training)
                    needed = max(needed, network_bytes)
                for play in (variant.play, fixed_play):
                    if play is not None:
                        _require_search(games[spec], play, variant.training, outcomes[spec, variant.training])
    _require_memory(min(processes, len(Plan(experiment).trainings())), needed)


def _require_feasible(file: ExperimentFile) -> None:
    plan = Plan(file.experiment)
    if (matches := plan.match_count()) > MOST_MATCHES:
        raise file.error(
            ("repetitions",),
            f"expected at most {MOST_MATCHES:,} games, got {matches:,}: use fewer "
            "repetitions, stages, matches, variants or games",
        )
    free = free_memory()
    most = MOST_BYTES if free is None else min(MOST_BYTES, free)
    if (needed := bootstrap_bytes(plan)) > most:
        raise file.error(
            ("protocol", "resamples"),
            f"the intervals need {gigabytes(needed)} of memory, more than {gigabytes(most)}: "
            "use fewer resamples or repetitions",
        )


def _require_different_folders(file: ExperimentFile, path: KeyPath, what: str, names: Sequence[str]) -> None:
    """Check that each name has its own folder, also on case-insensitive file systems."""
    for i, name in enumerate(names):
        for other in names[:i]:
            if slug(name).casefold() == slug(other).casefold():
                problem = (
                    f"{what} {other!r} and {name!r} would share the folder {slug(name)!r}: rename or leave out one"
                )
                raise file.error((*path, name), problem)


def _require_opponents(
    file: ExperimentFile,
    games: Mapping[str, pyspiel.Game],
    allow_code: Collection[str],
    allow_programs: Collection[str],
) -> None:
    pool = file.experiment.fixed
    if pool is None:
        return
    for spec, game in games.items():
        with file.errors_at(("fixed", "opening_plies"), f"fixed.opening_plies at {spec}: "):
            series_openings(game, pool.config.matches, pool.config.opening_plies, file.experiment.seed)
    for opponent in pool.opponents:
        for spec in opponent.games:
            with file.errors_at(("fixed", "opponents"), f"fixed.opponents {opponent.name!r}: ", f" (at {spec})"):
                parsed = parse_spec(opponent.spec)
                if parsed.is_human:
                    raise AgentError("expected an agent that plays by itself, got 'human'")
                require_programs([parsed], allow_programs)
                make_bot(parsed.allowing(tuple(allow_code)), games[spec], 0)


def _game(file: ExperimentFile, spec: str) -> pyspiel.Game:
    with file.errors_at(("games",), "games: "):
        game = load_game(spec)
    if game.num_players() != 2:
        raise file.error(("games",), f"games: expected games for two players, got {spec!r} for {game.num_players()}")
    protocol = file.experiment.protocol
    if protocol.opening_plies == 0 and protocol.matches != 2 and not has_chance(game):
        raise file.error(
            ("protocol", "matches"),
            "protocol.matches must be 2 if protocol.opening_plies is 0, as deterministic players repeat their game "
            f"at {spec}, got {protocol.matches}",
        )
    with file.errors_at(("protocol", "opening_plies"), f"protocol.opening_plies at {spec}: "):
        random_openings(game, 1, protocol.opening_plies, random.Random(0))
    return game


def _require_search(game: pyspiel.Game, play: PlayConfig, training: TrainingConfig, outcome: Outcome) -> None:
    search = make_search(game, play.search_config(), outcome)
    budget_of(play.search_config())
    if search.needs_priors and training.network.policy == "none":
        raise ConfigError.at(
            "play.algorithm", f"={play.search.algorithm!r} needs a network with a policy: network.policy"
        )


def _set_up_training(game: pyspiel.Game, config: TrainingConfig) -> tuple[Outcome, int]:
    """Sets up a training; returns its outcome and the memory of its network in bytes, 0 on a GPU."""
    learner = LearnerSide(plan_run(game, dataclasses.replace(config, engine=CHECK_ENGINE)))
    make_search(game, config.search, learner.outcome)
    shape, policy = learner.encoder.shape, learner.policy
    require_resources(config, shape, policy)
    on_gpu = learning_device(config.engine) != "cpu"
    return learner.outcome, 0 if on_gpu else network_bytes(config, shape, policy)


def _require_memory(processes: int, needed: int) -> None:
    """Checks that the concurrent trainings fit into memory together. Each training checks its own memory."""
    free = free_memory()
    total = processes * (PROCESS_BYTES + needed)
    if processes > 1 and free is not None and total > free:
        raise ConfigError(
            f"{processes} concurrent trainings need {gigabytes(total)} of memory, {gigabytes(free)} are free: "
            "use fewer --processes, or smaller networks"
        )

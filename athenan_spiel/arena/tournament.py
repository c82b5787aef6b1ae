"""Runs a tournament: agents, openings, games, report.

Promises:

1. Errors are reported before the first game if possible: agents that don't exist, don't play a game or have equal
   names, engines that don't answer, illegal openings, a folder of another tournament.
2. Colours and openings are balanced: each pair plays each opening with both colours, and all pairs at a game play the
   same openings, with the same dice. In a game for n > 2 players each agent of a pair plays each opening alone in every
   seat against n - 1 copies of the other one.
3. A written game is never played again, even after a kill. A game depends only on the tournament's seed, its players,
   its number and its opening, unless an agent keeps state between games; agents that play many games side by side keep
   none.
4. An agent that fails loses the game, and the tournament continues. A game whose process dies or hangs is not written,
   and is played when the tournament runs again.
5. When its sequential test decides, a pair stops. Games that were running then count in the tables, not in the test.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence

import pyspiel

from athenan_spiel.arena.contestant import Contestant, naming, parse_agents
from athenan_spiel.arena.opening_sets import OpeningSet, opening_set, require_openings
from athenan_spiel.arena.plots import plot_files
from athenan_spiel.arena.processes import SILENT_SECONDS, Encounter, play_all
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.sprt import SequentialTest
from athenan_spiel.arena.standings import FailedMatch, Standings
from athenan_spiel.arena.tournament_folder import MatchKey, TournamentFolder, key_of
from athenan_spiel.arena.tournament_report import report_files
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import first_mover_of
from athenan_spiel.games.rows import rows_of
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.openings import games_per_opening
from athenan_spiel.play.series import Fixture, fixtures_of, sides_by_agent

Pair = tuple[str, str, str]
"""The game, the contender and the opponent."""
Progress = Callable[[int, int], None]
"""Called with the number of finished games and of all games."""


class Entrants:
    """The games of a tournament, and its agents by name under the common limit.

    Args:
        allow_code: custom outcomes "module:name" that runs may name.
        allow_programs: commands of engines that may be started; None: all, if the agents are not from a file.

    Raises:
        ConfigError: a human is among the agents, a game is for one player, or the settings do not fit a game for more
            than two players.
        AthenanError: a game, a spec or the limit is invalid.

    Attributes:
        counts: number of openings of each game.
    """

    def __init__(
        self,
        tournament: Tournament,
        allow_code: Sequence[str] = (),
        allow_programs: Collection[str] | None = (),
    ) -> None:
        self.tournament = tournament
        self.games = {spec: load_game(spec) for spec in tournament.games}
        _require_settings(tournament, self.games)
        self.counts = {spec: tournament.matches // games_per_opening(game) for spec, game in self.games.items()}
        self.specs, self.without_limit = parse_agents(tournament.specs, tournament.limit, allow_code, allow_programs)

    def checkpoints(self) -> dict[str, str]:
        """Returns a description of the checkpoint of each agent that is a run.

        Raises:
            CheckpointError: a run has no checkpoint.
        """
        from athenan_spiel.training.loading import header_of  # imports torch

        found = {}
        for name, spec in self.specs.items():
            if spec.bot == "athenan":
                with naming(name):
                    header = header_of(str(spec.params["checkpoint"]), spec.which)
                    found[name] = f"after {header.counters.matches} matches"
        return found

    def loaded(self) -> dict[tuple[str, str], Contestant]:
        """Load the agents, by game and name.

        Raises:
            AthenanError: an agent cannot be loaded, does not play a game, or ponders against an agent that searches in
                the same process. The message contains its name.
        """
        found = {}
        for key, game in self.games.items():
            for index, (name, spec) in enumerate(self.specs.items()):
                with naming(name):
                    found[key, name] = Contestant(spec, game, self.tournament.seed + index)
            for contender, opponent in self.tournament.pairs():
                found[key, contender].require_opponent(found[key, opponent])
        return found


def _require_settings(tournament: Tournament, games: Mapping[str, pyspiel.Game]) -> None:
    """Check the numbers of players, and the settings that depend on them."""
    multiple = math.lcm(*map(games_per_opening, games.values()))
    for spec, game in games.items():
        players, each = game.num_players(), games_per_opening(game)
        if players == 1:
            raise ConfigError.at("games", f"must be for two or more players, got {shown(spec)}: use `athenan eval`")
        if tournament.openings.kind == "balanced" and rows_of(game) is not None:
            raise ConfigError.at(
                "openings.kind", f"must not be 'balanced' at {shown(spec)}: that is for zero-sum games for two players"
            )
        if players > 2 and tournament.sequential is not None:
            raise ConfigError.at(
                "sequential", f"(--sprt) is for games for two players, got {shown(spec)}: leave it out"
            )
        if tournament.matches % each:
            raise ConfigError.at(
                "matches",
                f"must be a multiple of {each} at {shown(spec)}, so that each agent plays each of {players} seats, "
                f"got {tournament.matches}: play {-(-tournament.matches // multiple) * multiple}",
            )


def run_tournament(
    tournament: Tournament,
    path: str | os.PathLike[str],
    *,
    matches_at_once: int | None = None,
    progress: Progress = lambda done, total: None,
    on_match: Callable[[SavedMatch], None] = lambda match: None,
    allow_code: Sequence[str] = (),
    allow_programs: Collection[str] | None = (),
    check: bool = False,
    stall_seconds: float = SILENT_SECONDS,
    stop: Callable[[], bool] = lambda: False,
) -> Standings | None:
    """Play the rest of a tournament in the folder `path`, and write its report.

    Args:
        matches_at_once: number of concurrent games; None: chosen by the machine and the agents.
        progress: called before the first game and after each.
        on_match: called with each saved game, and with each game that ends, before `progress`.
        allow_code: custom outcomes "module:name" that runs may name.
        allow_programs: commands of engines that may be started; None: all, if the tournament is not from a file.
        check: only check the tournament; nothing is written, and None is returned.
        stall_seconds: time without a move or a batch of evaluations after which the process of a game is killed.
        stop: as for `play_all`.

    Raises:
        AthenanError: an error was found before the first game.
        ArenaError: the folder is another tournament's, damaged or in use, or cannot be written.
        ExperimentError: several processes in a row ended by themselves.
        KeyboardInterrupt: Ctrl-C was pressed, or `stop` returned True; finished games are written.
    """
    entrants = Entrants(tournament, allow_code, allow_programs)
    folder = TournamentFolder(path, tournament, entrants.checkpoints(), entrants.counts)
    known = folder.openings()
    contestants = entrants.loaded()
    if check:
        _openings(entrants, contestants, known)
        return None
    with folder.locked():
        known = folder.openings()  # another process may have started the tournament meanwhile
        openings = _openings(entrants, contestants, known)
        if known is None:
            folder.begin(openings)
        folder.repair()
        failures = _play(
            entrants, contestants, openings, folder, matches_at_once, progress, on_match, stall_seconds, stop
        )
        return _write_report(entrants, folder, openings, failures)


def report_tournament(
    tournament: Tournament, path: str | os.PathLike[str], allow_code: Sequence[str] = ()
) -> Standings:
    """Write the report of the games in the folder `path`, finished or not.

    Raises:
        ConfigError: the folder has no tournament.
        AthenanError: as `run_tournament`.
    """
    entrants = Entrants(tournament, allow_code, None)  # no agent plays
    folder = TournamentFolder(path, tournament, entrants.checkpoints(), entrants.counts)
    folder.require_begun()
    openings = folder.openings()
    assert openings is not None, "the folder is not new"
    return _write_report(entrants, folder, openings)


def _write_report(
    entrants: Entrants,
    folder: TournamentFolder,
    openings: Mapping[str, OpeningSet],
    failures: Sequence[FailedMatch] = (),
) -> Standings:
    origins = {game: one.told for game, one in openings.items()}
    specs = {name: spec.text for name, spec in entrants.specs.items()}
    first = {spec: first_mover_of(game) for spec, game in entrants.games.items()}
    players = {spec: game.num_players() for spec, game in entrants.games.items()}
    matches = folder.matches(openings)
    standings = Standings(
        entrants.tournament, matches, origins, entrants.without_limit, specs, failures, first, players
    )
    for name, content in (report_files(standings) | plot_files(standings)).items():
        folder.write(name, content)
    return standings


def _openings(
    entrants: Entrants,
    contestants: Mapping[tuple[str, str], Contestant],
    known: Mapping[str, OpeningSet] | None,
) -> dict[str, OpeningSet]:
    """Returns the openings of each game: those of the folder, or new ones.

    Checks that a file of openings has not changed, and that the agents can start after the openings.
    """
    tournament = entrants.tournament
    found = dict(known or {})
    for spec, game in entrants.games.items():
        if known is None or tournament.openings.kind != "balanced":
            found[spec] = opening_set(game, tournament.openings, entrants.counts[spec], tournament.seed)
            if known is not None and known[spec].openings != found[spec].openings:
                raise ConfigError.at("openings", f"of {spec} have changed since the tournament started")
        else:
            require_openings(game, found[spec].openings)
    for (spec, _), contestant in contestants.items():
        contestant.require_openings(found[spec].openings)
    return found


def _play(
    entrants: Entrants,
    contestants: Mapping[tuple[str, str], Contestant],
    openings: Mapping[str, OpeningSet],
    folder: TournamentFolder,
    matches_at_once: int | None,
    progress: Progress,
    on_match: Callable[[SavedMatch], None],
    stall_seconds: float,
    stop: Callable[[], bool],
) -> list[FailedMatch]:
    """Play the remaining games, and return the games that failed."""
    tournament = entrants.tournament
    played: set[MatchKey] = set()
    failures: list[FailedMatch] = []

    meeting = set(tournament.pairs())
    pairs: list[Pair] = [(game, *agents) for game in tournament.games for agents in tournament.pairs()]
    sprt = tournament.sequential
    tests = {} if sprt is None else {pair: SequentialTest(sprt) for pair in pairs}

    def is_open(pair: Pair) -> bool:
        return pair not in tests or tests[pair].verdict is None

    def add(match: SavedMatch) -> None:
        played.add(key := key_of(match, meeting))
        on_match(match)
        if key[:3] in tests:
            tests[key[:3]].add(match.number, match.result.points(match.colour))

    for match in folder.matches(openings):
        add(match)
    left: list[tuple[Pair, list[Fixture]]] = []
    for pair in filter(is_open, pairs):
        planned = fixtures_of(entrants.games[pair[0]], openings[pair[0]].openings, tournament.seed)
        fixtures = [f for f in planned if (*pair, f.number, f.colour) not in played]
        if fixtures:
            left.append((pair, fixtures))
    progress(len(played), tournament.match_count())

    def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
        game, *agents = left[index][0]
        specs = [entrants.specs[name].text for name in agents]
        match = SavedMatch.of_series(game, agents, specs, fixture, tournament.seed, result)
        folder.append(match)
        add(match)
        progress(len(played), tournament.match_count())

    def on_failure(index: int, fixture: Fixture, reason: str) -> None:
        pair = left[index][0]
        if pair in tests:
            tests[pair].drop(fixture.number)
        failures.append(FailedMatch(*pair, fixture.number, reason))

    play_all(
        [
            Encounter(
                entrants.games[game], sides_by_agent([contestants[game, name].players for name in agents]), fixtures
            )
            for (game, *agents), fixtures in left
        ],
        on_result,
        forfeits=True,
        at_once=matches_at_once,
        wanted=lambda index: is_open(left[index][0]),
        on_failure=on_failure,
        silent_seconds=stall_seconds,
        stop=stop,
    )
    return failures

"""Settings of a tournament, and tournament files: TOML, parsed strictly. Every error message has the line.

name = "connect_four"
game = "connect_four"            # or games = [...]
agents = ["runs/c4", "mcts:100"] # or [agents] with a name for each spec
pool = ["random"]                # if given, agents meet only these
matches = 20                     # games of each pair, for each game
limit = "0.1s"                   # limit per move, for all agents
anchor = "random"

[openings]
kind = "balanced"
plies = 4

[sequential]
elo0 = 0
elo1 = 50
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from athenan_spiel.arena.sprt import Sprt
from athenan_spiel.arena.toml_tables import LONGEST_NAME, TomlTables, dotted
from athenan_spiel.config import NONE, Settings
from athenan_spiel.config.converter import names_of, to_plain
from athenan_spiel.config.settings import OpeningPlies, Range
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.training.settings_file import read_users_toml

OpeningKind = Literal["random", "file", "balanced"]

MOST_AGENTS = 1_000
MOST_MATCHES = 2_000_000
"""Maximum number of games of a tournament."""
MOST_SEED = 2**62


@dataclass(frozen=True, kw_only=True)
class OpeningsConfig(Settings):
    """How games start. Each opening is played with both colours and by every pair at a game."""

    table: ClassVar[str] = "openings."

    kind: OpeningKind = "random"
    """`random` plies, the first openings of a `file`, or `balanced`: random ones of nearly equal value."""
    plies: OpeningPlies = 2
    """Length of random and balanced openings, in actions."""
    file: str | None = None
    """File with one opening per line: moves by name or number, separated by spaces."""
    judge: str | None = None
    """Agent spec of the judge of balanced openings; by default UBFM over random playouts."""
    bound: Annotated[float, Range(0, above=True)] = 0.25
    """Maximum absolute value of a balanced opening, on the judge's scale (a win is 1, or the outcome's terminal value).
    """

    def check(self) -> None:
        """Check that a file and a judge are given for the kinds that use them."""
        for name, kind in (("file", "file"), ("judge", "balanced")):
            if getattr(self, name) is not None and self.kind != kind:
                raise ConfigError.at(f"openings.{name}", f"is for openings.kind = {kind!r}, got {self.kind!r}")
        if self.kind == "file" and not self.file:
            raise ConfigError.at("openings.file", "must be given if openings.kind is 'file'")


def openings_from(openings: str | None, judge: str | None, plies: int) -> OpeningsConfig:
    """Returns the openings of command-line options: a file or "balanced"; None: random plies.

    Raises:
        ConfigError: a judge is given for openings that are not balanced.
    """
    if judge is not None and openings != "balanced":
        raise ConfigError(f"--judge is for --openings balanced, got {shown(openings)}")
    if openings in (None, "balanced"):
        return OpeningsConfig(kind="random" if openings is None else "balanced", plies=plies, judge=judge)
    return OpeningsConfig(kind="file", file=openings)


@dataclass(frozen=True, kw_only=True)
class Tournament(Settings):
    """A round robin at some games; with a pool, agents meet only the agents of the pool.

    Raises:
        ConfigError: agents, pool, games or numbers are inconsistent.
    """

    name: str
    """Name of the tournament and its folder."""
    games: tuple[str, ...]
    """OpenSpiel game strings."""
    agents: dict[str, str]
    """Agent specs by name."""
    pool: dict[str, str] = field(default_factory=dict)
    """Specs of the pool by name; its agents don't meet each other."""
    matches: int = 100
    """Games per pair and game, half with each colour; for n > 2 players a multiple of 2n; fewer with `sequential`."""
    openings: OpeningsConfig = field(default_factory=OpeningsConfig)
    sequential: Sprt | None = None
    """Sequential test that may end a pair's games early."""
    limit: str | None = None
    """Limit of all agents, such as `0.1s`, `200i` or `5000e` per move; None: the limits of their specs."""
    anchor: str | None = None
    """Agent with rating 0; None: the mean rating is 0."""
    confidence: float = 0.95
    """Confidence level of the intervals."""
    seed: Annotated[int, Range(0, MOST_SEED)] = 0
    """Seed of the openings, the rolls, the agents and the bootstrap."""

    def check(self) -> None:
        """Checks that agents, pool, games and numbers are consistent."""
        names = [*self.agents, *self.pool]
        if twice := next((name for name in self.agents if name in self.pool), None):
            raise ConfigError.at("pool", f"must not contain agents of agents, got {shown(twice)} in both")
        if len(self.agents) < (1 if self.pool else 2):
            raise ConfigError.at("agents", f"must be at least two, or one and a pool, got {shown(list(self.agents))}")
        if len(names) > MOST_AGENTS:
            raise ConfigError.at("agents", f"must be at most {MOST_AGENTS:,} with the pool, got {len(names):,}")
        self.require(self.matches >= 2 and self.matches % 2 == 0, "matches", "even and at least 2, for both colours")
        if self.match_count() > MOST_MATCHES:
            raise ConfigError.at("matches", f"must be at most {MOST_MATCHES:,} in total, got {self.match_count():,}")
        self.require(0 < self.confidence < 1, "confidence", "between 0 and 1")
        if self.anchor is not None and self.anchor not in names:
            raise ConfigError.at("anchor", f"must be one of the agents {', '.join(names)}; got {shown(self.anchor)}")

    @property
    def specs(self) -> dict[str, str]:
        """The specs of all agents by name, those of the pool last."""
        return {**self.agents, **self.pool}

    def pairs(self) -> list[tuple[str, str]]:
        """Returns the pairs, the contender first."""
        if self.pool:
            return list(itertools.product(self.agents, self.pool))
        return list(itertools.combinations(self.agents, 2))

    def match_count(self) -> int:
        """Returns the maximum number of games."""
        return len(self.games) * len(self.pairs()) * self.matches

    def to_json(self) -> dict[str, Any]:
        """Returns the tournament as JSON values; they are equal if and only if the tournaments are."""
        values: dict[str, Any] = to_plain(self)
        return values


def read_tournament(path: str | Path) -> Tournament:
    """Read the tournament file at `path`. Its file of openings, if any, is relative to the same folder.

    Raises:
        ConfigError: the file cannot be read, or as `tournament_of`.
    """
    tournament = tournament_of(read_users_toml(path), printable(str(path)))
    if (file := tournament.openings.file) is not None:
        relative = str(Path(path).parent / file)
        return dataclasses.replace(tournament, openings=dataclasses.replace(tournament.openings, file=relative))
    return tournament


def tournament_of(text: str, source: str) -> Tournament:
    """Parse a tournament.

    Args:
        text: TOML.
        source: the file's name, for messages.

    Raises:
        ConfigError: the text is not TOML, or a key is unknown, of a wrong type, out of range or contradicts another
        one.
    """
    file = TomlTables(text, source)
    file.known_keys((), file.table, ("game", *names_of(Tournament)))
    settings = {key: value for key, value in file.table.items() if key != "game"}
    settings |= {"name": file.folder_name_at(("name",)), "games": _games(file), "agents": _agents(file, "agents")}
    if "pool" in settings:
        settings["pool"] = _agents(file, "pool")
    for key in ("anchor", "limit"):
        if settings.get(key) == NONE:  # it would mean "not set", but an agent may have this name
            raise file.error((key,), f"{key} must not be {NONE!r}: leave it out")
    sequential = file.table_at(("sequential",))
    for name in ("elo0", "elo1") if "sequential" in settings else ():
        if name not in sequential:
            raise file.error(("sequential",), f"sequential must have {name}, got {shown(sorted(sequential))}")
    tournament: Tournament = file.settings_of(Tournament, (), settings)
    return tournament


def named(specs: Sequence[str], key: str = "agents") -> dict[str, str]:
    """Returns agents whose names are their specs.

    Args:
        key: setting that contains them, for messages.

    Raises:
        ConfigError: two are equal.
    """
    if twice := next((spec for spec, count in Counter(specs).items() if count > 1), None):
        raise ConfigError.at(key, f"must differ, got {shown(twice)} twice: in a file [{key}] can name them apart")
    return {spec: spec for spec in specs}


def _games(file: TomlTables) -> tuple[str, ...]:
    if ("game" in file.table) == ("games" in file.table):
        got = "both" if "game" in file.table else "neither"
        raise file.error(("games",), f"games or game must be given, got {got}")
    return (file.text_at(("game",)),) if "game" in file.table else file.texts_at(("games",))


def _agents(file: TomlTables, key: str) -> dict[str, str]:
    if isinstance(file.table.get(key), dict):
        for name in file.table[key]:
            file.require_name((key, name), f"the name of {dotted((key, name))}", name)
            file.text_at((key, name))
        return dict(file.table[key])
    specs = file.required((key,), list, "a list of texts")
    for spec in specs:
        if type(spec) is not str or not spec:
            raise file.error((key,), f"{key} must be a list of texts, got {shown(spec)} in it")
        if len(spec) > 10 * LONGEST_NAME or not spec.isprintable():
            raise file.error((key,), f"{key}: the spec {shown(spec)} is too long for a name: give it one in [{key}]")
    with file.errors_at((key,)):
        return named(specs, key)

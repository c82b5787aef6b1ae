"""What a tournament is: games, agents, who meets whom, from which openings, and when a pair has played enough.

Everything here is frozen and without a file; `tournament_file` reads it.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from athenan_spiel.arena.sprt import Sprt
from athenan_spiel.config import Settings
from athenan_spiel.config.settings import OpeningPlies, Range
from athenan_spiel.errors import ConfigError, shown

OpeningKind = Literal["random", "file", "balanced"]

MOST_AGENTS = 1_000
MOST_MATCHES = 2_000_000
"""Of a whole tournament."""


@dataclass(frozen=True, kw_only=True)
class OpeningsConfig(Settings):
    """How matches begin; each opening is played with both colours, the same ones by every pair at a game."""

    table: ClassVar[str] = "openings."

    kind: OpeningKind = "random"
    """`random` plies; those of a `file`, the first ones of it; or `balanced`: random ones of near equal value."""
    plies: OpeningPlies = 2
    """The length of random and balanced openings, in actions."""
    file: str | None = None
    """A line for each opening: its moves by name or number, with spaces between."""
    judge: str | None = None
    """Whose values say what is balanced, in an agent's words; none: UBFM over random playouts."""
    bound: Annotated[float, Range(0, above=True)] = 0.25
    """The largest size of a balanced opening's value, on the judge's own scale (a win is 1, or the outcome's worth)."""

    def check(self) -> None:
        """A file is for the kind that has one, and so is a judge."""
        for name, kind in (("file", "file"), ("judge", "balanced")):
            if getattr(self, name) is not None and self.kind != kind:
                raise ConfigError.at(f"openings.{name}", f"is for openings.kind = {kind!r}, got {self.kind!r}")
        if self.kind == "file" and not self.file:
            raise ConfigError.at("openings.file", "must be given where openings.kind is 'file'")


def openings_from(openings: str | None, judge: str | None, plies: int) -> OpeningsConfig:
    """What the command line says: a file or "balanced"; none: random plies.

    Raises:
        ConfigError: a judge is given for openings that are not to be balanced.
    """
    if judge is not None and openings != "balanced":
        raise ConfigError(f"--judge is for --openings balanced, got {shown(openings)}")
    if openings in (None, "balanced"):
        return OpeningsConfig(kind="random" if openings is None else "balanced", plies=plies, judge=judge)
    return OpeningsConfig(kind="file", file=openings)


@dataclass(frozen=True, kw_only=True)
class SequentialConfig(Settings):
    """The sequential test that ends a pair's matches before their count does; see `sprt`."""

    table: ClassVar[str] = "sequential."

    elo0: float
    """H0: the first agent of a pair is so many Elo points ahead."""
    elo1: float
    """H1: the same."""
    alpha: float = 0.05
    """The probability to accept H1 where H0 holds."""
    beta: float = 0.05
    """The probability to accept H0 where H1 holds."""

    def check(self) -> None:
        """As for `Sprt`."""
        try:
            self.sprt()
        except ConfigError as error:
            name = next((name for name in ("alpha", "beta") if str(error).startswith(name)), "elo0")
            raise ConfigError.at(f"sequential.{name}", f": {error}") from None

    def sprt(self) -> Sprt:
        """The test."""
        return Sprt(**dataclasses.asdict(self))


@dataclass(frozen=True, kw_only=True)
class Tournament:
    """Agents that meet at some games: all each other, or where there is a pool all of the pool and no other.

    Attributes:
        name: also that of the folder.
        games: OpenSpiel game strings.
        agents: the agents' words by their names.
        pool: those of agents that do not meet each other, only `agents`; if there are any, `agents` meet only these.
        matches: of a pair at a game, half with each colour; with `sequential` at most so many.
        limit: thinking a move of all agents, as `0.1s`, `200i` or `5000e`; none: as their words say.
        anchor: the agent whose rating is 0; none: the mean of all is.
        confidence: of the intervals.
        seed: of the openings, the agents and the bootstrap.

    Raises:
        ConfigError: agents, pool and games do not make a tournament.
    """

    name: str
    games: tuple[str, ...]
    agents: Mapping[str, str]
    pool: Mapping[str, str] = field(default_factory=dict)
    matches: int = 100
    openings: OpeningsConfig = field(default_factory=OpeningsConfig)
    sequential: SequentialConfig | None = None
    limit: str | None = None
    anchor: str | None = None
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        names = [*self.agents, *self.pool]
        if twice := next((name for name in self.agents if name in self.pool), None):
            raise ConfigError.at("pool", f"must hold other agents than agents, got {shown(twice)} in both")
        if len(self.agents) < (1 if self.pool else 2):
            raise ConfigError.at("agents", f"must be at least two, or one and a pool, got {shown(list(self.agents))}")
        if len(names) > MOST_AGENTS:
            raise ConfigError.at("agents", f"must be at most {MOST_AGENTS:,} with the pool, got {len(names):,}")
        if self.matches < 2 or self.matches % 2:
            raise ConfigError.at("matches", f"must be even and at least 2, for both colours, got {shown(self.matches)}")
        if self.match_count() > MOST_MATCHES:
            raise ConfigError.at("matches", f"come to {self.match_count():,} in all, at most are {MOST_MATCHES:,}")
        if not 0 < self.confidence < 1:
            raise ConfigError.at("confidence", f"must be between 0 and 1, got {shown(self.confidence)}")
        if self.anchor is not None and self.anchor not in names:
            raise ConfigError.at("anchor", f"must be one of the agents {', '.join(names)}; got {shown(self.anchor)}")

    @property
    def words(self) -> dict[str, str]:
        """The words of all agents, those of the pool after the others, by their names."""
        return {**self.agents, **self.pool}

    @property
    def sprt(self) -> Sprt | None:
        """The sequential test of each pair; None without one."""
        return None if self.sequential is None else self.sequential.sprt()

    def pairs(self) -> list[tuple[str, str]]:
        """Who meets whom, the contender first."""
        if self.pool:
            return list(itertools.product(self.agents, self.pool))
        return list(itertools.combinations(self.agents, 2))

    def match_count(self) -> int:
        """How many matches there are, at most."""
        return len(self.games) * len(self.pairs()) * self.matches

    def to_json(self) -> dict[str, Any]:
        """As JSON values; equal if and only if the tournaments are."""
        table = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        table["openings"] = dataclasses.asdict(self.openings)
        table["sequential"] = None if self.sequential is None else dataclasses.asdict(self.sequential)
        table["agents"], table["pool"] = dict(self.agents), dict(self.pool)
        values: dict[str, Any] = json.loads(json.dumps(table))  # tuples become lists
        return values

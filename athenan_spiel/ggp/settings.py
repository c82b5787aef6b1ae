"""Settings of a general game playing series, and their files: TOML, parsed strictly.

name = "small"
games = ["connect_four", "hex(board_size=7)", "ludii(game=Surakarta)"]
seconds = 180                   # training time of each game
matches = 20                    # games against each opponent
move_seconds = 0.1              # time per move

[seconds_of]                    # games with another training time
"hex(board_size=7)" = 600

[draw]                          # instead of games, or in addition to them
count = 50
sources = ["openspiel", "ludii"]
seed = 1
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from athenan_spiel.arena.contestant import parse_agents
from athenan_spiel.arena.toml_tables import TomlTables
from athenan_spiel.arena.tournament_settings import named
from athenan_spiel.config import Settings
from athenan_spiel.config.converter import names_of, to_plain
from athenan_spiel.config.settings import OpeningPlies, Range
from athenan_spiel.errors import ConfigError, nearest, shown
from athenan_spiel.ggp.draw import SOURCES, drawn_games
from athenan_spiel.training.settings_file import read_users_toml

MOST_GAMES = 2_000
MOST_SEED = 2**62
STAGES = (1.0,)
"""Fractions of the training time at which networks are saved."""


@dataclass(frozen=True, kw_only=True)
class Draw(Settings):
    """A random sample of the supported games."""

    table: ClassVar[str] = "draw."

    count: Annotated[int, Range(1, MOST_GAMES)]
    """Number of games. Each source supplies the same number, or all of its games."""
    sources: tuple[str, ...] = SOURCES
    """Where the games come from: all of OpenSpiel's that can be trained, and all of Ludii's in the published sweep."""
    seed: Annotated[int, Range(0, MOST_SEED)] = 0
    """Random seed of the draw."""

    def check(self) -> None:
        """Checks that the sources exist and differ."""
        known = set(self.sources) <= set(SOURCES) and len(set(self.sources)) == len(self.sources) > 0
        self.require(known, "sources", f"some of {', '.join(SOURCES)}")


@dataclass(frozen=True, kw_only=True)
class GgpSettings(Settings):
    """A general game playing series.

    Raises:
        ConfigError: no game is given, one is given twice, or `seconds_of` names another game.
        AgentError: the spec of an opponent is invalid, or names a program.
    """

    name: str
    """Name of the series and its folder."""
    games: tuple[str, ...]
    """OpenSpiel game strings."""
    seconds: Annotated[float, Range(0, above=True)] = 180.0
    """Training time of each game, in seconds."""
    seconds_of: dict[str, float] = field(default_factory=dict)
    """Training times of single games, in seconds."""
    matches: Annotated[int, Range(2, 10_000)] = 20
    """Games against each opponent, half with each colour; with n > 2 players rounded up to a multiple of 2n."""
    move_seconds: Annotated[float, Range(0, above=True)] = 0.1
    """Time per move of the trained agents, and of the usual opponents, in seconds."""
    opening_plies: OpeningPlies = 2
    """Random actions at the start of a game; each opening is played with both colours."""
    opponents: tuple[str, ...] = ()
    """Agent specs, such as `mcts:1000`. Empty: OpenSpiel's MCTS with the same time per move, and for Ludii's games
    Ludii's UCT and the AI that Ludii recommends."""
    memory: int | None = None
    """Memory budget of each training, in bytes; None: no budget."""
    seed: Annotated[int, Range(0, MOST_SEED)] = 0
    """Random seed of trainings, openings and agents."""

    def check(self) -> None:
        """Checks the games, that `seconds_of` names some of them, and the specs of the opponents."""
        if not self.games or len(self.games) > MOST_GAMES:
            raise ConfigError.at("games", f"must be 1 to {MOST_GAMES:,} games, got {len(self.games):,}")
        if twice := next((game for i, game in enumerate(self.games) if game in self.games[:i]), None):
            raise ConfigError.at("games", f"must differ, got {shown(twice)} twice")
        for game, seconds in self.seconds_of.items():
            if game not in self.games:
                hint = nearest(game, self.games) or ": it is not in games"
                raise ConfigError.at("seconds_of", f"names {shown(game)}{hint}")
            if not seconds > 0:
                raise ConfigError.at("seconds_of", f"must be above 0, got {shown(seconds)} for {shown(game)}")
        parse_agents(named(self.opponents, "opponents"), None, (), ())
        self.require(self.matches % 2 == 0, "matches", "even and at least 2, for both colours")

    def training_seconds(self, game: str) -> float:
        """Returns the training time of `game`, in seconds."""
        return self.seconds_of.get(game, self.seconds)

    def opponents_of(self, game: str, recommended: str = "") -> tuple[str, ...]:
        """Returns the specs of the opponents at `game`.

        Args:
            recommended: Ludii's name of the AI that it recommends for the game; empty without a recommendation.
        """
        if self.opponents:
            return self.opponents
        names = ["ludii:UCT"] if game.startswith("ludii(") else ["mcts"]
        if recommended not in ("", "UCT"):
            names.append("ludii:Ludii AI")
        return tuple(f"{name}@{self.move_seconds:g}s" for name in names)

    def to_json(self) -> dict[str, Any]:
        """Returns the settings as JSON values; they are equal if and only if the settings are."""
        values: dict[str, Any] = to_plain(self)
        return values


def read_ggp(path: str | Path) -> GgpSettings:
    """Read the file at `path`.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or a key is unknown, of a wrong type, out of range or
            contradicts another one.
    """
    file = TomlTables(read_users_toml(path), str(path))
    file.known_keys((), file.table, (*names_of(GgpSettings), "draw"))
    settings = {key: value for key, value in file.table.items() if key != "draw"}
    settings["name"] = file.folder_name_at(("name",))
    games = (
        list(file.texts_at(("games",), most=MOST_GAMES)) if "games" in file.table or "draw" not in file.table else []
    )
    if "draw" in file.table:
        draw = file.settings_at(Draw, ("draw",), {})
        games = list(dict.fromkeys(itertools.chain(games, drawn_games(draw.count, draw.sources, draw.seed))))
    found: GgpSettings = file.settings_of(GgpSettings, (), {**settings, "games": games})
    return found

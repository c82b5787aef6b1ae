"""Settings of an experiment: variants, games, repetitions, and the protocol of the article's Section 3.3.

The classes are frozen and independent of files; `file` reads them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from athenan_spiel.config import MinimaxConfig, SearchConfig, Settings, TrainingConfig
from athenan_spiel.config.converter import to_plain
from athenan_spiel.config.search import DecisionName
from athenan_spiel.config.settings import OpeningPlies, Range
from athenan_spiel.errors import ConfigError, shown

Opponents = Literal["all", "repetition", "none"]
Stages = Literal["all", "last"]
Spacing = Literal["equal", "doubling"]

MOST_STAGES = 1_000
MOST_DOUBLINGS = 20
"""Maximum number of stages with doubling distances: the first is after a millionth of the training."""
MOST_PAIRING_MATCHES = 10_000
MOST_RESAMPLES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ProtocolConfig(Settings):
    """How trained networks are compared."""

    table: ClassVar[str] = "protocol."

    stages: Annotated[int, Range(1, MOST_STAGES)] = 4
    """Number of saved networks per training, the last one at its end. The article: 48."""
    spacing: Spacing = "equal"
    """Shares of the training at which networks are saved: `equal` distances (the article), or `doubling`, each share
    twice the one before, which shows more of the start."""
    matches: Annotated[int, Range(2, MOST_PAIRING_MATCHES)] = 2
    """Games between two networks, half with each colour. The article: 2."""
    opening_plies: OpeningPlies = 0
    """Random actions at the start of a game; each opening is played with both colours. The article: 0."""
    opponents: Opponents = "all"
    """Opponents of a final network: `all` other final networks of the game (the article), those of its own
    `repetition`, which costs less, or `none`: networks only meet those of [fixed]."""
    confidence: float = 0.95
    """Confidence level of the intervals."""
    resamples: Annotated[int, Range(1, MOST_RESAMPLES)] = 10_000
    """Number of resamples of the bootstrap."""

    def check(self) -> None:
        """Check that both colours are played, and that numbers are in range."""
        if self.spacing == "doubling":
            self.require(self.stages <= MOST_DOUBLINGS, "stages", f"at most {MOST_DOUBLINGS}")
        self.require(self.matches % 2 == 0, "matches", "even and at least 2")
        self.require(0 < self.confidence < 1, "confidence", "between 0 and 1")

    def shares(self) -> tuple[float, ...]:
        """Returns the share of the training at each stage; the last is 1."""
        if self.spacing == "doubling":
            return tuple(2.0 ** (stage - self.stages) for stage in range(1, self.stages + 1))
        return tuple(stage / self.stages for stage in range(1, self.stages + 1))


@dataclass(frozen=True, kw_only=True)
class PlayConfig(Settings):
    """Search and decision of a trained network in the games that measure it.

    Unset options of PUCT, Gumbel and ExIt keep the values of the network's training, if it used the same search.
    """

    table: ClassVar[str] = "play."
    inline: ClassVar[str] = "search"

    search: MinimaxConfig | SearchConfig = field(default_factory=MinimaxConfig)
    """Search: minimax of depth 1 needs no limit (the article, Section 3.3); the others are those of training."""
    decision: DecisionName = "best"
    """Decision rule: `best` value (Algorithm 11); `safest`, the most visited action (Algorithm 13, UBFM_s); `securest`,
    which prefers to secure a draw (Remark 16); or the rule of the `search`, which Gumbel has."""

    def check(self) -> None:
        """Check that depth-1 minimax decides by value, and that no option is for training only."""
        if isinstance(self.search, MinimaxConfig):
            self.require(self.decision == "best", "decision", "'best' for 'minimax'")
        for name in self.search.for_training:
            if (value := getattr(self.search, name)) is not None:
                raise ConfigError.at(f"play.{name}", f"must be none, as it is for training, got {shown(value)}")

    def search_config(self) -> SearchConfig:
        """Return the settings of the search, with UBFM for minimax."""
        return self.search.as_ubfm() if isinstance(self.search, MinimaxConfig) else self.search


@dataclass(frozen=True, kw_only=True)
class FixedConfig(Settings):
    """How networks meet fixed opponents, which are not trained here."""

    table: ClassVar[str] = "fixed."

    matches: Annotated[int, Range(2, MOST_PAIRING_MATCHES)] = 20
    """Games of a network against each opponent, half with each colour. *Minimax Strikes Back*, 3.1.1: 400; article,
    8.5: 200."""
    opening_plies: OpeningPlies = 2
    """Random actions at the start of a game; each opening is played with both colours. The papers: 0."""
    stages: Stages = "all"
    """Stages whose networks meet them: `all`, which gives learning curves, or the `last`."""

    def check(self) -> None:
        """Check that both colours are played."""
        self.require(self.matches % 2 == 0, "matches", "even and at least 2")


@dataclass(frozen=True, kw_only=True)
class FixedOpponent:
    """A fixed opponent.

    Attributes:
        name: name in reports; by default its spec.
        spec: agent spec.
        games, variants: games and variants that it meets.
    """

    name: str
    spec: str
    games: tuple[str, ...]
    variants: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FixedPool:
    """The fixed opponents.

    Attributes:
        play: how networks play against them; None: as their variants play.
    """

    opponents: tuple[FixedOpponent, ...]
    config: FixedConfig
    play: PlayConfig | None


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A variant: how networks are trained and how they play.

    Attributes:
        games: the games that it plays.
    """

    name: str
    training: TrainingConfig
    play: PlayConfig
    games: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Variants, each trained `repetitions` times on each of its games. Variants with equal training share networks.

    Attributes:
        games: OpenSpiel game strings.
        seed: random seed of trainings, games and the bootstrap.
        fixed: fixed opponents, if there are any.
    """

    name: str
    games: tuple[str, ...]
    repetitions: int
    seed: int = 0
    protocol: ProtocolConfig = field(default_factory=ProtocolConfig)
    variants: tuple[Variant, ...]
    fixed: FixedPool | None = None

    def variants_of(self, game: str) -> list[Variant]:
        """Returns the variants that play `game`."""
        return [variant for variant in self.variants if game in variant.games]

    def at(self, games: tuple[str, ...]) -> Experiment:
        """Returns the experiment at a subset of its games, without variants and opponents that play none of them."""
        variants = [dataclasses.replace(v, games=_common(v.games, games)) for v in self.variants]
        left = tuple(variant for variant in variants if variant.games)
        fixed = self.fixed
        if fixed is not None:
            names = tuple(variant.name for variant in left)
            met = [
                dataclasses.replace(o, games=_common(o.games, games), variants=_common(o.variants, names))
                for o in fixed.opponents
            ]
            opponents = tuple(o for o in met if o.games and o.variants)
            fixed = dataclasses.replace(fixed, opponents=opponents) if opponents else None
        return dataclasses.replace(self, games=games, variants=left, fixed=fixed)

    def to_json(self) -> dict[str, Any]:
        """Returns the experiment as JSON values; they are equal if and only if the experiments are."""
        table: dict[str, Any] = to_plain(self)
        if self.fixed is None:
            del table["fixed"]  # as in files of versions without it
        return table


def _common(names: tuple[str, ...], some: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in some)

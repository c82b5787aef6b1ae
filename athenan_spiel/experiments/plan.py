"""Plan of an experiment: its trainings, its pairings, and the results of games.

The order of trainings and pairings depends only on the experiment. All variants run in one repetition before the next
starts. So an interrupted experiment has the same number of trainings of each variant, and other load of the machine
affects all variants equally.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.settings import Experiment, FixedConfig, FixedOpponent, PlayConfig, ProtocolConfig

LONGEST_SLUG = 240
"""Maximum length of a folder name, in bytes; file systems allow 255."""


@dataclass(frozen=True)
class Training:
    """One training.

    Attributes:
        name: the first variant with these training settings; other variants may share the training.
        repetition: its number, from 1.
        folder: its run folder, relative to the experiment's.
    """

    game: str
    name: str
    repetition: int
    config: TrainingConfig
    folder: Path


@dataclass(frozen=True, order=True)
class Entrant:
    """A network with a way to play: a variant, a repetition and a stage, both from 1."""

    variant: str
    repetition: int
    stage: int

    def __str__(self) -> str:
        return f"{self.variant} (repetition {self.repetition}, stage {self.stage})"


@dataclass(frozen=True)
class Pairing:
    """Two players that meet at a game; `b` is a network or the name of an opponent of [fixed]."""

    game: str
    a: Entrant
    b: Entrant | str

    @property
    def is_fixed(self) -> bool:
        """Whether the opponent is one of [fixed]."""
        return isinstance(self.b, str)

    @property
    def agents(self) -> tuple[str, str]:
        """The names of both players in saved games."""
        return str(self.a), str(self.b)


class GameResult(NamedTuple):
    """The result of one game of a pairing.

    Attributes:
        number: number of the opening, from 0; two games of a pairing share an opening.
        colour: player id of `pairing.a`.
        points: points of `pairing.a`, in [0, 1].
        failed: whether the game ended because a player failed.
    """

    pairing: Pairing
    number: int
    colour: int
    points: float
    failed: bool = False


class Plan:
    """The trainings and pairings of `experiment`.

    Attributes:
        variants: the variants by name.
        trained_as: maps each variant to the first one with equal training settings, whose networks it shares.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.variants = {variant.name: variant for variant in experiment.variants}
        self._trainings: dict[tuple[str, str, int], Training] = {}
        first: dict[TrainingConfig, str] = {}
        self.trained_as = {v.name: first.setdefault(v.training, v.name) for v in experiment.variants}

    def trainings(self) -> list[Training]:
        """Returns all trainings in the order in which they start."""
        found = {}
        for repetition in range(1, self.experiment.repetitions + 1):
            for game in self.experiment.games:
                for variant in self.experiment.variants_of(game):
                    training = self.training(game, variant.name, repetition)
                    found[training.folder] = training
        return list(found.values())

    def training(self, game: str, variant: str, repetition: int) -> Training:
        """Returns the training of a variant's network."""
        key = game, self.trained_as[variant], repetition
        if key not in self._trainings:
            seed = seed_of(self.experiment.seed, "training", *key)
            config = dataclasses.replace(self.variants[key[1]].training, seed=seed)
            folder = Path("trainings", slug(game), slug(key[1]), str(repetition))
            self._trainings[key] = Training(*key, config, folder)
        return self._trainings[key]

    def pairings(self) -> Iterator[Pairing]:
        """Yields the pairings of networks: final ones with each other, then earlier stages with final ones.

        No network meets itself, because it would certainly score half of the points.
        """
        if self.experiment.protocol.opponents == "none":
            return
        for game in self.experiment.games:
            yield from self._final(game)
        for game in self.experiment.games:
            yield from self._earlier(game)

    def pairing_count(self) -> int:
        """Returns the number of `pairings` without listing them."""
        if self.experiment.protocol.opponents == "none":
            return 0
        repetitions, earlier = self.experiment.repetitions, self.experiment.protocol.stages - 1
        count = 0
        for game in self.experiment.games:
            variants = len(self.experiment.variants_of(game))
            if self.experiment.protocol.opponents == "all":
                count += math.comb(repetitions * variants, 2)
            else:
                count += repetitions * math.comb(variants, 2)
            count += repetitions * variants * variants * earlier
        return count

    def match_count(self) -> int:
        """Returns the number of games of all pairings, including those with opponents of [fixed]."""
        fixed = self.experiment.fixed
        fixed_matches = 0 if fixed is None else self.fixed_count() * fixed.config.matches
        return self.pairing_count() * self.experiment.protocol.matches + fixed_matches

    def meeting(self, pairing: Pairing) -> ProtocolConfig | FixedConfig:
        """Returns the settings with the number of games of a pairing and the length of their openings."""
        fixed = self.experiment.fixed
        return fixed.config if pairing.is_fixed and fixed is not None else self.experiment.protocol

    def opponent(self, name: str) -> FixedOpponent:
        """Returns the opponent of [fixed] with this name."""
        assert self.experiment.fixed is not None, "it has opponents"
        return next(one for one in self.experiment.fixed.opponents if one.name == name)

    def play(self, pairing: Pairing, entrant: Entrant) -> PlayConfig:
        """Returns how a network plays in a pairing."""
        fixed = self.experiment.fixed if pairing.is_fixed else None
        return (fixed and fixed.play) or self.variants[entrant.variant].play

    def seeds(self, pairing: Pairing) -> tuple[int, int]:
        """Returns the seeds of a pairing's players and of its openings.

        All networks of a game meet the opponents of [fixed] from the same openings.
        """
        kind = "fixed" if pairing.is_fixed else "matches"
        seed = seed_of(self.experiment.seed, kind, dataclasses.astuple(pairing))
        return seed, seed_of(self.experiment.seed, "fixed openings", pairing.game) if pairing.is_fixed else seed

    def fixed_pairings(self) -> Iterator[Pairing]:
        """Yields the pairings with opponents of [fixed]: by repetition, then by stage."""
        fixed = self.experiment.fixed
        if fixed is None:
            return
        for repetition in range(1, self.experiment.repetitions + 1):
            for stage in self.fixed_stages():
                for game in self.experiment.games:
                    for variant in self.experiment.variants_of(game):
                        for opponent in fixed.opponents:
                            if game in opponent.games and variant.name in opponent.variants:
                                yield Pairing(game, Entrant(variant.name, repetition, stage), opponent.name)

    def fixed_count(self) -> int:
        """Returns the number of `fixed_pairings` without listing them."""
        fixed = self.experiment.fixed
        if fixed is None:
            return 0
        meetings = sum(
            game in opponent.games and variant.name in opponent.variants
            for opponent in fixed.opponents
            for game in self.experiment.games
            for variant in self.experiment.variants_of(game)
        )
        return meetings * self.experiment.repetitions * len(self.fixed_stages())

    def fixed_stages(self) -> list[int]:
        """Returns the stages whose networks meet the opponents of [fixed]."""
        last = self.experiment.protocol.stages
        fixed = self.experiment.fixed
        return [last] if fixed is not None and fixed.config.stages == "last" else [*range(1, last + 1)]

    def finals(self, game: str) -> list[Entrant]:
        """Returns the networks of the last stage at `game`."""
        repetitions = range(1, self.experiment.repetitions + 1)
        names = [variant.name for variant in self.experiment.variants_of(game)]
        return [Entrant(name, r, self.experiment.protocol.stages) for r in repetitions for name in names]

    def _final(self, game: str) -> Iterator[Pairing]:
        everyone = self.experiment.protocol.opponents == "all"
        for a, b in itertools.combinations(self.finals(game), 2):
            if everyone or a.repetition == b.repetition:
                yield Pairing(game, a, b)

    def _earlier(self, game: str) -> Iterator[Pairing]:
        """Yields pairings for learning curves: each stage meets the final networks of its repetition (Section 3.3)."""
        for _, group in itertools.groupby(self.finals(game), lambda player: player.repetition):
            for final, opponent in itertools.product(list(group), repeat=2):
                for stage in range(1, final.stage):
                    yield Pairing(game, dataclasses.replace(final, stage=stage), opponent)


def is_entrant(name: str) -> bool:
    """Returns whether `name` has the form of an `Entrant`'s name."""
    return re.fullmatch(r".* \(repetition \d+, stage \d+\)", name) is not None


def slug(name: str) -> str:
    """Returns `name` as a folder name; a long one is cut and ends with a part of its digest."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("_.") or "_"
    if len(encoded := plain.encode()) <= LONGEST_SLUG:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{encoded[: LONGEST_SLUG - 17].decode(errors='ignore')}-{digest}"


def seed_of(*parts: object) -> int:
    """Returns a seed in [0, 2^63) that depends on `parts` only."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1

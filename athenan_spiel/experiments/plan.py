"""What an experiment consists of: its trainings, and the pairings of networks that then play.

The order of both is fixed by the experiment. Repetitions come first in it, so an experiment that is cut short has done
as much of each variant, and what else the machine does falls on all of them alike.
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

from athenan_spiel.config import TrainingConfig
from athenan_spiel.experiments.settings import Experiment, PlayConfig, Variant

LONGEST_SLUG = 240
"""Bytes of a folder's name; file systems take 255."""


@dataclass(frozen=True)
class Training:
    """One training: of which game, under whose name, in which repetition.

    Attributes:
        name: of the first variant that is trained like this; others may share it.
        repetition: from 1.
        folder: its run folder, below the experiment's.
    """

    game: str
    name: str
    repetition: int
    config: TrainingConfig
    folder: Path


@dataclass(frozen=True, order=True)
class Entrant:
    """A network and how it plays: a variant's, of one repetition, at one stage (from 1)."""

    variant: str
    repetition: int
    stage: int


@dataclass(frozen=True)
class Pairing:
    """Two players that meet at a game, `ProtocolConfig.matches` times."""

    game: str
    a: Entrant
    b: Entrant


@dataclass(frozen=True)
class FixedPairing:
    """A player and an opponent of [fixed], by its name, that meet at a game, `FixedConfig.matches` times."""

    game: str
    player: Entrant
    opponent: str


class Plan:
    """The trainings and pairings of `experiment`."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self._variants = {variant.name: variant for variant in experiment.variants}
        self._trainings: dict[tuple[str, str, int], Training] = {}
        first: dict[TrainingConfig, str] = {}
        self._trained_as = {v.name: first.setdefault(v.training, v.name) for v in experiment.variants}

    def trainings(self) -> list[Training]:
        """All of them, in the order in which they are begun."""
        found = {}
        for repetition in range(1, self.experiment.repetitions + 1):
            for game in self.experiment.games:
                for variant in self.experiment.variants_of(game):
                    training = self.training(game, variant.name, repetition)
                    found[training.folder] = training
        return list(found.values())

    def training(self, game: str, variant: str, repetition: int) -> Training:
        """The training that a variant's network comes from."""
        key = game, self._trained_as[variant], repetition
        if key not in self._trainings:
            self._trainings[key] = self._training(*key)
        return self._trainings[key]

    def _training(self, game: str, name: str, repetition: int) -> Training:
        seed = seed_of(self.experiment.seed, "training", game, name, repetition)
        return Training(
            game=game,
            name=name,
            repetition=repetition,
            config=dataclasses.replace(self._variants[name].training, seed=seed),
            folder=Path("trainings") / slug(game) / slug(name) / str(repetition),
        )

    def trained_as(self, variant: str) -> str:
        """The name of the variant's trainings."""
        return self._trained_as[variant]

    def play(self, variant: str) -> PlayConfig:
        """How the variant plays."""
        return self._variants[variant].play

    def variant(self, name: str) -> Variant:
        """The variant of that name."""
        return self._variants[name]

    def pairings(self) -> Iterator[Pairing]:
        """First the final networks among each other, then those of earlier stages against the final ones.

        No network meets itself: of that, half of the points are known beforehand.
        """
        if self.experiment.protocol.opponents == "none":
            return
        for game in self.experiment.games:
            yield from self._final(game)
        for game in self.experiment.games:
            yield from self._earlier(game)

    def pairing_count(self) -> int:
        """How many `pairings` there are, without listing them."""
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
        """The matches of all pairings, with opponents of [fixed] too."""
        fixed = self.experiment.fixed
        of_pool = 0 if fixed is None else self.fixed_count() * fixed.config.matches
        return self.pairing_count() * self.experiment.protocol.matches + of_pool

    def fixed_pairings(self) -> Iterator[FixedPairing]:
        """The players with the opponents of [fixed]: the first repetition's, stage by stage, then the next one's."""
        fixed = self.experiment.fixed
        if fixed is None:
            return
        for repetition in range(1, self.experiment.repetitions + 1):
            for stage in self.fixed_stages():
                for game in self.experiment.games:
                    for variant in self.experiment.variants_of(game):
                        for opponent in fixed.opponents:
                            if game in opponent.games and variant.name in opponent.variants:
                                yield FixedPairing(game, Entrant(variant.name, repetition, stage), opponent.name)

    def fixed_count(self) -> int:
        """How many `fixed_pairings` there are, without listing them."""
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
        """The stages whose networks meet the opponents of [fixed]."""
        last = self.experiment.protocol.stages
        fixed = self.experiment.fixed
        return [last] if fixed is not None and fixed.config.stages == "last" else [*range(1, last + 1)]

    def finals(self, game: str) -> list[Entrant]:
        """The players of `game` with the networks of the last stage."""
        repetitions = range(1, self.experiment.repetitions + 1)
        names = [variant.name for variant in self.experiment.variants_of(game)]
        return [Entrant(name, r, self.experiment.protocol.stages) for r in repetitions for name in names]

    def _final(self, game: str) -> Iterator[Pairing]:
        everyone = self.experiment.protocol.opponents == "all"
        for a, b in itertools.combinations(self.finals(game), 2):
            if everyone or a.repetition == b.repetition:
                yield Pairing(game, a, b)

    def _earlier(self, game: str) -> Iterator[Pairing]:
        """Those of the learning curves: each stage against the final networks of the same repetition (Section 3.3)."""
        for _, group in itertools.groupby(self.finals(game), lambda player: player.repetition):
            for final, opponent in itertools.product(list(group), repeat=2):
                for stage in range(1, final.stage):
                    yield Pairing(game, dataclasses.replace(final, stage=stage), opponent)


def slug(name: str) -> str:
    """`name` as the name of a folder; what is too long for one is cut, and told apart by a part of its digest."""
    plain = re.sub(r"[^\w.-]+", "_", name).strip("_.") or "_"
    if len(encoded := plain.encode()) <= LONGEST_SLUG:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{encoded[: LONGEST_SLUG - 17].decode(errors='ignore')}-{digest}"


def seed_of(*parts: object) -> int:
    """A seed in [0, 2^63) that depends on all of `parts` and on nothing else."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1

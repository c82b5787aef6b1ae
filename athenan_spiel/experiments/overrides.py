"""Settings that replace those of an experiment file."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from athenan_spiel.errors import shown
from athenan_spiel.training.settings_file import KeyPath

LENGTH = ("seconds", "matches")
"""Limits of a training; an override of one replaces both, in [training] and in each variant."""


@dataclass(frozen=True, kw_only=True)
class Overrides:
    """Settings that replace those of the file, with the same checks. None keeps the file's.

    Attributes:
        games: a subset of the file's games; each training is the same as in the whole experiment.
        repetitions, seed: as at the top level of the file.
        seconds, matches: length of each training, also for variants with their own.
        stages, pairing_matches: as `stages` and `matches` of [protocol].
        fixed_matches: as `matches` of [fixed].
    """

    games: tuple[str, ...] | None = None
    repetitions: int | None = None
    seed: int | None = None
    seconds: float | None = None
    matches: int | None = None
    stages: int | None = None
    pairing_matches: int | None = None
    fixed_matches: int | None = None

    def given(self) -> dict[str, Any]:
        """Returns the overrides that are not None, by name."""
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    def paths(self) -> set[KeyPath]:
        """Returns the keys of the file that they replace."""
        return {_PATHS[name] for name in self.given()}

    def applied(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the file's `table` with all overrides but `games`, which need a parsed experiment."""
        result = copy.deepcopy(dict(table))
        given = self.given()
        if any(name in given for name in LENGTH):
            variants = result.get("variants")
            for part in (result.get("training"), *(variants.values() if isinstance(variants, dict) else ())):
                if isinstance(part, dict):
                    for name in LENGTH:
                        part.pop(name, None)
        for name, value in given.items():
            if name == "games":
                continue
            *tables, key = _PATHS[name]
            part = result
            for step in tables:
                part = part.setdefault(step, {})
            if isinstance(part, dict):  # the parser refuses anything else
                part[key] = value
        return result

    def __str__(self) -> str:
        return ", ".join(f"{name}={shown(value)}" for name, value in self.given().items())


_PATHS: Mapping[str, KeyPath] = {
    "games": ("games",),
    "repetitions": ("repetitions",),
    "seed": ("seed",),
    "seconds": ("training", "seconds"),
    "matches": ("training", "matches"),
    "stages": ("protocol", "stages"),
    "pairing_matches": ("protocol", "matches"),
    "fixed_matches": ("fixed", "matches"),
}

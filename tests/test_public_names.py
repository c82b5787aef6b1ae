"""What `athenan_spiel` offers: every setting, every error, and nothing that is not there."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import athenan_spiel as ath
from athenan_spiel import errors
from athenan_spiel.config import Settings
from athenan_spiel.config.settings import members_of

ROOT = Path(__file__).resolve().parent.parent
SHARED_NAMES: set[str] = set()
"""Names of several public classes. A renamed class leaves this list, and none is added."""


def settings_within(kind: type[Settings]) -> Iterator[type[Settings]]:
    """`kind`, and the classes of its fields that are settings themselves, also in a union."""
    yield kind
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        for member in members_of(hints[field.name]):
            yield from settings_within(member)


def test_all_settings_of_a_run_are_offered() -> None:
    kinds = list(settings_within(ath.TrainingConfig))
    assert ath.EncodingConfig in kinds
    assert [kind.__name__ for kind in kinds if getattr(ath, kind.__name__, None) is not kind] == []
    assert {kind.__name__ for kind in kinds} <= set(ath.__all__)


def test_all_errors_are_offered() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ath.AthenanError)]
    assert [kind.__name__ for kind in kinds if getattr(ath, kind.__name__, None) is not kind] == []


def test_all_names_are_there_and_in_order() -> None:
    assert [name for name in ath.__all__ if not hasattr(ath, name)] == []
    assert sorted(ath.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name)) == ath.__all__


def test_no_public_classes_share_a_name() -> None:
    names = Counter(
        statement.name
        for package in ("athenan_spiel", "agents", "ludii_bridge")
        for path in (ROOT / package).rglob("*.py")
        for statement in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES

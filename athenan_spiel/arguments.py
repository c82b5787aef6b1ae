"""Arguments of public functions, looked at where they come in: what is of no use there is refused before it is used."""

from __future__ import annotations

import numbers
from typing import Any

from athenan_spiel.errors import AthenanError, shown


def require_kind(
    name: str, value: object, kind: type[Any], error: type[AthenanError], *, or_none: bool = False
) -> None:
    """Raise `error` unless the argument called `name` is of that class, or None where it may be."""
    if not (isinstance(value, kind) or (or_none and value is None)):
        expected = f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}{' or None' if or_none else ''}"
        raise error(f"{name} must be {expected}, got {shown(value)}")


def require_callable(name: str, value: object, error: type[AthenanError], *, or_none: bool = False) -> None:
    """Raise `error` unless the argument called `name` can be called, or is None where it may be."""
    if not (callable(value) or (or_none and value is None)):
        raise error(f"{name} must be a function{' or None' if or_none else ''}, got {shown(value)}")


def require_whole(name: str, value: object, error: type[AthenanError]) -> None:
    """Raise `error` unless the argument called `name` is a whole number; true and false are none."""
    if not is_number(value) or not isinstance(value, numbers.Integral):
        raise error(f"{name} must be a whole number, got {shown(value)}")


def require_number(name: str, value: object, error: type[AthenanError]) -> None:
    """Raise `error` unless the argument called `name` is a number; true and false are none."""
    if not is_number(value):
        raise error(f"{name} must be a number, got {shown(value)}")


def is_number(value: object) -> bool:
    """Whether `value` is a real number, of Python's or of numpy's; true and false are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)

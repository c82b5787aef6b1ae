"""Checks of the arguments of public functions."""

from __future__ import annotations

import numbers
from typing import Any

from athenan_spiel.errors import AthenanError, shown


def require_kind(
    name: str, value: object, kind: type[Any], error: type[AthenanError], *, or_none: bool = False
) -> None:
    """Raises `error` unless `value` is an instance of `kind`, or is None and `or_none` is true.

    Args:
        name: name of the argument, for the message.
    """
    if not (isinstance(value, kind) or (or_none and value is None)):
        expected = f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}{' or None' if or_none else ''}"
        raise error(f"{name} must be {expected}, got {shown(value)}")


def require_callable(name: str, value: object, error: type[AthenanError], *, or_none: bool = False) -> None:
    """Raises `error` unless `value` is callable, or is None and `or_none` is true; see `require_kind`."""
    if not (callable(value) or (or_none and value is None)):
        raise error(f"{name} must be a function{' or None' if or_none else ''}, got {shown(value)}")


def require_whole(name: str, value: object, error: type[AthenanError]) -> None:
    """Raises `error` unless `value` is a whole number; a bool is not one. See `require_kind`."""
    if not is_number(value) or not isinstance(value, numbers.Integral):
        raise error(f"{name} must be a whole number, got {shown(value)}")


def require_number(name: str, value: object, error: type[AthenanError]) -> None:
    """Raises `error` unless `value` is a real number; a bool is not one. See `require_kind`."""
    if not is_number(value):
        raise error(f"{name} must be a number, got {shown(value)}")


def is_number(value: object) -> bool:
    """Returns whether `value` is a real number of Python or numpy; a bool is not one."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)

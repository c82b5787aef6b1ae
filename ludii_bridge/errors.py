"""The one error of the bridge."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LudiiError(RuntimeError):
    """Java, Ludii or a game of it is missing, broken, or unfit; the message is one line and says what to do.

    Where Java threw, the Java exception is its `__cause__`.
    """


def nearest(got: str, known: Iterable[str]) -> str:
    """The words ": did you mean 'x'?" if one of the `known` names is near to what came, else nothing."""
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(got.lower(), list(names), n=1)
    return f": did you mean {names[near[0]]!r}?" if near else ""

"""Errors that the library raises, all subclasses of `AthenanError`.

A message states what was expected, what was received (`{x!r}`) and how to fix it, in one or two lines. The command line
prints the message unchanged and exits with code 2.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Self

MAX_SHOWN_CHARACTERS = 200
"""Maximum number of characters of a value in a message."""
MAX_NAME_CHARACTERS = 100
"""Maximum number of characters of a misspelt name. Similar names are suggested only up to this length."""


def nearest(got: object, known: Iterable[str]) -> str:
    """Returns ": did you mean 'x'?" with the `known` name most similar to `got`, or "" if none is similar."""
    if isinstance(got, str) and len(got) > MAX_NAME_CHARACTERS:
        return ""
    text = got if isinstance(got, str) else shown(got)
    names = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(text.casefold(), list(names), n=1)
    return f": did you mean {names[near[0]]!r}?" if near else ""


class _Shortened(reprlib.Repr):
    """Repr with a limited length of strings, numbers and nested values."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxlong = self.maxother = MAX_SHOWN_CHARACTERS - 80

    def repr_int(self, x: int, level: int) -> str:
        """Describes a large number by its size, since Python refuses to convert thousands of digits."""
        if x.bit_length() > 4 * self.maxlong:
            return f"<a whole number of about {int(x.bit_length() * 0.30103) + 1} digits>"
        return super().repr_int(x, level)


def shown(value: object) -> str:
    """Returns the `repr` of `value` on one line for a message, cut in the middle to `MAX_SHOWN_CHARACTERS`."""
    text = " ".join(_Shortened().repr(value).split("\n"))
    half = (MAX_SHOWN_CHARACTERS - 3) // 2
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:half]}...{text[-half:]}"


def printable(text: str) -> str:
    """Returns `text` with each unprintable character escaped as in Python, so that it cannot control a terminal."""
    return "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)


class AthenanError(Exception):
    """Base class of all errors that this library raises on purpose."""


class UnsupportedGameError(AthenanError, ValueError):
    """The game is unknown, or violates an assumption of the algorithms."""


class ConfigError(AthenanError, ValueError):
    """A setting is misspelt, out of range, or contradicts another one.

    Attributes:
        path: path of the setting, such as "search.iterations"; empty if several settings are involved.
        problem: description of the error, without the path and the source.
        source: name of the setting's file, as in the message; empty if it comes from no file.
    """

    def __init__(self, message: str, *, path: str = "", problem: str | None = None, source: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.source = source
        self.problem = message if problem is None else problem

    @classmethod
    def at(cls, path: str, problem: str) -> Self:
        """Returns the error whose message is the path of a setting followed by `problem`.

        `problem` starts with a verb ("must be at least 1, got 0"), with a colon, or with "=" and the value.
        """
        return cls(f"{path}{'' if problem[:1] in (':', '=') else ' '}{problem}", path=path, problem=problem)


class BudgetError(AthenanError, ValueError):
    """A search budget is not positive, or sets no limit."""


class EvaluatorError(AthenanError, ValueError):
    """An evaluator returned the wrong number of values, or values that are not finite."""


class NotFiniteError(EvaluatorError):
    """An evaluator returned values or probabilities that are infinite or NaN."""


class CheckpointError(AthenanError):
    """A run folder or a checkpoint is missing, damaged, of another program, or of a newer format.

    Attributes:
        path: file or folder in the message; None if it names none.
    """

    def __init__(self, message: str, *, path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


class AgentError(AthenanError, ValueError):
    """An agent spec or a bot parameter is invalid, or a player made an illegal move or exceeded its clock."""


class MatchAbandonedError(AthenanError):
    """The user ended the game, or the input ended."""


class ProgramError(AthenanError):
    """An external engine cannot be started, has ended, or sent an invalid reply."""


class ProgramTimeoutError(ProgramError):
    """An external engine did not reply in time."""


class ProgramRefusalError(ProgramError):
    """An external engine reported that it cannot execute a command."""


class ResignedError(AthenanError):
    """A player resigned, and so lost the game."""


class EncodingError(AthenanError, ValueError):
    """An array passed to an encoder has the wrong shape or type for the states."""


class SearchError(AthenanError, ValueError):
    """A search received invalid arguments, such as a terminal state."""


class DrawingError(AthenanError, ValueError):
    """An object cannot be drawn."""


class LearningError(AthenanError, ValueError):
    """Training samples are invalid, or a process or the shared memory of a training failed."""


class DivergedError(LearningError, EvaluatorError):
    """Training diverged: the loss, the weights or the values of states are infinite or NaN."""


class ArenaError(AthenanError):
    """A saved game or a tournament folder is damaged, inconsistent, or belongs to another tournament."""


class ExperimentError(AthenanError):
    """An experiment's folder is damaged or of another experiment, or one of its processes ended unexpectedly."""

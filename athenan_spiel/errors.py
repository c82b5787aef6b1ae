"""The errors a user of the library can meet, all below `AthenanError`.

A message says what was expected, what came (`{x!r}`) and what to do about it, in one or two lines: the
command line prints it as it stands and exits with code 2.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from pathlib import Path
from typing import Self

LONGEST_SHOWN = 200
"""Characters of a value that a message shows."""
LONGEST_NAME = 100
"""Characters of a name that nearest names are looked for: what is longer is no misspelt name."""


def nearest(got: object, known: Iterable[str]) -> str:
    """The words ": did you mean 'x'?" if one of the `known` names is near to what came, else nothing."""
    if isinstance(got, str) and len(got) > LONGEST_NAME:
        return ""
    text = got if isinstance(got, str) else shown(got)
    names = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(text.casefold(), list(names), n=1)
    return f": did you mean {names[near[0]]!r}?" if near else ""


class _Shortened(reprlib.Repr):
    """A repr of which nothing is long: neither a text, nor a number, nor what is nested."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxlong = self.maxother = LONGEST_SHOWN - 80

    def repr_int(self, x: int, level: int) -> str:
        """A number of thousands of digits, which Python refuses to write, by its size."""
        if x.bit_length() > 4 * self.maxlong:
            return f"<a whole number of about {int(x.bit_length() * 0.30103) + 1} digits>"
        return super().repr_int(x, level)


def shown(value: object) -> str:
    """`value` as a message shows it: its `repr` on one line, cut in the middle beyond `LONGEST_SHOWN` characters."""
    text = " ".join(_Shortened().repr(value).split("\n"))
    half = (LONGEST_SHOWN - 3) // 2
    return text if len(text) <= LONGEST_SHOWN else f"{text[:half]}...{text[-half:]}"


def printable(text: str) -> str:
    """`text` without what would steer a terminal, as a path may: each such character as Python writes it."""
    return "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)


class AthenanError(Exception):
    """Any error that this library raises on purpose."""


class UnsupportedGameError(AthenanError, ValueError):
    """The game is unknown, or its rules are outside what the algorithms assume."""


class ConfigError(AthenanError, ValueError):
    """A setting is misspelt, out of range, or contradicts another one.

    Attributes:
        path: of the setting, such as "search.iterations"; empty where no single one is at fault.
        problem: what is wrong with it, without its path and without the file that it comes from.
        source: the file that it comes from, by the name in the message; empty where it comes from none.
    """

    def __init__(self, message: str, *, path: str = "", problem: str | None = None, source: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.source = source
        self.problem = message if problem is None else problem

    @classmethod
    def at(cls, path: str, problem: str) -> Self:
        """The error whose message is the path of a setting and what is wrong with it.

        `problem` begins with a verb ("must be at least 1, got 0"), with a colon, or with "=" and the value.
        """
        return cls(f"{path}{'' if problem[:1] in (':', '=') else ' '}{problem}", path=path, problem=problem)


class BudgetError(AthenanError, ValueError):
    """A search budget that allows no thought, or sets no limit at all."""


class EvaluatorError(AthenanError, ValueError):
    """An evaluator answered with the wrong number of values, or with values that are not finite."""


class NotFiniteError(EvaluatorError):
    """An evaluator answered with values or probabilities that are infinite or NaN."""


class CheckpointError(AthenanError):
    """A run folder or a checkpoint is missing, damaged, foreign, or of a newer format.

    Attributes:
        path: of the file or folder that the message names; None where it names none.
    """

    def __init__(self, message: str, *, path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


class AgentError(AthenanError, ValueError):
    """An agent word or a bot's parameters cannot be understood."""


class MatchAbandonedError(AthenanError):
    """The person who plays has ended the match, or the input has ended."""


class ProgramError(AthenanError):
    """Another program, an engine that plays, cannot be started, has ended, or speaks nonsense."""


class ProgramTimeoutError(ProgramError):
    """Such a program has taken too long."""


class ProgramRefusalError(ProgramError):
    """Such a program says that it cannot do what it was asked to."""


class ResignedError(AthenanError):
    """A player gives the match up, which it has then lost."""


class EncodingError(AthenanError, ValueError):
    """An array that states were to be encoded into has another shape or type than they need."""


class SearchError(AthenanError, ValueError):
    """A search was asked something that has no answer, such as the best move of a finished match."""


class DrawingError(AthenanError, ValueError):
    """Something of which there is no picture was to be shown."""


class LearningError(AthenanError, ValueError):
    """What was to be learned is incomplete, or cannot be learned."""


class DivergedError(LearningError, EvaluatorError):
    """Learning has made the loss, the weights or the values of states infinite or NaN."""


class ArenaError(AthenanError):
    """A saved match or a tournament's folder is damaged, forged, or belongs to something else."""


class ExperimentError(AthenanError):
    """An experiment's folder belongs to another one or is damaged, or one of its processes ended by itself."""

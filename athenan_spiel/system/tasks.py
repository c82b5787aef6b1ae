"""Something to do in another process, wherever that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar

from athenan_spiel.errors import ExperimentError


class Task(Protocol):
    """Something to do in another process, to which it can be sent.

    Attributes:
        keeps: what is done of it is kept when it is stopped, from its first report on.
        processes_option: how a user says that fewer of them are to be done at once.
    """

    keeps: ClassVar[bool]
    processes_option: ClassVar[str]

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        """Do it, reporting on the way; True if it is finished, False if `stop` came first."""


T = TypeVar("T", bound=Task)


def done(task: Task, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
    """Do a task; what the system refuses is an error of ours, as others can be sent nowhere and say too little."""
    try:
        return task.run(report, stop)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise ExperimentError(
            f"{where}{error.strerror or error}; what is finished is kept, start again to go on"
        ) from None
    except MemoryError:
        raise ExperimentError(
            f"memory ran out; what is finished is kept: start again with fewer {task.processes_option}, "
            "or smaller networks"
        ) from None

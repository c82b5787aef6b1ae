"""Bots that end or block the process in which they play, for tests of what survives that."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

import pyspiel


class Fatal(pyspiel.Bot):  # type: ignore[misc]
    """Plays the first legal action, and in some matches does not come back from the choice of one.

    Args:
        way: "segv", "kill" or "exit" of its process, or "hang" in native code.
        matches: the numbers of these matches.
    """

    def __init__(self, way: str, matches: tuple[int, ...], number: int = 0) -> None:
        super().__init__()
        self.way, self.matches, self.number = way, matches, number

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.way, self.matches, self.number)

    def for_game(self, number: int) -> Fatal:
        return type(self)(self.way, self.matches, number)

    def restart_at(self, state: pyspiel.State) -> None:
        pass

    def step(self, state: pyspiel.State) -> int:
        if self.number in self.matches:
            if self.way == "hang":
                hang()
            if self.way == "exit":
                os._exit(3)
            os.kill(os.getpid(), {"segv": signal.SIGSEGV, "kill": signal.SIGKILL}[self.way])
        return int(state.legal_actions()[0])

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        pass


def hang() -> None:
    """Block for ever with the interpreter's lock held, as a game's C++ may."""
    mutex, lock = ctypes.create_string_buffer(128), ctypes.PyDLL(None).pthread_mutex_lock
    lock(mutex)
    lock(mutex)

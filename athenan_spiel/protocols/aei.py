"""Client for an AEI engine (Arimaa Engine Interface, protocol version 1).

The time limit is set by AEI's time controls, as seconds per move without a reserve. Timeouts are those of `uci`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from athenan_spiel.errors import ProgramTimeoutError, ResignedError, printable, shown
from athenan_spiel.protocols.program import Program
from athenan_spiel.protocols.uci import GRACE_SECONDS, START_SECONDS, STOP_SECONDS
from athenan_spiel.protocols.waiting import chosen_move, lines_to, skip_to


class AeiEngine:
    """Running AEI engine.

    Args:
        command: program and its options.
        settings: values of its AEI options by name.

    Raises:
        ProgramError: it cannot be started, or doesn't speak AEI.
    """

    def __init__(self, command: Sequence[str], settings: Mapping[str, str] | None = None) -> None:
        self._program = Program(command)
        self.name = self._program.name
        try:
            self._program.send("aei")
            for line in lines_to(self._program, "aeiok", START_SECONDS):
                if line.startswith("id name "):
                    self.name = f"{self._program.name} ({printable(line[8:])[:60]})"
            for name, value in (settings or {}).items():
                self._set(name, value)
            self._wait_ready()
        except ProgramTimeoutError:
            self._program.close()
            raise self._program.error(
                f"does not speak AEI: no `aeiok` or `readyok` within {START_SECONDS:.3g} s", late=True
            ) from None
        except BaseException:
            self._program.close()
            raise

    def _set(self, name: str, value: object) -> None:
        self._program.send(f"setoption name {name} value {value}")

    def _wait_ready(self) -> None:
        self._program.send("isready")
        skip_to(self._program, "readyok", START_SECONDS)

    def begin(self, seconds: float) -> None:
        """Starts a new game with a time per move.

        Raises:
            ProgramError: it has ended, or is not ready within `START_SECONDS`.
        """
        for name in ("tcmove", "tcturntime"):
            self._set(name, f"{seconds:g}")
        for name in ("tcreserve", "tcpercent", "tcmax", "tctotal", "tcturns"):
            self._set(name, 0)
        self._program.send("newgame")
        self._wait_ready()

    def make(self, move: str) -> None:
        """Sends a move of either side."""
        self._program.send(f"makemove {move}")

    def best_move(self, seconds: float) -> str:
        """Returns the engine's move in the current position.

        Raises:
            ProgramTimeoutError: it has not chosen a move in time.
            ProgramError: it has ended, or returned no move.
            ResignedError: it resigns.
        """
        for name in ("greserve", "sreserve", "moveused"):
            self._set(name, 0)
        self._program.send("go")
        line = chosen_move(self._program, seconds, GRACE_SECONDS, STOP_SECONDS)
        move = line.removeprefix("bestmove").strip()
        if move.lower() in ("resign", "resigns"):
            raise ResignedError(f"{self.name} resigned")
        if not move:
            raise self._program.error(f"returned no move: got {shown(line)}")
        return move

    def close(self) -> None:
        """Ends the engine."""
        if self._program.running:
            self._program.send("quit")
        self._program.close()

"""Client for a UCI engine: starts it, sets options and game, and asks for moves.

1. Each call returns or raises within its documented time. An engine over its time gets `stop` after `GRACE_SECONDS` and
   is given up after `STOP_SECONDS` more.
2. `choose` refuses an engine that plays another game or other rules, as far as its board and first moves show that.
3. Failures of the engine raise `ProgramError`; wrong settings raise `AgentError`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.errors import AgentError, ProgramTimeoutError, ResignedError, printable, shown
from athenan_spiel.protocols.program import Program
from athenan_spiel.protocols.uci_moves.base import UciGame
from athenan_spiel.protocols.uci_options import UciOption, option_called, option_of
from athenan_spiel.protocols.waiting import chosen_move, lines_to, skip_to

START_SECONDS = 30.0
"""Maximum time, in seconds, for start-up, `isready` and a new game."""
GRACE_SECONDS = 2.0
"""Seconds after its time until an engine gets `stop`."""
STOP_SECONDS = 3.0
"""Maximum time for its move after `stop`, in seconds."""
LONGEST_MOVE = 600.0
"""Maximum time of a move with a node limit, in seconds."""
DEFAULTS = {"Threads": "1", "Ponder": "false"}
"""Default engine options: one core per player, and no pondering."""


@dataclass(frozen=True, kw_only=True)
class UciLimit:
    """Limit of a move; exactly one of these.

    Attributes:
        seconds: time for this move (`movetime`).
        nodes: number of states searched (`nodes`).
        clock: time for all remaining moves (`wtime` and `btime`; the opponent's is reported as equal).
        increment: seconds that each move adds to the clock (`winc` and `binc`).
    """

    seconds: float | None = None
    nodes: int | None = None
    clock: float | None = None
    increment: float = 0.0

    @property
    def words(self) -> str:
        """Arguments of `go`."""
        if self.nodes is not None:
            return f"nodes {self.nodes}"
        if self.seconds is not None:
            return f"movetime {max(1, round(1000 * self.seconds))}"
        left = max(1, round(1000 * (self.clock or 0.0)))
        more = round(1000 * self.increment)
        return f"wtime {left} btime {left} winc {more} binc {more}"

    @property
    def longest(self) -> float:
        """Time limit of the move, in seconds."""
        if self.nodes is not None:
            return LONGEST_MOVE
        return max(0.0, self.seconds if self.seconds is not None else self.clock or 0.0)


class UciEngine:
    """Running UCI engine; the module's docstring lists its guarantees.

    Args:
        command: program and its options.
        settings: values of its UCI options by case-insensitive name; empty for a button.

    Attributes:
        name: name of the program, and the engine's own name.

    Raises:
        ProgramError: it cannot be started, or doesn't speak UCI.
        AgentError: an option or its value is invalid.
    """

    def __init__(self, command: Sequence[str], settings: Mapping[str, str] | None = None) -> None:
        self._program = Program(command)
        self.name = self._program.name
        self._options: dict[str, UciOption] = {}
        self._settings = dict(settings or {})
        try:
            self._greet()
            self._settle()
        except BaseException:
            self._program.close()
            raise

    def _greet(self) -> None:
        self._program.send("uci")
        try:
            for line in lines_to(self._program, "uciok", START_SECONDS):
                if line.startswith("id name "):
                    self.name = f"{self._program.name} ({printable(line[8:])[:60]})"
                elif line.startswith("?"):
                    raise self._program.error(
                        f"does not speak UCI: it answers `uci` by {shown(line)}; is it for gtp: ?"
                    )
                elif (option := option_of(line)) is not None and len(self._options) < 1000:
                    self._options[option.name.lower()] = option
        except ProgramTimeoutError:
            raise self._program.error(
                f"does not speak UCI: it has not answered `uci` by `uciok` within {START_SECONDS:.3g} s", late=True
            ) from None

    def _settle(self) -> None:
        given = {name.lower() for name in self._settings}
        usual = {n: v for n, v in DEFAULTS.items() if n.lower() in self._options and n.lower() not in given}
        for name, value in {**usual, **self._settings}.items():
            option = option_called(name, self._options, self.name)
            if problem := option.problem(value):
                raise AgentError(f"option {option.name!r} of {self.name} {problem}")
            self._set(option.name, value)
        self.wait_ready()

    def _set(self, name: str, value: str) -> None:
        self._program.send(f"setoption name {name}" + (f" value {value}" if value else ""))

    def wait_ready(self) -> None:
        """Waits until the engine has executed all commands.

        Raises:
            ProgramError: it has ended, or is not ready within `START_SECONDS`.
        """
        self._program.send("isready")
        skip_to(self._program, "readyok", START_SECONDS)

    def choose(self, uci: UciGame, game: pyspiel.Game) -> None:
        """Selects the variant for `game`, in the notation `uci`.

        Raises:
            AgentError: the engine lacks the variant, or plays it with another board or other rules.
            ProgramError: it fails.
        """
        variants = self._options.get("uci_variant")
        if variants is None:
            if uci.variant != "chess":
                raise AgentError(
                    f"expected an engine with an option UCI_Variant for {uci.variant!r}, got {self.name}: "
                    "it plays only chess"
                )
        else:
            if uci.variant not in variants.choices:
                self._define(uci, str(game))
            self._set(variants.name, uci.variant)
        self._verify(uci, game)

    def _define(self, uci: UciGame, game: str) -> None:
        """Defines a variant that the engine doesn't list, if it supports that and the user hasn't done so."""
        given = "variantpath" in {name.lower() for name in self._settings}
        if not given and (not uci.definition or "variantpath" not in self._options):
            raise AgentError(
                f"expected an engine that knows the variant {uci.variant!r}, for {game!r}; got {self.name}: "
                "use a version that has it"
            )
        if given:
            return
        with tempfile.TemporaryDirectory(prefix="athenan-") as folder:
            path = os.path.join(folder, "variants.ini")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"{uci.definition}\n")
            self._set(self._options["variantpath"].name, path)
            self.wait_ready()

    def _verify(self, uci: UciGame, game: pyspiel.Game) -> None:
        """Compares the first board and moves with OpenSpiel's, if the engine shows them, as Stockfish does."""
        self._program.send("position startpos")
        self._program.send("d")
        self._program.send("isready")
        shown_boards = [
            line[4:].split() for line in lines_to(self._program, "readyok", START_SECONDS) if line.startswith("Fen:")
        ]
        if not shown_boards:
            return
        board = shown_boards[0][0].partition("[")[0] if shown_boards[0] else ""
        if board != uci.board:
            raise AgentError(
                f"{self.name} has another initial board of {uci.variant!r} than {str(game)!r}: expected {uci.board}, "
                f"got {shown(board)}"
            )
        ours, theirs = set(uci.turns(game.new_initial_state())), self.legal_moves([])
        if ours != theirs:
            alone = sorted(theirs ^ ours)[:3]
            raise AgentError(
                f"{self.name} plays {uci.variant!r} by other rules than {str(game)!r}: {', '.join(alone)} "
                "and others are legal first moves in only one of them; use a version that knows the game"
            )

    def legal_moves(self, moves: Sequence[str]) -> set[str]:
        """Returns the engine's legal moves after `moves`; only Stockfish and its forks report them.

        Raises:
            ProgramError: it doesn't answer.
        """
        self._program.send(_position(moves))
        self._program.send("go perft 1")
        found = set()
        for line in lines_to(self._program, "Nodes searched", START_SECONDS):
            move, colon, count = line.rpartition(": ")
            if colon and count == "1" and " " not in move:
                found.add(move)
        return found

    def begin(self) -> None:
        """Starts a new game.

        Raises:
            ProgramError: it has ended, or is not ready within `START_SECONDS`.
        """
        self._program.send("ucinewgame")
        self.wait_ready()

    def best_move(self, moves: Sequence[str], limit: UciLimit, only: Sequence[str] = ()) -> str:
        """Returns the engine's move after `moves`.

        Args:
            only: moves to choose from; empty for all.

        Raises:
            ProgramTimeoutError: it has not chosen a move in time.
            ProgramError: it has ended, or returned no move, as Stockfish does after the end of a game.
            ResignedError: it resigns.
        """
        self._program.send(_position(moves))
        self._program.send(f"go {limit.words}" + (f" searchmoves {' '.join(only)}" if only else ""))
        words = chosen_move(self._program, limit.longest, GRACE_SECONDS, STOP_SECONDS).split()
        move = words[1] if len(words) > 1 else ""
        if move == "resign":
            raise ResignedError(f"{self.name} resigned")
        if move in ("", "(none)", "none", "0000"):
            raise self._program.error(f"returned no move: got {shown(' '.join(words))}")
        return move

    def close(self) -> None:
        """Ends the engine."""
        if self._program.running:
            self._program.send("quit")
        self._program.close()


def _position(moves: Sequence[str]) -> str:
    return "position startpos" + (f" moves {' '.join(moves)}" if moves else "")

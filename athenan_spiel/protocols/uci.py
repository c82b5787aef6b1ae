"""A UCI engine that plays: started, told of its options and its game, and asked for moves.

Its promises:

1. Whatever the engine does, each call returns or raises within the time that it says. An engine that is over its time
   is told to stop after `GRACE_SECONDS`, and given up after `STOP_SECONDS` more.
2. An engine that plays another game, or by other rules as far as that can be seen from its board and its first moves,
   is refused by `choose`.
3. What is wrong with the engine is a `ProgramError`; what is wrong with what it was asked to be, an `AgentError`.
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
"""How long an engine may take to say what it is, to be ready, and for a new match."""
GRACE_SECONDS = 2.0
"""How long after its time an engine may go on before it is told to stop."""
STOP_SECONDS = 3.0
"""How long it may take for its move then."""
LONGEST_MOVE = 600.0
"""Seconds that a move may take where its limit is in nodes."""
DEFAULTS = {"Threads": "1", "Ponder": "false"}
"""What an engine that has these options is told unless the user says otherwise: one core a player, and its own time."""


@dataclass(frozen=True, kw_only=True)
class UciLimit:
    """How long an engine thinks about a move: one of these.

    Attributes:
        seconds: for this move (`movetime`).
        nodes: states of its search (`nodes`).
        clock: seconds for all moves to come (`wtime` and `btime`; the opponent's clock is said to be alike).
        increment: seconds that each move brings to the clock (`winc` and `binc`).
    """

    seconds: float | None = None
    nodes: int | None = None
    clock: float | None = None
    increment: float = 0.0

    @property
    def words(self) -> str:
        """What comes after `go`."""
        if self.nodes is not None:
            return f"nodes {self.nodes}"
        if self.seconds is not None:
            return f"movetime {max(1, round(1000 * self.seconds))}"
        left = max(1, round(1000 * (self.clock or 0.0)))
        more = round(1000 * self.increment)
        return f"wtime {left} btime {left} winc {more} binc {more}"

    @property
    def longest(self) -> float:
        """The seconds after which its time is over."""
        if self.nodes is not None:
            return LONGEST_MOVE
        return max(0.0, self.seconds if self.seconds is not None else self.clock or 0.0)


class UciEngine:
    """An engine that runs. The file's docstring numbers its promises.

    Args:
        command: the engine's program, then its options.
        settings: values of its UCI options by their names, in any case; of a button an empty text.

    Attributes:
        name: the program's, and what the engine calls itself.

    Raises:
        ProgramError: it cannot be started, or does not speak UCI.
        AgentError: it has no such option, or an option cannot have such a value.
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
                    raise self._program.error(f"speaks no UCI: it answers `uci` by {shown(line)}; is it for gtp: ?")
                elif (option := option_of(line)) is not None and len(self._options) < 1000:
                    self._options[option.name.lower()] = option
        except ProgramTimeoutError:
            raise self._program.error(
                f"speaks no UCI: it has not answered `uci` by `uciok` within {START_SECONDS:.3g} s", late=True
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
        """Wait until it has done what it was told.

        Raises:
            ProgramError: it has ended, or is not ready within `START_SECONDS`.
        """
        self._program.send("isready")
        skip_to(self._program, "readyok", START_SECONDS)

    def choose(self, uci: UciGame, game: pyspiel.Game) -> None:
        """Let the engine play `game`, which is written as `uci` says.

        Raises:
            AgentError: it has no such variant, or plays it on another board or by other rules.
            ProgramError: it fails.
        """
        variants = self._options.get("uci_variant")
        if variants is None:
            if uci.variant != "chess":
                raise AgentError(
                    f"expected an engine with an option UCI_Variant for {uci.variant!r}, got {self.name}: "
                    "it plays chess alone"
                )
        else:
            if uci.variant not in variants.choices:
                self._define(uci, str(game))
            self._set(variants.name, uci.variant)
        self._verify(uci, game)

    def _define(self, uci: UciGame, game: str) -> None:
        """Tell the engine of a variant that it does not list, where that can be done and the user has not."""
        given = "variantpath" in {name.lower() for name in self._settings}
        if not given and (not uci.definition or "variantpath" not in self._options):
            raise AgentError(
                f"expected an engine that knows the variant {uci.variant!r}, for {game!r}; got {self.name}: "
                "take a version that has it"
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
        """See that the first board and the first moves are ours, where the engine shows them, as Stockfish's kin do."""
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
                f"{self.name} begins {uci.variant!r} with another board than {str(game)!r} has: expected {uci.board}, "
                f"got {shown(board)}"
            )
        ours, theirs = set(uci.turns(game.new_initial_state())), self.legal_moves([])
        if ours != theirs:
            alone = sorted(theirs ^ ours)[:3]
            raise AgentError(
                f"{self.name} plays {uci.variant!r} by other rules than {str(game)!r}: {', '.join(alone)} "
                "and others are first moves of one alone; take a version that knows the game"
            )

    def legal_moves(self, moves: Sequence[str]) -> set[str]:
        """The moves that the engine holds for legal after `moves`; only engines of Stockfish's kin tell.

        Raises:
            ProgramError: it does not answer.
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
        """A new match begins.

        Raises:
            ProgramError: it has ended, or is not ready within `START_SECONDS`.
        """
        self._program.send("ucinewgame")
        self.wait_ready()

    def best_move(self, moves: Sequence[str], limit: UciLimit, only: Sequence[str] = ()) -> str:
        """The engine's move after `moves`.

        Args:
            only: the moves that it may choose from; any if there are none.

        Raises:
            ProgramTimeoutError: it has not chosen one in its time and the grace after it.
            ProgramError: it has ended, or answers no move: to Stockfish's kin the match has ended.
            ResignedError: it gives the match up.
        """
        self._program.send(_position(moves))
        self._program.send(f"go {limit.words}" + (f" searchmoves {' '.join(only)}" if only else ""))
        words = chosen_move(self._program, limit.longest, GRACE_SECONDS, STOP_SECONDS).split()
        move = words[1] if len(words) > 1 else ""
        if move == "resign":
            raise ResignedError(f"{self.name} resigned")
        if move in ("", "(none)", "none", "0000"):
            raise self._program.error(f"has no move: expected one, got {shown(' '.join(words))}")
        return move

    def close(self) -> None:
        """End the engine."""
        if self._program.running:
            self._program.send("quit")
        self._program.close()


def _position(moves: Sequence[str]) -> str:
    return "position startpos" + (f" moves {' '.join(moves)}" if moves else "")

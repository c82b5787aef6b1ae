"""An agent of ours as a UCI engine, for front ends and referees: what it is told, line by line, and what it answers.

Its promises:

1. `isready` and `stop` are answered at once, whatever the agent is doing: it thinks in a thread of its own.
2. Each `go` is answered by one `bestmove`, a legal move of the position; `(none)` where the match has ended, and
   `0000`, with the reason as `info string`, where the agent has failed.
3. What it is told and cannot do is said as `info string`, and changes nothing. Words that it does not know are passed
   over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import pyspiel

from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.play.agent import Agent
from athenan_spiel.protocols.uci_go import Go
from athenan_spiel.protocols.uci_moves.table import uci_game
from athenan_spiel.protocols.uci_thinking import Thinking

_CHESS_FEN = re.compile(r"[1-8pnbrqkPNBRQK/]{15,71} [wb] (-|[KQkq]{1,4}) (-|[a-h][36]) [0-9]{1,4} [1-9][0-9]{0,4}")


class UciServer:
    """One agent and who talks to it. The file's docstring numbers its promises.

    Args:
        agent: who plays; a limit of its own holds where `go` says none.
        name: what it is called.
        say: writes a line to the other side, from whatever thread.

    Raises:
        AgentError: UCI has no such game, or the agent ponders: there an engine thinks when it is told to.
    """

    def __init__(self, agent: Agent, name: str, say: Callable[[str], None]) -> None:
        if agent.ponders:
            raise AgentError("expected an agent that does not ponder, as UCI says when to think: leave ponder out")
        self._agent = agent
        self._name = name
        self._say = say
        self._uci = uci_game(agent.game)
        self._state = agent.game.new_initial_state()
        self._white = int(self._state.current_player())
        self._thinking: Thinking | None = None

    def run(self, lines: Iterable[str]) -> None:
        """Answer until `quit`, or until there are no more lines."""
        try:
            for line in lines:
                words = line.split()
                if words[:1] == ["quit"]:
                    break
                self._answer(words)
        finally:
            self._stop()

    def _answer(self, words: list[str]) -> None:
        answers: dict[str, Callable[[list[str]], None]] = {
            "uci": self._introduce,
            "isready": lambda _: self._say("readyok"),
            "ucinewgame": self._begin,
            "setoption": self._set,
            "position": self._place,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._stop,
            "d": self._show,
        }
        while words and words[0] not in answers:
            words = words[1:]
        if words:
            answers[words[0]](words[1:])

    def _introduce(self, words: list[str]) -> None:
        self._say(f"id name {self._name}")
        self._say("id author athenan_spiel")
        variant = self._uci.variant
        self._say(f"option name UCI_Variant type combo default {variant} var {variant}")
        self._say("uciok")

    def _begin(self, words: list[str]) -> None:
        self._stop()
        self._agent.restart()
        self._state = self._agent.game.new_initial_state()

    def _set(self, words: list[str]) -> None:
        text = " ".join(words)
        name, _, value = text.removeprefix("name ").partition(" value ")
        if name.lower() == "uci_variant" and value != self._uci.variant:
            self._say(f"info string expected the variant {self._uci.variant}, got {shown(value)}: it stays as it was")

    def _place(self, words: list[str]) -> None:
        """`startpos` or `fen FEN`, and the moves after it; where one is none, nothing changes."""
        self._stop()
        where, moves = words, []
        if "moves" in words:
            cut = words.index("moves")
            where, moves = words[:cut], words[cut + 1 :]
        try:
            state = self._start(where)
            for move in moves:
                for action in self._uci.read(state, move):
                    state.apply_action(action)
        except ProgramError as error:
            self._say(f"info string {error}: the position stays as it was")
            return
        self._state = state

    def _start(self, words: list[str]) -> pyspiel.State:
        """The position that a match begins with.

        Raises:
            ProgramError: OpenSpiel cannot begin there.
        """
        game = self._agent.game
        fen = " ".join(words[1:])
        if words[:1] == ["startpos"] or (words[:1] == ["fen"] and self._is_usual(words[1:])):
            return game.new_initial_state()
        if words[:1] != ["fen"]:
            raise ProgramError(f"expected position startpos or fen, got {shown(' '.join(words))}")
        if self._uci.variant != "chess":
            raise ProgramError(f"expected position startpos, as {self._uci.variant} begins nowhere else here")
        if not _is_position(fen):
            raise ProgramError(f"expected a FEN of Chess, got {shown(fen)}")
        return game.new_initial_state(fen)

    def _is_usual(self, words: list[str]) -> bool:
        """Whether a FEN is that of the initial position."""
        usual = str(self._agent.game.new_initial_state()) if self._uci.variant == "chess" else ""
        if usual:
            return words == usual.split()
        return words[:1] != [] and words[0].partition("[")[0] == self._uci.board and words[1:2] == ["w"]

    def _go(self, words: list[str]) -> None:
        self._stop()
        self._thinking = Thinking(self._agent, self._uci, self._state.clone(), Go.read(words), self._white, self._say)
        self._thinking.start()

    def _show(self, words: list[str]) -> None:
        for line in str(self._state).splitlines():
            self._say(f"info string {line}")

    def _stop(self, words: Sequence[str] = ()) -> None:
        """Let the agent come to an end with what it thinks about."""
        thinking, self._thinking = self._thinking, None
        if thinking is not None:
            thinking.stop()
            thinking.join()


def _is_position(fen: str) -> bool:
    """Whether OpenSpiel can begin at a FEN of Chess: eight squares a rank, one king a side, no pawn at an end."""
    if not _CHESS_FEN.fullmatch(fen):
        return False
    board = fen.split()[0]
    ranks = [sum(int(x) if x.isdigit() else 1 for x in rank) for rank in board.split("/")]
    pawns = any(x in "pP" for rank in (board.split("/")[0], board.split("/")[-1]) for x in rank)
    return ranks == [8] * 8 and board.count("k") == board.count("K") == 1 and not pawns

"""UCI server for an agent of this library.

1. `isready` and `stop` are answered at once, since the search runs in a background thread.
2. Each `go` is answered by one `bestmove`: a legal move, `(none)` if the game is over, or `0000` with the reason as
   `info string` if the agent failed or the last `position` was refused.
3. The move is selected once. The last `info` of line 1 before a legal `bestmove` has that move first in its `pv`, and
   its score. With `MultiPV` above 1, the other lines follow it.
4. One `info string` reports each command that cannot be executed. Unknown words before a command are ignored, as
   UCI asks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import pyspiel

from athenan_spiel.errors import AgentError, ConfigError, ProgramError, shown
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.driver import collect_between_games, without_garbage_collection
from athenan_spiel.protocols import fen
from athenan_spiel.protocols.uci_go import Go
from athenan_spiel.protocols.uci_moves.table import uci_game
from athenan_spiel.protocols.uci_options import UciOption, option_called
from athenan_spiel.protocols.uci_search import NO_POSITION, UciSearch

MAX_LINES = 256
"""Maximum value of `MultiPV`."""
_OPTION = re.compile(r"name (?P<name>.+?)(?: value(?: (?P<value>.*))?)?", re.ASCII)


class UciServer:
    """UCI server for one agent; the module's docstring lists its guarantees.

    Args:
        agent: chooses the moves; its own limit applies if `go` gives none.
        name: name of the engine.
        say: writes a line to the client, from any thread.

    Raises:
        AgentError: UCI doesn't support the game, or the agent ponders; UCI clients decide when an engine thinks.
    """

    def __init__(self, agent: Agent, name: str, say: Callable[[str], None]) -> None:
        if agent.ponders:
            raise AgentError(
                "expected an agent that does not ponder, since UCI clients decide when to think: leave ponder out"
            )
        self._agent = agent
        self._name = name
        self._say = say
        self._uci = uci_game(agent.game)
        variant = self._uci.variant
        defaults = {
            UciOption("UCI_Variant", "combo", choices=(variant,)): variant,
            UciOption("MultiPV", "spin", least=1, most=MAX_LINES): "1",
            UciOption("UCI_ShowWDL", "check"): "false",
            UciOption("UCI_AnalyseMode", "check"): "false",  # an agent plays as it analyses
        }
        self._options = {option.name.lower(): option for option in defaults}
        self._defaults = {option.name: value for option, value in defaults.items()}
        self._values = dict(self._defaults)
        self._state: pyspiel.State | None = agent.game.new_initial_state()
        """None after a refused position."""
        self._white = int(agent.game.new_initial_state().current_player())
        self._search: UciSearch | None = None

    def run(self, lines: Iterable[str]) -> None:
        """Answers commands until `quit` or the end of the input."""
        try:
            with without_garbage_collection():  # its pauses would delay moves
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
        start = next((i for i, word in enumerate(words) if word in answers), None)
        if start is not None:
            answers[words[start]](words[start + 1 :])

    def _introduce(self, words: list[str]) -> None:
        self._say(f"id name {self._name}")
        self._say("id author athenan_spiel")
        for option in self._options.values():
            self._say(option.declaration(self._defaults[option.name]))
        self._say("uciok")

    def _begin(self, words: list[str]) -> None:
        self._stop()
        self._agent.restart()
        collect_between_games()
        self._state = self._agent.game.new_initial_state()

    def _set(self, words: list[str]) -> None:
        setting = _OPTION.fullmatch(" ".join(words))
        if setting is None:
            self._say(f"info string expected setoption name NAME value VALUE, got {shown(' '.join(words))}")
            return
        try:
            option = option_called(setting["name"], self._options, "this engine")
        except AgentError as error:
            self._say(f"info string {error}")
            return
        value = setting["value"] or ""
        if problem := option.problem(value):
            self._say(f"info string {option.name} {problem}: the option is unchanged")
        else:
            self._values[option.name] = value

    def _place(self, words: list[str]) -> None:
        """Sets the position from `startpos` or `fen FEN` and moves. A refused position leaves none."""
        self._stop()
        self._state = None
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
            self._say(f"info string {error}: the position is refused")
            return
        self._state = state

    def _start(self, words: list[str]) -> pyspiel.State:
        """Returns the first position of a game.

        Raises:
            ProgramError: OpenSpiel cannot start there.
        """
        game = self._agent.game
        if words[:1] == ["startpos"] or (words[:1] == ["fen"] and self._is_initial_position(words[1:])):
            return game.new_initial_state()
        if words[:1] != ["fen"]:
            raise ProgramError(f"expected position startpos or fen, got {shown(' '.join(words))}")
        if self._uci.variant != "chess":
            raise ProgramError(f"expected position startpos, as {self._uci.variant} has no other start position here")
        try:
            return fen.read(game, " ".join(words[1:]))
        except ConfigError as error:
            raise ProgramError(str(error)) from None

    def _is_initial_position(self, words: list[str]) -> bool:
        """Returns whether a FEN is the initial position."""
        usual = str(self._agent.game.new_initial_state()) if self._uci.variant == "chess" else ""
        if usual:
            return words == usual.split()
        return words[:1] != [] and words[0].partition("[")[0] == self._uci.board and words[1:2] == ["w"]

    def _go(self, words: list[str]) -> None:
        self._stop()
        state = None if self._state is None else self._state.clone()
        self._search = UciSearch(
            self._agent,
            self._uci,
            state,
            Go.read(words),
            self._white,
            self._say,
            lines=int(self._values["MultiPV"]),
            shows_wdl=self._values["UCI_ShowWDL"] == "true",
        )
        self._search.start()

    def _show(self, words: list[str]) -> None:
        for line in (NO_POSITION if self._state is None else str(self._state)).splitlines():
            self._say(f"info string {line}")

    def _stop(self, words: Sequence[str] = ()) -> None:
        """Stops the search and waits for its `bestmove`."""
        search, self._search = self._search, None
        if search is not None:
            search.stop()
            search.join()

"""GTP server, version 2, for an agent.

Answers follow the *Specification of the Go Text Protocol, version 2, draft 2*. The rules and the order of colours are
OpenSpiel's. Extensions are `kgs-time_settings` and, for agents that search, `athenan-analyze`, also called
`lz-analyze`.
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Callable, Iterator, Sequence

import pyspiel

from athenan_spiel.errors import ConfigError, ResignedError, shown
from athenan_spiel.games.measures import measured, score
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.background_search import memory_is_short
from athenan_spiel.play.match import reason_of
from athenan_spiel.play.player import Player
from athenan_spiel.protocols.gtp_analysis import analysis
from athenan_spiel.protocols.gtp_clock import GtpClock
from athenan_spiel.protocols.vertices import vertices_of
from athenan_spiel.search.drive import Budget

LONGEST_COMMAND = 4096
"""Maximum length of a command, in characters."""
SLICE_SECONDS = 0.1
"""Seconds of analysis between two checks for the next command."""
INTERVAL_SECONDS = 1.0
"""Default seconds between two lines of an analysis."""
LONGEST_TIME = 1e9
"""Maximum time of a clock, in seconds."""
_PERIODS = {"none": 0, "absolute": 1, "canadian": 3, "byoyomi": 3}
"""KGS' clocks, and the number of their arguments."""
_COLOURS = {"b": "black", "w": "white"}


class _Refusal(Exception):  # noqa: N818
    """Text after the question mark of an error response."""


class GtpServer:
    """Game played by GTP commands.

    Args:
        game: game to play.
        players: answer `genmove` as player 0 and player 1; the same object may play both.
        agent: agent behind both players if it searches; receives the time, and analyses.
        name, version: name and version of the program.
        own_limit: the agent's own limit applies in addition to the clock.

    Attributes:
        finished: whether `quit` was received.

    Raises:
        AgentError: the game's moves have no GTP notation.
        ConfigError: the game is not for two players.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        players: Sequence[Player],
        agent: Agent | None = None,
        *,
        name: str = "athenan",
        version: str = "",
        own_limit: bool = False,
    ) -> None:
        if game.num_players() != 2:
            raise ConfigError(f"GTP is for two players, got {str(game)!r}, which has {game.num_players()}")
        self.finished = False
        self._game = game
        self._vertices = vertices_of(game)
        self._players = players
        self._agent = agent
        self._budget = agent.budget if agent is not None else None
        self._own_limit = own_limit
        self._clock = GtpClock()
        self._komi = game.get_parameters().get("komi")
        self._commands = self._table(name, version)
        self._clear()

    def answers(self, line: str, interrupted: Callable[[], bool] = lambda: True) -> Iterator[str]:
        """Yields the parts of the response to a line of input; nothing for an empty line.

        Args:
            interrupted: whether the next line has arrived, which ends an analysis.
        """
        text = "".join(x if x.isprintable() else " " for x in line.partition("#")[0]).strip()
        match = re.match(r"(\d{0,18})\s*(.*)", text, re.ASCII)
        if not text or match is None:
            return
        number, words = match[1], match[2].split()
        try:
            if len(line) > LONGEST_COMMAND:
                raise _Refusal("a command is too long")
            if words and words[0] in ("athenan-analyze", "lz-analyze") and self._agent is not None:
                lines = self._analyse(self._agent, words[1:], interrupted)
                yield f"={number}\n"
                yield from lines
                yield "\n"
                return
            yield f"={number} {self._answer(words)}".rstrip() + "\n\n"
        except _Refusal as refusal:
            yield f"?{number} {refusal}\n\n"
        except Exception as failure:
            yield f"?{number} {reason_of(failure)}\n\n"

    def _answer(self, words: Sequence[str]) -> str:
        if not words or words[0] not in self._commands:
            raise _Refusal("unknown command")
        answer = self._commands[words[0]](words[1:])
        lines = "\n".join(
            line.rstrip() for line in answer.splitlines() if line.strip()
        )  # an empty line ends the response
        return f"\n{lines}" if answer.startswith("\n") else lines

    def _table(self, name: str, version: str) -> dict[str, Callable[[Sequence[str]], str]]:
        commands: dict[str, Callable[[Sequence[str]], str]] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: name,
            "version": lambda words: version,
            "known_command": lambda words: str(" ".join(words) in self._known()).lower(),
            "list_commands": lambda words: "\n".join(self._known()),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": lambda words: self._clear(),
            "komi": self._set_komi,
            "play": self._play,
            "genmove": lambda words: self._genmove(words, plays=True),
            "reg_genmove": lambda words: self._genmove(words, plays=False),
            "undo": self._undo,
            "showboard": lambda words: f"\n{self._state}",
            "final_score": lambda words: self._final_score(),
            "time_settings": self._time_settings,
            "kgs-time_settings": self._kgs_time_settings,
            "time_left": self._time_left,
        }
        if any(command.startswith("set_free_handicap") for command in self._vertices.setup):
            commands["set_free_handicap"] = self._handicap
        return commands

    def _known(self) -> list[str]:
        return [*self._commands, *(["athenan-analyze", "lz-analyze"] if self._agent is not None else [])]

    # The board.

    def _clear(self) -> str:
        self._begin_at(self._game.new_initial_state())
        self._clock.begin()
        return ""

    def _begin_at(self, state: pyspiel.State) -> None:
        self._state = state
        for player in self._all():
            player.restart_at(state.clone())

    def _all(self) -> Sequence[Player]:
        return self._players[:1] if self._players[0] is self._players[1] else self._players

    def _quit(self, words: Sequence[str]) -> str:
        self.finished = True
        return ""

    def _boardsize(self, words: Sequence[str]) -> str:
        size = self._vertices.size
        wanted = [[str(x) for x in size], [str(x) for x in (*size, *size)][:2]]
        if list(words) not in wanted or not size:
            board = " x ".join(map(str, size if len(size) != 1 else (*size, *size))) or "one size alone"
            raise _Refusal(f"unacceptable size: {self._game} has {board}")
        return self._clear()

    def _set_komi(self, words: Sequence[str]) -> str:
        (komi,) = self._numbers(words, 1)
        expected = 0.0 if self._komi is None else float(self._komi)
        if komi != expected:
            raise _Refusal(f"unacceptable komi: {self._game} has {expected:g}")
        return ""

    def _handicap(self, words: Sequence[str]) -> str:
        expected = next(x for x in self._vertices.setup if x.startswith("set_free_handicap")).split()[1:]
        if sorted(word.upper() for word in words) != sorted(expected) or self._state.history():
            raise _Refusal(f"bad vertex list: {self._game} has {' '.join(expected)}")
        return ""

    def _mover(self, colour: str) -> int:
        player = self._vertices.player(colour)
        if player is None:
            raise _Refusal(f"expected black or white, got {shown(colour)}")
        if self._state.is_terminal():
            raise _Refusal(f"the game is over: {self._final_score()}")
        mover: int = self._state.current_player()
        if player != mover:
            raise _Refusal(f"illegal move: it is the turn of {_COLOURS[self._vertices.colour(mover)]}")
        return mover

    def _play(self, words: Sequence[str]) -> str:
        if len(words) != 2:
            raise _Refusal("expected a colour and a vertex")
        mover = self._mover(words[0])
        action = self._vertices.action(self._state, words[1])
        if action is None:
            raise _Refusal(f"illegal move: {shown(words[1])}")
        for player in self._all():
            player.inform_action(self._state.clone(), mover, action)
        self._state.apply_action(action)
        return ""

    def _undo(self, words: Sequence[str]) -> str:
        history = self._state.history()
        if not history:
            raise _Refusal("cannot undo")
        state = self._game.new_initial_state()
        for action in history[:-1]:
            state.apply_action(action)
        self._begin_at(state)
        return ""

    def _genmove(self, words: Sequence[str], *, plays: bool) -> str:
        if len(words) != 1:
            raise _Refusal("expected a colour")
        mover = self._mover(words[0])
        colour = self._vertices.colour(mover)
        start = time.monotonic()
        self._give(self._clock.seconds(colour))
        try:
            action = self._players[mover].step(self._state.clone())
        except ResignedError:
            return "resign"
        if action not in self._state.legal_actions():
            raise _Refusal(f"the agent chose {shown(action)}, which is not legal")
        vertex = self._vertices.vertex(self._state, action)
        if plays:
            self._state.apply_action(action)
            self._clock.spend(colour, time.monotonic() - start)
        return vertex

    def _final_score(self) -> str:
        """Returns the margin of the leader if the game counts points, else the winner."""
        if measured("score", self._game):
            first, second = score(self._state)
            lead = first - second
        elif self._state.is_terminal():
            lead = self._state.returns()[0]
        else:
            raise _Refusal("cannot score: the game is not over")
        if self._state.is_terminal() and (self._state.returns()[0] > 0) - (self._state.returns()[0] < 0) != (
            (lead > 0) - (lead < 0)
        ):
            lead = self._state.returns()[0]  # a game may end before points count, by a repetition
        if lead == 0:
            return "0"
        return f"{self._vertices.colour(0 if lead > 0 else 1).upper()}+{abs(lead):g}"

    # Time.

    def _numbers(self, words: Sequence[str], count: int) -> list[float]:
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = []
        if len(numbers) != count or not all(abs(x) <= LONGEST_TIME for x in numbers):
            raise _Refusal(f"expected {count} number{'s' * (count > 1)}, got {shown(' '.join(words))}")
        return numbers

    def _times(self, words: Sequence[str], count: int) -> list[float]:
        numbers = self._numbers(words, count)
        if min(numbers, default=0) < 0 or (count == 3 and numbers[2] != int(numbers[2])):
            raise _Refusal(f"expected times, got {shown(' '.join(words))}")
        return numbers

    def _time_settings(self, words: Sequence[str]) -> str:
        main, period, moves = self._times(words, 3)
        self._clock.limit(main, period, int(moves))
        return ""

    def _kgs_time_settings(self, words: Sequence[str]) -> str:
        kind = words[0] if words else ""
        if kind not in _PERIODS:
            raise _Refusal(f"expected {', '.join(_PERIODS)}, got {shown(kind)}")
        numbers = self._times(words[1:], _PERIODS[kind])
        if kind == "none":
            self._clock.unlimited()
        elif kind == "absolute":
            self._clock.limit(numbers[0], 0, 0)
        else:
            self._clock.limit(numbers[0], numbers[1], int(numbers[2]) if kind == "canadian" else 1)
        return ""

    def _time_left(self, words: Sequence[str]) -> str:
        player = self._vertices.player(words[0]) if words else None
        if player is None:
            raise _Refusal("expected a colour, seconds and stones")
        seconds, moves = self._times(words[1:], 2)
        self._clock.tell(self._vertices.colour(player), seconds, int(moves))
        return ""

    def _give(self, seconds: float | None) -> None:
        """Sets the time of the agent's next move; None restores its own limit."""
        if self._agent is None or self._budget is None:
            return
        if seconds is None:
            self._agent.budget = self._budget
        elif self._own_limit:
            shortest = min(seconds, math.inf if self._budget.seconds is None else self._budget.seconds)
            self._agent.budget = dataclasses.replace(self._budget, seconds=shortest)
        else:
            self._agent.budget = Budget(seconds=seconds)

    # Analysis.

    def _analyse(self, agent: Agent, words: Sequence[str], interrupted: Callable[[], bool]) -> Iterator[str]:
        """Checks the arguments, then returns the lines of the analysis."""
        interval, most = INTERVAL_SECONDS, 10**9
        rest = list(words)
        if rest and self._vertices.player(rest[0]) is not None:
            self._mover(rest.pop(0))
        if rest and rest[0].isdecimal():
            interval = self._numbers([rest.pop(0)], 1)[0] / 100
        options = dict(zip(rest[::2], rest[1::2], strict=False))
        if len(rest) % 2 or not options.keys() <= {"interval", "minmoves", "maxmoves"}:
            raise _Refusal(f"expected a colour, centiseconds, interval, minmoves or maxmoves; got {shown(rest)}")
        if "interval" in options:
            interval = self._numbers([options["interval"]], 1)[0] / 100
        if "maxmoves" in options:
            most = int(self._numbers([options["maxmoves"]], 1)[0])
        self._mover(_COLOURS[self._vertices.colour(max(0, self._state.current_player()))])
        return self._analysed(agent, max(SLICE_SECONDS, interval), most, interrupted)

    def _analysed(self, agent: Agent, interval: float, most: int, interrupted: Callable[[], bool]) -> Iterator[str]:
        scale = float(getattr(agent.search.outcome, "scale", 1.0))
        told = time.monotonic()
        result = None
        while result is None or not interrupted():
            if result is None or not (result.is_resolved or memory_is_short()):
                agent.budget = Budget(seconds=SLICE_SECONDS)
                result = agent.think(self._state.clone())
            else:
                time.sleep(SLICE_SECONDS)
            if interrupted() or time.monotonic() - told >= interval:
                told = time.monotonic()
                yield analysis(self._vertices, self._state, result, scale, most) + "\n"

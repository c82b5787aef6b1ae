"""GTP server, version 2, for an agent.

Answers follow the *Specification of the Go Text Protocol, version 2, draft 2*. The rules and the order of colours are
OpenSpiel's; `gtp_position` describes what follows two passes in Go. Extensions are `rectangular_boardsize`,
`kgs-time_settings`, in Go `kgs-genmove_cleanup`, and for agents that search the commands of `gtp_analysis`.

1. An analysis ends as soon as the next line arrives. A search for a move does not, since the client waits for the move;
   it ends if the client has gone.
2. A command that is refused changes nothing.
3. Commands for which a game has no rule are not listed. They are answered by the reason.
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial

import pyspiel

from athenan_spiel.errors import ConfigError, ResignedError, shown
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.driver import collect_between_games
from athenan_spiel.play.match import reason_of
from athenan_spiel.play.player import AskingPlayer, Player
from athenan_spiel.protocols.gtp_analysis import AnalysisOptions, AnalysisWriter, GtpSearch
from athenan_spiel.protocols.gtp_clock import GtpClock, read_numbers
from athenan_spiel.protocols.gtp_position import GtpPosition, GtpRefusal
from athenan_spiel.protocols.sgf import is_written
from athenan_spiel.protocols.vertices import vertices_of
from athenan_spiel.search.drive import Budget

LONGEST_COMMAND = 4096
"""Maximum length of a command, in characters."""
_HANDICAP = ("fixed_handicap", "place_free_handicap", "set_free_handicap")
_GO = ("final_status_list", "kgs-genmove_cleanup")
_COLOURS = {"b": "black", "w": "white"}
_Answer = str | Iterator[str] | None
"""Response, or the lines of a response that takes time."""


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
        self._position = GtpPosition(game, self._vertices)
        self._players = players
        self._agent = agent
        self._budget = agent.budget if agent is not None else None
        self._own_limit = own_limit
        self._clock = GtpClock()
        self._komi = game.get_parameters().get("komi")
        self._interrupted: Callable[[], bool] = lambda: True
        self._gone: Callable[[], bool] = lambda: False
        self._commands, self._refused = self._table(name, version)
        self._clear()

    def answers(
        self, line: str, interrupted: Callable[[], bool] = lambda: True, gone: Callable[[], bool] = lambda: False
    ) -> Iterator[str]:
        """Yields the parts of the response to a line of input; nothing for an empty line.

        Args:
            interrupted: whether the next line has arrived, which ends an analysis.
            gone: whether nobody reads the response any more, which ends every search.
        """
        text = "".join(x if x.isprintable() else " " for x in line.partition("#")[0]).strip()
        match = re.match(r"(\d{0,18})\s*(.*)", text, re.ASCII)
        if not text or match is None:
            return
        number, words = match[1], match[2].split()
        self._interrupted, self._gone = interrupted, gone
        failed = f"?{number}"
        try:
            if len(line) > LONGEST_COMMAND:
                raise GtpRefusal("a command is too long")
            answer = self._answer(words)
            if isinstance(answer, str):
                yield f"={number} {answer}".rstrip() + "\n\n"
                return
            first = next(answer, "")
            failed = "error:"  # as a line of the response, which has started
            yield f"={number}\n"
            yield first
            yield from answer
            yield "\n"
        except GtpRefusal as refusal:
            yield f"{failed} {refusal}\n\n"
        except Exception as failure:
            yield f"{failed} {reason_of(failure)}\n\n"

    def _answer(self, words: Sequence[str]) -> str | Iterator[str]:
        name = words[0] if words else ""
        if name in self._refused:
            raise GtpRefusal(self._refused[name])
        if name not in self._commands:
            raise GtpRefusal("unknown command")
        answer = self._commands[name](words[1:]) or ""
        if not isinstance(answer, str):
            return answer
        lines = "\n".join(
            line.rstrip() for line in answer.splitlines() if line.strip()
        )  # an empty line ends the response
        return f"\n{lines}" if answer.startswith("\n") else lines

    def _table(self, name: str, version: str) -> tuple[dict[str, Callable[[Sequence[str]], _Answer]], dict[str, str]]:
        """Returns the commands, and the reasons for those that the game does not support."""
        position = self._position
        commands: dict[str, Callable[[Sequence[str]], _Answer]] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: name,
            "version": lambda words: version,
            "known_command": lambda words: str(" ".join(words) in self._commands).lower(),
            "list_commands": lambda words: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "rectangular_boardsize": self._boardsize,
            "clear_board": lambda words: self._clear(),
            "komi": self._set_komi,
            "play": self._play,
            "genmove": lambda words: self._genmove(words, plays=True),
            "reg_genmove": lambda words: self._genmove(words, plays=False),
            "undo": lambda words: self._moved_to(position.undo),
            "showboard": lambda words: f"\n{position.state}",
            "final_score": lambda words: position.final_score(),
            "time_settings": self._clock.set_time,
            "kgs-time_settings": self._clock.set_kgs_time,
            "time_left": self._time_left,
            "fixed_handicap": position.place_handicap,
            "place_free_handicap": position.place_handicap,
            "set_free_handicap": position.set_handicap,
            "loadsgf": lambda words: self._moved_to(position.load, words),
            "final_status_list": position.final_status,
            "kgs-genmove_cleanup": self._clean_up,
        }
        if self._agent is not None:
            for prefix in ("athenan", "lz", "kata"):
                commands[f"{prefix}-analyze"] = partial(self._analyse, is_kata=prefix == "kata")
                commands[f"{prefix}-genmove_analyze"] = partial(self._genmove_analyse, is_kata=prefix == "kata")
        refused: dict[str, str] = {}
        if not position.handicap:
            refused |= dict.fromkeys(_HANDICAP, f"the rules of {self._game} have no handicap")
        if not is_written(self._game):
            refused["loadsgf"] = f"SGF supports Go and Hex, got {str(self._game)!r}"
        if not position.is_go:
            refused |= {name: f"{name} is for Go, got {str(self._game)!r}" for name in _GO}
        return {name: answer for name, answer in commands.items() if name not in refused}, refused

    # The board.

    @property
    def _state(self) -> pyspiel.State:
        return self._position.state

    def _clear(self) -> None:
        self._clock.begin()
        self._moved_to(self._position.clear)
        collect_between_games()

    def _moved_to(self, move: Callable[..., object], *arguments: object) -> None:
        """Calls a method of the position that jumps to another state, and starts the players there."""
        move(*arguments)
        self._restart_players()

    def _restart_players(self) -> None:
        for player in self._all():
            player.restart_at(self._state.clone())

    def _all(self) -> Sequence[Player]:
        return self._players[:1] if self._players[0] is self._players[1] else self._players

    def _quit(self, words: Sequence[str]) -> None:
        self.finished = True

    def _boardsize(self, words: Sequence[str]) -> None:
        size = self._vertices.size
        wanted = [[str(x) for x in size], [str(x) for x in (*size, *size)][:2]]
        if list(words) not in wanted or not size:
            board = " x ".join(map(str, size if len(size) != 1 else (*size, *size))) or "one size alone"
            raise GtpRefusal(f"unacceptable size: {self._game} has {board}")
        self._clear()

    def _set_komi(self, words: Sequence[str]) -> None:
        (komi,) = read_numbers(words, 1)
        expected = 0.0 if self._komi is None else float(self._komi)
        if komi != expected:
            raise GtpRefusal(f"unacceptable komi: {self._game} has {expected:g}")

    def _mover(self, colour: str, state: pyspiel.State) -> int:
        """Returns the player of a colour, if that player is to move in `state`.

        Raises:
            GtpRefusal: it is another player's turn, or the game is over.
        """
        player = self._vertices.player(colour)
        if player is None:
            raise GtpRefusal(f"expected black or white, got {shown(colour)}")
        if state.is_terminal():
            raise GtpRefusal(f"the game is over: {self._position.final_score()}")
        mover: int = state.current_player()
        if player != mover:
            raise GtpRefusal(f"illegal move: it is the turn of {_COLOURS[self._vertices.colour(mover)]}")
        return mover

    def _play(self, words: Sequence[str]) -> None:
        if len(words) != 2:
            raise GtpRefusal("expected a colour and a vertex")
        state = self._position.open_state()
        mover = self._mover(words[0], state)
        action = self._vertices.action(state, words[1])
        if action is None:
            raise GtpRefusal(f"illegal move: {shown(words[1])}")
        before = state.clone()
        if self._position.play(action):
            self._restart_players()
            return
        for player in self._all():
            player.inform_action(before, mover, action)

    # Moves.

    def _genmove(self, words: Sequence[str], *, plays: bool) -> str:
        if len(words) != 1:
            raise GtpRefusal("expected a colour")
        moves = self._chosen(self._mover(words[0], self._state), None, plays=plays)
        try:
            while True:
                next(moves)
        except StopIteration as end:
            vertex: str = end.value
            return vertex

    def _clean_up(self, words: Sequence[str]) -> str:
        """Answers `kgs-genmove_cleanup`: `genmove` that continues after two passes.

        An agent plays by rules in which all stones are alive. A pass therefore means that it finds nothing to capture.
        """
        if len(words) != 1:
            raise GtpRefusal("expected a colour")
        self._mover(words[0], self._position.open_state())
        if self._position.resume():
            self._restart_players()
        return self._genmove(words, plays=True)

    def _chosen(self, mover: int, writer: AnalysisWriter | None, *, plays: bool) -> Generator[str, None, str]:
        """Yields the lines of the search for a move, and returns the move."""
        state, player = self._state, self._players[mover]
        colour = self._vertices.colour(mover)
        start = time.monotonic()
        self._give(self._clock.seconds(colour))
        if self._agent is not None and isinstance(player, AskingPlayer):
            search = GtpSearch(self._agent, state.clone(), writer, player)
            yield from search.lines(self._gone)
            action = search.result
            if action is None:
                raise GtpRefusal("the search was stopped")
        else:
            try:
                action = player.step(state.clone())
            except ResignedError:
                return "resign"
        if action not in state.legal_actions():
            raise GtpRefusal(f"the agent chose {shown(action)}, which is not legal")
        vertex = self._vertices.vertex(state, action)
        if plays:
            self._position.play(action)
            self._clock.spend(colour, time.monotonic() - start)
        return vertex

    # Time.

    def _time_left(self, words: Sequence[str]) -> None:
        player = self._vertices.player(words[0]) if words else None
        if player is None:
            raise GtpRefusal("expected a colour, seconds and stones")
        self._clock.set_time_left(self._vertices.colour(player), words[1:])

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

    def _analyse(self, words: Sequence[str], *, is_kata: bool) -> Iterator[str]:
        assert self._agent is not None
        _, writer = self._analysis(words, is_kata=is_kata)
        return GtpSearch(self._agent, self._state.clone(), writer).lines(self._interrupted)

    def _genmove_analyse(self, words: Sequence[str], *, is_kata: bool) -> Iterator[str]:
        mover, writer = self._analysis(words, is_kata=is_kata)
        vertex = yield from self._chosen(mover, writer, plays=True)
        yield f"play {vertex}\n"

    def _analysis(self, words: Sequence[str], *, is_kata: bool) -> tuple[int, AnalysisWriter]:
        """Returns the player to move, and a writer as the arguments ask: a colour, if any, and options."""
        assert self._agent is not None
        state, rest = self._state, list(words)
        colour = _COLOURS[self._vertices.colour(max(0, state.current_player()))]
        if rest and self._vertices.player(rest[0]) is not None:
            colour = rest.pop(0)
        mover = self._mover(colour, state)
        options = AnalysisOptions.read(rest, self._vertices, state, is_kata=is_kata)
        agent = self._agent
        return mover, AnalysisWriter(self._vertices, state.clone(), agent.search.outcome, options)

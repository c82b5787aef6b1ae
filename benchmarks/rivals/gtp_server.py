"""Runs a trained rival as a GTP engine: `athenan eval RUN --against "gtp:ENV/bin/python THIS --folder F@0.1s"`.

Implements the commands that `docs/engines.md` lists for GTP engines. The limit is a number of simulations, given as an
option, or seconds per move, set by `time_settings` or `kgs-time_settings`. The first such command compiles and
measures a search, which may take some seconds of the first move; `--seconds` does it before the first reply. Standard
output contains only replies; output of libraries goes to standard error. Moves are written as in OpenSpiel, those of
Connect Four by their column.

    python benchmarks/rivals/gtp_server.py --folder runs/gumbel                     # 32 simulations, or seconds if set
    python benchmarks/rivals/gtp_server.py --folder runs/gumbel --simulations 200
    python benchmarks/rivals/gtp_server.py --folder runs/gumbel --seconds 0.1
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO

from rival_arguments import Parser, number, refuse, require
from rival_folder import read_about

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
COLOURS = {"b": 0, "black": 0, "w": 1, "white": 1}
RIVALS = {"pgx_gumbel": ("jax", "mctx", "pgx"), "open_spiel_alphazero": ("flax", "jax", "orbax")}
"""Rivals, with the modules that they need."""


class Player(Protocol):
    """A rival that plays."""

    def set_seconds(self, seconds: float) -> None:
        """Sets the approximate time per move."""

    def choose(self, history: list[int]) -> int:
        """Returns the action to play after the actions in `history`."""


class Refusal(Exception):  # noqa: N818
    """Text after the question mark of a failed GTP reply."""


class Server:
    """A game played by GTP commands.

    Args:
        game: OpenSpiel game.
        player: plays either colour for `genmove`.
        name: name of the engine.
    """

    def __init__(self, game: Any, player: Player, name: str) -> None:
        self._game, self._player, self._name = game, player, name
        self._state = game.new_initial_state()
        self._commands: dict[str, Callable[[Sequence[str]], str]] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: self._name,
            "version": lambda words: "1",
            "known_command": lambda words: str(" ".join(words) in self._commands).lower(),
            "list_commands": lambda words: "\n".join(self._commands),
            "quit": lambda words: "",
            "boardsize": self._boardsize,
            "clear_board": self._clear,
            "play": self._play,
            "genmove": self._genmove,
            "undo": self._undo,
            "showboard": lambda words: f"\n{self._state}".rstrip(),
            "time_settings": self._time_settings,
            "kgs-time_settings": self._kgs_time_settings,
        }

    def serve(self, lines: TextIO, answers: TextIO) -> None:
        """Replies to each line until `quit` or the end."""
        for line in lines:
            words = line.partition("#")[0].split()
            number = words.pop(0) if words and words[0].isdecimal() else ""
            if not words:
                continue
            try:
                if words[0] not in self._commands:
                    raise Refusal("unknown command")
                answer = f"={number} {self._commands[words[0]](words[1:])}"
            except Refusal as refusal:
                answer = f"?{number} {refusal}"
            answers.write(answer.rstrip() + "\n\n")
            answers.flush()
            if words[0] == "quit":
                return

    def _vertex(self, action: int) -> str:
        """Returns the text of a legal action."""
        if self._game.get_type().short_name == "connect_four":
            return LETTERS[action]
        return str(self._state.action_to_string(self._state.current_player(), action))

    def _boardsize(self, words: Sequence[str]) -> str:
        sizes = {"connect_four": ["7", "6"], "othello": ["8"]}
        name = self._game.get_type().short_name
        expected = sizes.get(name, [str(self._game.get_parameters().get("board_size"))])
        if list(words) != expected:
            raise Refusal(f"unacceptable size: expected {' '.join(expected)}, the size of the training")
        return ""

    def _clear(self, words: Sequence[str]) -> str:
        self._state = self._game.new_initial_state()
        return ""

    def _mover(self, word: str) -> None:
        """Raises `Refusal` unless this colour is to move."""
        if self._state.is_terminal() or COLOURS.get(word.lower()) != self._state.current_player():
            raise Refusal("illegal move: that colour is not to move")

    def _play(self, words: Sequence[str]) -> str:
        if len(words) != 2:
            raise Refusal("syntax error: expected a colour and a vertex")
        self._mover(words[0])
        said = words[1].lower()
        for action in self._state.legal_actions():
            vertex = self._vertex(action).lower()
            if said == vertex or (len(vertex) == 1 and said[0] == vertex and said[1:].isdecimal()):
                self._state.apply_action(action)
                return ""
        raise Refusal("illegal move")

    def _genmove(self, words: Sequence[str]) -> str:
        if len(words) != 1:
            raise Refusal("syntax error: expected a colour")
        self._mover(words[0])
        action = self._player.choose(self._state.history())
        vertex = self._vertex(action)
        self._state.apply_action(action)
        return vertex

    def _undo(self, words: Sequence[str]) -> str:
        history = self._state.history()
        if not history:
            raise Refusal("cannot undo")
        self._state = self._game.new_initial_state()
        for action in history[:-1]:
            self._state.apply_action(action)
        return ""

    def _time_settings(self, words: Sequence[str]) -> str:
        """`time_settings 0 SECONDS MOVES`."""
        return self._set_seconds(words)

    def _kgs_time_settings(self, words: Sequence[str]) -> str:
        """`kgs-time_settings byoyomi 0 SECONDS PERIODS`, each move having one period."""
        if not words or words[0] != "byoyomi":
            raise Refusal("expected byoyomi: this engine has no game clock")
        return self._set_seconds([*words[1:3], "1"])

    def _set_seconds(self, words: Sequence[str]) -> str:
        try:
            whole, seconds, moves = map(float, words)
        except ValueError:
            raise Refusal("syntax error: expected three numbers") from None
        if whole != 0 or not 0 < seconds <= 3600 or not 1 <= moves <= 1000:
            raise Refusal("expected seconds per move: this engine has no game clock")
        self._player.set_seconds(seconds / moves)
        return ""


def read_arguments() -> argparse.Namespace:
    """Returns the arguments."""
    parser = Parser(__doc__)
    parser.add_argument("--folder", required=True, help="folder of a rival's training")
    parser.add_argument("--simulations", type=number(int, 1, 100_000), default=32, help="per move (default 32)")
    parser.add_argument(
        "--seconds",
        type=number(float, 0.001, 3600),
        help="per move, instead of simulations; measured at the start",
    )
    parser.add_argument("--seed", type=number(int, 0, 2**31 - 1), default=0, help="random seed (default 0)")
    return parser.parse_args()


def player(about: dict[str, Any], arguments: argparse.Namespace) -> Player:
    """Loads the rival of the folder, and searches once."""
    folder = Path(arguments.folder).absolute()
    try:
        if about["rival"] == "pgx_gumbel":
            import pgx_player

            return pgx_player.Player(folder, about["game"], arguments.simulations, arguments.seed)
        import open_spiel_player

        return open_spiel_player.Player(folder, about, arguments.simulations, arguments.seed)
    except (KeyError, OSError, ValueError) as error:
        refuse(f"the rival in {arguments.folder!r} cannot be read: {error}")


def main() -> None:
    """Serves standard input."""
    arguments = read_arguments()
    about = read_about(arguments.folder)
    if about["rival"] not in RIVALS:
        refuse(f"expected one of {', '.join(RIVALS)} in {arguments.folder!r}, got {about['rival']!r}")
    require("pyspiel", *RIVALS[about["rival"]])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import pyspiel

    if about["game"].partition("(")[0] not in pyspiel.registered_names():  # OpenSpiel would print all names
        refuse(f"expected a game of OpenSpiel in {arguments.folder!r}, got {about['game']!r}")
    game = pyspiel.load_game(about["game"])
    thinking = player(about, arguments)
    if arguments.seconds is not None:
        thinking.set_seconds(arguments.seconds)
    Server(game, thinking, about["rival"]).serve(sys.stdin, answers)


if __name__ == "__main__":
    main()

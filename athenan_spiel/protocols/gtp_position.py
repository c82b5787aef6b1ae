"""Position of a GTP session: the moves that the client has made, and what the rules count.

The rules are OpenSpiel's, with one addition for Go: after two passes, which end the game, play may continue. The two
passes are then left out of the state, as if they had not been played. `undo` still takes them back one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games.measures import measured, score
from athenan_spiel.protocols import sgf
from athenan_spiel.protocols.vertices import Vertices

STATUSES = ("alive", "dead", "seki")
"""Arguments of `final_status_list`."""


class GtpRefusal(Exception):  # noqa: N818
    """Text after the question mark of an error response."""


class GtpPosition:
    """Position of a game in a GTP session.

    Args:
        game: game to play.
        vertices: its notation.

    Attributes:
        state: current state.
    """

    def __init__(self, game: pyspiel.Game, vertices: Vertices) -> None:
        self._game = game
        self._vertices = vertices
        self.clear()

    @property
    def is_go(self) -> bool:
        """Whether the game is Go."""
        return bool(self._game.get_type().short_name == "go")

    def clear(self) -> None:
        """Starts a new game."""
        self._played: list[int] = []
        self.state = self._game.new_initial_state()

    def play(self, action: int) -> bool:
        """Plays a legal action of `open_state`. Returns whether two passes before it were left out."""
        is_resumed = self.resume()
        self._played.append(action)
        self.state.apply_action(action)
        return is_resumed

    def resume(self) -> bool:
        """Continues after two passes in Go. Returns False if the game had not ended in this way."""
        state = self.open_state()
        is_resumed = state is not self.state
        self.state = state
        return is_resumed

    def undo(self) -> None:
        """Takes the last move back.

        Raises:
            GtpRefusal: there is none.
        """
        if not self._played:
            raise GtpRefusal("cannot undo")
        self._replay(self._played[:-1])

    def open_state(self) -> pyspiel.State:
        """Returns the state in which the next move is played: after two passes in Go, a state without them."""
        history = self.state.history()
        passed = self._game.num_distinct_actions() - 1
        if not (self.is_go and self.state.is_terminal() and history[-2:] == [passed, passed]):
            return self.state
        state = self._game.new_initial_state()
        for action in history[:-2]:
            state.apply_action(action)
        return state

    def _replay(self, actions: Sequence[int]) -> None:
        self.clear()
        for action in actions:
            self.play(action)

    def load(self, words: Sequence[str]) -> None:
        """Loads an SGF: a file, and optionally the number of the move before which to stop.

        Raises:
            GtpRefusal: the file is not a game with these rules, or cannot be read. The position is then unchanged.
        """
        if not words:
            raise GtpRefusal("expected a file, and optionally a move number")
        *path, number = words if len(words) > 1 and words[-1].isdecimal() else (*words, "")
        try:
            actions = sgf.read_sgf(self._game, " ".join(path))
        except ConfigError as error:
            raise GtpRefusal(f"cannot load file: {error}") from None
        except OSError as error:
            raise GtpRefusal(f"cannot load file: {error.strerror or error}") from None
        self._replay(actions[: max(0, int(number) - 1)] if number else actions)

    # Handicap.

    @property
    def handicap(self) -> list[str]:
        """Vertices of the handicap stones."""
        setup = (command.split() for command in self._vertices.setup)
        return next((vertices for name, *vertices in setup if name == "set_free_handicap"), [])

    def set_handicap(self, words: Sequence[str]) -> str:
        """Accepts the vertices of the game's own handicap before the first move.

        Raises:
            GtpRefusal: they are others, or a move has been played.
        """
        if sorted(word.upper() for word in words) != sorted(self._unplayed_handicap()):
            raise GtpRefusal(f"bad vertex list: {self._game} has {' '.join(self.handicap)}")
        return ""

    def place_handicap(self, words: Sequence[str]) -> str:
        """Returns the vertices of the game's own handicap, if the number of stones is right.

        Raises:
            GtpRefusal: the number is another, or a move has been played.
        """
        stones = self._unplayed_handicap()
        if list(words) != [str(len(stones))]:
            raise GtpRefusal(
                f"expected {len(stones)} stones, the handicap of {self._game}, got {shown(' '.join(words))}"
            )
        return " ".join(stones)

    def _unplayed_handicap(self) -> list[str]:
        if self._played:
            raise GtpRefusal("a handicap is set before the first move: use clear_board")
        return self.handicap

    # Scores.

    def final_score(self) -> str:
        """Returns the margin of the leader if the game counts points, else the winner.

        Raises:
            GtpRefusal: the game does not count points, and is not over.
        """
        state = self.state
        if measured("score", self._game):
            first, second = score(state)
            lead = first - second
        elif state.is_terminal():
            lead = state.returns()[0]
        else:
            raise GtpRefusal("cannot score: the game is not over")
        if state.is_terminal() and _sign(state.returns()[0]) != _sign(lead):
            lead = state.returns()[0]  # a game may end before points count, by a repetition
        if lead == 0:
            return "0"
        return f"{self._vertices.colour(0 if lead > 0 else 1).upper()}+{abs(lead):g}"

    def final_status(self, words: Sequence[str]) -> str:
        """Returns the stones of a status, one string of connected stones per line. In OpenSpiel's Go all are alive.

        Raises:
            GtpRefusal: the status is unknown.
        """
        if len(words) != 1 or words[0].lower() not in STATUSES:
            raise GtpRefusal(f"expected {', '.join(STATUSES)}, got {shown(' '.join(words))}")
        chains = self._vertices.chains(self.state) if words[0].lower() == "alive" else []
        return "\n".join(" ".join(chain) for chain in chains)


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)

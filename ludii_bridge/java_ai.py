"""Ludii's AIs in this process's Java: objects of its class `AI`, created by name by Ludii's registry."""

from __future__ import annotations

from typing import Any, cast

from ludii_bridge import jvm
from ludii_bridge.errors import LudiiError
from ludii_bridge.position import JavaPosition
from ludii_bridge.transport import Position

_COUNTING = ("search.mcts.MCTS", "search.flat.FlatMonteCarlo")
"""Classes of AIs that stop after a number of iterations; the others would never stop."""


class JavaMatchAI:
    """One of Ludii's AIs, for one game.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        name: Ludii's name of the AI.

    Raises:
        LudiiError: the AI does not play this game, or fails.
    """

    def __init__(self, jpype: Any, game: Any, name: str) -> None:
        self._jpype = jpype
        self._game = game
        self._name = name
        self._ai = jvm.translated(self._make, f"{name} cannot be created")()

    def _make(self) -> Any:
        ai = self._jpype.JClass("manager.ai.AIRegistry").fromRegistry(self._name)
        if ai is None:
            raise LudiiError(f"this version of Ludii has no AI called {self._name!r}")
        if not ai.supportsGame(self._game):
            raise LudiiError(f"{self._name} does not play {self._game.name()}: use another AI, such as UCT")
        return ai

    @property
    def counts_iterations(self) -> bool:
        """Whether it supports a limit in iterations."""
        return any(isinstance(self._ai, self._jpype.JClass(name)) for name in _COUNTING)

    def begin(self, player: int) -> None:
        """Starts a game as that player."""
        jvm.translated(self._ai.initAI, f"{self._name} cannot begin")(self._game, player + 1)

    def choose(self, position: Position, seconds: float | None, iterations: int | None) -> int:
        """Returns the index of its move."""
        return jvm.translated(self._choose, f"{self._name} failed")(cast(JavaPosition, position), seconds, iterations)

    def _choose(self, position: JavaPosition, seconds: float | None, iterations: int | None) -> int:
        context = self._jpype.JClass("other.context.Context")(position.context)
        if not self._game.isStochasticGame():  # legal moves contain the roll
            context.trial().clearLegalMoves()  # the AI gets moves of its own, as a few games change moves
        limits = -1.0 if seconds is None else seconds, -1 if iterations is None else iterations, -1
        move = self._ai.selectAction(self._game, context, *limits)
        number = None if move is None else position.number_of(move)
        if number is None:
            raise LudiiError(f"{self._name} chose an illegal move, {move}")
        return number

    def end(self) -> None:
        """Ends the game, and frees the AI's resources."""
        jvm.translated(self._ai.closeAI, f"{self._name} cannot end")()


def recommended_ai(jpype: Any, game: Any) -> str:
    """Returns Ludii's name of the AI that the metadata of a compiled game recommends; empty if they name none.

    Raises:
        LudiiError: Ludii fails.
    """

    def name() -> str:
        if game.metadata().ai().agent() is None:
            return ""
        ai = jpype.JClass("utils.AIFactory").fromMetadata(game)
        return "" if ai is None else str(ai.friendlyName())

    return jvm.translated(name, "the recommended AI cannot be found")()

"""Ludii's AIs in this process's Java: objects of its class `AI`, as its registry makes them by name."""

from __future__ import annotations

from typing import Any, cast

from ludii_bridge import jvm
from ludii_bridge.errors import LudiiError
from ludii_bridge.position import JavaPosition
from ludii_bridge.transport import Position

_COUNTING = ("search.mcts.MCTS", "search.flat.FlatMonteCarlo")
"""Classes of AIs that stop after a number of iterations; the others would never stop."""


class JavaMatchAI:
    """One of Ludii's AIs, for one match of a game.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.
        name: of the AI, as Ludii writes it.

    Raises:
        LudiiError: the AI does not play this game, or fails.
    """

    def __init__(self, jpype: Any, game: Any, name: str) -> None:
        self._jpype = jpype
        self._game = game
        self._name = name
        self._ai = jvm.translated(self._make, f"{name} cannot be made")()

    def _make(self) -> Any:
        ai = self._jpype.JClass("manager.ai.AIRegistry").fromRegistry(self._name)
        if ai is None:
            raise LudiiError(f"this version of Ludii has no AI called {self._name!r}")
        if not ai.supportsGame(self._game):
            raise LudiiError(f"{self._name} does not play {self._game.name()}: take another AI, such as UCT")
        return ai

    @property
    def counts_iterations(self) -> bool:
        """It stops after a number of iterations, too."""
        return any(isinstance(self._ai, self._jpype.JClass(name)) for name in _COUNTING)

    def begin(self, player: int) -> None:
        """A match begins in which it is that player."""
        jvm.translated(self._ai.initAI, f"{self._name} cannot begin")(self._game, player + 1)

    def choose(self, position: Position, seconds: float | None, iterations: int | None) -> int:
        """The number of the legal move that it plays."""
        return jvm.translated(self._choose, f"{self._name} failed")(cast(JavaPosition, position), seconds, iterations)

    def _choose(self, position: JavaPosition, seconds: float | None, iterations: int | None) -> int:
        context = self._jpype.JClass("other.context.Context")(position.context)
        context.trial().clearLegalMoves()  # the AI shares no moves with others: a few games change them
        limits = -1.0 if seconds is None else seconds, -1 if iterations is None else iterations, -1
        move = self._ai.selectAction(self._game, context, *limits)
        number = None if move is None else position.number_of(move)
        if number is None:
            raise LudiiError(f"{self._name} chose no legal move, but {move}")
        return number

    def end(self) -> None:
        """The match is over, or given up: the AI lets go of what it holds."""
        jvm.translated(self._ai.closeAI, f"{self._name} cannot end")()

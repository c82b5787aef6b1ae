"""Custom outcomes: imported by the path "module:name", wrapped if they are plain functions, and tested.

A function from terminal states to numbers is enough, or to rows with a number for each player (`games.rows`):

    def material(state: pyspiel.State) -> float: ...

A subclass of `Outcome` may also have constants, estimate them from random games (`for_game`), or be `path_dependent`.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyspiel

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes.base import SETTING, Outcome, Parameter
from athenan_spiel.outcomes.classic import gain
from athenan_spiel.outcomes.sample import Sample

Function = Callable[[pyspiel.State], float | Sequence[float]]
Kind = type[Outcome] | Function
"""Class or function that defines an outcome."""

_RESULTS = {1: "a win of player 0", 0: "a draw", -1: "a win of player 1"}
_MOST_ACTIONS = 12
"""Maximum number of a game's actions in an error message."""


@dataclass(frozen=True)
class FunctionOutcome(Outcome):
    """Outcome of a plain function. The function must depend on the position alone, not on how it was reached."""

    function: Function

    def __call__(self, state: pyspiel.State) -> Any:
        """Returns the function's value.

        Raises:
            ConfigError: as `checked`.
        """
        return checked(self.function(state), state)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The scale alone: the function is imported again by its name."""
        return {"scale": self.scale}


def checked(value: object, state: pyspiel.State) -> Any:
    """Returns `value` as a float, or a row as a tuple of floats.

    Raises:
        ConfigError: a number is not finite, or the row has not one number for each player.
    """
    is_row = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    row = tuple(map(_number, cast(Sequence[object], value) if is_row else [value]))
    rows = rows_of(state.get_game()) if is_row else None
    if not all(map(math.isfinite, row)) or (is_row and (rows is None or len(row) != rows.players)):
        expected = "a finite number" if rows is None else f"{rows.players} finite numbers"
        raise ConfigError(f"expected an outcome to return {expected}, got {shown(value)} for {_history(state)}")
    return row if is_row else row[0]


def _number(value: object) -> float:
    """Returns `value` as a float; NaN if it is none."""
    try:
        return float(cast(float, value))
    except (TypeError, ValueError, OverflowError):
        return math.nan


def found_by_path(path: str) -> Kind:
    """Imports the class or function at "module:name".

    Raises:
        ConfigError: the module or name does not exist, the module fails, or the object defines no outcome.
    """
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever the module's own code raises
        hint = ": run this where the module is, or set PYTHONPATH" if isinstance(error, ModuleNotFoundError) else ""
        raise ConfigError.at(SETTING, f"{path!r} cannot be imported, {_one_line(error)}{hint}") from error
    kind = getattr(module, name, None)
    if kind is None:
        raise ConfigError.at(SETTING, f"{path!r} cannot be imported: {module_name!r} has no {name!r}")
    return checked_kind(path, kind)


def checked_kind(name: str, kind: Any) -> Kind:
    """Returns `kind` if it defines an outcome.

    Raises:
        ConfigError: it is neither a subclass of `Outcome` nor a function.
    """
    if not callable(kind) or (isinstance(kind, type) and not issubclass(kind, Outcome)):
        problem = f"{name!r} must be a function of a state or a subclass of Outcome, got {shown(kind)}"
        raise ConfigError.at(SETTING, problem)
    return cast(Kind, kind)


def made(name: str, kind: Kind, game: pyspiel.Game, sample: Sample) -> Outcome:
    """Creates a custom outcome for `game` and tests it on the sample's games.

    Raises:
        ConfigError: it fails on one of them, returns a value that is not a finite number or not the row that the game
            needs, or breaks Definition 21.
    """
    rows = rows_of(game)
    try:
        if isinstance(kind, type):
            outcome: Outcome = cast(type[Outcome], kind).for_game(game, sample)
        else:
            outcome = FunctionOutcome(kind).scaled(sample)
        values = [checked(outcome(end), end) for end in sample.ends]
        for value in values:
            if rows is not None and not isinstance(value, tuple):
                expected = f"a row of {rows.players} numbers, one for each player"
                raise ConfigError(f"expected it to return {expected} in {str(game)!r}, got {value!r}")
        for parameter, constant in outcome.parameters.items():
            if not isinstance(constant, Parameter):
                raise ConfigError(f"expected {parameter} to be a number, True or False, or text, got {constant!r}")
    except ConfigError as error:
        raise ConfigError.at(SETTING, f"{name!r}: {error}") from error
    except Exception as error:  # whatever its own code raises
        problem = f"{name!r} fails on a random game of {str(game)!r}, {_one_line(error)}"
        raise ConfigError.at(SETTING, problem) from error
    if rows is None:
        _require_order(name, [(gain(end), value, end) for value, end in zip(values, sample.ends, strict=True)])
        return outcome
    for player in range(rows.players):
        ends = [(end.returns()[player], value[player], end) for value, end in zip(values, sample.ends, strict=True)]
        _require_order(name, ends, player)
    return outcome


def _require_order(name: str, ends: list[tuple[float, Any, pyspiel.State]], player: int | None = None) -> None:
    """Raises `ConfigError` unless the values keep the order of the gain (Definition 21).

    Args:
        ends: gain, value and terminal state of each game.
        player: player of the gains and values; None: they are player 0's in a game for two.
    """

    def named(gain: float) -> str:
        return _RESULTS[int(gain)] if player is None else f"a return of {gain:g} of player {player}"

    gains = sorted({end[0] for end in ends}, reverse=True)
    for more, less in itertools.combinations(gains, 2):
        _, low, low_end = min((end for end in ends if end[0] == more), key=lambda end: end[1])
        _, high, high_end = max((end for end in ends if end[0] == less), key=lambda end: end[1])
        if low <= high:
            raise ConfigError.at(
                SETTING,
                f"{name!r} breaks Definition 21: it returns {low!r} for {named(more)}, {_history(low_end)},\n"
                f"and {high!r} for {named(less)}, {_history(high_end)}; add gain(state) times a larger number",
            )


def _history(state: pyspiel.State) -> str:
    history = state.history()
    first = ", ".join(map(str, history[:_MOST_ACTIONS]))
    return f"[{first}{', ...' if len(history) > _MOST_ACTIONS else ''}]"


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"

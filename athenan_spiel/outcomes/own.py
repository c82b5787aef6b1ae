"""Custom outcomes: imported by the path "module:name", wrapped if they are plain functions, and tested.

A function from terminal states to numbers is enough:

    def material(state: pyspiel.State) -> float: ...

A subclass of `Outcome` may also have constants, estimate them from random games (`for_game`), or be `path_dependent`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pyspiel

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.outcomes.base import SETTING, Outcome, Parameter
from athenan_spiel.outcomes.classic import gain
from athenan_spiel.outcomes.sample import Sample

Function = Callable[[pyspiel.State], float]
Kind = type[Outcome] | Function
"""Class or function that defines an outcome."""

_RESULTS = {1: "a win of player 0", 0: "a draw", -1: "a win of player 1"}
_MOST_ACTIONS = 12
"""Maximum number of a game's actions in an error message."""


@dataclass(frozen=True)
class FunctionOutcome(Outcome):
    """Outcome of a plain function. The function must depend on the position alone, not on how it was reached."""

    function: Function

    def __call__(self, state: pyspiel.State) -> float:
        """Returns the function's value.

        Raises:
            ConfigError: the value is not a finite number.
        """
        return checked(self.function(state), state)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The scale alone: the function is imported again by its name."""
        return {"scale": self.scale}


def checked(value: object, state: pyspiel.State) -> float:
    """Returns `value` as a float.

    Raises:
        ConfigError: `value` is not a finite number.
    """
    try:
        number = float(cast(float, value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"expected an outcome to return a finite number, got {shown(value)} for {_history(state)}")
    return number


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
        ConfigError: it fails on one of them, returns a value that is not a finite number, or breaks Definition 21.
    """
    try:
        if isinstance(kind, type):
            outcome: Outcome = cast(type[Outcome], kind).for_game(game, sample)
        else:
            outcome = FunctionOutcome(kind).scaled(sample)
        values = [checked(outcome(end), end) for end in sample.ends]
        for constant, value in outcome.parameters.items():
            if not isinstance(value, Parameter):
                raise ConfigError(f"expected {constant} to be a number, True or False, or text, got {value!r}")
    except ConfigError as error:
        raise ConfigError.at(SETTING, f"{name!r}: {error}") from error
    except Exception as error:  # whatever its own code raises
        problem = f"{name!r} fails on a random game of {str(game)!r}, {_one_line(error)}"
        raise ConfigError.at(SETTING, problem) from error
    _require_order(name, list(zip(values, sample.ends, strict=True)))
    return outcome


def _require_order(name: str, ends: list[tuple[float, pyspiel.State]]) -> None:
    """Raises `ConfigError` unless the values keep the order of the gain (Definition 21)."""
    by_gain = {g: [(value, end) for value, end in ends if gain(end) == g] for g in _RESULTS}
    for more, less in ((1, 0), (1, -1), (0, -1)):
        if not by_gain[more] or not by_gain[less]:
            continue
        low, low_end = min(by_gain[more], key=lambda pair: pair[0])
        high, high_end = max(by_gain[less], key=lambda pair: pair[0])
        if low <= high:
            raise ConfigError.at(
                SETTING,
                f"{name!r} breaks Definition 21: it returns {low!r} for {_RESULTS[more]}, {_history(low_end)},\n"
                f"and {high!r} for {_RESULTS[less]}, {_history(high_end)}; add gain(state) times a larger number",
            )


def _history(state: pyspiel.State) -> str:
    history = state.history()
    first = ", ".join(map(str, history[:_MOST_ACTIONS]))
    return f"[{first}{', ...' if len(history) > _MOST_ACTIONS else ''}]"


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"

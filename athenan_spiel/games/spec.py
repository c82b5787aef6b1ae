"""Strict parser of OpenSpiel's game strings, such as `hex(board_size=5,swap=True)`.

OpenSpiel ignores text after the last bracket, arguments without a name and the first of two equal names, and writes
errors to the terminal from C++. Here each of these raises an error of one line, before OpenSpiel is called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspiel

from athenan_spiel.errors import UnsupportedGameError, nearest, shown
from athenan_spiel.system.files import DEEPEST

_EXPECTED = {
    bool: "True or False",
    int: "a whole number",
    float: "a number with a point, such as 7.5",
    str: "text",
    dict: "a game with its brackets, such as tic_tac_toe()",
}
_INT32 = 2**31 - 1


@dataclass(frozen=True)
class Spec:
    """Parsed game string: short name and given parameters, with Python values.

    The value of a parameter that is itself a game is its `Spec`.
    """

    name: str
    parameters: Mapping[str, Any]
    text: str
    """Game string."""

    @property
    def inner(self) -> list[Spec]:
        """Games that are parameters of this one."""
        return [value for value in self.parameters.values() if isinstance(value, Spec)]


def spec_of(game: pyspiel.Game) -> Spec:
    """Returns the `Spec` of a loaded game.

    Raises:
        UnsupportedGameError: more than `DEEPEST` games are inside each other.
    """
    _require_shallow(str(game))
    return _spec(game.get_type().short_name, game.get_parameters(), str(game))


def _spec(name: str, parameters: Mapping[str, Any], text: str) -> Spec:
    values = dict(parameters)
    for parameter, value in parameters.items():
        if isinstance(value, dict) and "name" in value:
            inner = dict(value)
            values[parameter] = _spec(inner.pop("name"), inner, pyspiel.game_parameters_to_string(value))
    return Spec(name, values, text)


def read_spec(text: str) -> Spec:
    """Parses a game string. All names in it are known to OpenSpiel, and all values have the right type.

    Raises:
        UnsupportedGameError: brackets do not pair, more than `DEEPEST` games are nested, a game or parameter does not
            exist, a parameter is given twice, or a value has another type, is negative, or is not an existing file.
    """
    _require_shallow(text)
    name, arguments = _split(text)
    kind = registered_type(name)
    values: dict[str, Any] = {}
    for argument in arguments:
        parameter, equals, value = _split_argument(argument)
        if not equals:
            hint = ": remove commas from names" if kind.short_name == "ludii" and values else ""
            raise UnsupportedGameError(
                f"expected name=value between the brackets of {shown(text)}, got {shown(argument)}{hint}"
            )
        if parameter in values:
            raise UnsupportedGameError(f"{shown(parameter)} is given twice in {shown(text)}: keep one")
        values[parameter] = _value(kind, parameter, value)
    if "filename" in kind.parameter_specification and "filename" not in values:
        raise UnsupportedGameError(f"{name} needs the path of a file: {name}(filename=...)")
    return Spec(name, values, text)


def _require_shallow(text: str) -> None:
    depth = 0
    for bracket in re.findall("[()]", text):
        depth += 1 if bracket == "(" else -1
        if depth > DEEPEST:
            raise UnsupportedGameError(f"more than {DEEPEST} brackets are nested in {shown(text)}: use a simpler game")


def registered_type(name: str) -> pyspiel.GameType:
    """Returns the type with which OpenSpiel registers the game called `name`.

    Raises:
        UnsupportedGameError: no game has that name.
    """
    if name.startswith("python_") and name not in pyspiel.registered_names():
        import open_spiel.python.games  # noqa: F401  it registers OpenSpiel's games written in Python
    if name == "ludii" and name not in pyspiel.registered_names():
        import ludii_bridge  # noqa: F401  it registers Ludii's games
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if name not in kinds:
        hint = _ludii_hint(name) or nearest(name, [*kinds, "ludii"]) or "; `athenan games` lists them"
        raise UnsupportedGameError(f"no game is called {shown(name)}{hint}")
    return kinds[name]


def _ludii_hint(name: str) -> str:
    """Returns how to write a game of Ludii that was given by its name alone, or like one of Ludii's AIs."""
    prefix, colon, rest = name.partition(":")
    if colon and prefix.casefold() == "ludii":
        return f': write a game of Ludii as "ludii(game={shown(rest.strip())[1:-1]})"; ludii:NAME is an AI of Ludii'
    from ludii_bridge.catalogue import plain, written
    from ludii_bridge.report import all_names

    wanted = plain(name)
    known = next((known for known in all_names() if plain(known) == wanted), None)
    return "" if known is None else f': write a game of Ludii as "ludii(game={written(known)})"'


def _split(text: str) -> tuple[str, list[str]]:
    """Returns the name and the arguments, split at commas outside of inner brackets."""
    name, bracket, rest = text.partition("(")
    if not bracket:
        if ")" in name:
            raise UnsupportedGameError(f"the brackets of {shown(text)} do not pair")
        return name, []
    arguments = [""]
    depth = 1
    for i, character in enumerate(rest):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            if i + 1 < len(rest):
                raise UnsupportedGameError(
                    f"{shown(rest[i + 1 :])} follows the last bracket of {shown(text)}: remove it"
                )
            return name, [] if arguments == [""] else arguments
        if character == "," and depth == 1:
            arguments.append("")
        else:
            arguments[-1] += character
    raise UnsupportedGameError(f"the brackets of {shown(text)} do not pair: a closing one is missing")


def _split_argument(argument: str) -> tuple[str, bool, str]:
    """Returns (name, whether there is a `=`, value), split like OpenSpiel at the last `=` outside of brackets."""
    depth = 0
    cut = -1
    for i, character in enumerate(argument):
        depth += (character == "(") - (character == ")")
        if character == "=" and depth == 0:
            cut = i
    return argument[: max(cut, 0)], cut >= 0, argument[cut + 1 :]


def _value(kind: pyspiel.GameType, parameter: str, text: str) -> Any:
    """Returns the value of a parameter, after checks that OpenSpiel omits or ends the process with."""
    known = kind.parameter_specification
    if kind.short_name == "ludii" and (fault := _unwritable(parameter, text)):
        raise UnsupportedGameError(fault)
    if parameter not in known:
        takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
        hint = nearest(parameter, known) or f"; {takes}"
        raise UnsupportedGameError(f"{kind.short_name} has no parameter {shown(parameter)}{hint}")
    default: Any = known[parameter]
    value = _as_openspiel_reads(text)
    read_type = dict if isinstance(value, Spec) else type(value)
    what = f"{parameter} of {kind.short_name}"
    if read_type is not type(default):
        expected = _EXPECTED.get(type(default), "of another type")
        read = "" if read_type is str else f", which OpenSpiel reads as {_EXPECTED[read_type].split(',')[0]}"
        raise UnsupportedGameError(f"{what} must be {expected}, got {shown(text)}{read}")
    least = min(0, known[parameter]) if read_type is int else 0  # no size is negative, but some seeds are
    if read_type is int and not least <= value <= _INT32:
        raise UnsupportedGameError(f"{what} must be between {least} and {_INT32}, got {shown(value)}")
    if parameter == "filename" and not Path(value).is_file():
        raise UnsupportedGameError(f"{what} must be the path of a file, got {shown(text)}")
    return value


def _unwritable(parameter: str, text: str) -> str:
    """Returns the problem of a value of `ludii` that contains characters that OpenSpiel reserves; empty if none."""
    if "=" in parameter:
        name, _, value = parameter.partition("=")
        return f"{name} of ludii contains =, which game strings reserve, {shown(f'{value}={text}')}: remove it"
    if "(" in text or ")" in text:
        better = text.replace("(", "[").replace(")", "]")
        return f"{parameter} of ludii needs square brackets instead of round ones: write {parameter}={better}"
    return ""


def _as_openspiel_reads(text: str) -> Any:
    """Returns a value of the type that OpenSpiel derives from `text`, whatever the parameter's type."""
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    if text and not text.strip("+-0123456789."):
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            return text
    return read_spec(text) if text.endswith(")") else text

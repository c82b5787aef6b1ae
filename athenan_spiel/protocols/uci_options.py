"""Options of UCI and AEI engines: user syntax, UCI declarations, and values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from athenan_spiel.errors import AgentError, nearest, printable, shown
from athenan_spiel.protocols.program import command_of

_KEYWORDS: dict[str, tuple[str, ...]] = {
    "check": ("default",),
    "spin": ("default", "min", "max"),
    "combo": ("default", "var"),
    "button": (),
    "string": ("default",),
}
"""Keywords that introduce a value, for each option type."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class UciOption:
    """Option of an engine.

    Attributes:
        name: name as the engine writes it; case-insensitive.
        kind: `check`, `spin` (a whole number), `combo` (one of several), `button` or `string`.
        least, most: bounds of a `spin`, if given.
        choices: values of a `combo`.
    """

    name: str
    kind: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def problem(self, value: str) -> str:
        """Returns the problem with a value, as `must be ..., got ...`; empty if it is valid."""
        if self.kind == "check" and value not in ("true", "false"):
            return f"must be true or false, got {shown(value)}"
        if self.kind == "combo" and value.lower() not in map(str.lower, self.choices):
            return f"must be one of {', '.join(self.choices[:8])}, got {shown(value)}{nearest(value, self.choices)}"
        if self.kind == "spin" and not (_NUMBER.fullmatch(value) and self._within(int(value))):
            bounds = "" if self.least is None or self.most is None else f" from {self.least} to {self.most}"
            return f"must be a whole number{bounds}, got {shown(value)}"
        return ""

    def declaration(self, default: str) -> str:
        """Returns the option as an engine declares it; the inverse of `option_of`."""
        bounds = [f"{key} {bound}" for key, bound in (("min", self.least), ("max", self.most)) if bound is not None]
        choices = [f"var {choice}" for choice in self.choices]
        return " ".join([f"option name {self.name} type {self.kind} default {default}", *bounds, *choices])

    def _within(self, number: int) -> bool:
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)


def option_of(line: str) -> UciOption | None:
    """Parses an option declaration; returns None if the line is not one."""
    words = line.split()
    types = (i for i in range(3, len(words) - 1) if words[i] == "type" and words[i + 1] in _KEYWORDS)
    at = next(types, None)
    if words[:2] != ["option", "name"] or at is None:
        return None
    kind = words[at + 1]
    values = _values(words[at + 2 :], _KEYWORDS[kind])
    bounds = {key: int(value) for key, value in values if key in ("min", "max") and _NUMBER.fullmatch(value)}
    choices = tuple(value for key, value in values if key == "var")
    return UciOption(printable(" ".join(words[2:at])), kind, bounds.get("min"), bounds.get("max"), choices)


def _values(words: Iterable[str], keywords: Sequence[str]) -> list[tuple[str, str]]:
    """Returns each keyword with its value; a default may be empty.

    Only `var` may repeat, and its value has at least one word. Another repeated keyword is part of the value.
    """
    found: list[tuple[str, list[str]]] = []
    left = set(keywords)
    for word in words:
        if word in left and not (found and found[-1] == ("var", [])):
            found.append((word, []))
            left -= {word} - {"var"}
        elif found:
            found[-1][1].append(word)
    return [(key, " ".join(value)) for key, value in found]


def option_called(name: str, options: Mapping[str, UciOption], engine: str) -> UciOption:
    """Returns the option with this name; `options` is keyed by lower-case names.

    Raises:
        AgentError: the engine has no such option.
    """
    option = options.get(name.lower())
    if option is None:
        names = [each.name for each in options.values()]
        hint = nearest(name, names) or f"; it has {', '.join(names[:12]) or 'none'}"
        raise AgentError(f"expected an option of {engine}, got {shown(name)}{hint}")
    return option


def command_and_settings(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Splits an engine's command and options, such as `fairy-stockfish;Skill Level=3;Threads=1`.

    Raises:
        AgentError: the command is missing, or an option is not NAME=VALUE or repeated.
    """
    command, *options = text.split(";")
    settings: dict[str, str] = {}
    for option in options:
        name, equals, value = (part.strip() for part in option.partition("="))
        if not (name and equals) or not option.isprintable():
            raise AgentError(f"expected an engine option NAME=VALUE after `;`, got {shown(option)}")
        if name.lower() in {known.lower() for known in settings}:
            raise AgentError(f"expected each engine option once, got {shown(name)} twice")
        settings[name] = value
    return command_of(command), tuple(settings.items())

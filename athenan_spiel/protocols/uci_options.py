"""Options of engines that speak UCI or AEI: as a person writes them, as UCI engines tell theirs, and their values."""

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
"""The words that begin a value, for each type of option."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True)
class UciOption:
    """One option of an engine.

    Attributes:
        name: as the engine writes it; UCI does not tell capitals from small letters.
        kind: `check`, `spin` (a whole number), `combo` (one of several), `button` or `string`.
        least, most: of a `spin`, where they are said.
        choices: of a `combo`.
    """

    name: str
    kind: str
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def problem(self, value: str) -> str:
        """What is wrong with a value, as `must be ..., got ...`; empty where nothing is."""
        if self.kind == "check" and value not in ("true", "false"):
            return f"must be true or false, got {shown(value)}"
        if self.kind == "combo" and value.lower() not in map(str.lower, self.choices):
            return f"must be one of {', '.join(self.choices[:8])}, got {shown(value)}{nearest(value, self.choices)}"
        if self.kind == "spin" and not (_NUMBER.fullmatch(value) and self._within(int(value))):
            bounds = "" if self.least is None or self.most is None else f" from {self.least} to {self.most}"
            return f"must be a whole number{bounds}, got {shown(value)}"
        return ""

    def _within(self, number: int) -> bool:
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)


def option_of(line: str) -> UciOption | None:
    """The option that a line of the engine's tells; None where it tells none."""
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

    Only `var` comes more than once, and its value has a word at least. Any other keyword is part of the value.
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
    """The option of that name, among those by their names in small letters.

    Raises:
        AgentError: the engine has none of that name.
    """
    option = options.get(name.lower())
    if option is None:
        names = [each.name for each in options.values()]
        hint = nearest(name, names) or f"; it has {', '.join(names[:12]) or 'none'}"
        raise AgentError(f"expected an option of {engine}, got {shown(name)}{hint}")
    return option


def command_and_settings(text: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """An engine's command and its options, from `fairy-stockfish;Skill Level=3;Threads=1`.

    Raises:
        AgentError: there is no command, or an option is not NAME=VALUE, or is given twice.
    """
    command, *options = text.split(";")
    settings: dict[str, str] = {}
    for option in options:
        name, equals, value = (part.strip() for part in option.partition("="))
        if not (name and equals) or not option.isprintable():
            raise AgentError(f"after ; comes an option of the engine as NAME=VALUE, got {shown(option)}")
        if name.lower() in {known.lower() for known in settings}:
            raise AgentError(f"an engine's option is given once, got {shown(name)} twice")
        settings[name] = value
    return command_of(command), tuple(settings.items())

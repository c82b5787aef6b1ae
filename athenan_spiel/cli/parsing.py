"""Parses the options of a subcommand into its dataclass, by tyro, with errors of one line.

tyro reports an error as a box of many lines. Here it becomes one `ConfigError` with the option, the expected value and
the given value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import re
import typing
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    StructConstructorSpec,
    StructFieldSpec,
    StructTypeInfo,
)

from athenan_spiel.cli.help import HELP, HELP_ALL, field_docstrings, help_text, one_table, options_of
from athenan_spiel.cli.options import use_memory
from athenan_spiel.config.converter import read_settings, to_plain
from athenan_spiel.config.settings import NONE, Settings, members_of, read_hint
from athenan_spiel.errors import ConfigError, nearest, shown

T = TypeVar("T")

_BOX = " │╭╮╰╯─-"
"""Characters of the boxes, in Unicode or ASCII."""
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def parse(
    arguments_type: type[T],
    arguments: Sequence[str],
    command: str,
    default: T | None = None,
    chosen: Collection[str] = (),
) -> T:
    """Return an `arguments_type` with the options given on the command line, and apply `--ludii-memory`.

    Args:
        arguments_type: a dataclass, whose docstrings are the help.
        command: the words before the options, such as `athenan train`.
        default: an instance with the defaults; `tyro.MISSING` marks a required field.
        chosen: settings whose default depends on the game, which the help mentions.

    Raises:
        ConfigError: an option is unknown, missing, or has an invalid value.
        SystemExit: with code 0, after the help was printed.
    """
    everything = HELP_ALL in arguments
    if everything or any(word in HELP for word in arguments):
        print(help_text(arguments_type, command, default, chosen, everything=everything), end="")
        raise SystemExit(0)
    errors = io.StringIO()
    options: dict[str, Any] = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(errors):
            parsed: T
            parsed, unknown = tyro.cli(
                arguments_type,
                args=arguments,
                prog=command,
                return_unknown_args=True,
                registry=option_registry(),
                **options,
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        problem = _settings_error(stop)
        raise ConfigError(str(problem) if problem else _in_one_line(errors.getvalue())) from None
    if unknown:
        names = [name for option in options_of(arguments_type, default) for name in option.names]
        raise ConfigError(_unknown_text(unknown, sorted([*names, "--help", HELP_ALL])))
    if (memory := getattr(parsed, "ludii_memory", None)) is not None:
        use_memory(memory)
    return parsed


def _settings_error(error: BaseException | None) -> ConfigError | None:
    """Return the error of a settings dataclass that caused `error`, if any.

    Its text is used, because tyro's boxes break lines within numbers.
    """
    while error is not None and not isinstance(error, ConfigError):
        error = error.__context__
    return error


def option_value(arguments: Sequence[str], option: str) -> str | None:
    """Return the last value of `option`, given as `--option value` or `--option=value`, without parsing the others."""
    value = None
    for i, word in enumerate(arguments):
        if word == option:
            value = arguments[i + 1] if i + 1 < len(arguments) else None
        elif word.startswith(f"{option}="):
            value = word.removeprefix(f"{option}=")
    return value


def option_registry() -> ConstructorRegistry:
    """Return tyro's rules, with plain messages for numbers and optional values."""
    registry = ConstructorRegistry()
    readers: dict[Any, tuple[str, Callable[[str], Any]]] = {
        int: ("INT", _whole_number),
        float: ("FLOAT", _number),
        str: ("TEXT", str),
    }

    def rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        kind, optional, _ = read_hint(info.type)
        if kind not in readers:
            return None
        metavar, read = readers[kind]
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar=metavar,
            instance_from_str=lambda words: None if optional and words[0].lower() == NONE else read(words[0]),
            is_instance=lambda x: isinstance(x, kind) or (optional and x is None),
            str_from_instance=lambda x: [NONE if x is None else str(x)],
        )

    registry.primitive_rule(rule)
    registry.struct_rule(_union_rule)
    return registry


def _union_rule(info: StructTypeInfo) -> StructConstructorSpec | None:
    """Parse settings with a union of dataclasses, whose options are in one table."""
    if not (isinstance(info.type, type) and issubclass(info.type, Settings)):
        return None
    hints = typing.get_type_hints(info.type, include_extras=True)
    unions = {name: hint for name, hint in hints.items() if len(members_of(hint)) > 1}
    if not unions:
        return None
    default = info.default if isinstance(info.default, info.type) else info.type()
    texts, specs = field_docstrings(info.type), []
    for field in dataclasses.fields(info.type):  # type: ignore[arg-type]
        type_, value = hints[field.name], getattr(default, field.name)
        if field.name in unions:
            type_ = one_table(type_)
            value = type_(**to_plain(value))
        specs.append(StructFieldSpec(field.name, type_, value, texts.get(field.name)))

    def instantiate(**values: Any) -> Any:
        read = {name: read_settings(union, dataclasses.asdict(values[name])) for name, union in unions.items()}
        return info.type(**{**values, **read})

    return StructConstructorSpec(instantiate, tuple(specs))


def _whole_number(text: str) -> int:
    try:
        return int(_in_ascii(text))
    except ValueError:
        raise ValueError(f"expected a whole number, got {shown(text)}") from None


def _number(text: str) -> float:
    try:
        number = float(_in_ascii(text))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"expected a number, got {shown(text)}")
    return number


def _in_ascii(text: str) -> str:
    """Return `text`; raise `ValueError` for digits of other scripts, which Python accepts in numbers."""
    if not text.isascii():
        raise ValueError(text)
    return text


def _unknown_text(unknown: Sequence[str], names: Sequence[str]) -> str:
    option = next((word.split("=")[0] for word in unknown if word.startswith("-")), None)
    if option is None and unknown[0].lower() in ("true", "false"):
        return f"unexpected argument {unknown[0]!r}: write a flag as --table.name or --table.no-name"
    if option is None:
        return f"unexpected argument {unknown[0]!r}; quote a word that contains spaces or parentheses"
    # Suggest --network.filters for --filters (the name without its table), and --learner.learning-rate for --lr.
    ends = {name: name.removeprefix("--").split(".")[-1] for name in names}
    given = re.sub(r"^no-([\w.-]*\.)", r"\1no-", option.removeprefix("--"))
    full = [name for name in names if given in (ends[name], name.removeprefix("--"))] or [
        name for name in names if "".join(word[0] for word in ends[name].split("-") if word) == given
    ]
    return f"unknown option {option!r}" + (f": did you mean {full[0]!r}?" if full else nearest(option, names))


def _in_one_line(box: str) -> str:
    """Return the first paragraph of the box that tyro prints for an error."""
    rows = [_ANSI.sub("", line).strip("│").rstrip() for line in box.splitlines()]
    paragraphs: list[list[str]] = [[]]
    for row in rows[1:]:
        if row.strip(_BOX):
            paragraphs[-1].append(row)
        else:
            paragraphs.append([])
    body = next(paragraph for paragraph in paragraphs if paragraph)
    if rows[0].strip(_BOX) == "Required options":
        names = _indent(body[0]) + 4
        return f"missing: {', '.join(row.strip() for row in body if _indent(row) == names)}"
    message = " ".join(row.strip() for row in body)
    return re.sub(r"^Error parsing (?:[a-z_.]+: )?", "", message)


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())

"""The help of a subcommand, from the dataclass of its options: `--help` lists the common ones, `--help-all` all."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import inspect
import itertools
import re
import shutil
import textwrap
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from athenan_spiel.config.converter import TAG, enumeration, names_of
from athenan_spiel.config.settings import NONE, hints_of, members_of, read_hint

HELP, HELP_ALL = ("-h", "--help"), "--help-all"
CHOSEN = "chosen from the game"
_METAVARS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}
_NONE_CLAUSE = re.compile(r"[;.]?\s*\b(?:none|default): ((?:\([^()]*\)|[^(])+?)(?=[.;](?:\s|$))")
"""Clause of a docstring that explains an empty value. A full stop in parentheses does not end it."""
_EMPTY = (None, (), "")
_REQUIRED = (tyro.MISSING, dataclasses.MISSING)


@dataclass(frozen=True)
class Option:
    """An option of a subcommand, or a positional argument.

    Attributes:
        path: path of its field, such as `search.iterations`.
        names: names with dashes; empty for a positional argument.
        metavar: placeholder of its value; None for a flag.
        text: help text, which ends with the default.
        table: title of the settings that it belongs to; empty for the subcommand's own options.
        required: whether it has no default.
    """

    path: str
    names: tuple[str, ...]
    metavar: str | None
    text: str
    table: str
    required: bool


def help_text(
    arguments_type: Any, command: str, default: Any = None, chosen: Collection[str] = (), *, everything: bool = False
) -> str:
    """Return the help of `command`, as wide as the terminal.

    Args:
        arguments_type: the dataclass of its options. Its class variable `common` may contain the options of the short
            help by group; without it all options are one group.
        default: an instance with the defaults.
        chosen: paths of settings whose default is chosen from the game.
        everything: also list the options that are not in the short help.
    """
    options = list(options_of(arguments_type, default, chosen))
    cls = _unwrapped(arguments_type)[0]
    common = _common(cls, options)
    is_long = _is_long(common, options)
    parser = argparse.ArgumentParser(
        prog=command,
        usage=" ".join(filter(None, [command, *map(_in_usage, options), "[OPTIONS]"])),
        description=_wrapped(cls.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    sections: dict[str, list[Option]] = {"arguments": [option for option in options if not option.names]}
    for title, paths in common.items():
        sections[title] = [option for path in paths for option in options if option.path == path and option.names]
    if everything:
        for option in options:
            if option.names and (option.table or not any(option in listed for listed in sections.values())):
                sections.setdefault(option.table or "other options", []).append(option)
        for title in common:
            sections[title] = [option for option in sections[title] if not option.table]
    for title, listed in sections.items():
        group = parser.add_argument_group(title)
        for option in listed:
            _add(group, option)
    group = parser.add_argument_group("help")
    group.add_argument(*HELP, action="help", help="Print the common options and exit." if is_long else "Print this.")
    if is_long:
        group.add_argument(HELP_ALL, action="help", help="Print all options and exit.")
    return parser.format_help()


def lists_help_all(arguments_type: Any) -> bool:
    """Return whether the help lists `--help-all`, because some options are not in the short help."""
    options = list(options_of(arguments_type))
    return _is_long(_common(_unwrapped(arguments_type)[0], options), options)


def _common(cls: type[Any], options: Sequence[Option]) -> Mapping[str, Sequence[str]]:
    found: Mapping[str, Sequence[str]] | None = getattr(cls, "common", None)
    return {"options": [option.path for option in options]} if found is None else found


def _is_long(common: Mapping[str, Sequence[str]], options: Sequence[Option]) -> bool:
    listed_paths = {path for paths in common.values() for path in paths}
    return any(option.names and option.path not in listed_paths for option in options)


def _in_usage(option: Option) -> str:
    if option.names:
        return ""
    return str(option.metavar) if option.required else f"[{option.metavar}]"


def _add(group: Any, option: Option) -> None:
    text = option.text.replace("%", "%%")
    if not option.names:
        group.add_argument(option.path, metavar=option.metavar, help=text)
    elif option.metavar is None:
        group.add_argument(*option.names, action="store_true", help=text)
    else:
        group.add_argument(*option.names, metavar=option.metavar, help=text)


def options_of(arguments_type: Any, default: Any = None, chosen: Collection[str] = ()) -> Iterator[Option]:
    """Yield the options of a dataclass and of the dataclasses in it; the arguments are those of `help_text`."""
    cls, markers = _unwrapped(arguments_type)
    yield from _options(cls, default, chosen, "", "", tyro.conf.FlagCreatePairsOff in markers)


def _options(
    cls: type[Any], default: Any, chosen: Collection[str], prefix: str, table: str, single: bool
) -> Iterator[Option]:
    hints = typing.get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        type_, markers = _unwrapped(hints[field.name])
        type_ = one_table(type_) if len(members_of(type_)) > 1 else type_
        given = next((marker for marker in markers if hasattr(marker, "metavar")), None)
        name = field.name if given is None or given.name is None else given.name
        path = f"{prefix}{field.name}"
        value = getattr(default, field.name, _default(field))
        if dataclasses.is_dataclass(type_):
            inner = f"{prefix}{name}." if name else prefix
            title = f"{name.replace('_', '-')}: {_summary(type_)}" if name else table
            yield from _options(typing.cast(type[Any], type_), value, chosen, inner, title, single)
            continue
        text = given.help if given is not None and given.help else field_docstrings(cls).get(field.name, "")
        is_flag, is_positional = type_ is bool, tyro.conf.Positional in markers
        paired = is_flag and not single and tyro.conf.FlagCreatePairsOff not in markers
        option = f"--{prefix}{name}".replace("_", "-")
        pair = (option, re.sub(r"([\w-]+)$", r"no-\1", option)) if paired else (option,)
        shown = _default_text(value, is_flag and not paired, text, path in chosen)
        if value in _EMPTY or path in chosen:
            text = _NONE_CLAUSE.sub("", text)
        metavar = None if is_flag else (given.metavar if given is not None else None) or _metavar(type_)
        yield Option(
            path=path,
            names=() if is_positional else tuple(pair),
            metavar=metavar,
            text=text if shown is None else f"{text} [default: {shown}]",
            table=table,
            required=value in _REQUIRED,
        )


def _default_text(value: Any, is_single_flag: bool, text: str, is_chosen: bool) -> str | None:
    """Return the default as text; None if `text` contains it, or if there is none."""
    if is_chosen:
        return CHOSEN
    if value in _EMPTY:
        clause = _NONE_CLAUSE.search(text)
        return clause[1] if clause else None
    if is_single_flag or value in _REQUIRED or "default" in text:
        return None
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if value == NONE:
        return f"`{NONE}`"
    return str(value).lower() if isinstance(value, bool) else re.sub(r"\.0$", "", str(value))


def _metavar(type_: Any) -> str:
    kind = read_hint(type_).kind
    if typing.get_origin(kind) is Literal:
        return f"{{{','.join(typing.get_args(kind))}}}"
    if typing.get_origin(kind) is tuple:
        return f"{_METAVARS[typing.get_args(kind)[0]]} [...]"
    return _METAVARS[kind]


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the type in an `Annotated`, and its metadata."""
    if typing.get_origin(annotation) is not Annotated:
        return annotation, ()
    type_, *markers = typing.get_args(annotation)
    return type_, tuple(markers)


def _wrapped(docstring: str) -> str:
    width = max(shutil.get_terminal_size().columns - 2, 40)
    return "\n\n".join(
        textwrap.fill(paragraph, width, break_on_hyphens=False)
        for paragraph in inspect.cleandoc(docstring).split("\n\n")
    )


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _summary(cls: Any) -> str:
    return inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ").rstrip(".")


@functools.cache
def one_table(union: Any) -> type[Any]:
    """Return a dataclass with the options of all dataclasses of a union. The help says which of them have an option."""
    members = members_of(union)
    options = []
    for name in names_of(union):
        owners = [member for member in members if name in hints_of(member)]
        type_: Any = typing.get_type_hints(owners[0], include_extras=True)[name]
        text = field_docstrings(owners[0])[name]
        if name == TAG:
            type_ = Literal[tuple(getattr(member, TAG) for member in members)]
        elif len(owners) < len(members):
            text += f" Only for {enumeration(getattr(owner, TAG) for owner in owners)}."
        annotation: Any = Annotated[type_, tyro.conf.arg(help=text)]
        options.append((name, annotation, dataclasses.field(default=getattr(owners[0], name))))
    base = next(base for base in members[0].__mro__ if all(issubclass(member, base) for member in members))
    return dataclasses.make_dataclass(base.__name__, options, kw_only=True, namespace={"__doc__": base.__doc__})


def field_docstrings(cls: type[Any]) -> dict[str, str]:
    """Return the docstring below each field, in one line."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            found |= _own_docstrings(base)
    return found


@functools.cache
def _own_docstrings(cls: type[Any]) -> dict[str, str]:
    found = {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    statements = typing.cast(ast.ClassDef, definition).body
    for field, below in itertools.pairwise(statements):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            found[field.target.id] = " ".join(str(typing.cast(Any, below).value.value).split())
    return found

"""`athenan completion`: a script for bash, zsh or fish that completes commands, options, their values and file names.

tyro writes the script. Four changes are made to it: descriptions are one short line, values that tyro does not know are
added, options are offered only after a dash, and file names are offered if nothing else fits.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union

import tyro

from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.help import HELP_ALL, lists_help_all
from athenan_spiel.cli.parsing import option_registry, parse
from athenan_spiel.errors import ConfigError, nearest, shown

SHELLS = ("bash", "zsh", "fish")
MAX_SUMMARY_CHARACTERS = 70
ONLY_AFTER_A_DASH = """\
_all_completions = get_completions


def get_completions(words, index, spec):
    found = _all_completions(words, index, spec)
    if index < len(words) and not words[index].startswith('-'):
        found = [line for line in found if not line.startswith('-')]
    return found or ['__TYRO_COMPLETE_FILES__']


"""
"""Code inserted into the Python program in the script. It contains no character that must be escaped in fish."""
BASH_END = """
_athenan() {
  _tyro_athenan
  [[ ${COMPREPLY[0]} ]] || COMPREPLY=()
}
complete -o bashdefault -o default -F _athenan athenan
"""
"""End of the script for bash, which completes file names itself and so quotes their spaces."""
ZSH_END = """\
if [[ $funcstack[1] == _athenan ]]; then
  _tyro_athenan "$@"
else
  compdef _tyro_athenan athenan
fi
"""
"""End of the script for zsh, which can be a file in `fpath` or sourced."""
FISH_END = "complete -c athenan -n 'test (count (commandline -opc)) -gt 1' -F\n"
"""End of the script for fish."""


@dataclass(frozen=True, kw_only=True)
class CompletionArguments:
    """Print a script that completes the commands and options of `athenan` in a shell. docs/using.md explains where to
    put it.

    Example: athenan completion bash
    """

    shell: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="bash|zsh|fish")]
    """Shell."""


def run(words: Sequence[str]) -> int:
    """Run `athenan completion` with these words; returns the exit code."""
    arguments = parse(CompletionArguments, words, "athenan completion")
    if arguments.shell not in SHELLS:
        got = f"{shown(arguments.shell)}{nearest(arguments.shell, SHELLS)}"
        raise ConfigError(f"expected the name of a shell, {', '.join(SHELLS)}, got {got}")
    print(script(arguments.shell), end="")
    return DONE


def script(shell: str) -> str:
    """Returns the completion script of a shell, one of `SHELLS`."""
    text = _script_of_tyro(shell)
    found = re.search(r"^COMPLETION_SPEC = (.*)$", text, re.MULTILINE)
    assert found is not None, "tyro writes its specification in one line"
    specification = re.sub(r"\\(.)", r"\1", found[1]) if shell == "fish" else found[1]
    changed = repr(_changed(ast.literal_eval(specification)))
    changed = re.sub(r'(["\\$])', r"\\\1", changed) if shell == "fish" else changed
    text = f"{text[: found.start(1)]}{changed}{text[found.end(1) :]}"
    text = text.replace("if __name__ ==", f"{ONLY_AFTER_A_DASH}if __name__ ==")
    if shell == "bash":
        return re.sub(r"\[.__TYRO_COMPLETE_FILES__.\]", "[]", text) + BASH_END
    return text.partition("typeset -A opt_args")[0] + ZSH_END if shell == "zsh" else text + FISH_END


def _script_of_tyro(shell: str) -> str:
    """Returns the script that tyro writes for all commands, with `sweep` as a further command."""
    commands: Any = Union[  # noqa: UP007, as the alternatives are computed
        tuple(
            Annotated[type_, tyro.conf.subcommand(name, prefix_name=False)]
            for name, type_ in _arguments_types().items()
        )
    ]
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        tyro.cli(commands, prog="athenan", args=["--tyro-write-completion", shell, "-"], registry=option_registry())
    return text.getvalue()


def _arguments_types() -> dict[str, Any]:
    """Returns the dataclass of the options of each command, and of `sweep`."""
    from athenan_spiel.cli.ludii_sweep import SweepArguments
    from athenan_spiel.cli.main import COMMANDS

    return {name: _arguments_type(name) for name in COMMANDS} | {"sweep": SweepArguments}


def _arguments_type(command: str) -> Any:
    module = importlib.import_module(f"athenan_spiel.cli.{command}")
    type_: Any = getattr(module, f"{command.capitalize()}Arguments")
    without_pairs: Any = tyro.conf.FlagCreatePairsOff
    return (
        without_pairs[type_] if command == "doctor" else type_
    )  # doctor has no tyro markers, as it works without tyro


def _changed(specification: dict[str, Any]) -> dict[str, Any]:
    """Returns tyro's specification with short descriptions, and with words and values that it lacks."""
    from athenan_spiel.cli.ludii import ACTIONS
    from athenan_spiel.cli.main import COMMANDS
    from athenan_spiel.training.presets import PRESETS

    commands = specification["subcommands"]
    for name, type_ in _arguments_types().items():
        if lists_help_all(type_):
            commands[name]["options"].append({"flags": [HELP_ALL], "description": "print all options", "type": "flag"})
    sweep = commands.pop("sweep")
    for name, words in {"completion": SHELLS, "ludii": ACTIONS}.items():
        commands[name]["subcommands"] = {word: {**commands[name], "description": word} for word in words}
    commands["ludii"]["subcommands"]["sweep"] = sweep
    for name, command in commands.items():
        command["description"] = _short(COMMANDS[name])
    specification["options"].append({"flags": ["--version"], "description": "print the version", "type": "flag"})
    for option in _options(specification):
        option["description"] = _summary(option["description"])
        if option["flags"] == ["--preset"]:
            option |= {"type": "choice", "choices": list(PRESETS)}
    return specification


def _options(specification: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from specification["options"]
    for command in specification["subcommands"].values():
        yield from _options(command)


def _summary(description: str) -> str:
    """Returns the first sentence of an option's help, without its type and default."""
    text = " ".join(description.rpartition(" • ")[2].split())
    text = re.sub(r"\s*\((?:default|required|repeatable).*", "", text)
    return _short(re.split(r"(?<=\w)[.;](?:\s|$)", text)[0])


def _short(text: str) -> str:
    if len(text) <= MAX_SUMMARY_CHARACTERS:
        return text
    return f"{text[:MAX_SUMMARY_CHARACTERS].rpartition(' ')[0]} ..."

"""Scripts by which bash, zsh and fish complete the words of `athenan`. They ask no program: all names stand in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athenan_spiel.cli.options import Option, Subcommand

LONGEST = 70
"""Characters of a summary."""


def bash(commands: Sequence[Subcommand]) -> str:
    """The script for bash, to be sourced or put among its completions."""
    cases = []
    for command in commands:
        words = " ".join(option.name for option in command.options)
        cases += [
            f"    {command.name})",
            f"      options={_quoted(words)}",
            f"      words={_quoted(' '.join(command.words))}",
            f"      folder={'yes' if command.takes_folder else ''}",
            '      case "$before" in',
            *(f"        {x.name}) values={_quoted(' '.join(x.choices))} ;;" for x in command.options if x.choices),
            *_of_values(command.options),
            "      esac",
            "      ;;",
        ]
    names = " ".join(command.name for command in commands)
    return _BASH.replace("@NAMES@", _quoted(f"{names} --help --version")).replace("@CASES@", "\n".join(cases))


def zsh(commands: Sequence[Subcommand]) -> str:
    """The script for zsh, a file `_athenan` in a folder of its `fpath`, or to be sourced."""
    names = [f"    {_quoted(_described(command.name, command.summary))}" for command in commands]
    cases = []
    for command in commands:
        cases += [
            f"    {command.name})",
            "      options=(",
            *(f"        {_quoted(_described(option.name, option.summary))}" for option in command.options),
            "      )",
            f"      values=({' '.join(command.words)})",
            f"      folder={'yes' if command.takes_folder else ''}",
            '      case "$words[CURRENT-1]" in',
            *(f"        {x.name}) values=({' '.join(x.choices)}) ;;" for x in command.options if x.choices),
            *_of_values(command.options),
            "      esac",
            "      ;;",
        ]
    return _ZSH.replace("@NAMES@", "\n".join(names)).replace("@CASES@", "\n".join(cases))


def fish(commands: Sequence[Subcommand]) -> str:
    """The script for fish, a file `athenan.fish` among its completions."""
    lines = ["# Completion of athenan, made by `athenan completion fish`."]
    for command in commands:
        lines.append(
            f"complete -c athenan -n __fish_use_subcommand -f -a {command.name} -d {_in_fish(_short(command.summary))}"
        )
    for command in commands:
        seen = f"complete -c athenan -n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            lines.append(f"{seen} -f -a {_in_fish(' '.join(command.words))}")
        elif command.takes_folder:
            lines.append(f"{seen} -f -a '(__fish_complete_directories (commandline -ct))'")
        for option in command.options:
            value = f" -x -a {_in_fish(' '.join(option.choices))}" if option.choices else ""
            value = value or (" -r -F" if option.takes_value else "")
            lines.append(f"{seen} -l {option.name.removeprefix('--')}{value} -d {_in_fish(_short(option.summary))}")
    return "\n".join(lines) + "\n"


SCRIPTS: dict[str, Callable[[Sequence[Subcommand]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""The shells, and what writes the script of each."""


def _of_values(options: Sequence[Option]) -> list[str]:
    """A case for the options after which a file or another value stands."""
    names = [option.name for option in options if option.takes_value and not option.choices]
    return [f"        {'|'.join(names)}) values= ;;"] if names else []


def _short(summary: str) -> str:
    return summary if len(summary) <= LONGEST else f"{summary[:LONGEST].rpartition(' ')[0]} ..."


def _described(name: str, summary: str) -> str:
    """As zsh's `_describe` has it: the name and its summary, divided by a colon."""
    return f"{name}:{_short(summary)}".replace("\\", "")


def _quoted(text: str) -> str:
    """As bash and zsh quote it."""
    return "'" + text.replace("'", "'\\''") + "'"


def _in_fish(text: str) -> str:
    """As fish quotes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_BASH = """\
# Completion of athenan, made by `athenan completion bash`.
_athenan() {
  local cur="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" options= words= values= folder=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W @NAMES@ -- "$cur"))
    return
  fi
  case "${COMP_WORDS[1]}" in
@CASES@
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
  elif [ -n "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  else
    local kind=-f IFS=$'\\n'
    [ -n "$folder" ] && kind=-d
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen $kind -- "$cur"))
  fi
}
complete -F _athenan athenan
"""
_ZSH = """\
#compdef athenan
# Completion of athenan, made by `athenan completion zsh`.
_athenan() {
  local -a commands options values
  local folder=
  commands=(
@NAMES@
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  case "$words[2]" in
@CASES@
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o -t options option options
  elif (( $#values )); then
    compadd -a values
  elif [[ -n $folder ]]; then
    _files -/
  else
    _files
  fi
}
if [[ $funcstack[1] == _athenan ]]; then
  _athenan "$@"
else
  compdef _athenan athenan
fi
"""

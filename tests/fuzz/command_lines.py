"""Command lines: good ones of every subcommand with odd words in the place of some, tried through `main`."""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import hostile
from forked import PATIENCE, Ended, run_forked
from sandbox import NAMED, Sandbox, changed
from verdict import broken, broken_by_line

TINY = (
    *("--matches-at-once", "2", "--search.iterations", "1", "--network.architecture", "mlp", "--network.layers"),
    *("1", "--network.neurons", "8", "--engine.name", "torch", "--engine.precision", "float32"),
    *("--learner.precision", "float32"),
)
"""Settings of a run of a second."""
GOOD = (
    ("train", "tic_tac_toe", "--matches", "2", "--folder", "runs/new", *TINY),
    ("train", "hex(board_size=3)", "--matches", "2", *TINY),
    ("train", "connect_four", "--time", "0.2s", "--folder", "new", *TINY),
    ("train", "tic_tac_toe", "--config", "runs/ttt/config.toml", "--matches", "2", "--folder", "runs/new"),
    ("train", "tic_tac_toe", "--outcome", f"{NAMED}:worth", "--matches", "2", "--folder", "runs/new", *TINY),
    ("resume", "runs/ttt", "--matches", "2"),
    ("resume", "runs/ttt", "--time", "0.1s"),
    ("resume", "runs/ttt"),
    ("eval", "runs/ttt@2i", "--against", "random", "mcts:3", "--matches", "2"),
    ("eval", "runs/ttt@0.001s", "--against", "runs/ttt:mcts@2i", "--matches", "2", "--json", "--seed", "5"),
    (
        "eval",
        "mcts:2",
        "--against",
        "alphabeta(1)@2i",
        "--game",
        "tic_tac_toe",
        "--matches",
        "2",
        "--opening-plies",
        "1",
    ),
    ("play", "runs/ttt", "--seconds", "0.01"),
    ("play", "runs/ttt", "--second", "--seconds", "0.01", "--seed", "3"),
    ("solve", "tic_tac_toe", "--iterations", "5"),
    ("solve", "hex(board_size=3)", "--moves", "a1", "--time", "0.2s", "--json"),
    ("solve", "tic_tac_toe", "--run", "runs/ttt", "--search", "ubfm", "--megabytes", "50", "--iterations", "3"),
    ("bench", "tic_tac_toe", "--time", "0.1s", "--only", "memory", "search", *TINY),
    ("bench", "--only", "memory", "--json", "--time", "0.1s", "--workers", "0", "--preset", "gumbel"),
    ("games", "chess"),
    ("games", "hex", "--json"),
    ("games", "--ludii", "hex"),
    ("ludii",),
    ("ludii", "install", "--file", "binary.bin"),
    ("ludii", "show", "--json"),
    ("experiment", "exp.toml", "--check"),
    ("experiment", "exp.toml", "--report", "--folder", "runs/exp", "--json"),
    ("experiment", "exp.toml", "--folder", "runs/exp", "--processes", "1"),
)
"""Lines that end well within seconds; what is tried begins as one of these."""
_GAMES = ("train", "solve", "bench")
_RUNS = ("resume", "play")
_CODE = ("--outcome", "--allow-code")
_PATHS = ("--folder", "--config", "--run", "--file")
_MOVES = (
    b"",
    b"0\n4\n8\n",
    b"?\nfoo\nquit\n",
    b"\xff\xfe\n1\n",
    b"9" * 10_000 + b"\n",
    "٣\n".encode(),
    b"\x00\n",
    b"x0,0\n" * 50,
)


@dataclass(frozen=True)
class Line:
    """A command line to try: its words, and what is typed."""

    words: tuple[str, ...]
    stdin: bytes = b""

    def __str__(self) -> str:
        typed = f" < {self.stdin[:40]!r}" if self.stdin else ""
        return " ".join(["athenan", *(_short(word) for word in self.words)]) + typed


def draw(rng: random.Random) -> Line:
    """A line with one to three odd things in it."""
    words = list(rng.choice(GOOD))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        words = _changed(rng, words)
    return Line(tuple(word.replace("\0", "") for word in words), rng.choice(_MOVES))


def try_line(line: Line, sandbox: Sandbox, *, in_process: bool = True) -> tuple[Ended, list[str]]:
    """Run a line in its sandbox; how it ended, and what it broke.

    Args:
        in_process: by `main` in a fork; otherwise by a new interpreter, as a shell does.
    """
    before = sandbox.snapshot()

    def case() -> int:
        from athenan_spiel.cli.main import main

        return main(line.words)

    def command() -> int:
        launch = "import sys; sys.path.pop(0); from athenan_spiel.cli.main import main; sys.exit(main())"
        words = [word.encode("utf-8", "surrogateescape") for word in line.words]
        os.execv(sys.executable, [os.fsencode(sys.executable), b"-c", launch.encode(), *words])

    ended = run_forked(
        case if in_process else command,
        folder=sandbox.work,
        environment=sandbox.environment(),
        notes=sandbox.root / "notes",
        stdin=line.stdin,
        patience=PATIENCE if in_process else 2 * PATIENCE,  # as it has all to import
    )
    if not in_process:
        ended = dataclasses.replace(ended, deeds=())  # it is itself what was started
    if _names_code(line.words):  # then the current folder is trusted
        ended = dataclasses.replace(ended, deeds=tuple(deed for deed in ended.deeds if deed[0] != "import"))
    faults = [*broken(ended, sandbox.root), *broken_by_line(ended, line.words)]
    places = _places(line.words, sandbox)
    faults += [f"outside: changed {path}" for path in changed(before, sandbox.snapshot(), places)]
    if where := sandbox.code_was_run():
        faults.append(f"code: ran {where}")
    return ended, faults


def _names_code(words: Sequence[str]) -> bool:
    """Whether a line names a function of the user's own, which the current folder may hold."""
    pairs = itertools.pairwise(words)
    given = [value for option, value in pairs if option in _CODE]
    given += [word.partition("=")[2] for word in words if word.startswith(tuple(f"{option}=" for option in _CODE))]
    return any(":" in value for value in given)


def _places(words: Sequence[str], sandbox: Sandbox) -> Iterator[str]:
    """Where a line may write, below the sandbox's root: what it names, links resolved, as the user has named it."""
    command = words[0] if words else ""
    if command in ("train", "experiment"):
        yield "work/runs"  # new names there, when none is given
    if command == "ludii":
        yield "home/.local"
    if command in ("train", "resume", "experiment"):
        for word in words[1:]:
            named = os.path.realpath(sandbox.work / (word.partition("=")[2] or word))
            place = os.path.relpath(named, sandbox.root)
            if "/" in place and not place.startswith(".."):
                yield place


def _changed(rng: random.Random, words: list[str]) -> list[str]:
    """`words` with one odd thing."""
    words = list(words)
    i = rng.randrange(len(words))
    kind = rng.random()
    if kind < 0.45:
        return _with_value(rng, words)
    if kind < 0.7:
        option, takes = rng.choice(options(words[0]) or (("--json", False),))
        return [*words, option, *([_value(rng, option)] if takes or rng.random() < 0.1 else [])]
    if kind < 0.76:
        words[i] = hostile.text(rng)
    elif kind < 0.82:
        del words[i]
    elif kind < 0.86:
        words.insert(i, hostile.text(rng))
    elif kind < 0.92:
        words[i] = hostile.damaged(rng, words[i])
    elif kind < 0.95:
        j = rng.randrange(len(words))
        words[i], words[j] = words[j], words[i]
    elif kind < 0.97:
        words.append(words[i])
    else:
        words = words[: i + 1]
    return words or [""]


def _with_value(rng: random.Random, words: list[str]) -> list[str]:
    """Exchange a value for an odd one of its kind."""
    places = [i for i in range(1, len(words)) if not words[i].startswith("--")]
    if not places:
        return [*words, hostile.text(rng)]
    i = rng.choice(places)
    before = words[i - 1]
    if i == 1 and words[0] in _GAMES:
        words[i] = hostile.game(rng, game_names())
    elif i == 1 and words[0] in _RUNS:
        words[i] = hostile.path(rng)
    elif (words[0] == "eval" and not before.startswith("--")) or before == "--against":
        words[i] = hostile.agent(rng)
    else:
        words[i] = _value(rng, before)
    return words


def _value(rng: random.Random, option: str) -> str:
    if option in _PATHS:
        return hostile.path(rng)
    if option == "--game":
        return hostile.game(rng, game_names())
    return hostile.number(rng) if rng.random() < 0.7 else hostile.text(rng)


@lru_cache(maxsize=1)
def game_names() -> tuple[str, ...]:
    """All games of OpenSpiel."""
    import pyspiel

    return tuple(pyspiel.registered_names())


@lru_cache(maxsize=20)
def options(command: str) -> tuple[tuple[str, bool], ...]:
    """The options that a subcommand's help lists, each with whether it takes a value."""
    from athenan_spiel.cli.main import COMMANDS

    if command not in COMMANDS:
        return ()
    launch = f"import sys; from athenan_spiel.cli.main import main; sys.exit(main([{command!r}, '--help-all']))"
    told = subprocess.run([sys.executable, "-c", launch], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^  (?:-h, )?(--[a-z][\w.-]*)(?:,\s*--[a-z][\w.-]*)*( [A-Z{\[])?", told, re.MULTILINE)
    return tuple(sorted({(option, bool(takes)) for option, takes in found if not option.startswith("--help")}))


def _short(word: str) -> str:
    return repr(word if len(word) <= 60 else f"{word[:40]}...{len(word)}")

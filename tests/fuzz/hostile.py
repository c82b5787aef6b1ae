"""Values that nobody means well: numbers, texts, paths, game strings and agent specs, and how a text is damaged."""

from __future__ import annotations

import random

NUMBERS = (
    *("0", "-1", "1", "2", "-0", "+5", "1.5", "-0.5", "1e5", "1e309", "1e-320", "nan", "inf", "-inf", "NaN"),
    *("none", "", "100000", "1000000", "2147483648", "4294967297", "9223372036854775808", "9" * 30, "9" * 5000),
    *("0." + "9" * 400, "٣", "１２", "²", "१२", "1_000", "0x10", "0b1", " 5 ", "5 ", "1,5", "1/2", "True", "5s"),
    *("1e", ".", "-", "--5"),
)
TEXTS = (
    *("", " ", "x", "x" * 100_000, "\udcff\udcfe", "ünï", "日本語", "a\nb", "a\tb", "\x1b[31mred", "\x1b]0;t\x07"),
    *("\r", "--", "-", "---", "=", "'", '"', "`id`", "$(id)", "; id", "%s%n%d", "{0}", "{x.__class__}", "\\"),
    *("\u202e", "\u2028", "(" * 3000, "[" * 3000, "None", "none", "null", "true", "[]", "{}", "@", ":", "#", "@@"),
    *("::", "a:b", "\x7f", "\ufeff"),
)
PATHS = (
    *("runs/ttt", "runs/ttt/", "./runs//ttt", "runs/../runs/ttt", "runs/missing", "runs", ".", "..", "runs/ttt/.."),
    *("link_out", "fifo", "loop", "zero", "loop/x", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem"),
    *("/proc/self/fd/0", "/", "exp.toml", "empty.toml", "binary.bin", "latin1.toml", "nested.toml", "digits.toml"),
    *("huge.toml", "folder.toml", "evil.toml", "code.toml", "runs/ttt/config.toml", "runs/ttt/state.json"),
    *("runs/ttt/checkpoints", "runs/exp", "runs/ttt/checkpoints/000006", "~/x", "~nobody", "file:///etc/passwd"),
    *("http://127.0.0.1:9/x", "a" * 300, "d/" * 3000, "../outside/runs/ttt", "../outside/secret.txt", "new\nline"),
    *("new line", "-rf", "\udcff", "runs/ttt\x1b[2J"),
)
PLAIN_GAMES = ("tic_tac_toe", "connect_four", "hex(board_size=3)", "breakthrough(rows=4,columns=4)", "mnk(m=3,n=3,k=3)")
_PARAMETERS = (
    "board_size",
    "rows",
    "columns",
    "x_in_row",
    "m",
    "n",
    "k",
    "players",
    "swap",
    "komi",
    "fen",
    "game",
    "x",
    "",
)
AGENTS = (
    "runs/ttt@2i",
    "mcts:2",
    "random",
    "alphabeta(1)@2i",
    "runs/ttt:ubfm@1i",
    "runs/ttt:mcts(0.5)@2i",
    "runs/ttt#2@1i",
)
_WORDS = (
    "human",
    "ludii:UCT@1i",
    "gtp:/bin/true",
    "uci:id",
    "canary_module:worth",
    "own_worth:worth",
    "python",
    "null",
)
_JOINTS = ("@", ":", "#", "(", ")", "i", "s", "/", ",", "=")
_LETTERS = "abcxyz0189-_=@:#()[]{}.,/\\'\"` \n\t\x1b%$~٣１²é日\udcff"


def number(rng: random.Random) -> str:
    """A number, or what looks a little like one; every third is one that a user might mean."""
    kind = rng.random()
    if kind < 0.33:
        return rng.choice(("1", "2", "3", "4", "7", "0.5", "0.01", "10", "100", "none"))
    if kind < 0.85:
        return rng.choice(NUMBERS)
    return str(rng.choice((1, -1)) * rng.getrandbits(rng.randint(1, 80)))


def text(rng: random.Random) -> str:
    """A text of any kind."""
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(TEXTS)
    if kind < 0.7:
        return rng.choice(PATHS)
    return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 12)))


def path(rng: random.Random) -> str:
    """A path, mostly one that is there."""
    return rng.choice(PATHS) if rng.random() < 0.95 else text(rng)


def game(rng: random.Random, names: tuple[str, ...] = PLAIN_GAMES) -> str:
    """A game string: a known game of odd parameters, or a damaged one.

    Args:
        names: of the games that OpenSpiel knows.
    """
    kind = rng.random()
    name = rng.choice((*PLAIN_GAMES, *names)).partition("(")[0]
    if kind < 0.2:
        return damaged(rng, rng.choice(PLAIN_GAMES))
    if kind < 0.3:
        return name
    given = [
        f"{rng.choice(_PARAMETERS)}={number(rng) if rng.random() < 0.8 else text(rng)}"
        for _ in range(rng.randint(1, 2))
    ]
    return f"{name}({','.join(given)})"


def agent(rng: random.Random) -> str:
    """An agent spec: a good one, one of odd parts, or a damaged one."""
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(AGENTS)
    if kind < 0.5:
        return damaged(rng, rng.choice(AGENTS))
    parts = [rng.choice((rng.choice(PATHS), "mcts", "alphabeta", "ludii", "random", *_WORDS))]
    for _ in range(rng.randint(1, 2)):
        parts += [rng.choice(_JOINTS), number(rng) if rng.random() < 0.7 else rng.choice(("ubfm", "mcts(", text(rng)))]
    return "".join(parts) + rng.choice(("", "i", "s", ")"))


def damaged(rng: random.Random, word: str) -> str:
    """`word` with one to three small changes."""
    for _ in range(rng.randint(1, 3)):
        i = rng.randint(0, len(word))
        change = rng.random()
        if change < 0.3:
            word = word[:i] + word[i + 1 :]
        elif change < 0.7:
            word = word[:i] + rng.choice(_LETTERS) + word[i:]
        elif change < 0.85:
            word = word[:i] + rng.choice(("", number(rng)[:40])) + word[i + rng.randint(0, 3) :]
        else:
            word = word[:i] + word[i:] * 2
    return word[:200_000]

"""Nodes of an SGF of any game: its main line, or all of them.

sgfmill parses FF[4], and also FF[1] and FF[3], whose property names may contain lower-case letters that are ignored.
The main line is the first variation at every level. Escapes are resolved. The number of nodes is bounded, and nested
variations don't cause recursion. The caller limits the length of the text.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Mapping, Sequence

from sgfmill import sgf_grammar

from athenan_spiel.errors import ConfigError, shown

MAX_MOVES = 10_000
"""Maximum number of nodes of the main line after the first."""
MAX_NODES = 100_000
"""Maximum number of nodes with all variations."""
HEAD_BYTES = 4096
"""Number of bytes at the start of a file that are searched for its CA property."""
_CODECS = {"shift_jis": "cp932", "cp932": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030"}
_CODECS |= {"big5": "big5hkscs", "cp950": "big5hkscs", "big5hkscs": "big5hkscs", "iso2022_jp": "iso2022_jp"}
"""Codecs of charsets in which a byte of a character may equal a bracket or a backslash."""

Node = dict[str, list[str]]
"""Values of a node's properties, by name."""


def main_line(data: str | bytes) -> list[Node]:
    """Returns the nodes of the main line of the first game in `data`; there is at least one.

    Args:
        data: text, or the content of a file. A file is decoded as UTF-8, unless its CA names a charset in which that
            would change where values end.

    Raises:
        ConfigError: `data` is not SGF, or its main line has more than `MAX_MOVES` moves.
    """
    nodes: list[Node] = []
    for properties in sgf_grammar.main_sequence_iter(_tree(data)):
        if len(nodes) > MAX_MOVES:
            raise ConfigError(f"expected an SGF of {MAX_MOVES:,} moves at most")
        nodes.append(_node(properties))
    return nodes


def all_nodes(data: str | bytes) -> list[tuple[int, Node]]:
    """Returns each node of the first game in `data` with the index of the node before it, -1 for the first node.

    The nodes of the main line come first. Each variation follows the ones that are before it in `data`.

    Raises:
        ConfigError: `data` is not SGF, or has more than `MAX_NODES` nodes.
    """
    nodes: list[tuple[int, Node]] = []
    left = [(-1, _tree(data))]
    while left:
        before, tree = left.pop()
        for properties in tree.sequence:
            if len(nodes) == MAX_NODES:
                raise ConfigError(f"expected an SGF of {MAX_NODES:,} nodes at most")
            nodes.append((before, _node(properties)))
            before = len(nodes) - 1
        left += [(before, child) for child in reversed(tree.children)]
    return nodes


def _node(properties: Mapping[str, Sequence[bytes]]) -> Node:
    """Returns the values of a node's properties; only those of comments have several lines.

    The name of a property without a capital letter is empty.
    """
    return {
        name: [
            (sgf_grammar.text_value if name == "C" else sgf_grammar.simpletext_value)(value)
            .decode(errors="replace")
            .strip()
            for value in values
        ]
        for name, values in properties.items()
    }


def _tree(data: str | bytes) -> sgf_grammar.Coarse_game_tree:
    """Returns the tree of the first game.

    Raises:
        ConfigError: there is none; the message shows the first invalid part.
    """
    if isinstance(data, bytes) and (codec := _codec(data)):
        data = data.decode(codec, errors="replace")
    data = data if isinstance(data, bytes) else data.encode(errors="replace")
    try:
        return sgf_grammar.parse_sgf_game(data)
    except ValueError as error:
        problem = str(error)
    tokens, end = sgf_grammar.tokenise(data)
    if not tokens:
        raise ConfigError(f"expected an SGF, which begins with '(;', got {_shown(data)}")
    delimiters = [token for kind, token in tokens if kind == "D"]
    if delimiters.count(b"(") == delimiters.count(b")"):
        raise ConfigError(f"expected an SGF, got an invalid text: {problem}")
    if rest := data[end:].lstrip():
        raise ConfigError(f"expected a property such as B[dd] in the SGF, got {_shown(rest)}")
    raise ConfigError("expected an SGF that ends with ')', got one that is cut off")


def _shown(data: bytes) -> str:
    return shown(data[:40].decode(errors="replace"))


def _codec(data: bytes) -> str | None:
    """Returns the codec of the file's CA if that is in `_CODECS`, else None."""
    tokens, _ = sgf_grammar.tokenise(data[:HEAD_BYTES])
    for name, (kind, value) in itertools.pairwise(tokens):
        if name == ("I", b"CA") and kind == "V":
            try:
                return _CODECS.get(codecs.lookup(value.decode("ascii").strip()).name)
            except (LookupError, ValueError):
                return None
    return None

"""Memories of rules beyond the board, and their part of a key.

Ludii's hash covers the pieces and the mover; `keys` adds the numbers of every state. Ludii's flags show what else the
rules use, and the description which rules read more of the last move than its destination. Each such thing is a
`Memory`, which a key contains as text. If that is impossible, no histories are merged.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ludii_bridge.programs import Programs, Types

Texts = Callable[[Programs, Types, Any], list[Any]]
"""(programs, types, compiled game) -> programs that write what is remembered, (Context)Object each."""


@dataclass(frozen=True)
class Memory:
    """Information that the rules of some games remember.

    Attributes:
        name: method of Ludii's `Game` that tests for it, or the pattern in a description.
        what: what is remembered.
        why: why a key is complete, or histories are never merged.
        reads: tests a description; None if `name` is a method.
        texts: programs for the key; None if it needs none.
        merges: whether histories may be merged if it is used.
    """

    name: str
    what: str
    why: str
    reads: Callable[[str], object] | None = None
    texts: Texts | None = None
    merges: bool = True

    def is_used(self, game: Any) -> bool:
        """Returns whether a compiled game uses it."""
        if self.reads is None:
            return bool(getattr(game, self.name)())
        return bool(self.reads(_description(game)))


def used(game: Any) -> list[Memory]:
    """Returns the memories of a compiled game."""
    return [memory for memory in MEMORIES if memory.is_used(game)]


def program(p: Programs, t: Types, game: Any, memories: list[Memory]) -> Any:
    """(Context)String: all memories as text, after at least one move, or None. Sets and maps are sorted."""
    write = p.static(t.string, "valueOf", t.string, t.object)
    end = p.bound(p.method(t.string, "concat", t.string, t.string), "\n", at=1)
    texts = [
        p.piped(
            end, 0, p.typed(p.piped(p.typed(write, t.string, text.type().returnType()), 0, text), t.string, t.context)
        )
        for memory in memories
        if memory.texts
        for text in memory.texts(p, t, game)
    ]
    if not texts:
        return None
    concat = p.method(t.string, "concat", t.string, t.string)
    return functools.reduce(lambda one, other: p.ordered(p.piped(concat, 0, one, other), [t.context], [0, 0]), texts)


def _description(game: Any) -> str:
    return str(game.description().expanded())


def _of_state(p: Programs, t: Types, name: str, result: Any) -> Any:
    """(Context)result: a method of the state."""
    return p.piped(p.method(t.state, name, result), 0, p.method(t.context, "state", t.state))


def _of_last_move(p: Programs, t: Types, name: str, result: Any) -> Any:
    """(Context)result: a method of the last move."""
    last = p.piped(p.method(t.trial, "lastMove", t.move), 0, p.method(t.context, "trial", t.trial))
    return p.piped(p.method(t.move, name, result), 0, last)


def _votes(p: Programs, t: Types, game: Any) -> list[Any]:
    lists = [_of_state(p, t, name, t.int_list) for name in ("votes", "propositions")]
    return [*lists, _of_state(p, t, "isDecided", t.int)]


def _values_by_name(p: Programs, t: Types, game: Any) -> list[Any]:
    """The entries of the map's text, sorted."""
    write = p.typed(p.method(t.object, "toString", t.string), t.string, t.int_map)
    text = p.piped(write, 0, _of_state(p, t, "getValueMap", t.int_map))
    bare = p.bound(p.bound(p.method(t.string, "replaceAll", t.string, t.string, t.string), "[{}]", at=1), "", at=1)
    split = p.bound(p.method(t.string, "split", t.strings, t.string), ", *", at=1)
    return [p.piped(_sorted(p, t, t.strings, t.objects), 0, p.piped(split, 0, p.piped(bare, 0, text)))]


def _sorted(p: Programs, t: Types, array: Any, of: Any) -> Any:
    """(array)String: its sorted elements; `of` is the array type for `Arrays`."""
    sort, write = (p.static(t.arrays, name, result, of) for name, result in (("sort", t.void), ("toString", t.string)))
    return p.then(p.typed(sort, t.void, array), p.typed(write, t.string, array))


def _remembered_values(p: Programs, t: Types, game: Any) -> list[Any]:
    by_name = p.piped(p.constructor(t.tree_map, t.map), 0, _of_state(p, t, "mapRememberingValues", t.map))
    return [_of_state(p, t, "rememberingValues", t.fast_int_list), by_name]


def _pending_values(p: Programs, t: Types, game: Any) -> list[Any]:
    values = p.piped(p.method(t.int_set, "toArray", t.ints), 0, _of_state(p, t, "pendingValues", t.int_set))
    return [p.piped(_sorted(p, t, t.ints, t.ints), 0, values)]


def _visited_sites(p: Programs, t: Types, game: Any) -> list[Any]:
    return [_of_state(p, t, "visited", t.bit_set)]


def _sites_to_clear(p: Programs, t: Types, game: Any) -> list[Any]:
    return [_of_state(p, t, "sitesToRemove", t.int_list)]


def _places_on_tracks(p: Programs, t: Types, game: Any) -> list[Any]:
    indices = p.piped(p.method(t.on_track, "onTrackIndices", t.lists), 0, _of_state(p, t, "onTrackIndices", t.on_track))
    write = p.typed(p.static(t.arrays, "deepToString", t.string, t.objects), t.string, t.lists)
    return [p.piped(write, 0, indices)]


def _after_consequences(p: Programs, t: Types, game: Any) -> list[Any]:
    names = ("fromAfterSubsequents", "toAfterSubsequents", "levelFromAfterSubsequents", "levelToAfterSubsequents")
    return [_of_last_move(p, t, name, t.int) for name in names]


def _last_move(p: Programs, t: Types, game: Any) -> list[Any]:
    last = p.piped(p.method(t.trial, "lastMove", t.move), 0, p.method(t.context, "trial", t.trial))
    words = p.bound(p.method(t.move, "toTrialFormat", t.string, t.context), None, at=1)
    types = [_of_last_move(p, t, name, t.site_type) for name in ("fromType", "toType")]
    return [p.piped(words, 0, last), _of_last_move(p, t, "betweenNonDecision", t.int_list), *types]


def _levels(p: Programs, t: Types, game: Any) -> list[Any]:
    return [_of_last_move(p, t, name, t.int) for name in ("levelFrom", "levelTo")]


def _start_of_turn(p: Programs, t: Types, game: Any) -> list[Any]:
    return [p.method(t.context, "fromStartOfTurn", t.int)]


def _pieces_in_order(p: Programs, t: Types, game: Any) -> list[Any]:
    """The sites of each player's pieces, of neutral ones and of those that players share."""
    sites = p.piped(p.method(t.owned, "sites", t.int_list, t.int), 0, _of_state(p, t, "owned", t.owned))
    return [p.bound(sites, player, at=1) for player in range(int(game.players().count()) + 2)]


def _reads_pieces_in_order(description: str) -> bool:
    """Groups are taken one by one, or pieces are where something happens to each: within a `(then ...)`."""
    if _GROUPS.search(description):
        return True
    inside = [False]
    for found in _PIECES_AND_THEN.finditer(description):
        word = found.group()
        if word == ")":
            inside.pop()
        elif word.startswith("("):
            if inside[-1] and word != "(" and "Piece" in word:
                return True
            inside.append(inside[-1] or word == "(then")
    return False


def _pieces_sought(p: Programs, t: Types, game: Any) -> list[Any]:
    """The sites of each kind of piece that the rules seek by name, in the order in which Ludii tries them."""
    names = _SOUGHT.findall(_description(game))
    sites = p.piped(p.method(t.owned, "sites", t.int_list, t.int, t.int), 0, _of_state(p, t, "owned", t.owned))
    return [
        p.bound(p.bound(sites, int(piece.owner()), at=1), int(piece.index()), at=1)
        for piece in list(game.equipment().components())[1:]
        if any(name in str(piece.name()) for name in names)
    ]


_GROUPS = re.compile(r"forEach\s+Group|sizes\s+Group|take\s+Control")
_PIECES_AND_THEN = re.compile(r'"[^"]*"|\(then\b|\(forEach\s+Piece\b|[()]')
_SOUGHT = re.compile(r'\(where\s+"([^"]+)"')
_UNTRIED = "Never merged: no game that can be played here uses it, so it cannot be tested."

MEMORIES = (
    Memory(
        "usesVote",
        "proposals, votes and decisions",
        "The key contains all three.",
        texts=_votes,
    ),
    Memory(
        "usesNote",
        "notes to the players",
        "No rule reads a note.",
    ),
    Memory(
        "usesValueMap",
        "values by name (`set Var`)",
        "The key contains each name and value.",
        texts=_values_by_name,
    ),
    Memory(
        "usesRememberingValues",
        "values in lists (`remember Value`)",
        "The key contains the lists, in their order.",
        texts=_remembered_values,
    ),
    Memory(
        "usesPendingValues",
        "values for the next move (`set Pending`)",
        "The key contains them; Ludii's hash misses the removal of one.",
        texts=_pending_values,
    ),
    Memory(
        "requiresVisited",
        "sites visited in this turn",
        "The key contains them.",
        texts=_visited_sites,
    ),
    Memory(
        "hasSequenceCapture",
        "captured pieces, removed at the end of a turn",
        "The key contains their sites, in their order.",
        texts=_sites_to_clear,
    ),
    Memory(
        "hasTrack",
        "tracks on the board",
        "They never change.",
    ),
    Memory(
        "hasInternalLoopInTrack",
        "position of a piece on a track that passes a site twice",
        "The key contains the number of pieces of each kind at each place of each track.",
        texts=_places_on_tracks,
    ),
    Memory(
        "hasLargePiece",
        "pieces on several sites",
        "Ludii's hash contains the first site and the rotation of the piece.",
    ),
    Memory(
        "isBoardless",
        "sites that are available for pieces",
        "Ludii's hash contains them.",
    ),
    Memory(
        "hasLargeStack",
        "stacks of any height",
        "Never merged: Ludii's hash does not contain the pieces of such a stack.",
        merges=False,
    ),
    Memory("requiresBet", "stakes and the pot", _UNTRIED, merges=False),
    Memory(
        "requiresTeams",
        "teams",
        "Ludii's hash contains the team of each player.",
    ),
    Memory("hasDominoes", "remaining dominoes", _UNTRIED, merges=False),
    Memory("hasCard", "cards", _UNTRIED, merges=False),
    Memory(
        "(last To afterConsequence:True)",
        "destination of the last consequence of the last move",
        "The key contains its origin and destination, and their levels.",
        reads=re.compile("afterConsequence|afterSubsequents").search,
        texts=_after_consequences,
    ),
    Memory(
        "(sites LastTo), (last Between)",
        "all effects of the last move",
        "The key contains Ludii's text of the last move, the sites it passed, and their type.",
        reads=re.compile(r"LastTo|LastFrom|last\s+Between").search,
        texts=_last_move,
    ),
    Memory(
        "(last LevelTo)",
        "the levels of the last move",
        "The key contains them.",
        reads=re.compile("LevelTo|LevelFrom").search,
        texts=_levels,
    ),
    Memory(
        "(from at:StartOfTurn)",
        "origin of the first move of this turn",
        "The key contains it.",
        reads=re.compile("StartOfTurn").search,
        texts=_start_of_turn,
    ),
    Memory(
        '(where "King" ...)',
        "the piece found first among several of one name",
        "The key contains their sites, in the order in which Ludii tries them.",
        reads=_SOUGHT.search,
        texts=_pieces_sought,
    ),
    Memory(
        "(forEach Group ...), (then (forEach Piece ...))",
        "order in which pieces arrived at their sites",
        "The key contains the sites of all pieces, in the order in which Ludii tries them.",
        reads=_reads_pieces_in_order,
        texts=_pieces_in_order,
    ),
)
"""Information of states and earlier moves that Ludii 1.3.12's ludemes read, beyond that in every key (`keys`)."""

"""Proof-number search in C++ (`prover.cpp`), on OpenSpiel's own states.

The library is compiled when the package is installed, if the machine has a C++ compiler. `unavailable` returns why it
can't be used, in general or for a game. It serves OpenSpiel's games in C++ that `games.facts` describes, for two
players with a zero sum, without chance.

1. Bounds are proofs: the value of best play for player 0 is at least `lower` and at most `upper`.
2. Two histories share a node by the rule of `games.transpositions`. If the library doesn't know the rule, only equal
   histories do.
3. Limits in time only interrupt the search. It expands the same nodes as without them, until its memory is full.
4. A fault of the game raises `SearchError`.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

import pyspiel

from athenan_spiel.errors import SearchError, shown
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.facts import FACTS, keys
from athenan_spiel.games.rows import rows_of
from athenan_spiel.solving.compiling import LIBRARY

logger = logging.getLogger(__name__)

HISTORY_RULE, OBSERVATION_RULE = 0, 2
RULES: Mapping[Callable[..., Any], int] = MappingProxyType(
    {
        str: 1,
        keys.amazons_turn: 3,
        keys.lines_of_action_captures: 4,
        keys.checkers_captures: 5,
        keys.quiet_fen: 6,
    }
)
"""Numbers of the library's other rules, by the function that reads the text of a key."""
ABI = b"system_libstdcpp_gxx_abi_1xxx_use_cxx11_abi_1"
"""Binary interface of `pyspiel`, as pybind11 names it. The library must have the same."""
STATE_TYPE = "_ZTIN10open_spiel5StateE"
"""Symbol in `pyspiel` of the type information of OpenSpiel's states."""
TYPE_INFO_NAME = b"St9type_info"
"""Name of a pointer to type information between two modules that use pybind11."""

Ending = Literal["proven", "limit", "full"]
_ENDINGS: tuple[Ending, ...] = ("proven", "limit", "full")
_ROOT_NUMBERS = 11


class Bounds(NamedTuple):
    """Proven bounds of a value for player 0, each -1, 0 or 1."""

    lower: int
    upper: int

    @property
    def value(self) -> int | None:
        """Proven value; None if the bounds differ."""
        return self.lower if self.lower == self.upper else None


class ProofNumbers(NamedTuple):
    """Bounds and proof numbers of a state.

    Attributes:
        bounds: proven bounds of its value.
        win: proof number and disproof number of "player 0 wins".
        draw: proof number and disproof number of "player 0 wins or draws".
    """

    bounds: Bounds
    win: tuple[int, int]
    draw: tuple[int, int]

    @classmethod
    def of(cls, numbers: Sequence[int]) -> Self:
        """Returns them from the library's six numbers."""
        lower, upper, *others = numbers
        return cls(Bounds(lower, upper), (others[0], others[1]), (others[2], others[3]))

    def promise(self, player: int) -> tuple[float, ...]:
        """Returns how good the state is for `player`, for comparisons: proven bounds first, then the numbers."""
        (win, no_win), (draw, no_draw) = self.win, self.draw
        if player == 0:
            return *self.bounds, no_win / (win + no_win), no_draw / (draw + no_draw)
        return -self.bounds.upper, -self.bounds.lower, draw / (draw + no_draw), win / (win + no_win)


@cache
def _loaded() -> tuple[Any, str | None]:
    """Returns the library, and the reason if it can't be used."""
    path = Path(__file__).with_name(LIBRARY)
    if not path.exists():
        return None, "the library was not compiled: install a C++ compiler, then athenan-spiel again"
    try:
        library = ctypes.CDLL(str(path))
        library.athenan_open_spiel.restype = ctypes.c_char_p
        built, installed = library.athenan_open_spiel().decode(), importlib.metadata.version("open_spiel")
        if built != installed:
            return (
                None,
                f"the library was compiled for open_spiel {built}, not {installed}: install athenan-spiel again",
            )
        library.athenan_new.restype = ctypes.c_void_p
        library.athenan_new.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_double]
        library.athenan_error.restype = ctypes.c_char_p
        for name in ("delete", "error", "root", "edges", "best_edge", "start", "run", "key"):
            getattr(library, f"athenan_{name}").argtypes = [ctypes.c_void_p, *_FURTHER_ARGUMENTS.get(name, ())]
        _state_type()
    except (OSError, AttributeError, ValueError) as error:
        return None, f"the library cannot be loaded: {error}"
    return library, None


_NUMBERS = ctypes.POINTER(ctypes.c_int64)
_FURTHER_ARGUMENTS: Mapping[str, tuple[Any, ...]] = {
    "root": (_NUMBERS,),
    "edges": (_NUMBERS,),
    "start": (ctypes.c_void_p,),
    "run": (ctypes.c_double, ctypes.c_int64),
    "key": (ctypes.c_void_p, _NUMBERS),
}


@cache
def _state_type() -> Any:
    """Returns a capsule of the type information of `open_spiel::State`, for pybind11."""
    address = ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL(pyspiel.__file__), STATE_TYPE))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, TYPE_INFO_NAME, None)


def _pointer(state: pyspiel.State) -> int:
    """Returns the address of the C++ object of `state`.

    Raises:
        SearchError: `state` is not a state of a game in C++, or pybind11 refuses to share it.
    """
    capsule = None
    if type(state).__module__.partition(".")[0] == "pyspiel":
        capsule = state._pybind11_conduit_v1_(ABI, _state_type(), b"raw_pointer_ephemeral")
    if capsule is None:
        raise SearchError(f"expected a state of a game that OpenSpiel implements in C++, got a {type(state).__name__}")
    get_name, get = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = get(capsule, get_name(capsule))
    return address


def unavailable(game: pyspiel.Game | None = None) -> str | None:
    """Returns why the library cannot be used, for `game` if one is given; None if it can.

    Logs one warning if the library was compiled for another version of `open_spiel`.
    """
    _, reason = _loaded()
    if reason is not None:
        if "compiled for" in reason:
            _warn(reason)
        return reason
    if game is None:
        return None
    facts = FACTS.get(game.get_type().short_name)
    if facts is None or facts.transposition is None:
        return "the game is not one of OpenSpiel's supported games in C++"
    if game.num_players() != 2 or rows_of(game) is not None:
        return "the game is not a zero-sum game for two players"
    if has_chance(game):
        return "the game has chance"
    try:
        _pointer(game.new_initial_state())
    except SearchError as error:
        return str(error)
    return None


@cache
def _warn(reason: str) -> None:
    logger.warning("compiled proof search is off: %s", reason)


def _rule(game: pyspiel.Game) -> tuple[int, int]:
    """Returns the number of the rule of the game's keys, and the number of values that an observation has for it."""
    transposition = FACTS[game.get_type().short_name].transposition
    assert transposition is not None
    if transposition.read is None:
        return HISTORY_RULE, 0
    if transposition.read is keys.observed:
        return OBSERVATION_RULE, game.observation_tensor_size()
    return RULES.get(transposition.read(game), HISTORY_RULE), 0


class ProofNumberSearch:
    """Depth-first proof-number search with a table that lasts from search to search.

    Args:
        game: game whose states are searched.
        megabytes: maximum size of the table. A state takes about 80 bytes.

    Raises:
        SearchError: the library can't be used for this game.
    """

    def __init__(self, game: pyspiel.Game, megabytes: float) -> None:
        if (reason := unavailable(game)) is not None:
            raise SearchError(f"compiled proof search can't be used for {shown(str(game))}: {reason}")
        self._library = _loaded()[0]
        self._handle = self._library.athenan_new(*_rule(game), megabytes)
        if not self._handle:
            raise MemoryError
        self._finalizer = weakref.finalize(self, self._library.athenan_delete, self._handle)

    def start(self, state: pyspiel.State) -> None:
        """Makes `state` the root. All roots of one search must have the same initial state, and none may be terminal.

        Raises:
            SearchError: the game has a fault, or `state` is not a state in C++.
        """
        self._check(self._library.athenan_start(self._handle, _pointer(state)))

    def run(self, seconds: float, nodes: int | None = None) -> Ending:
        """Searches until the root is proven or a limit is reached: seconds, or a number of expanded states.

        Other threads of Python run meanwhile. `Ctrl-C` is handled afterwards, so a call should be short.

        Raises:
            SearchError: the game has a fault.
        """
        return _ENDINGS[self._check(self._library.athenan_run(self._handle, seconds, -1 if nodes is None else nodes))]

    @property
    def root(self) -> ProofNumbers:
        """Numbers of the root."""
        return ProofNumbers.of(self._root()[:6])

    @property
    def nodes(self) -> int:
        """Number of states expanded by all searches."""
        return self._root()[6]

    @property
    def states(self) -> int:
        """Number of states created by all searches."""
        return self._root()[7]

    @property
    def proven(self) -> int:
        """Number of times that the search of a node ended with an answer to its question."""
        return self._root()[10]

    @property
    def megabytes(self) -> float:
        """Size of the table, in megabytes."""
        return self._root()[9] / 1000

    @property
    def actions(self) -> dict[int, ProofNumbers]:
        """Numbers of the states after the actions of the root. If one is proven to win, others may lack."""
        values = (ctypes.c_int64 * (7 * self._root()[8]))()
        self._library.athenan_edges(self._handle, values)
        return {values[i]: ProofNumbers.of(values[i + 1 : i + 7]) for i in range(0, len(values), 7)}

    @property
    def best_action(self) -> int:
        """Best action of the root, which is proven: of the proofs in the table the shortest one for the winner, the
        longest one for the loser."""
        edge = self._check(self._library.athenan_best_edge(self._handle))
        return [*self.actions][edge]

    def key(self, state: pyspiel.State) -> tuple[int, int]:
        """Returns the hash of the key of `state`, 128 bits as two numbers."""
        values = (ctypes.c_int64 * 2)()
        self._check(self._library.athenan_key(self._handle, _pointer(state), values))
        return values[0], values[1]

    def _root(self) -> list[int]:
        values = (ctypes.c_int64 * _ROOT_NUMBERS)()
        self._library.athenan_root(self._handle, values)
        return list(values)

    def _check(self, result: int) -> int:
        """Returns `result`, or raises the error that it stands for."""
        if result < 0:
            raise SearchError(
                f"proof search failed: {self._library.athenan_error(self._handle).decode(errors='replace')}"
            )
        return result

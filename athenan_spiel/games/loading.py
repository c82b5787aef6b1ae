"""Loading a game: the only place where a string becomes a game.

A game of `load_game` meets every condition of `unmet_conditions`, has an initial state, and can be observed. An invalid
string raises one error, and output of OpenSpiel's C++ code doesn't reach the terminal.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyspiel

from athenan_spiel.errors import UnsupportedGameError, shown
from athenan_spiel.games.conditions import spec_conditions, unmet_conditions
from athenan_spiel.games.facts import facts_of
from athenan_spiel.games.lasting_states import lasting
from athenan_spiel.games.spec import Spec, read_spec

LARGEST_OBSERVATION = 2**20
"""Maximum size of an observation: 4 MB per state, about fifty times the largest board of OpenSpiel."""
_REFUSALS = (RuntimeError, ValueError, MemoryError, OverflowError)
"""Errors that OpenSpiel raises for invalid parameters; `pyspiel.SpielError` is a RuntimeError."""

_ACTION = re.compile("[0-9]{1,9}")
"""An action in the history of `start_at`."""

_silencing = threading.RLock()
"""Lock for the redirection of descriptor 2. It is reentrant, since a game may load another one."""
_log = logging.getLogger(__name__)


def load_game(spec: str) -> pyspiel.Game:
    """Loads the game of an OpenSpiel string, such as `breakthrough(rows=6,columns=6)`.

    While OpenSpiel loads the game, standard error of this process is discarded.

    Args:
        spec: short name with parameters in brackets, as OpenSpiel writes them; or "ludii(game=NAME)".

    Returns:
        The game. Every function of this library accepts it.

    Raises:
        UnsupportedGameError: the game or a parameter does not exist (the message suggests the nearest name), the game
            refuses a value, or it does not meet all conditions (the message lists the unmet ones).
    """
    if not isinstance(spec, str):
        raise UnsupportedGameError(f"expected an OpenSpiel game string such as 'connect_four', got {shown(spec)}")
    spec = spec.strip()
    read = read_spec(spec)
    _require_none(read, spec_conditions(read))
    _require_playable(read, parameter_fault(read))
    with silent_stderr():
        try:
            game = _load(read)
        except _REFUSALS as error:
            if isinstance(error, UnsupportedGameError):
                raise
            refused = f"{shown(spec)} cannot be loaded" if read.name == "ludii" else f"OpenSpiel refuses {shown(spec)}"
            raise UnsupportedGameError(f"{refused}: {_first_line(error)}") from error
    if note := facts_of(read.name).note:
        _log.warning("%s: %s", read.name, note)
    return game


def _load(read: Spec) -> pyspiel.Game:
    """Loads a game after the games inside it, each of which must be playable: OpenSpiel checks less of those."""
    inner = [_load(each) for each in read.inner]
    if inner:
        _require_playable(read, _history_fault(read, inner[0]))
    game = pyspiel.load_game(read.text)
    _require_none(read, unmet_conditions(game))
    _require_playable(read, _process_fault(game) or _start_fault(game))
    return lasting(game)


def _require_none(read: Spec, unmet: list[str]) -> None:
    if unmet:
        what = shown(read.text) if read.parameters else read.name
        raise UnsupportedGameError(f"{what} is not supported: {'; '.join(unmet)} (`athenan games` lists what is)")


def _require_playable(read: Spec, fault: str | None) -> None:
    if fault:
        raise UnsupportedGameError(f"{shown(read.text)} cannot be played: {fault}")


def parameter_fault(spec: Spec) -> str | None:
    """Returns why the game must not be loaded with these parameters, or None; games inside it are checked too."""
    for inner in spec.inner:
        if fault := parameter_fault(inner):
            return fault
    for name, value in spec.parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} must be finite, got {value}"
    check = facts_of(spec.name).fault
    return check(spec.parameters) if check else None


def _history_fault(spec: Spec, inner: pyspiel.Game) -> str | None:
    """Returns why `start_at` must not be loaded with its history, or None; OpenSpiel plays illegal actions too.

    Args:
        spec: any game string.
        inner: the first game inside it, loaded.
    """
    if spec.name != "start_at":
        return None
    state = inner.new_initial_state()
    for number, text in enumerate(filter(None, str(spec.parameters.get("history", "")).split(";")), 1):
        if not _ACTION.fullmatch(text) or int(text) not in state.legal_actions():
            return f"action {number} of its history, {shown(text)}, is not legal"
        state.apply_action(int(text))
    return None


def _process_fault(game: pyspiel.Game) -> str | None:
    """Returns why `game` cannot be used together with the games already loaded in this process, or None."""
    check = facts_of(game.get_type().short_name).process_fault
    return check(game) if check else None


def _start_fault(game: pyspiel.Game) -> str | None:
    """Returns why no game of `game` can start, or None. Shapes come first: OpenSpiel may crash on an empty board."""
    observed = game.get_type().provides_observation_tensor
    shape = game.observation_tensor_shape() if observed else [1]
    size = math.prod(shape)
    if min(shape, default=0) < 1 or game.num_distinct_actions() < 1 or game.max_game_length() < 1:
        length = game.max_game_length()
        return f"its observation has the shape {shape}, and it lasts at most {length} moves; change its size"
    if size > LARGEST_OBSERVATION:
        return f"its observation has {size} numbers, more than {LARGEST_OBSERVATION}; make it smaller"
    state = game.new_initial_state()
    if state.is_terminal() or not state.legal_actions():
        return "there is no move in its initial state"
    try:
        str(state)
    except UnicodeDecodeError:  # columns beyond the letters
        return "its board is larger than OpenSpiel can print; make it smaller"
    seen = len(state.observation_tensor(0)) if observed else size
    return None if seen == size else f"its observation has {seen} numbers, not {size}"


def _first_line(error: BaseException) -> str:
    """Returns the first line of an error, without OpenSpiel's source position and check macro."""
    line = next(iter(str(error).splitlines()), "") or type(error).__name__
    line = re.sub(r"^\S+\.(?:cc|h):\d+ ", "it requires ", line)
    return re.sub(r"CHECK_TRUE\((.*)\)$", r"\1", line)


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Discards output of the process to file descriptor 2, C++ included; one thread at a time."""
    with _silencing:
        if sys.stderr is not None:  # None if the shell has closed it
            sys.stderr.flush()
        try:
            kept = os.dup(2)
        except OSError:  # no standard error
            yield
            return
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)

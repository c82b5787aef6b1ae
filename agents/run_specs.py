"""Specs of runs and agent files without their limit: `runs/bt6`, `runs/bt6#best`, `runs/bt6:mcts;ponder=true`.

After the colon follow a search and switches: `ponder=true` or `proofs=false`, each at most once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

from agents.limits import Limit
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.search.algorithms import parse_search

Which = int | Literal["best"] | None
"""Checkpoint of a run: number of games before it, the best network by rating, or None for the newest."""
_NUMBER = re.compile(r"[0-9]{1,18}")
_OPTIONS = re.compile(r":[^/:]*$")
_SWITCH = re.compile(r"(ponder|proofs)=(true|false)")


def names_run(name: str) -> bool:
    """Returns whether a spec without its limit is a run: an existing path, or any text with a slash."""
    folder, colon, options = name.rpartition(":")
    return _is_path(name) or (bool(colon) and "/" not in options and _is_path(folder))


def parse_run_spec(text: str, limit: Limit) -> Mapping[str, object]:
    """Returns the parameters of the bot `athenan` given by a run's spec.

    Raises:
        AgentError: the text after # is not a checkpoint, or the text after the colon is neither a search nor a switch.
    """
    if os.path.exists(text) or not _OPTIONS.search(text):
        return {**_checkpoint(text), **limit.params}
    folder, _, options = text.rpartition(":")
    first, *switches = options.split(";")
    search = None if "=" in first else first
    if search is None:
        switches.insert(0, first)
    matches = [_SWITCH.fullmatch(switch) for switch in switches]
    values = {match[1]: match[2] == "true" for match in matches if match is not None}
    if len(values) < len(switches) or search == "":
        raise AgentError(
            "expected a search, ponder=true, ponder=false, proofs=true or proofs=false after a run's colon, or several "
            f"as in runs/bt6:ubfm;ponder=true; got {shown(limit.spec)}"
        )
    params = _checkpoint(folder)
    if search is not None:
        parse_search(search)
        params["search"] = search
    return {**params, **values, **limit.params}


def parse_run(text: str) -> tuple[str, Which]:
    """Splits `runs/bt6#576` or `runs/bt6#best` into the folder and the checkpoint.

    Raises:
        AgentError: the text after # is neither a number nor `best`, or follows a file, which has no checkpoints.
    """
    folder, sign, which = text.rpartition("#")
    if not sign or "/" in which or os.path.exists(text):
        return text, None
    if os.path.isfile(folder):
        raise AgentError(f"agent files have no checkpoints, got {shown(text)}: leave out {shown('#' + which)}")
    if which == "best":
        return folder, "best"
    if not _NUMBER.fullmatch(which):
        raise AgentError(
            "expected a number of games after #, as in runs/bt6#576 for the checkpoint after 576 games, or best; "
            f"got {shown(text)}"
        )
    return folder, int(which)


def _checkpoint(name: str) -> dict[str, object]:
    folder, which = parse_run(name)
    if which is None:
        return {"checkpoint": folder}
    return {"checkpoint": folder, "best": True} if which == "best" else {"checkpoint": folder, "matches": which}


def _is_path(name: str) -> bool:
    """Returns whether a path exists or has a slash, and isn't another kind's spec such as `gtp:/usr/bin/x`."""
    folder = name.rpartition("#")[0]
    return os.path.exists(name) or os.path.exists(folder) or ("/" in name and not re.match(r"[\w-]+:", name))

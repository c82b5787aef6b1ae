"""The words of runs without their limits: `runs/bt6`, `runs/bt6#576`, `runs/bt6#best`, `runs/bt6:mcts(0.5)`,
`runs/bt6:ponder=true`, `runs/bt6:mcts;ponder=true`.

Where a run's folder may stand, an agent's file may, too: `bt6.safetensors`, `bt6.safetensors:mcts(0.5)`.
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
"""A checkpoint of a run: after how many matches, or the best network by rating; None is the newest."""
_NUMBER = re.compile(r"[0-9]{1,18}")
"""Of matches; more digits would be no number of anything here."""
_SEARCH = re.compile(r":[^/:]*$")
"""What may name a search, at the end of a run's word."""
_PONDER = re.compile(r"(?:(?P<search>[^;=]+);)?ponder=(?P<ponder>true|false)")
"""The same, with or without a search, and whether the agent ponders."""


def names_run(name: str) -> bool:
    """Whether a word without its limit names a run: a folder or a file that is there, or whatever has a slash."""
    folder, colon, search = name.rpartition(":")
    return _is_path(name) or (bool(colon) and "/" not in search and _is_path(folder))


def parse_run_spec(text: str, limit: Limit) -> Mapping[str, object]:
    """The parameters of the bot `athenan` that a run's word says.

    Raises:
        AgentError: what follows a # is no checkpoint, or what follows a colon no search and no `ponder=true`.
    """
    if os.path.exists(text) or not _SEARCH.search(text):
        return {**_checkpoint(text), **limit.params}
    folder, _, said = text.rpartition(":")
    match = _PONDER.fullmatch(said)
    if match is None and "=" in said:
        raise AgentError(
            "after a run's colon comes a search, ponder=true or ponder=false, or both as in runs/bt6:ubfm;ponder=true; "
            f"got {shown(limit.word)}"
        )
    params = _checkpoint(folder)
    search = said if match is None else match["search"]
    if search is not None:
        parse_search(search)
        params["search"] = search
    if match is not None:
        params["ponder"] = match["ponder"] == "true"
    return {**params, **limit.params}


def parse_run(text: str) -> tuple[str, Which]:
    """The folder that `text` says, and which checkpoint in it if that follows: `runs/bt6#576`, `runs/bt6#best`.

    Raises:
        AgentError: what follows is neither a number nor `best`, or follows a file, which holds one agent.
    """
    folder, sign, which = text.rpartition("#")
    if not sign or "/" in which or os.path.exists(text):
        return text, None
    if os.path.isfile(folder):
        raise AgentError(
            f"a file holds one agent and no checkpoints, got {shown(text)}: leave {shown('#' + which)} out"
        )
    if which == "best":
        return folder, "best"
    if not _NUMBER.fullmatch(which):
        raise AgentError(
            "after # comes after how many matches a checkpoint was written, as in runs/bt6#576, or best; "
            f"got {shown(text)}"
        )
    return folder, int(which)


def _checkpoint(name: str) -> dict[str, object]:
    folder, which = parse_run(name)
    if which is None:
        return {"checkpoint": folder}
    return {"checkpoint": folder, "best": True} if which == "best" else {"checkpoint": folder, "matches": which}


def _is_path(name: str) -> bool:
    """What is there, or whatever has a slash, but for other programs' words such as `gtp:/usr/bin/x`."""
    folder = name.rpartition("#")[0]
    return os.path.exists(name) or os.path.exists(folder) or ("/" in name and not re.match(r"[\w-]+:", name))

"""The `athenan-ggp` bot: learns the game from nothing during a start clock and while it plays, as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.athenan import AthenanBot
from agents.kind import AgentKind
from agents.limits import Limit, read_limit
from agents.parameters import read_parameters
from athenan_spiel.errors import AgentError, shown

START_SECONDS = 60.0
"""Default start clock, in seconds."""
PLAY_SECONDS = 10.0
"""Default play clock, in seconds."""
_SWITCHES = {"learn_during_play=true": True, "learn_during_play=false": False}


@dataclass(frozen=True, kw_only=True)
class AthenanGgpParameters:
    """Parameters of `load_bot("athenan-ggp", ...)`."""

    start_clock: float = START_SECONDS
    """Time of the training before the first game, in seconds. It runs at the first restart or move."""
    play_clock: float = PLAY_SECONDS
    """Time per move, in seconds."""
    learn_during_play: bool = True
    """Continue the training after the start clock, also during the turns of other players."""
    seed: int = 0
    """Random seed of the training and of the choice between equal moves."""


def load_athenan_ggp(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> AthenanBot:
    """Returns an agent that learns its game while it plays; see `AthenanGgpParameters`. It plays any seat.

    The start clock runs once, at the first restart or move. The network stays for later games.

    Raises:
        AgentError: a parameter is unknown, of a wrong type or out of range.
        UnsupportedGameError: the game violates an assumption of the algorithms.
    """
    given = read_parameters(AthenanGgpParameters, "athenan-ggp", params)
    from athenan_spiel.training.learning_agent import LearningAgent  # imports torch

    return AthenanBot(
        LearningAgent(
            game,
            start_seconds=given.start_clock,
            move_seconds=given.play_clock,
            seed=given.seed,
            learns_during_play=given.learn_during_play,
        )
    )


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    if not text:
        return {}
    first, separator, switch = text.partition(";")
    clocks = [read_limit(limit.spec, part) for part in first.split("/")]
    seconds = [clock.seconds for clock in clocks if clock is not None and clock.seconds is not None]
    if len(seconds) != len(clocks) or len(clocks) != 2 or (separator and switch not in _SWITCHES):
        raise AgentError(
            "expected athenan-ggp:START/PLAY, such as athenan-ggp:60s/10s, perhaps with ;learn_during_play=false; "
            f"got {shown(limit.spec)}"
        )
    parameters: dict[str, object] = dict(zip(("start_clock", "play_clock"), seconds, strict=True))
    if separator:
        parameters["learn_during_play"] = _SWITCHES[switch]
    return parameters


ATHENAN_GGP = AgentKind(
    name="athenan-ggp",
    example="athenan-ggp:60s/10s",
    about="agent that learns the game from nothing, with a start clock and a play clock",
    load=load_athenan_ggp,
    parse=_parse,
)

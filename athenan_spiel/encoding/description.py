"""Description of the network input, for programs that run a network without this library."""

from __future__ import annotations

import pyspiel

from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games.facts import facts_of

MAX_NAMES = 200
"""Maximum number of planes listed by name."""


def describe_input(game: pyspiel.Game, encoder: Encoder) -> str:
    """Returns the layout of the input that `encoder` creates for `game`, as sentences."""
    name = game.get_type().short_name
    boards = len(encoder.shape) == 3
    parts = "planes" if boards else "numbers"
    added = [f"1 if player {player} is to move, else 0" for player in range(1, game.num_players())]
    if encoder.has_chance:
        added = [turn.replace("is to move", "is to move or moved last before chance") for turn in added]
        added.append("1 in a chance state, else 0")
    facts = [
        f"float32 [N, {', '.join(map(str, encoder.shape))}], N states" + (" as planes, rows, columns" if boards else "")
    ]
    observed = encoder.shape[0] - len(added)
    channels = getattr(game, "channels", None)
    if facts_of(name).observation is not None:
        facts.append(f"{parts} 0 to {observed - 1}: the observation that athenan_spiel.games.facts defines for {name}")
    elif channels is not None and len(channels) == observed:
        facts.append("planes: " + ", ".join(f"{i} {channel}" for i, channel in enumerate(channels[:MAX_NAMES])))
    else:
        facts.append(f"{parts} 0 to {observed - 1}: OpenSpiel's observation tensor of player 0, whoever is to move")
    if encoder.margin:
        facts.append("one cell around the board on each side, with the stones of the player who owns that side")
    for i, meaning in enumerate(added, observed):
        facts.append(f"{parts[:-1]} {i}: {meaning}" + (", in every cell" if boards else ""))
    return "; ".join(facts)

"""Names and colours of the sides of games that describe them (`extensions.SidedGame`), as Ludii's games do."""

from __future__ import annotations

import colorsys
import functools
import math
import re
from collections import Counter
from collections.abc import Sequence

import pyspiel

from athenan_spiel.games.extensions import own_sides

RGB = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""

COLOURS: dict[str, RGB] = {
    "Black": (43, 43, 43),
    "White": (251, 249, 244),
    "Red": (198, 61, 40),
    "Blue": (47, 111, 181),
    "Green": (55, 128, 58),
    "Yellow": (240, 195, 48),
    "Violet": (142, 79, 176),
}
"""Colours of drawn sides, by name."""
_NAME = re.compile(r"(?!player\b)[^\W_][\w' -]{0,19}", re.IGNORECASE)
"""Accepted names. They come from files of others, so they have no markup."""


def own_side_colours(game: pyspiel.Game) -> Sequence[str]:
    """Returns the name of the nearest colour for each player; nothing without own sides."""
    return _nearest(tuple(colour for _, colour in own_sides(game)))


def own_side_names(game: pyspiel.Game) -> Sequence[str]:
    """Returns the name of each side, or else of its colour; nothing without own sides, and for a single player.

    A side is `player 7`, counted from 0, if another side has the same name.
    """
    if game.num_players() == 1:
        return ()
    given = [name.strip() for name, _ in own_sides(game)]
    colours = own_side_colours(game)
    names = [name if _NAME.fullmatch(name) else colour for name, colour in zip(given, colours, strict=True)]
    often = Counter(map(str.casefold, names))
    return [name if often[name.casefold()] == 1 else f"player {player}" for player, name in enumerate(names)]


@functools.cache
def _nearest(colours: Sequence[RGB]) -> Sequence[str]:
    """Returns the name of a colour near each of `colours`. The first seven are different, the nearest pair first."""
    pairs = sorted(
        (math.dist(_cone(*own), _cone(*colour)), player, name)
        for player, own in enumerate(colours[: len(COLOURS)])
        for name, colour in COLOURS.items()
    )
    found: dict[int, str] = {}
    for _, player, name in pairs:
        if player not in found and name not in found.values():
            found[player] = name
    return [found[player % len(COLOURS)] for player in range(len(colours))]


def _cone(red: int, green: int, blue: int) -> tuple[float, float, float]:
    """Returns the point of a colour in the cone of hue, saturation and brightness, whose tip is black.

    Its radius is twice its height, so that greys are near black and white.
    """
    hue, saturation, brightness = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)
    angle, radius = 2 * math.pi * hue, 2 * saturation * brightness
    return radius * math.cos(angle), radius * math.sin(angle), brightness

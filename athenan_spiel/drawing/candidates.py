"""Marks of candidate moves on a board: values on sites and arrows, coloured by their loss against the best move.

The loss of a move is the expected score that the mover gives up compared with the best move, from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from athenan_spiel.drawing.layout import Point

LARGE_LOSS = 0.2
"""Loss from which a move is red; between, colours run from green over yellow."""
_SHAFT_START, _TIP = 0.2, 0.12
"""Distances of an arrow's ends from the centres of its sites."""
_HEAD = 0.28
"""Length of an arrow's head."""
_LABEL_PLACES = (0.6, 0.42, 0.78, 0.25, 0.95)
"""Places of an arrow's value, in fractions of its length; the first that is free is used."""
_INK = "#1c1a17"
"""Colour of text on marks."""


@dataclass(frozen=True)
class SiteLabel:
    """Value of a move.

    Attributes:
        text: value as text.
        loss: loss against the best move.
        is_proven: whether the value is proven.
        rank: rank of the move, from 1; None if it isn't shown.
    """

    text: str
    loss: float
    is_proven: bool = False
    rank: int | None = None


@dataclass(frozen=True)
class CandidateArrow:
    """Candidate move from one site to another.

    Attributes:
        start, end: indices of the sites.
        label: value of the move; the arrow of a better rank is wider.
    """

    start: int
    end: int
    label: SiteLabel


def hue(loss: float) -> int:
    """Returns the hue of a loss, from 120, green, for none, to 0, red."""
    return round(120 * (1 - min(1.0, max(0.0, loss) / LARGE_LOSS)))


def label_svg(label: SiteLabel, low: float = 0.0, *, has_rank: bool = True) -> str:
    """Returns a value around the origin; a proven one has a frame. The rank is above it, at the left.

    Args:
        low: distance of the value below the origin; if positive, a piece above it stays visible.
    """
    size = _text_size(label, is_low=low > 0)
    wide, high = _extent(label, size)
    frame = f' stroke="hsl({hue(label.loss)} 80% 22%)" stroke-width=".05"' if label.is_proven else ""
    rank = ""
    if has_rank and label.rank is not None:
        rank = (
            f'<circle class="rank" cx="-.32" cy="-.32" r=".15" fill="{_INK}"/>'
            f'<text class="rank" x="-.32" y="-.32" font-size=".22" fill="#ffffff">{label.rank}</text>'
        )
    return (
        f'<rect x="{_number(-wide / 2)}" y="{_number(low - high / 2)}" width="{_number(wide)}" '
        f'height="{_number(high)}" rx=".08" fill="hsl({hue(label.loss)} 65% 78%)"{frame}/>'
        f'<text class="value" y="{_number(low)}" font-size="{_number(size)}">{escape(label.text)}</text>{rank}'
    )


def arrows_svg(arrows: Sequence[CandidateArrow], place: Callable[[int], Point]) -> str:
    """Returns arrows, the best on top, and their values where they don't cover each other.

    Args:
        place: returns the centre of a site.
    """
    values: list[tuple[Point, SiteLabel]] = []
    shapes = []
    for arrow in arrows:
        (x0, y0), (x1, y1) = place(arrow.start), place(arrow.end)
        length = math.dist((x0, y0), (x1, y1))
        if not length:
            continue
        shapes.append(_arrow((x0, y0), ((x1 - x0) / length, (y1 - y0) / length), length, arrow.label))
        for part in _LABEL_PLACES:
            at = x0 + part * (x1 - x0), y0 + part * (y1 - y0)
            if not any(_overlap(at, arrow.label, other, label) for other, label in values):
                values.append((at, arrow.label))
                break
    texts = (
        f'<g transform="translate({_number(x)} {_number(y)})">{label_svg(label, has_rank=False)}</g>'
        for (x, y), label in values
    )
    return "".join((*reversed(shapes), *texts))


def _text_size(label: SiteLabel, *, is_low: bool = False) -> float:
    return min(0.2 if is_low else 0.25, 1.16 / max(1, len(label.text)))


def _extent(label: SiteLabel, size: float) -> tuple[float, float]:
    """Returns width and height of a value."""
    return 0.66 * size * len(label.text) + 0.1, 1.3 * size


def _overlap(at: Point, label: SiteLabel, other: Point, other_label: SiteLabel) -> bool:
    """Returns whether the values at two places overlap."""
    (wide, high), (other_wide, other_high) = (_extent(each, _text_size(each)) for each in (label, other_label))
    return abs(at[0] - other[0]) < (wide + other_wide) / 2 and abs(at[1] - other[1]) < (high + other_high) / 2


def _arrow(start: Point, way: Point, length: float, label: SiteLabel) -> str:
    half = max(0.035, 0.085 - 0.01 * ((label.rank or 1) - 1))
    tip, neck = length - _TIP, length - _TIP - _HEAD
    outline = [(_SHAFT_START, half), (neck, half), (neck, 2.4 * half), (tip, 0.0)]
    outline += [(along, -across) for along, across in reversed(outline[:-1])]
    (x, y), (dx, dy) = start, way
    points = " ".join(
        f"{_number(x + along * dx - across * dy)},{_number(y + along * dy + across * dx)}" for along, across in outline
    )
    return f'<polygon class="arrow" points="{points}" fill="hsl({hue(label.loss)} 70% 34%)"/>'


def _number(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")

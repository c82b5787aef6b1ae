"""Drawing of a state as SVG, with the last move, targets, values, and the principal variation.

The picture is one self-contained element. Each site is a group of class `site` with its index in `data-site`, so a page
can handle its events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import pyspiel

from athenan_spiel.drawing.candidates import CandidateArrow, SiteLabel, arrows_svg, label_svg
from athenan_spiel.drawing.layout import BoardLayout, BoardLine, BoardSite, Label, Piece
from athenan_spiel.drawing.view import View

COLOURS: Mapping[str, tuple[str, str, str]] = {
    "dark": ("#2b2b2b", "#000000", "#f2f2f2"),
    "light": ("#fbf9f4", "#55504a", "#26221e"),
    "red": ("#c63d28", "#7c2415", "#fff6f2"),
    "yellow": ("#f0c330", "#93730d", "#3b2e04"),
    "blue": ("#2f6fb5", "#163f6c", "#f2f8ff"),
    "green": ("#37803a", "#1d4f20", "#f3fbf3"),
    "violet": ("#8e4fb0", "#4f2466", "#fbf4ff"),
}
"""Colours of a stone: face, edge, and text on it, whose contrast to the face is at least 4.5."""
NOBODY = ("#6f6a62", "#4a463f", "#ffffff")
"""Colours of a piece that belongs to no player."""
MARGIN = 0.35
"""Margin around the board, in widths of a site."""
THIN = 0.5
"""Maximum width of an edge, in widths of a site."""
UNIT = 48
"""Default width of a site, in pixels."""

_STYLE = """
.athenan-board { --ink: #6d5a37; --mark: #3a78c9 }
.athenan-board .board { fill: #e8d9bd }
.athenan-board .square { fill: #e8d2a6; stroke: #b39a6b; stroke-width: .02 }
.athenan-board .square.dark { fill: #c9a873 }
.athenan-board .rule { stroke: var(--ink); stroke-linecap: round }
.athenan-board text { font-family: "DejaVu Sans", "Noto Sans CJK JP", "Segoe UI Symbol", sans-serif;
text-anchor: middle; dominant-baseline: central; user-select: none }
.athenan-board .label { fill: var(--ink) }
.athenan-board .value { fill: #1c1a17 }
.athenan-board .last { fill: #5c8f3a; fill-opacity: .45; stroke: #5c8f3a; stroke-width: .07 }
.athenan-board .chosen { fill: var(--mark); fill-opacity: .45 }
.athenan-board .hint { fill: none; stroke: #1f9d55; stroke-width: .09 }
.athenan-board .threat { fill: none; stroke: #d1242f; stroke-width: .09 }
.athenan-board .target { fill: var(--mark); fill-opacity: .55 }
.athenan-board .target.taken { fill: none; stroke: var(--mark); stroke-width: .07; stroke-opacity: .8 }
.athenan-board .win { fill: none; stroke: #b5179e; stroke-width: .09 }
.athenan-board .drag { touch-action: none }
.athenan-board .variation, .athenan-board .stale { opacity: .5 }
.athenan-board .arrows { pointer-events: none }
.athenan-board .arrow { fill-opacity: .8 }
.athenan-board .hit { fill: #000000; fill-opacity: 0 }
.athenan-board .can { cursor: pointer }
.athenan-board .can:hover .hit, .athenan-board .can:focus-visible .hit { fill: var(--mark); fill-opacity: .25 }
.athenan-board .can:focus { outline: none }
.athenan-board .can:focus-visible .hit { stroke: #12407a; stroke-width: .1 }
""".strip().replace("\n", " ")
"""Rules of the picture. A style element applies to the whole page, so each rule starts with the picture's class."""


@dataclass(frozen=True)
class VariationStone:
    """Pale stone for a move of the principal variation.

    Attributes:
        site: index of the site.
        side: player who moves.
        number: number of the move in the variation, from 1.
    """

    site: int
    side: int
    number: int


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """Marks on a board besides its pieces, by index of the site."""

    last: Sequence[int] = ()
    chosen: Sequence[int] = ()
    hint: Sequence[int] = ()
    """Sites of a suggested move."""
    threat: Sequence[int] = ()
    """Sites of a move that the opponent threatens."""
    win: Sequence[int] = ()
    """Sites of the winning line."""
    targets: Iterable[int] = ()
    can: Iterable[int] = ()
    """Sites that can be pressed, in addition to `targets`, which are also marked."""
    drags: Iterable[int] = ()
    """Sites that can be pressed and whose pieces can be dragged."""
    variation: Sequence[VariationStone] = ()
    labels: Mapping[int, SiteLabel] = field(default_factory=dict)
    arrows: Sequence[CandidateArrow] = ()
    """Candidate moves, best first."""
    is_stale: bool = False
    """Whether labels and arrows belong to an earlier position; they are pale."""


def board_svg(
    view: View,
    state: pyspiel.State,
    overlay: Overlay | None = None,
    *,
    width: int | None = None,
    is_still: bool = False,
) -> str:
    """Returns the picture of a state.

    Args:
        width: width in pixels; by default `UNIT` for each width of a site.
        is_still: the sites cannot be pressed; empty ones are left out, which makes the picture smaller.
    """
    return _Picture(view, state, Overlay() if overlay is None else overlay, is_still).svg(width)


class _Picture:
    """Parts of one picture."""

    def __init__(self, view: View, state: pyspiel.State, overlay: Overlay, is_still: bool) -> None:
        self._is_still = is_still
        self._view = view
        self._layout: BoardLayout = view.layout
        self._pieces = {piece.site: piece for piece in view.pieces(state)}
        self._lines = view.lines(state)
        self._overlay = overlay
        self._can = {*overlay.can, *overlay.targets}
        self._drags = {*overlay.drags} & self._can
        self._variation = {stone.site for stone in overlay.variation}
        self._label = escape(f"{state.get_game().get_type().long_name}, after {len(state.history())} moves")

    def svg(self, width: int | None) -> str:
        left, top, right, bottom = self._layout.box
        box = (left - MARGIN, top - MARGIN, right - left + 2 * MARGIN, bottom - top + 2 * MARGIN)
        wide = round(UNIT * box[2]) if width is None else width
        high = round(wide * box[3] / box[2])
        role = "img" if self._is_still else "group"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="athenan-board" role="{role}" '
            f'aria-label="{self._label}" '
            f'viewBox="{" ".join(map(_number, box))}" width="{wide}" height="{high}">',
            f"<style>{_STYLE}</style>",
            f'<rect class="board" x="{_number(box[0])}" y="{_number(box[1])}" width="{_number(box[2])}" '
            f'height="{_number(box[3])}" rx=".2"/>',
            *(self._square(site) for site in self._layout.sites if site.corners and site.is_drawn),
            *(self._line(line) for line in self._layout.lines),
            *(_label(label, box[2]) for label in self._layout.labels),
            *(self._line(line) for line in self._lines),
            *(self._site(index, site) for index, site in enumerate(self._layout.sites)),
            self._arrows(),
            "</svg>",
        ]
        return "".join(parts)

    def _square(self, site: BoardSite) -> str:
        return f'<polygon class="square{" dark" if site.is_dark else ""}" points="{_corners(site)}"/>'

    def _line(self, line: BoardLine) -> str:
        (x1, y1), (x2, y2) = line.start, line.end
        ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}"'
        colour = "" if line.side is None else f' style="stroke: {self._colour(line.side)[0]}"'
        return f'<line class="rule" {ends} stroke-width="{_number(line.width)}"{colour}/>'

    def _site(self, index: int, site: BoardSite) -> str:
        """Returns the marks and the piece on a site, and its target for clicks."""
        overlay, piece = self._overlay, self._pieces.get(index)
        can = index in self._can
        said = "empty" if piece is None else self._called(piece)
        kind = f"site{' can' if can else ''}{' drag' if index in self._drags else ''}"
        attributes = f'class="{kind}" data-site="{index}" aria-label="{escape(f"{site.name}: {said}")}"'
        attributes += ' tabindex="0" role="button"' if can else ' role="img"'
        parts = [f'<g {attributes} transform="translate({_number(site.x)} {_number(site.y)})">']
        if index in overlay.last:
            parts.append(_area(site, "last"))
        if index in overlay.chosen:
            parts.append(_area(site, "chosen"))
        parts += [_area(site, kind) for kind in ("hint", "threat") if index in getattr(overlay, kind)]
        if piece is not None:
            parts.append(f'<g class="piece">{self._piece(piece, site)}</g>')
        is_taken = piece is not None
        if index in overlay.win:
            parts.append('<circle class="win" r=".45"/>')
        parts += [
            self._variation_stone(stone, site, is_taken, index in overlay.labels)
            for stone in overlay.variation
            if stone.site == index
        ]
        if index in overlay.targets and index not in overlay.labels and index not in self._variation:
            size = _size(site)
            dot = 0.13 if overlay.chosen else 0.08
            kind, radius = ("target", dot * size) if piece is None else ("target taken", 0.44 * size)
            parts.append(f'<circle class="{kind}" r="{_number(radius)}"/>')
        if index in overlay.labels:
            label = label_svg(overlay.labels[index], 0.4 if is_taken else 0.0, has_rank=_size(site) >= THIN)
            parts.append(f'<g class="stale">{label}</g>' if overlay.is_stale else label)
        if self._is_still:
            return "".join([*parts, "</g>"]) if len(parts) > 1 else ""
        parts.append(_area(site, "hit"))
        return "".join([*parts, "</g>"])

    def _arrows(self) -> str:
        sites, arrows = self._layout.sites, self._overlay.arrows
        if not arrows:
            return ""
        shapes = arrows_svg(arrows, lambda index: (sites[index].x, sites[index].y))
        return f'<g class="arrows{" stale" if self._overlay.is_stale else ""}">{shapes}</g>'

    def _colour(self, side: int | None) -> tuple[str, str, str]:
        return NOBODY if side is None else COLOURS[self._view.colour(side)]

    def _called(self, piece: Piece) -> str:
        if piece.form == "count":
            return f"{piece.sign} {piece.kind}"
        return piece.kind if piece.side is None else f"{self._view.colour_name(piece.side)} {piece.kind}"

    def _piece(self, piece: Piece, site: BoardSite) -> str:
        face, edge, ink = self._colour(piece.side)
        if piece.form == "block":
            return f'<polygon fill="{face}" points="{_corners(site, around=True)}"/>'
        if piece.form == "count":
            size = _number(min(0.5, 1.4 / max(1, len(piece.sign))))
            return f'<text class="sign" font-size="{size}" fill="#3b2e04">{escape(piece.sign)}</text>'
        if piece.form == "figure":
            return (
                f'<text class="sign" font-size=".82" font-weight="bold" fill="{face}" stroke="{edge}" '
                f'stroke-width=".03" paint-order="stroke">{escape(piece.sign)}</text>'
            )
        stone = f'<circle r="{_number(0.4 * _size(site))}" fill="{face}" stroke="{edge}" stroke-width=".035"/>'
        if not piece.sign:
            return stone
        return f'{stone}<text class="sign" font-size=".5" fill="{ink}">{escape(piece.sign)}</text>'

    def _variation_stone(self, move: VariationStone, site: BoardSite, is_taken: bool, has_label: bool) -> str:
        """Returns a pale stone with its number, which is in a corner if a label covers the middle; on an edge, a line.

        A piece on the site stays visible: it gets a ring, with the number in a corner.
        """
        face, edge, ink = self._colour(move.side)
        stone = f'stroke="{edge}" stroke-width=".035" stroke-dasharray=".1 .06"'
        if _size(site) < THIN and not is_taken:
            number = "" if has_label else f'<text class="sign" font-size=".2" fill="{ink}">{move.number}</text>'
            return f'<g class="variation"><polygon fill="{face}" points="{_corners(site, around=True)}"/></g>{number}'
        place, radius = ("translate(.31 -.31)", 0.16) if is_taken or has_label else ("", 0.22)
        number = (
            f'<g transform="{place}"><circle r="{radius}" fill="{face}" stroke="{edge}" stroke-width=".02"/>'
            f'<text class="sign" font-size="{_number(1.4 * radius)}" fill="{ink}">{move.number}</text></g>'
        )
        if is_taken:
            return f'<circle r=".44" fill="none" {stone.replace(edge, face)}/>{number}'
        return f'<g class="variation"><circle r=".4" fill="{face}" {stone}/></g>{number}'


def _label(label: Label, width: float) -> str:
    """Returns a label next to a board of this width; its text is larger on a large board."""
    place = f'x="{_number(label.x)}" y="{_number(label.y)}"'
    size = _number(min(0.55, max(0.34, 0.026 * width)))
    return f'<text class="label" {place} font-size="{size}">{escape(label.text)}</text>'


def _size(site: BoardSite) -> float:
    """Returns the smallest extent of a site, in widths of one."""
    if not site.corners:
        return 1.0
    xs, ys = zip(*site.corners, strict=True)
    return float(min(1.0, max(xs) - min(xs), max(ys) - min(ys)))


def _area(site: BoardSite, name: str) -> str:
    """Returns the outline of a site, around the origin."""
    if not site.corners:
        return f'<circle class="{name}" r=".46"/>'
    return f'<polygon class="{name}" points="{_corners(site, around=True)}"/>'


def _corners(site: BoardSite, *, around: bool = False) -> str:
    x0, y0 = (0.0, 0.0) if around else (site.x, site.y)
    return " ".join(f"{_number(x0 + x)},{_number(y0 + y)}" for x, y in site.corners)


def _number(number: float) -> str:
    """Returns a number with at most three decimals."""
    return f"{number:.3f}".rstrip("0").rstrip(".") if number else "0"

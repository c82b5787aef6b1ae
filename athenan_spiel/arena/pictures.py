"""What all plots share: colours, markers, how a figure becomes a PNG, and that matplotlib is there."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from athenan_spiel.errors import ExperimentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Okabe and Ito's, which also those tell apart who see few colours; the order is one of contrast."""
MARKERS = "osD^vP*X"
DOTS_PER_INCH = 130
MOST_DOTS = 2**15
"""Of a picture's width or height."""


def require_matplotlib() -> None:
    """Check that plots can be drawn.

    Raises:
        ExperimentError: matplotlib is not there.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ExperimentError(
            f"plots need matplotlib, got {str(error)!r}: pip install 'athenan-spiel[experiment]'"
        ) from None


def png(figure: Figure) -> bytes:
    """The picture, coarser where it would be too large for the library that draws it."""
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=min(DOTS_PER_INCH, MOST_DOTS / max(figure.get_size_inches())))
    return data.getvalue()


def text_of(name: str) -> str:
    """`name` for matplotlib, which takes dollars for formulas and leaves what begins with _ out of legends."""
    shown = name.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown

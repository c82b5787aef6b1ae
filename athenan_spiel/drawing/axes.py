"""Axes of a graph: their bounds, and the positions and labels of ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

LARGEST = 1e100
"""Maximum absolute value of a drawn number."""
STEPS = (1, 2, 5, 10)
"""Ticks are one of these times a power of ten apart."""
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))
"""Number from which on labels use thousands, millions, and so on."""
SIZES = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3}


def is_drawn(number: float | None) -> bool:
    """Return whether `number` can be drawn."""
    return number is not None and abs(number) <= LARGEST  # NaN is not


def bounds(numbers: Iterable[float | None]) -> tuple[float, float]:
    """Return the minimum and maximum of the drawn numbers, made distinct; 0 and 1 without numbers."""
    drawn = [number for number in numbers if number is not None and is_drawn(number)]
    if not drawn:
        return 0.0, 1.0
    low, high = min(drawn), max(drawn)
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or high == low:
        middle, reach = (low + high) / 2, 0.5 * size or 1.0
        return middle - reach, middle + reach
    return low, high


def round_ticks(low: float, high: float, most: int = 6, *, whole: bool = False) -> list[float]:
    """Round numbers from `low` to `high`, evenly apart, at most `most` + 1 of them.

    Args:
        whole: no fractions.
    """
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(step * power for step in (*STEPS, 20) if step * power >= least * (1 - 1e-9))
    if whole:
        step = max(1.0, step)
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    return [i * step for i in range(first, last + 1)]


def tick_texts(ticks: Sequence[float]) -> list[str]:
    """Return labels of evenly spaced ticks, with as few digits as distinguish them."""
    if not ticks:
        return []
    greatest = max(abs(tick) for tick in ticks)
    unit = next((unit for size, unit in UNITS if greatest >= size), "")
    size = SIZES.get(unit, 1.0)
    step = (ticks[1] - ticks[0] if len(ticks) > 1 else ticks[0]) / size
    if greatest >= 1e15 or 0 < abs(step) < 1e-6:
        return [f"{tick:.3g}" for tick in ticks]
    digits = max(0, -math.floor(math.log10(abs(step)) + 1e-9)) if step else 0
    return [f"{tick / size:.{digits}f}{unit if tick else ''}" if tick else "0" for tick in ticks]


def number_text(number: float) -> str:
    """A number in words that are read aloud or shown on their own: three or four digits, thousands apart."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def thinned(numbers: Sequence[float | None], most: int) -> list[int]:
    """The indices of at most about `most` numbers: of each stretch its least and its greatest, so that peaks stay.

    A stretch without a number is kept as one gap.
    """
    if len(numbers) <= most:
        return list(range(len(numbers)))
    stretches = max(1, most // 2)
    kept: set[int] = {0, len(numbers) - 1}
    for i in range(stretches):
        stretch = range(i * len(numbers) // stretches, (i + 1) * len(numbers) // stretches)
        drawn = [(number, j) for j in stretch if (number := numbers[j]) is not None and is_drawn(number)]
        kept |= {min(drawn)[1], max(drawn)[1]} if drawn else {stretch[0]}
    return sorted(kept)

"""Numbers as text: target units, percent, tail probabilities."""

from __future__ import annotations

import math

import numpy as np

from calibrant.checks import Array


class Units:
    """Format numbers in target units, with digits that suit the spread of the targets.

    Four digits of the spread: prices that vary by 250,000 need no cents, rates that vary by
    0.01 need five decimals.
    """

    def __init__(self, y: Array) -> None:
        spread = float(np.subtract(*np.quantile(y, [0.75, 0.25]))) or float(np.ptp(y))
        spread = spread or abs(float(y[0])) or 1.0
        self._decimals = max(0, 3 - math.floor(math.log10(spread)))

    def show(self, value: float) -> str:
        """Write one number."""
        if not math.isfinite(value):
            return "not finite"
        if self._decimals > 8 or abs(value) >= 1e12:
            return f"{value:.6g}"
        return f"{value + 0.0:,.{self._decimals}f}"

    def round(self, values: Array) -> list[float | None]:
        """Round numbers for drawing, to one digit more than `show`; None if not finite."""
        rounded = np.round(values, min(self._decimals + 1, 300))
        return [float(v) if math.isfinite(v) else None for v in rounded]


def percent(share: float, n: int) -> str:
    """Write a share of n rows in percent, with a second decimal if n is large enough."""
    return f"{100 * share:.{2 if n >= 20_000 else 1}f}%"


def level_text(level: float) -> str:
    """Write a nominal coverage: 90%, 99.5%."""
    return f"{100 * level:.4g}%"


def tail_text(probability: float) -> str:
    """Write a small probability."""
    return f"{probability:.2g}" if probability >= 1e-12 else "below 1e-12"


def unbroken(text: str) -> str:
    """Keep "p < 0.01" and "n = 100" on one line, with no-break spaces."""
    for sign in "<=":
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    return text


def cell_text(value: object) -> str:
    """Write a value of a column: six digits of a number, the day alone of a date at midnight."""
    if isinstance(value, float | np.floating):
        return "missing" if math.isnan(value) else f"{value:.6g}"
    text = "missing" if value is None else str(value)
    if isinstance(value, np.datetime64):
        text = text.split(".")[0].removesuffix("T00:00:00").replace("T", " ")
    return text if len(text) <= 80 else f"{text[:79]}…"


def spans_decades(y: Array) -> bool:
    """Whether positive targets span 1.5 decades or more, so that a log axis shows them better."""
    if y.min() <= 0:
        return False
    low, high = np.quantile(y, [0.01, 0.99])
    return bool(high / low >= 10**1.5)

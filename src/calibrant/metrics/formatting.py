"""Numbers as text, the same in every table."""

from __future__ import annotations

import numpy as np


def format_number(value: float | None) -> str:
    """Write five digits, without an exponent where they can be read without one.

    Examples
    --------
    >>> from calibrant.metrics.formatting import format_number
    >>> [format_number(value) for value in (0.01234567, 12.3456, 123456.7, None)]
    ['0.0123', '12.346', '1.2346e+05', '']
    """
    if value is None:
        return ""
    if not np.isfinite(value) or value == 0:
        return f"{value:.0f}"
    if abs(value) < 1:  # four decimals, or three digits where those would be zeros
        return f"{value:.4f}" if abs(value) >= 0.0005 else f"{value:.3g}"
    return f"{value:#.5g}".rstrip(".") if abs(value) < 1e5 else f"{value:.5g}"


def format_range(low: float, high: float) -> str:
    """Write a range of positive numbers in at most 18 characters.

    Examples
    --------
    >>> from calibrant.metrics.formatting import format_range
    >>> format_range(0.0061, 0.0123), format_range(12.3456, 234.5), format_range(1.2e-7, 3.4e-7)
    ('0.0061 to 0.0123', '12.3 to 234.5', '1.2e-07 to 3.4e-07')
    """
    digits = ".4f" if 0.0005 <= high < 100 else ".1f" if 100 <= high < 1e5 else ".2g"
    return f"{low:{digits}} to {high:{digits}}"


def format_p_value(p_value: float) -> str:
    """Write a p-value; below one in ten thousand its size says nothing more."""
    return f"{p_value:.4f}" if p_value >= 1e-4 else "< 0.0001"


def p_value_text(p_value: float) -> str:
    """Write a p-value for a sentence: ``p = 0.012`` or ``p < 0.0001``."""
    return f"p = {p_value:.2g}" if p_value >= 1e-4 else "p < 0.0001"

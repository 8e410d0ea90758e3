"""Numbers that stand for a gap, such as -200 or 9999 among measurements."""

from __future__ import annotations

import numpy as np

from calibrant.checks import Array

_LEAST_SHARE = 0.01  # of the rows
_LEAST_DIFFERENT = 20  # values: -1 beside 0 and 1 is a value


def gap_code(values: Array) -> float | None:
    """Return the number that probably stands for a gap in a column, None if there is none.

    It is the least or the largest value, whole, repeated, and either the only negative one or
    farther from the others than these are from each other.

    Parameters
    ----------
    values : array of shape (n,)
        NaN for gaps.

    Examples
    --------
    >>> gap_code(np.array([*np.linspace(2.0, 9.0, 50), -200.0, -200.0]))
    -200.0
    >>> gap_code(np.linspace(-9.0, 9.0, 50)) is None
    True
    """
    different, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(different) < _LEAST_DIFFERENT:
        return None
    least = max(2.0, _LEAST_SHARE * counts.sum())
    for code, count, rest in (
        (different[0], counts[0], different[1:]),
        (different[-1], counts[-1], different[:-1]),
    ):
        distance = min(abs(code - rest[0]), abs(code - rest[-1]))
        alone = code < 0.0 <= rest[0] or distance > rest[-1] - rest[0]
        if count >= least and code == np.rint(code) and alone:
            return float(code)
    return None

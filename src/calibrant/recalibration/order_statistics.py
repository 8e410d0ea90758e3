"""Order statistics of calibration scores that guarantee coverage in finite samples."""

from __future__ import annotations

import warnings

import numpy as np

from calibrant.checks import Array, Index
from calibrant.errors import CalibrantWarning


def bounding_ranks(n_scores: int, level: Array) -> Index:
    """Rank ``ceil((n + 1) p)`` of the score that a new one exceeds with probability <= 1 - p.

    Parameters
    ----------
    n_scores : int
    level : array of shape (L,)

    Returns
    -------
    array of shape (L,)
        From 0 to n + 1; for `padded` scores.
    """
    return _ceil((n_scores + 1) * level)


def one_sided_ranks(n_scores: int, level: Array) -> Index:
    """Ranks of one-sided bounds: rounded up from 0.5 upwards, and down below 0.5."""
    rank = (n_scores + 1) * level
    return np.where(level < 0.5, -_ceil(-rank), _ceil(rank))


def padded(ordered: Array, low: float = -np.inf, high: float = np.inf) -> Array:
    """Order statistics by rank 0 ... n + 1, with the ends of the range at both ends."""
    return np.concatenate([[low], ordered, [high]])


def warn_if_too_few(
    name: str, level: Array, tail: Array, n_scores: int, *, stacklevel: int = 3
) -> None:
    """Warn where there are too few rows to guarantee levels with these tails, (L,) each."""
    hardest = int(np.argmin(tail))
    needed = float(np.ceil((1.0 - 1e-9) / tail[hardest] - 1.0))  # 1 / (1 - 0.9999) > 10000
    if needed > n_scores:
        warnings.warn(
            f"{name}={level[hardest]:g} can't be guaranteed with {n_scores} "
            f"calibration rows, it needs at least {needed:.0f}: bounds are infinite.",
            CalibrantWarning,
            stacklevel=stacklevel,
        )


def _ceil(rank: Array) -> Index:
    # 100 * 0.55 is 55.00000000000001 and means 55.
    ceiling: Index = np.ceil(np.round(rank, 9)).astype(np.intp)
    return ceiling

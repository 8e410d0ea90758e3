"""One pass over the quantiles of all rows, in blocks, for every metric that needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.distributions import Distribution
from calibrant.metrics._inputs import Array

# 0.005, 0.010 ... 0.995: the bounds of the 99 central intervals, and every level of the pinball
# score, so one call of ppf serves them all.
GRID: Array = np.arange(1, 200) / 200
_PAIRS = 99  # column j and column 198 - j bound the interval of coverage 0.99 - j / 100
_PINBALL = slice(1, 199, 2)  # 0.01, 0.02 ... 0.99

_BLOCK = 1 << 21  # cells asked of ppf at once (16 MiB): enough rows for it to share among threads
_TILE = 1 << 16  # cells summed at once: half a megabyte stays in cache


@dataclass(frozen=True)
class QuantileSummary:
    """What one pass gives: interval widths and the scores of quantiles."""

    widths: Array  # mean width at coverage 0.01 ... 0.99, (99,)
    pinball: float
    interval_score: float


def quantile_tiles(dist: Distribution, levels: Array) -> Iterator[tuple[slice, Array]]:
    """Yield ``(rows, quantiles)`` with quantiles of shape (len(rows), L), all rows in order."""
    block, tile = (max(1, cells // len(levels)) for cells in (_BLOCK, _TILE))
    for start in range(0, len(dist), block):
        quantiles = dist[start : start + block].ppf(levels)
        for first in range(0, len(quantiles), tile):
            part = quantiles[first : first + tile]
            yield slice(start + first, start + first + len(part)), part


def quantile_summary(dist: Distribution, y: Array, coverage: float) -> QuantileSummary:
    """Widths, pinball score and the interval score of one coverage in a single pass."""
    levels = np.concatenate([GRID, interval_levels(np.array([coverage]))])
    widths, pinball, score = np.zeros(_PAIRS), 0.0, 0.0
    for rows, quantiles in quantile_tiles(dist, levels):
        widths += grid_widths(quantiles)
        pinball += pinball_sum(quantiles[:, _PINBALL], y[rows], GRID[_PINBALL]).sum()
        score += interval_score_sum(quantiles[:, len(GRID) :], y[rows], np.array([coverage])).sum()
    n = len(dist)
    return QuantileSummary(widths / n, float(pinball / (n * _PAIRS)), float(score / n))


def interval_levels(coverage: Array) -> Array:
    """Lower, then upper, quantile levels of L central intervals, (2 L,)."""
    tails = (1.0 - coverage) / 2.0
    return np.concatenate([tails, 1.0 - tails])


def grid_widths(quantiles: Array) -> Array:
    """Widths of the 99 central intervals, summed over rows, by coverage 0.01 ... 0.99, (99,)."""
    lower, upper = quantiles[:, :_PAIRS], quantiles[:, 2 * _PAIRS : _PAIRS : -1]
    # Subtract before summing: widths survive a location a billion times larger.
    total: Array = np.sum(upper - lower, axis=0)
    return total[::-1]


def pinball_sum(quantiles: Array, y: Array, levels: Array) -> Array:
    """``max(q d, (q - 1) d)`` for ``d = y - quantile``, summed over rows, (L,)."""
    distance = y[:, None] - quantiles
    total: Array = levels * distance.sum(axis=0) - np.minimum(distance, 0.0).sum(axis=0)
    return total


def interval_score_sum(bounds: Array, y: Array, coverage: Array) -> Array:
    """Width plus ``2 / (1 - coverage)`` times the distance of a miss, summed over rows, (L,)."""
    lower, upper = np.split(bounds, 2, axis=1)
    miss = np.maximum(lower - y[:, None], 0.0) + np.maximum(y[:, None] - upper, 0.0)
    total: Array = np.sum(upper - lower + 2.0 / (1.0 - coverage) * miss, axis=0)
    return total

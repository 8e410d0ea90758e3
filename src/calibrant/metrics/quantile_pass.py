"""One pass over the quantiles of all rows, in blocks, for every metric that needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.distributions import Distribution

# 0.005, 0.010 ... 0.995: the bounds of the 99 central intervals and every level of the pinball
# score, so that one call of ppf serves them all.
GRID: Array = np.arange(1, 200) / 200
_PAIRS = 99  # column j and column 198 - j bound the interval of coverage 0.99 - j / 100
_MEDIAN = 99  # column of level 0.5
_PINBALL = slice(1, 199, 2)  # 0.01, 0.02 ... 0.99

_BLOCK = 1 << 21  # values per call of ppf (16 MiB): enough rows to share among threads
_TILE = 1 << 16  # values summed at once: half a megabyte stays in cache
_SAMPLE_ROWS = 2000


@dataclass(frozen=True, eq=False)
class QuantileSummary:
    """What one pass over the quantiles of n rows gives.

    Attributes
    ----------
    median : array of shape (n,)
    interval : array of shape (n, 2)
        Bounds of the central interval of the nominal coverage of `evaluate`.
    widths : array of shape (99,)
        Mean interval width at each of `LEVELS`.
    pinball, interval_score : float
    sample : array of shape (m,)
        Positions of at most 2,000 evenly spaced rows.
    sample_intervals : array of shape (m, 2, 99)
        Bounds of the central intervals of these rows at each of `LEVELS`.
    """

    median: Array
    interval: Array
    widths: Array
    pinball: float
    interval_score: float
    sample: NDArray[np.intp]
    sample_intervals: Array


def quantile_tiles(dist: Distribution, levels: Array) -> Iterator[tuple[slice, Array]]:
    """Yield ``(rows, quantiles)`` with quantiles of shape (len(rows), L), all rows in order."""
    block, tile = (max(1, cells // len(levels)) for cells in (_BLOCK, _TILE))
    for start in range(0, len(dist), block):
        quantiles = dist[start : start + block].ppf(levels)
        for first in range(0, len(quantiles), tile):
            part = quantiles[first : first + tile]
            yield slice(start + first, start + first + len(part)), part


def quantile_summary(dist: Distribution, y: Array, coverage: float) -> QuantileSummary:
    """Summarise the quantiles of all rows in a single pass."""
    n, nominal = len(dist), np.array([coverage])
    median, interval = np.empty(n), np.empty((n, 2))
    sample = evenly_spaced(n, _SAMPLE_ROWS)
    sample_intervals = np.empty((len(sample), 2, _PAIRS))
    widths, pinball, score = np.zeros(_PAIRS), 0.0, 0.0
    for rows, quantiles in quantile_tiles(dist, np.concatenate([GRID, interval_levels(nominal)])):
        grid, bounds = quantiles[:, : len(GRID)], quantiles[:, len(GRID) :]
        median[rows], interval[rows] = grid[:, _MEDIAN], bounds
        widths += grid_widths(grid)
        pinball += pinball_sum(grid[:, _PINBALL], y[rows], GRID[_PINBALL]).sum()
        score += interval_score_sum(bounds, y[rows], nominal).sum()
        first, last = np.searchsorted(sample, [rows.start, rows.stop])
        chosen = grid[sample[first:last] - rows.start]
        sample_intervals[first:last] = np.stack(grid_bounds(chosen), axis=1)[:, :, ::-1]
    return QuantileSummary(
        median=median,
        interval=interval,
        widths=widths / n,
        pinball=float(pinball / (n * _PAIRS)),
        interval_score=float(score / n),
        sample=sample,
        sample_intervals=sample_intervals,
    )


def evenly_spaced(n: int, limit: int) -> NDArray[np.intp]:
    """At most `limit` evenly spaced positions of n, in order."""
    return np.unique(np.linspace(0, n - 1, min(n, limit)).round().astype(np.intp))


def interval_levels(coverage: Array) -> Array:
    """Lower, then upper, quantile levels of L central intervals, (2 L,)."""
    tails = (1.0 - coverage) / 2.0
    return np.concatenate([tails, 1.0 - tails])


def grid_bounds(quantiles: Array) -> tuple[Array, Array]:
    """Bounds of the 99 central intervals by coverage 0.99 ... 0.01, (n, 99) each."""
    return quantiles[:, :_PAIRS], quantiles[:, 2 * _PAIRS : _PAIRS : -1]


def grid_widths(quantiles: Array) -> Array:
    """Widths of the 99 central intervals, summed over rows, by coverage 0.01 ... 0.99, (99,)."""
    lower, upper = grid_bounds(quantiles)
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

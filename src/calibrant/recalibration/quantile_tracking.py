"""Quantiles of a stream of normal scores, tracked by adaptive conformal inference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from calibrant.checks import Array

# Levels whose quantiles are tracked, (35,): evenly spaced, and some towards both ends.
_TAIL = np.array([0.001, 0.003, 0.01])
LEVELS: Array = np.concatenate([_TAIL, np.arange(1, 30) / 30, 1.0 - _TAIL[::-1]])
SCORES: Array = ndtri(LEVELS)
_DENSITY: Array = np.exp(-0.5 * SCORES**2) / math.sqrt(2.0 * math.pi)
# The part of [0, 1] that each level stands for: pinball losses weighted so add up to a CRPS.
_SHARES: Array = np.diff(np.concatenate([[0.0], 0.5 * (LEVELS[1:] + LEVELS[:-1]), [1.0]]))

FARTHEST = 36.0  # the normal cdf at -36 is close to the smallest float64
_STAIRS: Array = 1e-6 * np.arange(35.0)  # knots are 1e-6 apart, so that maps have an inverse
_OUTER = 2, -3  # columns of the levels 1% and 99%: their distance is the spread
_SPREADS = 0.05, 20.0  # no step is smaller, or larger, than at these spreads


class QuantileTrackers:
    """K estimates of the quantiles at `LEVELS`, each with its own memory.

    Parameters
    ----------
    memory : sequence of K floats
        Number of rows that each estimate remembers.
    symmetric : bool
        Every score counts half on either side, so that the estimates stay symmetric about zero
        and follow the absolute scores.

    Attributes
    ----------
    quantiles : array of shape (K, 35)
        Not decreasing in each line; initially those of a standard normal.
    """

    def __init__(self, memory: Sequence[float], *, symmetric: bool = False) -> None:
        self._symmetric = symmetric
        self.quantiles: Array = np.tile(SCORES, (len(memory), 1))
        # An extreme level is informed by few rows, so it needs a longer memory.
        least = 1.0 / np.minimum(LEVELS, 1.0 - LEVELS)
        self._steps: Array = 1.0 / (np.maximum(np.reshape(memory, (-1, 1)), least) * _DENSITY)

    def losses(self, score: float) -> Array:
        """CRPS of each estimate, up to a factor of two: the mean pinball loss, (K,)."""
        if self._symmetric:
            return 0.5 * (self._losses(score) + self._losses(-score))
        return self._losses(score)

    def _losses(self, score: float) -> Array:
        gap = score - self.quantiles
        return np.maximum(LEVELS * gap, (LEVELS - 1.0) * gap) @ _SHARES

    def learn(self, score: float) -> None:
        """Move each quantile by its coverage error, in units of the present spread."""
        q, (low, high) = self.quantiles, _OUTER
        spread = (q[:, high] - q[:, low]) / (SCORES[high] - SCORES[low])
        spread = np.minimum(np.maximum(spread, _SPREADS[0]), _SPREADS[1])
        covered: Array = (score <= q).astype(np.float64)
        if self._symmetric:
            covered = 0.5 * (covered + (-score <= q))
        q += spread[:, None] * self._steps * (LEVELS - covered)
        # Not np.clip, which takes longer than the rest: this runs once per row.
        np.minimum(np.maximum(q, -FARTHEST, out=q), FARTHEST, out=q)
        q.sort(axis=1)


def moved_apart(knots: Array) -> Array:
    """Make knots, (35,) or (n, 35), that do not decrease strictly increasing; others stay."""
    apart: Array = np.maximum.accumulate(knots - _STAIRS, axis=-1) + _STAIRS
    return apart

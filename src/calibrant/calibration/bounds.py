"""Bounds that hold in finite samples, around any predictive distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, check_levels
from calibrant.distributions import Distribution
from calibrant.persistence import savable_part
from calibrant.recalibration.order_statistics import (
    bounding_ranks,
    one_sided_ranks,
    padded,
    warn_if_too_few,
)


@savable_part
@dataclass(frozen=True, eq=False)
class ConformalBounds:
    """Intervals and quantiles with guaranteed coverage, from levels of fresh rows.

    ``F(Y)`` of a new row and of n fresh rows are exchangeable, whatever F. So the interval between
    the quantiles ``1/2 -+ r``, with r the k-th smallest of the n values ``|F(y_i) - 1/2|`` and
    ``k = ceil((n + 1) p)``, covers with probability at least p (Chernozhukov, Wuthrich and Zhu,
    2021, "Distributional conformal prediction"). It keeps the shape of F.

    Parameters
    ----------
    left, right : arrays of shape (n,)
        ``F(y-)`` and ``F(y)`` of rows that nothing was fitted to, sorted; they differ on atoms.
    radius : array of shape (n,)
        How far the quantiles of each row have to reach to both sides, sorted.
    """

    left: Array
    right: Array
    radius: Array

    @classmethod
    def fit(cls, dist: Distribution, y: Array) -> ConformalBounds:
        """Take the levels of fresh rows, (n,)."""
        left, right = dist.cdf_left(y), dist.cdf(y)
        radius = np.maximum(np.maximum(0.5 - right, left - 0.5), 0.0)
        return cls(np.sort(left), np.sort(right), np.sort(radius))

    def interval(self, dist: Distribution, coverage: ArrayLike) -> Array:
        """Intervals that cover with at least these probabilities, (n, 2) or (n, 2, L)."""
        level = np.atleast_1d(check_levels(coverage, "coverage"))
        warn_if_too_few("coverage", level, 1.0 - level, len(self.radius), stacklevel=4)
        radius = padded(self.radius, 0.0, 0.5)[bounding_ranks(len(self.radius), level)]
        ends = dist.ppf(np.concatenate([0.5 - radius, 0.5 + radius]))
        # Level 0 or 1 may be a finite end of the support; a guarantee needs all numbers there.
        ends = np.where(np.tile(radius >= 0.5, 2), np.repeat([-np.inf, np.inf], len(level)), ends)
        ends = ends.reshape(len(dist), 2, len(level))
        return ends[:, :, 0] if np.ndim(coverage) == 0 else ends

    def quantiles(self, dist: Distribution, alpha: ArrayLike) -> Array:
        """One-sided bounds, (n, L), or (n,) for one level.

        From 0.5 upwards a new row lies at or below the bound with probability at least alpha;
        below 0.5 it lies below the bound with probability at most alpha.
        """
        level = np.atleast_1d(check_levels(alpha, "alpha"))
        n_rows = len(self.radius)
        warn_if_too_few("alpha", level, np.minimum(level, 1.0 - level), n_rows, stacklevel=4)
        ranks = one_sided_ranks(n_rows, level)
        left, right = (padded(part, 0.0, 1.0)[ranks] for part in (self.left, self.right))
        values = dist.ppf(np.where(level < 0.5, right, left))
        values = np.where(ranks == 0, -np.inf, np.where(ranks == n_rows + 1, np.inf, values))
        return values[:, 0] if np.ndim(alpha) == 0 else values

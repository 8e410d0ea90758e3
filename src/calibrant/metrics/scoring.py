"""Proper scoring rules: calibration and sharpness in one number, lower is better."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, check_levels
from calibrant.distributions import Distribution
from calibrant.metrics.calibration import LEVELS
from calibrant.metrics.inputs import Levels, check_target
from calibrant.metrics.quantile_pass import (
    interval_levels,
    interval_score_sum,
    pinball_sum,
    quantile_tiles,
)


def nll(dist: Distribution, y: ArrayLike) -> float:
    """Mean negative log-likelihood, in nats.

    ``-mean(log f(y))``

    A proper score; it penalises a target far out in a too narrow distribution hardest and is
    infinite if a target is impossible under its distribution.

    Notes
    -----
    Almost every target is impossible under `Empirical`, which has no density: use `crps` there.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import nll
    >>> round(nll(Normal([0.0], [1.0]), [0.0]), 4)
    0.9189
    """
    target = check_target(dist, y)
    return -float(np.mean(dist.log_prob(target)))


def crps(dist: Distribution, y: ArrayLike) -> float:
    """Mean continuous ranked probability score, in target units.

    ``mean_i int (F_i(t) - 1{t >= y_i})^2 dt``

    A proper score: only the true distribution minimises it, so it rewards calibration and
    sharpness at once; for a point forecast it is the absolute error.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import crps
    >>> round(crps(Normal([0.0], [1.0]), [0.0]), 4)
    0.2337
    """
    target = check_target(dist, y)
    return float(np.mean(dist.crps(target)))


def pinball(dist: Distribution, y: ArrayLike, *, alpha: ArrayLike = LEVELS) -> float:
    """Mean pinball (quantile) score over rows and quantile levels, in target units.

    ``mean_ij max(a_j d_ij, (a_j - 1) d_ij), d_ij = y_i - F_i^-1(a_j)``

    Over many evenly spaced quantile levels a it is about half the CRPS.

    Parameters
    ----------
    alpha : float, or array of shape (L,)
        Quantile levels.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import pinball
    >>> pinball(Normal([0.0, 0.0], [1.0, 1.0]), [2.0, -2.0], alpha=0.5)
    1.0
    """
    target = check_target(dist, y)
    levels = np.atleast_1d(check_levels(alpha, "alpha"))
    tiles = quantile_tiles(dist, levels)
    total = sum(float(pinball_sum(q, target[rows], levels).sum()) for rows, q in tiles)
    return total / (len(dist) * len(levels))


@overload
def interval_score(dist: Distribution, y: ArrayLike, *, coverage: float = 0.9) -> float: ...
@overload
def interval_score(dist: Distribution, y: ArrayLike, *, coverage: Levels) -> Array: ...
def interval_score(
    dist: Distribution, y: ArrayLike, *, coverage: float | Levels = 0.9
) -> float | Array:
    """Mean interval (Winkler) score of central intervals, in target units.

    ``mean_i (b_i - a_i + 2 / (1 - coverage) distance(y_i, [a_i, b_i]))``

    The width of the interval from a to b, plus a penalty for each target outside, in proportion
    to its distance.

    Parameters
    ----------
    coverage : float, or array of shape (L,)

    Returns
    -------
    float, or array of shape (L,) for a list of coverages

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import interval_score
    >>> round(interval_score(Normal([0.0], [1.0]), [0.0], coverage=0.9), 3)
    3.29
    """
    target = check_target(dist, y)
    wanted = check_levels(coverage, "coverage")
    shares = np.atleast_1d(wanted)
    total = np.zeros(len(shares))
    for rows, bounds in quantile_tiles(dist, interval_levels(shares)):
        total += interval_score_sum(bounds, target[rows], shares)
    scores = total / len(dist)
    return float(scores[0]) if wanted.ndim == 0 else scores

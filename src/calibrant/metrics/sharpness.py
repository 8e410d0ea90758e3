"""Sharpness: the width of prediction intervals. Narrow is good only if calibrated.

`epiw` and `mpiw` do not need ``y``, but accept it so that all metrics can be called alike.
"""

from __future__ import annotations

from typing import cast, overload

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, check_levels
from calibrant.distributions import Distribution
from calibrant.metrics.inputs import Levels, check_dist, check_target
from calibrant.metrics.quantile_pass import GRID, grid_widths, interval_levels, quantile_tiles


def epiw(dist: Distribution, y: ArrayLike | None = None) -> float:
    """Expected prediction interval width: mean over rows and the 99 levels, in target units.

    ``mean_j mean_i (upper_i(p_j) - lower_i(p_j))``

    Narrow is good among calibrated forecasts only; the levels p are 1% to 99%.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import epiw
    >>> round(epiw(Normal([0.0, 5.0], [1.0, 1.0])), 3)
    1.58
    """
    return float(_widths(dist, y).mean())


def mpiw(dist: Distribution, y: ArrayLike | None = None) -> float:
    """Maximum prediction interval width: mean over rows at the widest level, in target units.

    ``max_j mean_i (upper_i(p_j) - lower_i(p_j))``

    The maximum, at level 99%, is over levels, not over rows: only then are the published tables
    consistent.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import mpiw
    >>> round(mpiw(Normal([0.0, 5.0], [1.0, 1.0])), 3)
    5.152
    """
    return float(_widths(dist, y).max())


@overload
def mean_width(dist: Distribution, coverage: float = 0.9) -> float: ...
@overload
def mean_width(dist: Distribution, coverage: Levels) -> Array: ...
def mean_width(dist: Distribution, coverage: float | Levels = 0.9) -> float | Array:
    """Mean width of the central interval of a given coverage, in target units.

    ``mean_i (upper_i - lower_i)``

    Narrow is good among calibrated forecasts only.

    Parameters
    ----------
    coverage : float, or array of shape (L,)

    Returns
    -------
    float, or array of shape (L,) for a list of coverages

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import mean_width
    >>> round(mean_width(Normal([0.0, 5.0], [1.0, 3.0]), 0.5), 3)
    2.698
    """
    check_dist(dist)
    wanted = check_levels(coverage, "coverage")
    total = np.zeros(wanted.size)
    for _, bounds in quantile_tiles(dist, interval_levels(np.atleast_1d(wanted))):
        lower, upper = np.split(bounds, 2, axis=1)
        total += np.sum(upper - lower, axis=0)
    widths = total / len(dist)
    return float(widths[0]) if wanted.ndim == 0 else widths


def _widths(dist: Distribution, y: ArrayLike | None) -> Array:
    """Mean width at each of the 99 levels, (99,)."""
    if y is None:
        check_dist(dist)
    else:
        check_target(dist, y)
    tiles = quantile_tiles(dist, GRID)
    return cast(Array, sum(grid_widths(quantiles) for _, quantiles in tiles) / len(dist))

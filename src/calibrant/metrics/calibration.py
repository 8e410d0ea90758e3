"""Does the forecast mean what it says? PIT values, coverage, and their distance from nominal."""

from __future__ import annotations

from typing import cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant.distributions import Distribution
from calibrant.metrics._inputs import Array, Levels, check_levels, check_target

# The 99 levels of ECPE, MCPE, EPIW and MPIW.
LEVELS: Array = np.arange(1, 100) / 100
LEVELS.setflags(write=False)


def pit(dist: Distribution, y: ArrayLike, *, random_state: int = 0) -> Array:
    """Probability integral transform: where in its distribution each target fell.

    ``u = F(y-) + v (F(y) - F(y-)), v uniform on [0, 1]``

    It is F(y) where F is continuous; on an atom (samples, bounds, a discrete target) chance
    decides between its edges, so that u is uniform for the true distribution in any case.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
    random_state : int
        Seed of v: the same call gives the same values.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import pit
    >>> pit(Normal([0.0, 1.0], [1.0, 1.0]), [0.0, 0.0]).round(3)
    array([0.5  , 0.159])
    """
    target = check_target(dist, y)
    u = dist.cdf(target)
    below = dist.cdf_left(target)
    if np.array_equal(u, below):
        return u
    v = np.random.default_rng(random_state).random(len(target))
    return below + v * (u - below)


@overload
def coverage(dist: Distribution, y: ArrayLike, *, level: float = 0.9) -> float: ...
@overload
def coverage(dist: Distribution, y: ArrayLike, *, level: Levels) -> Array: ...
def coverage(dist: Distribution, y: ArrayLike, *, level: float | Levels = 0.9) -> float | Array:
    """Share of targets inside the central interval of a level.

    ``mean_i 1{|2 u_i - 1| <= level}``

    A target counts where its PIT value u lies within half the level of one half, which for a
    continuous distribution is the same as lying between the bounds of the interval.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
    level : float, or array of shape (L,)

    Returns
    -------
    float, or array of shape (L,) for a list of levels

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import coverage
    >>> coverage(Normal([0.0, 0.0], [1.0, 1.0]), [0.5, 3.0], level=[0.1, 0.9])
    array([0. , 0.5])
    """
    wanted = check_levels(level, "level")
    shares = covered_counts(pit(dist, y), np.atleast_1d(wanted)) / len(dist)
    return float(shares[0]) if wanted.ndim == 0 else shares


def ecpe(dist: Distribution, y: ArrayLike) -> float:
    """Expected coverage probability error: mean distance of coverage from its level, 1% to 99%.

    ``mean_j |p_j - coverage(p_j)|``

    Even a perfect forecast does not score zero on a limited number of rows: compare with the
    noise floor.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)

    Notes
    -----
    Of central intervals, over the 99 levels of `LEVELS`; the floor is ``noise_floor(n).ecpe``.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import ecpe
    >>> y = np.random.default_rng(0).normal(size=10_000)
    >>> round(ecpe(Normal(np.zeros(10_000), np.full(10_000, 2.0)), y), 2)
    0.21
    """
    return float(coverage_errors(pit(dist, y)).mean())


def mcpe(dist: Distribution, y: ArrayLike) -> float:
    """Maximum coverage probability error: largest distance of coverage from its level, 1% to 99%.

    ``max_j |p_j - coverage(p_j)|``

    Even a perfect forecast does not score zero on a limited number of rows: compare with the
    noise floor.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)

    Notes
    -----
    Of central intervals, over the 99 levels of `LEVELS`; the floor is ``noise_floor(n).mcpe``.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import mcpe
    >>> mcpe(Normal([0.0, 0.0], [1.0, 1.0]), [9.0, -9.0])
    0.99
    """
    return float(coverage_errors(pit(dist, y)).max())


def quantile_calibration(dist: Distribution, y: ArrayLike, *, levels: ArrayLike = LEVELS) -> Array:
    """One-sided calibration: the share of targets at or below each predicted quantile.

    ``mean_i 1{u_i <= q}``

    For PIT values u of a calibrated forecast it is equal to q; unlike coverage of central
    intervals it sees a forecast that is too high or too low.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
    levels : array of shape (L,)

    Returns
    -------
    array of shape (L,)

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import quantile_calibration
    >>> quantile_calibration(Normal([0.0, 0.0], [1.0, 1.0]), [-1.0, 1.0], levels=[0.1, 0.5])
    array([0. , 0.5])
    """
    wanted = np.atleast_1d(check_levels(levels, "levels"))
    return at_most(pit(dist, y), wanted) / len(dist)


def quantile_calibration_error(
    dist: Distribution, y: ArrayLike, *, levels: ArrayLike = LEVELS
) -> float:
    """Mean distance of one-sided calibration from nominal.

    ``mean_j |q_j - mean_i 1{u_i <= q_j}|``

    Unlike ECPE, which looks at central intervals, it sees a forecast that is too high or too low.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
    levels : array of shape (L,)

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import quantile_calibration_error
    >>> round(quantile_calibration_error(Normal([0.0, 0.0], [1.0, 1.0]), [9.0, 9.0]), 3)
    0.5
    """
    wanted = np.atleast_1d(check_levels(levels, "levels"))
    return float(np.mean(np.abs(quantile_calibration(dist, y, levels=wanted) - wanted)))


# ---- from PIT values, for callers that already have them ----------------------------------------


def at_most(values: Array, thresholds: Array) -> NDArray[np.intp]:
    """How many values are at or below each threshold, (L,): one sort, no n x L table."""
    return np.searchsorted(np.sort(values), thresholds, side="right")


def covered_counts(u: Array, levels: Array = LEVELS) -> NDArray[np.intp]:
    """How many rows with PIT values u the central interval of each level covers, (L,)."""
    return at_most(np.abs(2.0 * u - 1.0), levels)


def coverage_errors(u: Array) -> Array:
    """Absolute coverage error at each of the 99 levels, (99,)."""
    return cast(Array, np.abs(covered_counts(u) / len(u) - LEVELS))

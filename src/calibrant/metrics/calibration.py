"""Calibration: PIT values, coverage, and the distance of coverage from nominal."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast, overload

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, check_levels
from calibrant.distributions import Distribution
from calibrant.distributions.pit import randomized_pit
from calibrant.metrics.inputs import Levels, check_target

# Nominal coverages of ECPE, MCPE, EPIW and MPIW.
LEVELS: Array = np.arange(1, 100) / 100
LEVELS.setflags(write=False)

# On atoms the PIT is random. One draw can make a good forecast look better than chance allows, so
# calibration errors are averaged over this many; each draw has the noise of the floor.
N_DRAWS = 20


def pit(dist: Distribution, y: ArrayLike, *, random_state: int = 0) -> Array:
    """Probability integral transform: where in its distribution each target fell.

    ``u = F(y-) + v (F(y) - F(y-)), v uniform on [0, 1]``

    It is F(y) where F is continuous; on an atom (samples, bounds, a discrete target) u is drawn
    uniformly between its edges, so that u is uniform for the true distribution in any case.

    Parameters
    ----------
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
    left, right = pit_bounds(dist, check_target(dist, y))
    return randomized_pit(left, right, random_state)


@overload
def coverage(dist: Distribution, y: ArrayLike, *, coverage: float = 0.9) -> float: ...
@overload
def coverage(dist: Distribution, y: ArrayLike, *, coverage: Levels) -> Array: ...
def coverage(dist: Distribution, y: ArrayLike, *, coverage: float | Levels = 0.9) -> float | Array:
    """Empirical coverage: share of targets inside central intervals of a nominal coverage.

    ``mean_i 1{|2 u_i - 1| <= coverage}``

    A target is covered where its PIT value u is within half the nominal coverage of one half,
    which for a continuous distribution means that it lies between the bounds of the interval.

    Parameters
    ----------
    coverage : float, or array of shape (L,)
        Nominal coverage.

    Returns
    -------
    float, or array of shape (L,) for a list of nominal coverages

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import coverage
    >>> coverage(Normal([0.0, 0.0], [1.0, 1.0]), [0.5, 3.0], coverage=[0.1, 0.9])
    array([0. , 0.5])
    """
    nominal = check_levels(coverage, "coverage")
    draws = target_pit_draws(dist, y)
    shares = mean_over_draws(lambda u: central_coverage(u, np.atleast_1d(nominal)), draws)
    return float(shares[0]) if nominal.ndim == 0 else shares


def ecpe(dist: Distribution, y: ArrayLike) -> float:
    """Expected coverage probability error: mean distance of coverage from its level, 1% to 99%.

    ``mean_j |p_j - coverage(p_j)|``

    Even a perfect forecast does not score zero on a limited number of rows: compare with the
    noise floor.

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
    draws = target_pit_draws(dist, y)
    return float(mean_over_draws(lambda u: coverage_errors(u).mean(), draws))


def mcpe(dist: Distribution, y: ArrayLike) -> float:
    """Maximum coverage probability error: largest distance of coverage from its level, 1% to 99%.

    ``max_j |p_j - coverage(p_j)|``

    Even a perfect forecast does not score zero on a limited number of rows: compare with the
    noise floor.

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
    draws = target_pit_draws(dist, y)
    return float(mean_over_draws(lambda u: coverage_errors(u).max(), draws))


def quantile_calibration(dist: Distribution, y: ArrayLike, *, alpha: ArrayLike = LEVELS) -> Array:
    """One-sided calibration: the share of targets at or below each predicted quantile.

    ``mean_i 1{u_i <= alpha}``

    For PIT values u of a calibrated forecast it is equal to alpha; unlike coverage of central
    intervals it detects a forecast that is too high or too low.

    Parameters
    ----------
    alpha : float, or array of shape (L,)
        Quantile levels.

    Returns
    -------
    array of shape (L,)

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import quantile_calibration
    >>> quantile_calibration(Normal([0.0, 0.0], [1.0, 1.0]), [-1.0, 1.0], alpha=[0.1, 0.5])
    array([0. , 0.5])
    """
    levels = np.atleast_1d(check_levels(alpha, "alpha"))
    draws = target_pit_draws(dist, y)
    return mean_over_draws(lambda u: share_at_most(u, levels), draws)


def quantile_calibration_error(
    dist: Distribution, y: ArrayLike, *, alpha: ArrayLike = LEVELS
) -> float:
    """Mean distance of one-sided calibration from nominal.

    ``mean_j |alpha_j - mean_i 1{u_i <= alpha_j}|``

    Unlike ECPE, which looks at central intervals, it detects a forecast that is too high or too
    low; a perfect forecaster scores the same on average as in ECPE.

    Parameters
    ----------
    alpha : float, or array of shape (L,)
        Quantile levels.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import quantile_calibration_error
    >>> round(quantile_calibration_error(Normal([0.0, 0.0], [1.0, 1.0]), [9.0, 9.0]), 3)
    0.5
    """
    levels = np.atleast_1d(check_levels(alpha, "alpha"))
    draws = target_pit_draws(dist, y)
    return float(mean_over_draws(lambda u: quantile_errors(u, levels).mean(), draws))


# ---- from PIT values, for callers that already have them ----------------------------------------


def pit_bounds(dist: Distribution, y: Array) -> tuple[Array, Array]:
    """Return ``F(y-)`` and ``F(y)``, (n,) each, between which the PIT values lie."""
    return dist.cdf_left(y), dist.cdf(y)


def target_pit_draws(dist: Distribution, y: ArrayLike) -> Array:
    """Draws of the PIT values of the observed targets, (R, n); see `pit_draws`."""
    return pit_draws(*pit_bounds(dist, check_target(dist, y)))


def pit_draws(left: Array, right: Array) -> Array:
    """Draws of the PIT between its bounds: (1, n) if all are equal, else (N_DRAWS, n)."""
    if np.array_equal(left, right):
        return right[None]
    return np.stack([randomized_pit(left, right, seed) for seed in range(N_DRAWS)])


def mean_over_draws(statistic: Callable[[Array], Array | float], draws: Array) -> Array:
    """Mean of a statistic of PIT values, (n,), over draws, (R, n)."""
    return cast(Array, np.mean(np.array([statistic(u) for u in draws]), axis=0))


def share_at_most(values: Array, thresholds: Array) -> Array:
    """Share of values at or below each threshold, (L,): one sort, no n x L table."""
    counts = np.searchsorted(np.sort(values), thresholds, side="right")
    return counts / len(values)


def central_coverage(u: Array, levels: Array = LEVELS) -> Array:
    """Share of rows with PIT values u inside the central interval of each level, (L,)."""
    return share_at_most(np.abs(2.0 * u - 1.0), levels)


def coverage_errors(u: Array) -> Array:
    """Absolute coverage error at each of the 99 levels, (99,)."""
    return cast(Array, np.abs(central_coverage(u) - LEVELS))


def quantile_errors(u: Array, levels: Array = LEVELS) -> Array:
    """Absolute error of one-sided calibration at each level, (L,)."""
    return cast(Array, np.abs(share_at_most(u, levels) - levels))

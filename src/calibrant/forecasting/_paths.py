"""Joint paths over the horizon: the distributions of the steps, joined by a copula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from calibrant.checks import Array, Flags, Index
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError

_MIN_ORIGINS = 10  # too few to estimate the dependence below
_LEAST_EIGENVALUE = 1e-6


def step_correlation(pits: Array) -> Array:
    """Correlation of the steps' normal scores, (H, H), estimated from held-out origins.

    With r the rank of a PIT value among the n of its step, the score is
    ``z = Phi^-1(r / (n + 1))``: with ranks, miscalibration of a step does not distort the
    dependence. The sample correlation is shrunk, with the intensity of Ledoit and Wolf (2004),
    towards one that depends on the distance of two steps only: few origins determine its mean over
    all pairs at that distance much better than each pair.

    Parameters
    ----------
    pits : array of shape (n, H)
        PIT values of the H steps from the same origins; nan for a missing outcome.
    """
    from sklearn.covariance import ledoit_wolf

    n, steps = pits.shape
    there = np.isfinite(pits)
    if n < _MIN_ORIGINS or steps == 1:
        return np.eye(steps)
    ranks = rankdata(pits, axis=0, nan_policy="omit")
    scores = np.where(there, ndtri(ranks / (there.sum(axis=0) + 1)), 0.0)  # 0 is the median
    _, shrinkage = ledoit_wolf(scores)
    sample = _pairwise_correlation(scores, there)
    return _nearest_correlation((1.0 - shrinkage) * sample + shrinkage * _by_distance(sample))


def _pairwise_correlation(scores: Array, there: Flags) -> Array:
    """Correlation of each pair of steps over the origins that have both; 0 for too few."""
    both = there.T.astype(np.float64) @ there
    squares = (scores**2).T @ there  # of the first step, over the origins that have the second
    product = scores.T @ scores
    size = np.sqrt(squares * squares.T)
    known = (both >= _MIN_ORIGINS) & (size > 0)
    correlation = np.divide(product, size, out=np.zeros_like(product), where=known)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def _by_distance(correlation: Array) -> Array:
    """Mean correlation of all pairs of steps at the same distance, (H, H)."""
    steps = len(correlation)
    mean = np.array([np.diagonal(correlation, lag).mean() for lag in range(steps)])
    # Of distant pairs there are few, whose mean is noise: it fades out.
    mean *= np.linspace(1.0, 0.0, steps, endpoint=False)
    return np.asarray(mean[np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))])


def _nearest_correlation(matrix: Array) -> Array:
    """Correlation matrix without the negative eigenvalues of an average."""
    values, vectors = np.linalg.eigh(matrix)
    positive = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    spread = np.sqrt(np.diag(positive))
    return np.asarray(positive / np.outer(spread, spread))


def joint_sample(
    steps: Sequence[Distribution],
    correlation: Array,
    k: int,
    random_state: int | np.random.Generator | None,
) -> Array:
    """Draw k paths for every row, (k, n, H), from a Gaussian copula of the steps.

    Parameters
    ----------
    steps : H distributions of n rows
    correlation : array of shape (H, H)
    """
    rng = np.random.default_rng(random_state)
    n = len(steps[0])
    scores = rng.multivariate_normal(
        np.zeros(len(steps)), correlation, size=(k, n), method="cholesky"
    )
    levels = np.clip(ndtr(scores), 2.0**-54, 1.0 - 2.0**-53)  # (k, n, H)
    return np.stack([dist.ppf(levels[:, :, j].T).T for j, dist in enumerate(steps)], axis=2)


def sums_of_steps(paths: Array, groups: Sequence[Sequence[Index]]) -> Array:
    """Sums over groups of steps, (rows, k): all of the first series, then of the second.

    Parameters
    ----------
    paths : array of shape (k, n, H)
    groups : for each of the n series a sequence of positions, the steps of each sum
    """
    return np.stack(
        [paths[:, at, group].sum(axis=1) for at, own in enumerate(groups) for group in own]
    )


def total_periods(stamps: pd.Index[Any], total: str) -> pd.Index[Any]:
    """Name of the sum that each of H stamps belongs to, (H,)."""
    if total == "horizon":
        return pd.Index(np.zeros(len(stamps), np.intp))
    if not isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex):
        raise DataError(
            f"total={total!r} needs time stamps, but the rows of the series are only numbered: "
            'use total="horizon".'
        )
    try:
        if isinstance(stamps, pd.PeriodIndex):
            return stamps.asfreq(total)
        return stamps.tz_localize(None).to_period(total)
    except ValueError as error:
        raise ParameterError(
            f'total must be "horizon" or a frequency of pandas such as "D", got {total!r}: {error}'
        ) from error

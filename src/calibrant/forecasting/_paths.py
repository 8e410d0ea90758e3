"""Joint paths over the horizon: the distributions of the steps, joined by a copula."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from calibrant.checks import Array, Index
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError

_MIN_ORIGINS = 10  # too few to estimate the dependence below


def step_correlation(pits: Array) -> Array:
    """Correlation of the steps' normal scores, (H, H), estimated from held-out origins.

    With r the rank of a PIT value among the n of its step, the score is
    ``z = Phi^-1(r / (n + 1))``: with ranks, miscalibration of a step does not distort the
    dependence. The sample correlation is shrunk towards independence as in Ledoit and Wolf (2004).

    Parameters
    ----------
    pits : array of shape (n, H)
        PIT values of the H steps from the same origins.
    """
    from sklearn.covariance import ledoit_wolf

    n, steps = pits.shape
    if n < _MIN_ORIGINS or steps == 1:
        return np.eye(steps)
    scores = ndtri(rankdata(pits, axis=0) / (n + 1))
    covariance, _ = ledoit_wolf(scores)
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread), dtype=np.float64)


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

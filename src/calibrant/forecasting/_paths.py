"""Joint paths over the horizon: dependence between the steps, and sums of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array, Index
from calibrant.distributions.copula import rank_correlation
from calibrant.errors import DataError, ParameterError


def step_correlation(pits: Array) -> Array:
    """Correlation of the steps' normal scores, (H, H), estimated from held-out origins.

    The sample correlation is shrunk towards one that depends on the distance of two steps only:
    few origins determine its mean over all pairs at that distance much better than each pair.

    Parameters
    ----------
    pits : array of shape (n, H)
        PIT values of the H steps from the same origins; nan for a missing outcome.
    """
    return rank_correlation(pits, shrink_to=_by_distance)


def _by_distance(correlation: Array) -> Array:
    """Mean correlation of all pairs of steps at the same distance, (H, H)."""
    steps = len(correlation)
    mean = np.array([np.diagonal(correlation, lag).mean() for lag in range(steps)])
    # Of distant pairs there are few, whose mean is noise: it fades out.
    mean *= np.linspace(1.0, 0.0, steps, endpoint=False)
    return np.asarray(mean[np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))])


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

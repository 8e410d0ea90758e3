"""Joint paths: dependence between steps and between series, and sums over both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array, Index
from calibrant.distributions.copula import rank_correlation
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._step import StepForecasts
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.metrics import pit

_MOST_SERIES = 1000  # the correlation of all pairs of them takes 8 MB


def pits_by_origin(steps: list[StepForecasts]) -> pd.DataFrame:
    """PIT values of all origins, H columns, by series and origin; nan for a missing outcome."""
    columns = [
        pd.Series(
            np.zeros(0) if each.dist is None else pit(each.dist, each.y),
            pd.MultiIndex.from_arrays([each.code, each.origin]),
        )
        for each in steps
    ]
    return pd.concat(columns, axis=1).sort_index()


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


def series_correlation(pits: pd.DataFrame, n_series: int) -> Array | None:
    """Correlation of the normal scores of series at the same origin and step, (S, S).

    None for more than 1,000 series.

    Parameters
    ----------
    pits : DataFrame
        See `pits_by_origin`.
    n_series : int
    """
    if n_series > _MOST_SERIES:
        return None
    row, origins = pd.factorize(pits.index.get_level_values(1))
    table = np.full((len(origins), pits.shape[1], n_series), np.nan)
    table[row, :, pits.index.get_level_values(0)] = pits.to_numpy()
    return rank_correlation(table.reshape(-1, n_series))


def with_new_series(correlation: Array | None, n_series: int) -> Array | None:
    """Correlation of all series, (n_series, n_series); those that came later are independent."""
    if correlation is None or len(correlation) == n_series:
        return correlation
    padded = np.eye(n_series)
    padded[: len(correlation), : len(correlation)] = correlation
    return padded


def period_groups(series: SeriesFrame, steps: list[int], total: str) -> list[list[Index]]:
    """Positions of the steps of each sum, for every series."""
    _, tick = series.next_rows(steps)
    found = []
    for row in tick.reshape(len(series.ids), len(steps)):
        periods = total_periods(series.clock.stamps(row), total)
        found.append([np.flatnonzero(periods == each) for each in periods.unique()])
    return found


def check_total(total: str | None, across_series: bool) -> None:
    """Check that sums across series are sums over steps, too."""
    if across_series and total is None:
        raise ParameterError(
            'across_series=True sums over steps as well: pass total="horizon" or a frequency such '
            'as "D".'
        )


def check_sums_across(series: SeriesFrame, correlation: Array | None) -> None:
    """Check that sums across the series of a panel are defined."""
    last = series.last_ticks()
    if (last != last[0]).any():
        other = int(np.flatnonzero(last != last[0])[0])
        first, second = series.clock.stamps(last[[0, other]])
        raise DataError(
            "Sums across series need series that end at the same time, but "
            f"{series.ids[0]!r} ends at {first} and {series.ids[other]!r} at {second}. Update the "
            "shorter ones first."
        )
    if correlation is None:
        raise DataError(
            f"Sums across series need their dependence, which is estimated for up to "
            f"{_MOST_SERIES:,} series and targets; here are {len(series.ids):,}. Forecast their "
            "sum as a series of its own."
        )


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

"""Dependence of forecasts between steps and between series, from held-out origins."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.distributions.copula import rank_correlation
from calibrant.forecasting._step import StepForecasts
from calibrant.metrics import pit

MOST_SERIES = 1000  # the correlation of all pairs of them takes 8 MB


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
    if n_series > MOST_SERIES:
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

"""Windows of a series as inputs of direct forecasts, one matrix per step ahead."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from calibrant.checks import Array, Index
from calibrant.errors import ParameterError
from calibrant.estimators import Windows
from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.persistence import savable_part

_MAX_INDICATORS = 50  # panels of more series have no indicator columns; static covariates do better


@savable_part
@dataclass(frozen=True)
class WindowDesign:
    """What a forecast sees, the same for fitting, updating and predicting.

    Row t of the matrix of step h holds the target and the past covariates of time t, the
    known-future covariates and the calendar of time t + h, static covariates and an indicator of
    the series: a window that ends at its origin t holds nothing that is unknown at t.

    Parameters
    ----------
    window : int
        Rows per window.
    covariates : Covariates
    calendar : Calendar
    """

    window: int
    covariates: Covariates = field(default_factory=Covariates)
    calendar: Calendar = field(default_factory=Calendar)

    def matrix(self, series: SeriesFrame, step: int) -> Array:
        """Inputs of one step, (T, d); nan where something is missing."""
        past, future, static = self.covariates.split(series)
        ahead = series.clock.stamps(series.tick + step * series.clock.step)
        columns = [series.targets.to_numpy(), past, _shifted(series, future, step), static]
        columns.append(self.calendar.features(ahead))
        if 1 < len(series.ids) <= _MAX_INDICATORS:
            columns.append(np.eye(len(series.ids))[series.code])
        return np.hstack(columns)

    def origins(self, series: SeriesFrame, matrix: Array) -> Index:
        """Rows at which a complete window ends: no gap and no missing value in it."""
        return np.flatnonzero(complete_rows(series, matrix) >= self.window)

    def origins_with_target(self, series: SeriesFrame, matrix: Array, step: int) -> Index:
        """Origins whose target, `step` rows ahead without a gap, is known, in order of time."""
        origins = self.origins(series, matrix)
        origins = origins[origins + step < len(series)]
        target = origins + step
        known = (series.segment[target] == series.segment[origins]) & np.isfinite(series.y[target])
        origins = origins[known]
        in_time = np.lexsort((series.code[origins], series.tick[origins]))
        return np.asarray(origins[in_time])

    def windows(self, matrix: Array, origins: Index) -> Windows:
        """Windows that end at these origins."""
        # Rows with missing values are in no window, but `Windows` accepts finite numbers only.
        return Windows(np.nan_to_num(matrix), origins, self.window)


def complete_rows(series: SeriesFrame, matrix: Array) -> Index:
    """Number of rows up to each one without a gap or a missing value, (T,)."""
    complete = np.asarray(np.isfinite(matrix).all(axis=1))
    rows = np.arange(len(series))
    starts = np.ones(len(series), bool)  # of runs of complete rows
    starts[1:] = (np.diff(series.segment) != 0) | ~complete[:-1]
    first = np.maximum.accumulate(np.where(starts, rows, 0))
    return np.where(complete, rows - first + 1, 0)


def _shifted(series: SeriesFrame, x: Array, step: int) -> Array:
    """Value `step` rows later, nan across a gap."""
    out = np.full(x.shape, np.nan)
    if x.shape[1] and len(x) > step:
        same = series.segment[step:] == series.segment[:-step]
        out[:-step][same] = x[step:][same]
    return out


def blocked_split(origin: Ticks, target: Ticks, fraction: float) -> tuple[Index, Index]:
    """Split windows into older ones to train on and a block of the newest to hold out.

    The last `fraction` of the target times is held out. A held-out window must not end before the
    last training target: the network would have seen what came after the origin, and held-out
    forecasts would look better than new ones. The ``h - 1`` targets after the split are therefore
    on neither side. Held-out windows may reach back over the split, as new ones will.

    Parameters
    ----------
    origin, target : arrays of shape (n,)
        Ticks of the last row of each window, and of its target.
    fraction : float in (0, 1)

    Returns
    -------
    train, held_out : positions
    """
    if not 0 < fraction < 1:
        raise ParameterError(f"validation_fraction must lie in (0, 1), got {fraction}.")
    times = np.unique(target)
    cut = times[min(len(times) - 1, int(np.ceil(len(times) * (1.0 - fraction))))]
    train = np.flatnonzero(target < cut)
    if not len(train):
        return train, np.flatnonzero(target >= cut)
    return train, np.flatnonzero(origin >= target[train].max())

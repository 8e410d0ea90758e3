"""What the model of a step sees: one matrix a step, and windows of its rows by index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.estimators import Windows
from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._rows import Array
from calibrant.forecasting._table import Index, SeriesTable

_MOST_FLAGS = 50  # series that get a flag column each; of more, static covariates tell them apart


@dataclass(frozen=True)
class Design:
    """Inputs of direct forecasts, the same for fitting, updating and predicting.

    Row t of the matrix of step h holds the target and the past covariates of time t, the
    known-future covariates and the calendar of time t + h, and what is constant in the series: a
    window that ends at the origin t knows of the future just what will be known.

    Parameters
    ----------
    window : int
        Rows of a window.
    covariates : Covariates
    calendar : Calendar
    """

    window: int
    covariates: Covariates
    calendar: Calendar

    def matrix(self, table: SeriesTable, step: int) -> Array:
        """Inputs of one step, (T, d); nan where something is missing."""
        past, future, static = self.covariates.parts()
        ahead = self.calendar.features(table.clock.stamps(table.tick + step * table.clock.step))
        columns = [table.y[:, None], table.x[:, past]]
        columns.append(_shifted(table, table.x[:, future], step))
        columns += [table.x[:, static], ahead]
        if 1 < len(table.ids) <= _MOST_FLAGS:
            columns.append(np.eye(len(table.ids))[table.code])
        return np.hstack(columns)

    def origins(self, table: SeriesTable, matrix: Array) -> Index:
        """Rows at which a whole window ends: without a gap and without missing values."""
        whole = np.asarray(np.isfinite(matrix).all(axis=1))
        rows = np.arange(len(table))
        first = np.ones(len(table), bool)
        first[1:] = (np.diff(table.segment) != 0) | ~whole[:-1]
        began = np.maximum.accumulate(np.where(first, rows, 0))
        return np.flatnonzero(whole & (rows - began + 1 >= self.window))

    def aimed(self, table: SeriesTable, matrix: Array, step: int) -> Index:
        """Origins in order of time whose target, `step` rows ahead with no gap, is known."""
        origins = self.origins(table, matrix)
        origins = origins[origins + step < len(table)]
        target = origins + step
        known = (table.segment[target] == table.segment[origins]) & np.isfinite(table.y[target])
        origins = origins[known]
        in_time = np.lexsort((table.code[origins], table.tick[origins]))
        return np.asarray(origins[in_time], dtype=np.intp)

    def windows(self, matrix: Array, origins: Index) -> Windows:
        """Windows that end at these origins; rows that none of them holds are left behind."""
        edges = np.zeros(len(matrix) + 1, np.intp)
        np.add.at(edges, origins - self.window + 1, 1)
        np.add.at(edges, origins + 1, -1)
        used = np.cumsum(edges[:-1]) > 0
        place = np.cumsum(used) - 1  # windows are runs of used rows, so they stay runs
        return Windows(matrix[used], place[origins], self.window)


def _shifted(table: SeriesTable, x: Array, step: int) -> Array:
    """Value `step` rows later, nan across a gap."""
    out = np.full(x.shape, np.nan)
    if x.shape[1] and len(x) > step:
        same: NDArray[np.bool_] = table.segment[step:] == table.segment[:-step]
        out[:-step][same] = x[step:][same]
    return out

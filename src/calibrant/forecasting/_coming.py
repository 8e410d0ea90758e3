"""Forecasts of the rows that come after the last one of every series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.distributions import Distribution, Empirical
from calibrant.distributions.copula import joint_sample
from calibrant.errors import DataError, ParameterError
from calibrant.estimators.bounds import Bounds, bounded
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._dependence import with_new_series
from calibrant.forecasting._direct import DirectSteps
from calibrant.forecasting._read import Table
from calibrant.forecasting._separate import SeparateSteps
from calibrant.forecasting._totals import Totals, check_sums_across
from calibrant.forecasting.series_frame import SeriesFrame

_TOTAL_PATHS = 2000  # the 5% quantile of a sum is then off by 0.5%


@dataclass(frozen=True)
class ComingSteps:
    """Some steps after the last row of every series, by a trained model.

    Parameters
    ----------
    series : SeriesFrame
        All rows seen so far, with encoded covariates.
    steps : list of int
        Steps ahead, 1 is the next row.
    model : DirectSteps or SeparateSteps
    covariates : Covariates
    future : Table or None
        Values of the covariates that are known ahead.
    step_correlation : array of shape (horizon, horizon)
    series_correlation : array of shape (n, n) or None
        See `calibrant.forecasting._dependence`.
    bounds : (low, high) or None
        Of the targets.
    """

    series: SeriesFrame
    steps: list[int]
    model: DirectSteps | SeparateSteps
    covariates: Covariates
    future: Table | None
    step_correlation: Array
    series_correlation: Array | None
    bounds: Bounds | None

    def index(self) -> pd.Index[Any]:
        """Time stamps of all steps of the first series, then of the next."""
        series = self.series.stacked()
        return series.index(*series.next_rows(self.steps))

    def dist(self) -> Distribution:
        """Predictive distributions of all steps of the first series, then of the next."""
        seen = self.model.rows_seen(self.series.clock)
        since = self.series.last_ticks() - (seen - 1) * self.series.clock.step
        recent, ahead = self.series.since(since), 0
        if self.covariates.future:
            ahead = max(self.steps)
            recent = recent.extended(ahead, self.covariates.encode_future(self._rows_ahead(ahead)))
        return bounded(self.model.predict(recent, ahead, self.steps), self.bounds)

    def paths(self, k: int, random_state: int | np.random.Generator | None) -> Array:
        """Joint paths of every series, (k, n, H)."""
        dist, h = self.dist(), len(self.steps)
        by_step = [dist[at::h] for at in range(h)]
        chosen = np.array(self.steps) - 1
        between_steps = self.step_correlation[np.ix_(chosen, chosen)]
        between_series = with_new_series(self.series_correlation, len(by_step[0]))
        return joint_sample(by_step, between_steps, k, random_state, rows=between_series)

    def totals(self, total: str | None, across_series: bool) -> Totals | None:
        """Which steps and series are added; None for the steps themselves."""
        if total is None and across_series:
            raise ParameterError(
                'across_series=True sums over steps as well: pass total="horizon" or a frequency '
                'such as "D".'
            )
        if total is None:
            return None
        series = self.series.stacked()
        if across_series:
            check_sums_across(series, self.series_correlation)
        n_added = len(self.series.ids) if across_series and self.series.is_panel else None
        return Totals.of_periods(series, self.steps, total, n_added)

    def sums(self, totals: Totals) -> Distribution:
        """Distributions of sums, from joint paths."""
        return Empirical(totals.of(self.paths(_TOTAL_PATHS, 0)))

    def _rows_ahead(self, reach: int) -> pd.DataFrame:
        """Covariates of the next rows of every series, by time stamp or in their order."""
        if self.future is None:
            raise DataError(
                f"The forecast needs the values of {', '.join(self.covariates.future)} for the "
                f"next {reach} time stamps: pass them as X."
            )
        wanted = self.series.index(*self.series.next_rows(range(1, reach + 1)))
        if self.future.stamps is not None:
            return self.future.rows_at(wanted)
        values = self.future.values
        if len(values) < len(wanted):
            raise DataError(f"X has {len(values)} rows, the forecast needs {len(wanted)}.")
        return values.iloc[: len(wanted)]

"""Seasonal naive with calibrated intervals: the baseline of every back-test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calibrant.checks import Array, Index
from calibrant.distributions import Quantiles
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting._grid import Grid
from calibrant.forecasting._horizon_maps import strictly_increasing
from calibrant.forecasting._window_source import series_scales
from calibrant.forecasting.series_frame import SeriesFrame

_LEVELS: Array = np.array([0.01, 0.05, *np.arange(1, 10) / 10, 0.95, 0.99])


@dataclass(frozen=True)
class SeasonalNaive:
    """The last season repeated, with quantiles of its errors on the training rows.

    Parameters
    ----------
    errors : array of shape (horizon, Q)
        Quantiles of the errors of each step, in units of the series' scale.
    scales : array of shape (n_series,)
    """

    errors: Array
    scales: Array

    @classmethod
    def learn(cls, series: SeriesFrame, horizon: int) -> SeasonalNaive:
        """Learn the size of the errors from training rows of one target."""
        scales = series_scales(series)
        repeated = Repeated(series, horizon)
        errors = np.tile(np.linspace(-1.0, 1.0, len(_LEVELS)), (horizon, 1))
        for step in range(1, horizon + 1):
            found = repeated.errors(step) / scales[repeated.grid.code[repeated.grid.position]]
            if np.isfinite(found).sum() > 1:
                errors[step - 1] = np.nanquantile(found, _LEVELS)
        return cls(errors, scales)

    def forecasts(self, repeated: Repeated, code: Index, origin: Ticks, step: int) -> Quantiles:
        """Forecasts `step` rows ahead of n origins, each given by its series and tick."""
        point = repeated.points(code, origin, step)
        values = point[:, None] + self.scales[code][:, None] * self.errors[step - 1]
        return Quantiles(_LEVELS, strictly_increasing(values))


class Repeated:
    """The last season before each origin; gaps have the value before them."""

    def __init__(self, series: SeriesFrame, horizon: int) -> None:
        self.season = series.clock.season
        self.grid = Grid.lay_out(series, self.season, horizon)
        self.values = self.grid.spread_out(series.y)
        self.filled = pd.Series(self.values).groupby(self.grid.code).ffill().to_numpy()
        keys = [self.grid.code, self.grid.tick]
        self._rows = pd.MultiIndex.from_arrays(keys)

    def points(self, code: Index, origin: Ticks, step: int) -> Array:
        """Point forecasts of n origins, (n,)."""
        at = self._rows.get_indexer(pd.MultiIndex.from_arrays([code, origin]))
        return self._repeat(np.asarray(at), step)

    def errors(self, step: int) -> Array:
        """Errors from all rows as origins, (T,); nan where the target is missing."""
        at = self.grid.position
        return np.asarray(self.values[at + step] - self._repeat(at, step))

    def _repeat(self, at: Index, step: int) -> Array:
        back = step - self.season * -(-step // self.season)  # into the last season
        point = self.filled[at + back]
        return np.where(np.isfinite(point), point, self.filled[at])

"""The model of one step ahead: an estimator and a recalibration that adapts over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from calibrant.checks import Array, Flags, Index
from calibrant.distributions import Distribution
from calibrant.errors import DataError
from calibrant.estimators import Training
from calibrant.forecasting._clock import Ticks
from calibrant.forecasting._windows import WindowDesign, blocked_split, complete_rows
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.recalibration import AdaptiveRecalibrator

_MIN_WINDOWS = 10


@dataclass(frozen=True)
class StepForecasts:
    """Forecasts of one step ahead in order of time, with their outcomes.

    Attributes
    ----------
    code : array of shape (n,)
        Series of each forecast.
    origin, target : arrays of shape (n,)
        Ticks of the last row that a forecast saw, and of the row that it is about.
    y : array of shape (n,)
    dist : Distribution of n rows, or None for n = 0
        Before the recalibration that adapts over time.
    """

    code: Index
    origin: Ticks
    target: Ticks
    y: Array
    dist: Distribution | None

    def take(self, rows: Flags) -> StepForecasts:
        """Return the forecasts of a mask."""
        return StepForecasts(
            self.code[rows],
            self.origin[rows],
            self.target[rows],
            self.y[rows],
            None if self.dist is None else self.dist[rows],
        )


@dataclass
class StepModel:
    """Forecasts `step` rows ahead.

    Parameters
    ----------
    step : int
    design : WindowDesign
    estimator : estimator of the library
    recalibrator : AdaptiveRecalibrator or None
    """

    step: int
    design: WindowDesign
    estimator: Any
    recalibrator: AdaptiveRecalibrator | None
    stride: ClassVar[int] = 1  # rows between two origins

    def fit(self, series: SeriesFrame) -> StepForecasts:
        """Train on all windows but the newest, and return forecasts of these held-out ones."""
        matrix = self.design.matrix(series, self.step)
        origins = self.design.origins_with_target(series, matrix, self.step)
        self._check_enough(len(origins), int(complete_rows(series, matrix).max()))
        origin, target = series.tick[origins], series.tick[origins + self.step]
        training = getattr(self.estimator, "training", None)
        fraction = (training or Training()).validation_fraction
        train, held_out = blocked_split(origin, target, fraction)
        if len(train) < 2 or len(held_out) < 2:
            raise DataError(
                f"{self.step} steps ahead, {len(train)} of {len(origins)} windows can be trained "
                f"on and {len(held_out)} held out; both need at least 2. Use a longer series or "
                "another validation_fraction."
            )
        windows = self.design.windows(matrix, origins)
        self.estimator.fit(windows, series.y[origins + self.step], cv=[(train, held_out)])
        forecasts = self._forecasts(series, matrix, origins[held_out])
        if self.recalibrator is not None and forecasts.dist is not None:
            self.recalibrator.start(forecasts.dist, forecasts.y)
        return forecasts

    def follow(self, series: SeriesFrame, seen: Ticks) -> StepForecasts:
        """Forecast every known target after ``seen``, one tick per series."""
        matrix = self.design.matrix(series, self.step)
        origins = self.design.origins_with_target(series, matrix, self.step)
        new = series.tick[origins + self.step] > seen[series.code[origins]]
        return self._forecasts(series, matrix, origins[new])

    def predict(self, series: SeriesFrame, last: Index) -> Distribution:
        """Forecast from the rows `last`, one per series."""
        matrix = self.design.matrix(series, self.step)
        broken = np.setdiff1d(last, self.design.origins(series, matrix))
        if len(broken):
            where = series.index(series.code[broken], series.tick[broken])[0]
            raise DataError(
                f"The {self.design.window} rows up to {where} have a gap or a missing value: "
                "there is no complete window to forecast from. Update with complete rows first."
            )
        dist: Distribution = self.estimator.predict_dist(self.design.windows(matrix, last))
        return dist if self.recalibrator is None else self.recalibrator.transform(dist)

    def _forecasts(self, series: SeriesFrame, matrix: Array, origins: Index) -> StepForecasts:
        windows, targets = self.design.windows(matrix, origins), origins + self.step
        return StepForecasts(
            series.code[origins],
            series.tick[origins],
            series.tick[targets],
            series.y[targets],
            self.estimator.predict_dist(windows) if len(origins) else None,
        )

    def _check_enough(self, n: int, longest: int) -> None:
        if n >= _MIN_WINDOWS:
            return
        raise DataError(
            f"Only {n} windows of {self.design.window} rows with a target {self.step} ahead; at "
            f"least {_MIN_WINDOWS} are needed. The longest stretch without a gap or a missing "
            f"value has {longest} rows, and a window with its target takes "
            f"{self.design.window + self.step}. Use a longer series, or a smaller window or "
            "horizon."
        )

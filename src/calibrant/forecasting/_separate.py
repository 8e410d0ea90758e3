"""All steps by one estimator each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.distributions import Distribution, concatenate
from calibrant.forecasting._clock import Clock, Ticks
from calibrant.forecasting._step import StepForecasts, StepModel
from calibrant.forecasting.series_frame import SeriesFrame


@dataclass
class SeparateSteps:
    """Forecasts 1 ... horizon rows ahead by a model for each step.

    Parameters
    ----------
    steps : list of StepModel
    """

    steps: list[StepModel]

    def rows_seen(self, _: Clock) -> int:
        """Rows up to the origin that a forecast is based on."""
        return self.steps[0].design.window

    def follow(self, series: SeriesFrame, seen: Ticks) -> list[StepForecasts]:
        """Forecast every known target after ``seen``, one tick per series, by step."""
        return [step.follow(series, seen) for step in self.steps]

    def joined(self, followed: list[tuple[StepForecasts, Distribution]]) -> list[Distribution]:
        """Recalibrated forecasts of the steps; each step learns alone."""
        return [dist for _, dist in followed]

    def predict(self, series: SeriesFrame, ahead: int, steps: list[int]) -> Distribution:
        """Forecast all steps of the first series, then of the next.

        Parameters
        ----------
        series : SeriesFrame
        ahead : int
            The last rows of each series that are still to come, with known-future covariates.
        steps : list of int
        """
        last = series.last_rows() - ahead
        parts = [self.steps[step - 1].predict(series, last) for step in steps]
        order = np.arange(len(parts) * len(last)).reshape(len(parts), -1).T.ravel()
        return concatenate(parts)[order]

"""All steps by one estimator each."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from calibrant.distributions import Distribution, concatenate
from calibrant.errors import CalibrantWarning
from calibrant.forecasting._clock import Clock, Ticks
from calibrant.forecasting._direct import DirectSteps
from calibrant.forecasting._progress import Countdown, duration
from calibrant.forecasting._step import StepForecasts, StepModel
from calibrant.forecasting._windows import WindowDesign
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.recalibration import AdaptiveRecalibrator

_NOTICED, _FASTER = 20.0, 10.0  # seconds that are felt, and the factor that is worth a warning


@dataclass
class SeparateSteps:
    """Forecasts 1 ... horizon rows ahead by a model for each step.

    Parameters
    ----------
    steps : list of StepModel
    verbose : bool or str
        Show progress; a text is the heading of all trainings.
    """

    steps: list[StepModel]
    verbose: bool | str = False

    @classmethod
    def untrained(
        cls,
        design: WindowDesign,
        horizon: int,
        estimator: Any,
        recalibrator: AdaptiveRecalibrator | None,
        _: int,  # number of series, which the network of all steps needs
        *,
        random_state: int | np.random.RandomState | None,
        verbose: bool | str,
    ) -> Self:
        """Steps before the training, with a clone of the estimator and a recalibrator each."""
        seeds = check_random_state(random_state).randint(2**31 - 1, size=horizon)
        steps = []
        for step, seed in enumerate(seeds, start=1):
            each = clone(estimator)
            if random_state is not None:
                each.set_params(random_state=int(seed))
            steps.append(
                StepModel(step, design, each, recalibrator and recalibrator.for_delay(step))
            )
        return cls(steps, verbose)

    def fit(self, series: SeriesFrame) -> list[StepForecasts]:
        """Train one step after another, and return forecasts of held-out origins."""
        countdown = Countdown(
            "Step", len(self.steps), self.verbose if isinstance(self.verbose, str) else ""
        )
        held_out = []
        for step in self.steps:
            if self.verbose:
                heading = countdown.next() if len(self.steps) > 1 else self.verbose
                step.estimator.set_params(verbose=heading)
            start = time.perf_counter()
            held_out.append(step.fit(series))
            if step is self.steps[0]:
                self._warn_if_slow(series, len(self.steps) * (time.perf_counter() - start))
            if self.verbose:
                step.estimator.set_params(verbose=True)  # the heading is of this training only
        return held_out

    def _warn_if_slow(self, series: SeriesFrame, seconds: float) -> None:
        """Name the network for all steps where it needs a tenth of the time, both estimated."""
        if seconds < _NOTICED:
            return
        horizon = len(self.steps)
        all_steps = DirectSteps.untrained(
            self.steps[0].design, horizon, GlobalNetwork(), None, len(series.ids)
        )
        instead = all_steps.training_seconds(series)
        if seconds > _FASTER * instead:
            warnings.warn(
                f"A network for each of {horizon} steps: about {duration(seconds)} in all. One for "
                f"all steps would take about {duration(instead)}: Forecaster without an estimator, "
                "--network global on the command line.",
                CalibrantWarning,
                stacklevel=4,
            )

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

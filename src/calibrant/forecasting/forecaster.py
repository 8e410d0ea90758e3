"""Forecasts by one network for all steps, or by any estimator of the library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.errors import ParameterError
from calibrant.estimators.bounds import Bounds
from calibrant.estimators.fitted_model import FittedModel
from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._checks import (
    check_length,
    check_one_target,
    check_parameters,
    check_values,
    check_windows,
    checked_steps,
)
from calibrant.forecasting._coming import ComingSteps
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._dependence import pits_by_origin, series_correlation, step_correlation
from calibrant.forecasting._direct import DirectSteps
from calibrant.forecasting._fans import forecast_fans
from calibrant.forecasting._read import read_table
from calibrant.forecasting._report import Repair, SeriesReport
from calibrant.forecasting._separate import SeparateSteps
from calibrant.forecasting._step import StepForecasts
from calibrant.forecasting._windows import WindowDesign
from calibrant.forecasting.global_network import GlobalNetwork
from calibrant.forecasting.series_frame import SeriesFrame
from calibrant.persistence import savable_model
from calibrant.recalibration import AdaptiveRecalibrator


@savable_model
class Forecaster(FittedModel, BaseEstimator):
    """Calibrated forecasts of one or several series, any number of steps ahead.

    1. `fit` cuts windows out of the series and learns direct forecasts, where every step has its
       own distribution: by one network for all steps, series and targets, or by a clone of the
       estimator for each step. The newest windows are held out.
    2. Each step is calibrated by the forecasts of these held-out windows.
    3. `update` adds the rows that have come since. The recalibration learns from them, weights
       stay; `refit` trains again.

    Parameters
    ----------
    estimator : GlobalNetwork or estimator of the library, optional
        ``GlobalNetwork()`` by default: one network for all steps. Others, such as
        ``MMDRegressor(network="lstm")``, are trained once for every step.
    window : int, default 5
        Rows that a forecast is based on; for the network two seasons or more are a good start,
        such as 336 hours.
    horizon : int, default 1
        Steps ahead to learn.
    recalibrate : "adaptive", AdaptiveRecalibrator or None, default "adaptive"
        How the calibration adapts over time; None keeps what the estimator learned.
    bounds : (low, high), optional
        Bounds of the target, None on a side without one: ``(0, None)`` for demand. Forecasts keep
        them, whatever the calibration does.
    calendar : "auto", False or list of {"hour", "weekday", "season"}, default "auto"
        Calendar features of the time that is forecast; "auto" takes the cycles that the training
        series covers at least twice, and none for series without dates.
    holidays : iterable of dates, optional
        Adds an indicator of these days.
    past, future, static : lists of column names, optional
        Roles of the columns of X: known up to the origin, known ahead (`predict` then needs
        their values), constant in a series. Columns without a role are past covariates; with
        `past` given they are left out.
    series_id, time : str, optional
        Columns of frames that name the series and hold the time stamps.
    repair : {"report", "error"}, default "report"
        What to do about unsorted rows, repeated stamps, gaps and missing values: handle them as
        `SeriesReport` says, with a warning each, or refuse the series.
    random_state : int, RandomState or None
        Seed of all steps; None leaves that of the estimator.
    verbose : bool, default False
        Show progress: the stages of training and, of several steps, which one and the time left.

    Attributes
    ----------
    report_ : SeriesReport
        What was repaired in the series of the last `fit`.
    model_ : DirectSteps or SeparateSteps
        What forecasts the steps.
    steps_ : list
        Recalibration, and the estimator if each has its own, of the steps 1 ... horizon.
    correlation_ : array of shape (horizon, horizon)
        Dependence between the steps, from the held-out origins; see `predict_paths`.
    series_correlation_ : array of shape (n, n), or None for more than 1,000 series
        Dependence between the series and targets.
    series_ : SeriesFrame
        All rows seen so far.

    Notes
    -----
    Series come as pandas with dates, periods or whole numbers as index, as polars frames with one
    column of dates, or as arrays, whose rows count as equally spaced. Several series come as a
    frame with a `series_id` column or with an index of series and time; they share the networks
    and the recalibration of each step. The network learns an embedding of each series and serves
    new ones without it; estimators get an indicator column for each of up to 50 series.

    Several columns in y are several targets of the network; forecasts are then sorted by series,
    target and step. An estimator has one target.

    Nothing leaks: scaling, training and recalibration use training windows only. No window crosses
    the border of a series. Windows of an estimator have no gaps; those of the network may, and a
    missing target is left out of its loss.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import Forecaster, HeteroscedasticRegressor
    >>> t = np.arange(400)
    >>> y = np.sin(t / 5) + 0.1 * np.random.default_rng(0).normal(size=400)
    >>> small = HeteroscedasticRegressor(hidden=(16,), epochs=5)
    >>> model = Forecaster(small, horizon=2, random_state=0).fit(y[:390])
    >>> model.predict_interval(fh=[1, 2], coverage=0.9).shape
    (2, 2)
    >>> model.update(y[390:]).predict().shape
    (2,)
    """

    series_: SeriesFrame
    report_: SeriesReport
    design_: WindowDesign
    model_: DirectSteps | SeparateSteps
    correlation_: Array
    series_correlation_: Array | None
    fh_: list[int]

    _fitted_attribute: ClassVar[str] = "model_"
    _fit_call: ClassVar[str] = "fit(y)"

    def __init__(
        self,
        estimator: Any = None,
        *,
        window: int = 5,
        horizon: int = 1,
        recalibrate: Literal["adaptive"] | AdaptiveRecalibrator | None = "adaptive",
        bounds: Bounds | None = None,
        calendar: Literal["auto"] | Sequence[str] | bool = "auto",
        holidays: Iterable[Any] | None = None,
        past: Sequence[str] | None = None,
        future: Sequence[str] | None = None,
        static: Sequence[str] | None = None,
        series_id: str | None = None,
        time: str | None = None,
        repair: Repair = "report",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | str = False,
    ) -> None:
        self.estimator = estimator
        self.window = window
        self.horizon = horizon
        self.recalibrate = recalibrate
        self.bounds = bounds
        self.calendar = calendar
        self.holidays = holidays
        self.past = past
        self.future = future
        self.static = static
        self.series_id = series_id
        self.time = time
        self.repair = repair
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit and update ---------------------------------------------------------------------

    def fit(self, y: Any, X: Any = None, fh: Any = None) -> Self:
        """Fit the model of every step.

        Parameters
        ----------
        y : series, frame or array of T rows
            See the class for the forms.
        X : frame or array, optional
            Covariates of the same time stamps; further rows are ignored.
        fh : int or list of int, optional
            Steps that `predict` forecasts by default; all of them without it.

        Returns
        -------
        self
        """
        check_parameters(self.window, self.horizon, self.recalibrate, self.bounds)
        steps = checked_steps(range(1, self.horizon + 1) if fh is None else fh, self.horizon)
        series = SeriesFrame.read(y, X, series_id=self.series_id, time=self.time)
        self._prepare(series)
        if not self._is_direct:
            check_windows(series, self.window)
        self._train()
        self.fh_ = steps
        return self

    def update(self, y: Any, X: Any = None, *, recalibrate: bool = True) -> Self:
        """Add new rows: the recalibration learns from them, the networks stay.

        Parameters
        ----------
        y, X
            As in `fit`, later than all rows seen so far. Arrays continue where the last one ended.
        recalibrate : bool, default True
            False only moves the origin of the forecasts.

        Returns
        -------
        self
        """
        self._check_fitted()
        new = SeriesFrame.read(
            y,
            X,
            series_id=self.series_id,
            time=self.time,
            after=self.series_,
            admit=isinstance(self.model_, DirectSteps),
        )
        series = self.series_.append(self.design_.covariates.encode(new))
        replace(series.report, bridged=self._is_direct).warn_or_raise(self.repair)
        if not recalibrate:
            self.series_ = series
            return self
        for step, forecasts in zip(self.steps_, self._advance(series), strict=True):
            if step.recalibrator is not None and forecasts.dist is not None:
                step.recalibrator.update(forecasts.dist, forecasts.y)
        return self

    def refit(self, *, warm: bool = False) -> Self:
        """Train all steps again, on all rows seen so far.

        Parameters
        ----------
        warm : bool, default False
            Go on from the present weights, at a fifth of the cost; for the `GlobalNetwork` only.
            The calibration keeps what it has learned.
        """
        self._check_fitted()
        if not warm:
            self._train()
        elif isinstance(self.model_, DirectSteps):
            self.model_.go_on(self.series_)
        else:
            raise ParameterError("refit(warm=True) is for the GlobalNetwork; call refit().")
        return self

    @property
    def steps_(self) -> list[Any]:
        """Recalibration, and the estimator if each has its own, of the steps 1 ... horizon."""
        return list(self.model_.steps)

    def _prepare(self, series: SeriesFrame) -> None:
        """Choose covariates and calendar from the training rows, and keep these rows encoded."""
        if not self._is_direct:
            check_one_target(series)
        covariates = Covariates.learn(series.covariates, self.past, self.future, self.static)
        check_length(series, self.window, self.horizon)
        check_values(series)
        encoded = covariates.encode(series)
        covariates.check_static(encoded)
        report = replace(series.report, bridged=self._is_direct)
        report.warn_or_raise(self.repair)
        calendar = Calendar.choose(self.calendar, self.holidays, series)
        self.report_, self.series_ = report, encoded
        self.design_ = WindowDesign(self.window, covariates, calendar)

    def _train(self) -> None:
        model = self._untrained()
        pits = pits_by_origin(model.fit(self.series_))
        self.model_ = model
        self.correlation_ = step_correlation(pits.to_numpy())
        self.series_correlation_ = series_correlation(pits, len(self.series_.stacked().ids))

    def _untrained(self) -> DirectSteps | SeparateSteps:
        kind = DirectSteps if self._is_direct else SeparateSteps
        return kind.untrained(
            self.design_,
            self.horizon,
            self._estimator(),
            self._recalibrator(),
            len(self.series_.stacked().ids),
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _advance(self, series: SeriesFrame) -> list[StepForecasts]:
        """Replace the rows by longer series; return the forecasts of the new rows, by step."""
        seen = series.last_ticks_of(self.series_)
        needed = (self.model_.rows_seen(series.clock) + self.horizon) * series.clock.step
        first = np.where(seen > np.iinfo(np.int64).min, seen - needed, seen)
        recent = series.since(first)  # holds all windows whose target is new
        forecasts = self.model_.follow(recent, seen)
        self.series_ = series
        return forecasts

    # ---- predict ----------------------------------------------------------------------------

    def predict_dist(
        self,
        fh: Any = None,
        X: Any = None,
        *,
        total: str | None = None,
        across_series: bool = False,
    ) -> Distribution:
        """Predictive distribution of every step, from the last row seen.

        Parameters
        ----------
        fh : int or list of int, optional
            Steps ahead, 1 is the next row; those of `fit` by default.
        X : frame or array, optional
            Values of the known-future covariates at the coming time stamps, up to the largest
            step.
        total : str, optional
            Sums instead of steps: "horizon" for all steps, or a frequency of pandas such as "D"
            for those of each day. They are sums over 2,000 joint paths, see `predict_paths`.
        across_series : bool, default False
            With `total`: sum over all series of the panel, too, target by target.

        Returns
        -------
        Distribution
            One row per step; for a panel the steps of the first series, then of the second ...
            With `total` one row per sum instead; `future_index` has their times.
        """
        coming = self._coming(fh, X)
        totals = coming.totals(total, across_series)
        return coming.dist() if totals is None else coming.sums(totals)

    def predict(self, fh: Any = None, X: Any = None) -> Array:
        """Mean of every step, in the order of `predict_dist`."""
        return self.predict_dist(fh, X).mean

    def predict_interval(self, fh: Any = None, X: Any = None, coverage: ArrayLike = 0.9) -> Array:
        """Central prediction intervals.

        Returns
        -------
        array of shape (n, 2) for one coverage, (n, 2, L) for a list: row, bound, level
        """
        return self.predict_dist(fh, X).interval(coverage)

    def predict_quantiles(
        self, fh: Any = None, X: Any = None, alpha: ArrayLike = (0.1, 0.5, 0.9)
    ) -> Array:
        """Quantiles at any levels, (n, L), or (n,) for one level."""
        return self.predict_dist(fh, X).ppf(alpha)

    def predict_paths(
        self,
        n: int = 100,
        fh: Any = None,
        X: Any = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Array:
        """Draw joint paths over steps and series, for distributions of sums, maxima and the like.

        Each step keeps its predictive distribution; a Gaussian copula with the correlations of
        held-out forecast errors joins them: that of step h of series a and step k of series b is
        ``correlation_[h, k] * series_correlation_[a, b]``.

        Parameters
        ----------
        n : int
            Number of paths.

        Returns
        -------
        array of shape (n, H), or (n, n_series, H) for a panel or several targets
        """
        paths = self._coming(fh, X).paths(n, random_state)
        return paths if paths.shape[1] > 1 or self.series_.is_panel else paths[:, 0]

    def future_index(
        self, fh: Any = None, *, total: str | None = None, across_series: bool = False
    ) -> pd.Index[Any]:
        """Time stamps of the rows of `predict`, with the series for a panel.

        With `total`, the first time stamp of each sum; sums across series have no series.
        """
        coming = self._coming(fh)
        totals = coming.totals(total, across_series)
        return coming.index() if totals is None else totals.index(coming.index())

    def report(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        X: Any = None,
        coverage: float = 0.9,
        title: str | None = None,
        target: str | None = None,
        overwrite: bool = False,
    ) -> Any:
        """Show the forecasts of the coming steps as fans on one interactive page.

        Parameters
        ----------
        path : path, optional
            HTML file to write as well.
        X : frame or array, optional
            As in `predict_dist`.
        coverage : float in (0, 1)
            Start of the slider.
        title, target : str, optional
            Title of the page and name of the target.
        overwrite : bool
            Replace an existing file.

        Returns
        -------
        calibrant.report.Report
            With ``html`` and ``save(path)``; a notebook displays the page. `Backtest.report`
            shows calibration as well.
        """
        from calibrant.report import build_series_report

        page = build_series_report(
            forecast_fans(self, self.predict_dist(X=X)),
            coverage=coverage,
            title=title,
            target=target or ", ".join(map(str, self.series_.targets.columns)),
            settings={"model": repr(self)},
        )
        if path is not None:
            page.save(path, overwrite=overwrite)
        return page

    def _coming(self, fh: Any = None, X: Any = None) -> ComingSteps:
        self._check_fitted()
        covariates = self.design_.covariates
        needed = X is not None and covariates.future
        return ComingSteps(
            self.series_,
            self._checked_steps(fh),
            self.model_,
            covariates,
            read_table(X, "X", self.series_id, self.time) if needed else None,
            self.correlation_,
            self.series_correlation_,
            self.bounds,
        )

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model, the rows it has seen and its recalibration to a folder, no pickle.

        The estimator of every step is a folder inside. The folder is written completely or not at
        all; ``overwrite=True`` replaces an older model.
        """
        from calibrant.forecasting._saving import save_forecaster

        self._check_fitted()
        save_forecaster(self, path, overwrite=overwrite)

    @classmethod
    def _from_folder(
        cls, path: Path, manifest: dict[str, Any], tensors: dict[str, NDArray[Any]], **options: Any
    ) -> Self:
        from calibrant.forecasting._saving import restore_forecaster

        return restore_forecaster(cls, path, manifest, tensors, **options)

    # ---- parameters -------------------------------------------------------------------------

    def _estimator(self) -> Any:
        return GlobalNetwork() if self.estimator is None else self.estimator

    @property
    def _is_direct(self) -> bool:
        return isinstance(self._estimator(), GlobalNetwork)

    def _recalibrator(self) -> AdaptiveRecalibrator | None:
        if self.recalibrate is None:
            return None
        if isinstance(self.recalibrate, str):
            return AdaptiveRecalibrator()
        return self.recalibrate  # every step learns with one of its own, see `for_delay`

    def _checked_steps(self, fh: Any) -> list[int]:
        if fh is None:
            return list(getattr(self, "fh_", range(1, self.horizon + 1)))
        return checked_steps(fh, self.horizon)

"""Forecasts over any estimator of the library."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from torch import nn

from calibrant.errors import DataError, ParameterError
from calibrant.estimators import MMDRegressor
from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._design import Design
from calibrant.forecasting._paths import step_correlation
from calibrant.forecasting._predictor import ForecastPredictor
from calibrant.forecasting._progress import training_bar
from calibrant.forecasting._report import Repair, SeriesReport
from calibrant.forecasting._rows import Rows, read_rows
from calibrant.forecasting._step import StepModel, Stream, common_pits
from calibrant.forecasting._table import SeriesTable
from calibrant.persistence import read_model, savable_model
from calibrant.recalibration import AdaptiveRecalibrator


@savable_model
class Forecaster(ForecastPredictor, BaseEstimator):
    """Calibrated forecasts of one or several series, any number of steps ahead.

    1. `fit` cuts windows out of the series and trains one clone of the estimator for each step
       (direct forecasts: every step has its own distribution). The newest windows are held out.
    2. The recalibration of each step starts from these held-out forecasts.
    3. `update` takes in what came since. The recalibration learns from it, weights stay; `refit`
       trains again.

    Parameters
    ----------
    estimator : estimator of the library, optional
        ``MMDRegressor(network="lstm")`` by default.
    window : int, default 5
        Rows that a forecast looks back on.
    horizon : int, default 1
        Steps ahead to learn; each has a network of its own.
    recalibrate : "adaptive", AdaptiveRecalibrator or None, default "adaptive"
        How calibration follows time; None keeps what the estimator learned.
    calendar : "auto", False or list of {"hour", "weekday", "season"}, default "auto"
        Calendar features of the time that is forecast; "auto" takes the cycles that the
        training series has seen at least twice, and none for series without dates.
    holidays : iterable of dates, optional
        Adds a flag of these days.
    past, future, static : lists of column names, optional
        Roles of the columns of X: known up to the origin, known ahead (`predict` then needs
        their values), constant in a series. Columns without a role are past covariates; with
        `past` given they are left out.
    id, time : str, optional
        Columns of frames that name the series and hold the time stamps.
    repair : {"report", "error"}, default "report"
        What to do about unsorted rows, repeated stamps, gaps and missing values: handle them as
        `SeriesReport` says, with a warning each, or refuse the series.
    random_state : int, RandomState or None
        Seed of all steps; None leaves the estimator its own.
    verbose : bool, default False
        Show progress: the stages of training, or a bar over the steps where there are several.

    Attributes
    ----------
    report_ : SeriesReport
        What was found in the series of the last `fit`.
    steps_ : list of StepModel
        Estimator and recalibration of the steps 1 ... horizon.
    correlation_ : array of shape (horizon, horizon)
        Dependence of the steps, from the held-out origins; see `sample_paths`.
    series_ : SeriesTable
        All rows seen so far.

    Notes
    -----
    Series come as pandas with dates, periods or whole numbers as index, as polars frames with one
    column of dates, or as arrays, whose rows count as equally spaced. Several series come as a
    frame with an `id` column or with an index of series and time; they share the networks and
    the recalibration of each step, and up to 50 series get a flag column each.

    Nothing leaks: scaling, training and recalibration see windows whose targets were fitted on,
    and no window crosses a gap or the border of a series.

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

    report_: SeriesReport
    design_: Design

    def __init__(
        self,
        estimator: Any = None,
        *,
        window: int = 5,
        horizon: int = 1,
        recalibrate: Literal["adaptive"] | AdaptiveRecalibrator | None = "adaptive",
        calendar: Literal["auto"] | Sequence[str] | bool = "auto",
        holidays: Iterable[Any] | None = None,
        past: Sequence[str] | None = None,
        future: Sequence[str] | None = None,
        static: Sequence[str] | None = None,
        id: str | None = None,
        time: str | None = None,
        repair: Repair = "report",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.window = window
        self.horizon = horizon
        self.recalibrate = recalibrate
        self.calendar = calendar
        self.holidays = holidays
        self.past = past
        self.future = future
        self.static = static
        self.id = id
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
            Steps that `predict` answers where it is not told; all of them without it.

        Returns
        -------
        self
        """
        self._check_parameters()
        steps = self._steps(range(1, self.horizon + 1) if fh is None else fh)
        self._begin(read_rows(y, X, id=self.id, time=self.time))
        self._train()
        self.fh_ = steps
        return self

    def update(self, y: Any, X: Any = None) -> Self:
        """Take in new rows: the recalibration learns from them, the networks stay.

        Parameters
        ----------
        y, X
            As in `fit`, later than all rows seen so far. Arrays continue where the last one ended.

        Returns
        -------
        self
        """
        self._check_fitted()
        rows = self._read_new(y, X)
        rows.report.tell(self.repair)
        streams = self._advance(self._appended(rows, tell=True))
        for step, stream in zip(self.steps_, streams, strict=True):
            if step.recalibrator is not None and stream.dist is not None:
                step.recalibrator.update(stream.dist, stream.y)
        return self

    def refit(self) -> Self:
        """Train all steps again, on all rows seen so far."""
        self._check_fitted()
        self._train()
        return self

    def _begin(self, rows: Rows) -> None:
        """Take in the rows of a first training."""
        covariates = Covariates.learn(rows.inputs, self.past, self.future, self.static)
        if len(rows) < self.window + self.horizon:
            raise DataError(
                f"The series has {len(rows)} rows: a window of {self.window} with its target "
                f"{self.horizon} ahead takes {self.window + self.horizon}. Use a longer series, "
                "or a smaller window or horizon."
            )
        table = SeriesTable.begin(rows, covariates.encode(rows.inputs, len(rows)))
        covariates.check_static(table)
        report = table.with_gaps(rows.report)
        report.tell(self.repair)
        calendar = Calendar.choose(self.calendar, self.holidays, table.clock, table.tick)
        self.report_, self.covariates_, self.series_ = report, covariates, table
        self.design_ = Design(self.window, covariates, calendar)

    def _train(self) -> None:
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.horizon)
        steps, held_out = [], []
        several = self.verbose and self.horizon > 1
        with training_bar("Steps ahead", self.horizon, show=several) as advance:
            for step, seed in enumerate(seeds, start=1):
                estimator = clone(self._estimator())
                if self.random_state is not None:
                    estimator.set_params(random_state=int(seed))
                if self.verbose:
                    estimator.set_params(verbose=not several)
                model = StepModel(step, self.design_, estimator, self._recalibrator())
                held_out.append(model.fit(self.series_))
                steps.append(model)
                advance()
        self.steps_ = steps
        self.correlation_ = step_correlation(common_pits(held_out))

    def _read_new(self, y: Any, X: Any) -> Rows:
        clock = self.series_.clock
        start = 0
        if clock.unit == "integer" and self.series_.ids == (None,):
            start = int(self.series_.last_ticks()[0]) + clock.step
        return read_rows(y, X, id=self.id, time=self.time, start=start)

    def _appended(self, rows: Rows, *, tell: bool = False) -> SeriesTable:
        """Return the series with later rows; with `tell`, warn of the gaps that they bring."""
        table = self.series_.append(rows, self.covariates_.encode(rows.inputs, len(rows)))
        if tell:
            known = len(self.series_.gaps())
            table.with_gaps(SeriesReport(0, 0), since=known).tell(self.repair)
        return table

    def _advance(self, table: SeriesTable) -> list[Stream]:
        """Go on to a longer series; return what was forecast of each new row, step by step."""
        seen = self.series_.last_ticks()
        needed = (self.window + self.horizon) * table.clock.step
        recent = table.tail(seen - needed)  # enough to look back on from every new row
        streams = [step.follow(recent, seen) for step in self.steps_]
        self.series_ = table
        return streams

    # ---- save and load ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model, the rows it has seen and its recalibration to a folder, no pickle.

        The folder holds the estimator of every step as a folder of its own. It appears whole or
        not at all; ``overwrite=True`` replaces an older model.
        """
        from calibrant.forecasting._saving import save_forecaster

        self._check_fitted()
        save_forecaster(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, network: nn.Module | None = None) -> Self:
        """Load a model that `save` wrote; it predicts and updates as the saved one would.

        Estimators that were fitted with a module of the user's own need an instance of it as
        `network`: weights are stored, classes are not.
        """
        return cls._from_folder(Path(path), *read_model(path), network=network)

    @classmethod
    def _from_folder(
        cls,
        path: Path,
        manifest: dict[str, Any],
        tensors: dict[str, NDArray[Any]],
        *,
        network: nn.Module | None = None,
    ) -> Self:
        from calibrant.forecasting._saving import restore_forecaster

        return restore_forecaster(cls, path, manifest, tensors, network=network)

    # ---- checks -----------------------------------------------------------------------------

    def _estimator(self) -> Any:
        default: Any = MMDRegressor
        return default(network="lstm") if self.estimator is None else self.estimator

    def _recalibrator(self) -> AdaptiveRecalibrator | None:
        if self.recalibrate is None:
            return None
        if isinstance(self.recalibrate, str):
            return AdaptiveRecalibrator()
        return copy.deepcopy(self.recalibrate)

    def _check_parameters(self) -> None:
        for name in ("window", "horizon"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}.")
        known = self.recalibrate in (None, "adaptive")
        if not known and not isinstance(self.recalibrate, AdaptiveRecalibrator):
            raise ParameterError(
                'recalibrate must be "adaptive", None or an AdaptiveRecalibrator, got '
                f"{self.recalibrate!r}."
            )

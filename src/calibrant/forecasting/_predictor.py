"""What a fitted forecaster answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant import errors
from calibrant.distributions import Distribution, concatenate
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._paths import joint_sample
from calibrant.forecasting._rows import Array, read_inputs
from calibrant.forecasting._step import StepModel
from calibrant.forecasting._table import SeriesTable


class ForecastPredictor:
    """Forecasts of the rows after the last one seen; `Forecaster` says how they are learned."""

    window: int
    horizon: int
    id: str | None
    time: str | None
    steps_: list[StepModel]
    correlation_: Array
    series_: SeriesTable
    covariates_: Covariates

    def predict_dist(self, fh: Any = None, X: Any = None) -> Distribution:
        """Predictive distribution of every step, from the last row seen.

        Parameters
        ----------
        fh : int or list of int, optional
            Steps ahead, 1 is the next row; without it those of `fit`, or all.
        X : frame or array, optional
            Values of the known-future covariates at the coming time stamps, up to the largest
            step.

        Returns
        -------
        Distribution
            One row a step; for a panel the steps of the first series, then of the second ...
        """
        self._check_fitted()
        parts = self._predict_steps(self._steps(fh), X)
        order = np.arange(len(parts) * len(self.series_.ids)).reshape(len(parts), -1).T.ravel()
        return concatenate(parts)[order]

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

    def sample_paths(
        self,
        k: int = 100,
        fh: Any = None,
        X: Any = None,
        random_state: int | np.random.Generator | None = None,
    ) -> Array:
        """Draw joint paths over the steps, whose sums, maxima ... have honest distributions.

        Each step keeps its predictive distribution; a Gaussian copula with the correlation
        `correlation_` of held-out forecast errors ties them together.

        Returns
        -------
        array of shape (k, H), or (k, n_series, H) for a panel
        """
        self._check_fitted()
        steps = self._steps(fh)
        chosen = np.array(steps) - 1
        correlation = self.correlation_[np.ix_(chosen, chosen)]
        paths = joint_sample(self._predict_steps(steps, X), correlation, k, random_state)
        return paths[:, 0] if self.series_.ids == (None,) else paths

    def future_index(self, fh: Any = None) -> Any:
        """Time stamps that `predict` is about, with the series for a panel: a pandas index."""
        self._check_fitted()
        table, steps = self.series_, np.array(self._steps(fh))
        ticks = table.last_ticks()[:, None] + table.clock.step * steps
        code = np.repeat(np.arange(len(table.ids)), len(steps))
        return table.index(code, ticks.ravel())

    def _predict_steps(self, steps: list[int], X: Any) -> list[Distribution]:
        table, reach = self.series_, max(steps)
        table = table.tail(table.last_ticks() - (self.window - 1) * table.clock.step)
        last = table.last_rows()
        if self.covariates_.future:
            table = table.extended(reach, self._future_inputs(X, reach))
            last = table.last_rows() - reach
        return [self.steps_[step - 1].predict(table, last) for step in steps]

    def _future_inputs(self, X: Any, reach: int) -> Array:
        """Encoded covariates of the coming rows, (n_series * reach, c)."""
        names = ", ".join(self.covariates_.future)
        if X is None:
            raise DataError(
                f"The forecast needs the values of {names} for the next {reach} time stamps: "
                "pass them as X."
            )
        ids, stamps, frame = read_inputs(X, id=self.id, time=self.time)
        wanted = self.future_index(range(1, reach + 1))
        if stamps is None:
            if len(frame) < len(wanted):
                raise DataError(f"X has {len(frame)} rows, the forecast needs {len(wanted)}.")
            x = self.covariates_.encode_future(frame.iloc[: len(wanted)])
        else:
            code = self.series_.codes_of(ids, len(frame))
            own = self.series_.index(code, self.series_.clock.ticks(stamps))
            where = own.get_indexer(wanted)
            if np.any(where < 0):
                raise DataError(
                    f"X has no row for {wanted[int(np.argmax(where < 0))]}: the forecast needs "
                    f"{names} at all of the next {reach} time stamps."
                )
            x = self.covariates_.encode_future(frame.iloc[where])
        _, future, _ = self.covariates_.parts()
        if np.isnan(x[:, future]).any():
            raise DataError(f"X has missing values of {names} among the next {reach} time stamps.")
        return x

    def _steps(self, fh: Any) -> list[int]:
        if fh is None:
            return list(getattr(self, "fh_", range(1, self.horizon + 1)))
        steps = np.atleast_1d(np.asarray(fh))
        if steps.ndim != 1 or not len(steps) or not np.issubdtype(steps.dtype, np.integer):
            raise ParameterError(
                f"fh must be a number of steps ahead, or a list of them, got {fh!r}."
            )
        if steps.min() < 1 or steps.max() > self.horizon:
            raise ParameterError(
                f"fh must lie between 1 and the horizon {self.horizon}, got "
                f"{steps.min()} to {steps.max()}. Fit with a larger horizon to look further ahead."
            )
        return [int(step) for step in steps]

    def _check_fitted(self) -> None:
        if not hasattr(self, "steps_"):
            raise errors.NotFittedError(
                "This Forecaster instance is not fitted yet. Call fit(y) first."
            )

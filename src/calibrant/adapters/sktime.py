"""`Forecaster` as a forecaster of sktime (extra ``sktime``)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import pandas as pd
from sklearn.base import clone
from sktime.forecasting.base import BaseForecaster

from calibrant.distributions import Distribution
from calibrant.estimators import HeteroscedasticRegressor, Training
from calibrant.forecasting import Forecaster, GlobalNetwork


class SktimeForecaster(BaseForecaster):
    """A `Forecaster` in sktime's pipelines, tuners and evaluation.

    Parameters
    ----------
    forecaster : Forecaster
        It is cloned; its parameters are tuned as ``forecaster__window``. Its horizon is extended
        to the largest step of the ``fh`` that `fit` gets.

    Attributes
    ----------
    forecaster_ : the fitted Forecaster

    Notes
    -----
    Columns of X are covariates known up to the origin, unless ``Forecaster(future=[...])`` names
    them; `predict` then needs their values at all steps up to the largest one. sktime fits a clone
    for every column of y and every series of a panel.

    `update` adds new rows; with ``update_params=True`` the recalibration learns from them. The
    networks stay as `fit` has trained them.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from calibrant import Forecaster, GlobalNetwork
    >>> from calibrant.adapters.sktime import SktimeForecaster
    >>> y = pd.Series(np.sin(np.arange(60.0)))
    >>> small = Forecaster(GlobalNetwork(members=1, hidden=8, random_state=0))
    >>> model = SktimeForecaster(small).fit(y, fh=[1, 2])
    >>> model.predict_interval(coverage=0.9).shape
    (2, 2)
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": "calibrant developers",
        "maintainers": "calibrant developers",
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:missing_values": True,
        "capability:update": True,
        "requires-fh-in-fit": True,
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
    }

    forecaster_: Forecaster

    def __init__(self, forecaster: Forecaster) -> None:
        self.forecaster = forecaster
        super().__init__()

    def _fit(self, y: pd.Series[Any], X: pd.DataFrame | None, fh: Any) -> Self:
        model = clone(self.forecaster)
        horizon = max(model.horizon, *self._steps(fh))
        self.forecaster_ = model.set_params(horizon=horizon).fit(y, X)
        self._name = y.name
        return self

    def _predict(self, fh: Any, X: pd.DataFrame | None) -> pd.Series[Any]:
        mean = self._predict_dist(fh, X).mean
        return pd.Series(mean, self._times(fh), name=self._name)

    def _predict_quantiles(
        self, fh: Any, X: pd.DataFrame | None, alpha: list[float]
    ) -> pd.DataFrame:
        columns = pd.MultiIndex.from_product([self._get_varnames(), alpha])
        values = self._predict_dist(fh, X).ppf(alpha)
        return pd.DataFrame(values, self._times(fh), columns)

    def _predict_proba(self, fh: Any, X: pd.DataFrame | None, marginal: bool = True) -> Any:
        dist = self._predict_dist(fh, X)
        return dist.to_skpro(index=self._times(fh), columns=self._get_varnames())

    def _update(
        self, y: pd.Series[Any], X: pd.DataFrame | None = None, update_params: bool = True
    ) -> Self:
        seen = self.forecaster_.series_
        last = seen.clock.stamps(seen.last_ticks())[0]
        new = y[y.index > last]  # windows that slide over a series hold rows seen before
        if len(new):
            self.forecaster_.update(new, X, recalibrate=update_params)
        return self

    def _predict_dist(self, fh: Any, X: pd.DataFrame | None) -> Distribution:
        return self.forecaster_.predict_dist(self._steps(fh), X)

    def _steps(self, fh: Any) -> list[int]:
        return [int(step) for step in fh.to_relative(self.cutoff)]

    def _times(self, fh: Any) -> pd.Index[Any]:
        index: pd.Index[Any] = fh.to_absolute_index(self.cutoff)
        return index

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Small models for sktime's own tests: one network for all steps, and one per step."""
        network = GlobalNetwork(members=1, hidden=4, epochs=1, random_state=0)
        training = Training(validation_fraction=0.4)  # some series have 15 rows only
        regressor = HeteroscedasticRegressor(
            hidden=(4,), epochs=1, random_state=0, training=training
        )
        return [
            {"forecaster": Forecaster(network, window=2, recalibrate=None)},
            {"forecaster": Forecaster(regressor, window=2)},
        ]

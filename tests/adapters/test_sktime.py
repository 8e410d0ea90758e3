"""sktime's own checks, and our forecaster in its pipelines, tuners and evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sktime.forecasting.compose import TransformedTargetForecaster
from sktime.forecasting.model_evaluation import evaluate
from sktime.forecasting.model_selection import ForecastingGridSearchCV
from sktime.performance_metrics.forecasting.probabilistic import PinballLoss
from sktime.split import ExpandingWindowSplitter, SingleWindowSplitter
from sktime.transformations.difference import Differencer
from sktime.utils.estimator_checks import check_estimator

from calibrant import Forecaster, GlobalNetwork
from calibrant.adapters.sktime import SktimeForecaster
from calibrant.metrics import pinball


@pytest.fixture(scope="module")
def y() -> pd.Series[float]:
    days = pd.date_range("2024-01-01", periods=120, freq="D")
    noise = np.random.default_rng(0).normal(size=120)
    return pd.Series(np.sin(np.arange(120) * 2 * np.pi / 7) + 0.1 * noise, days, name="load")


def small(**options: Any) -> Forecaster:
    network = GlobalNetwork(members=1, hidden=8, device="cpu")
    return Forecaster(network, random_state=0, **{"window": 14} | options)


def test_it_passes_the_checks_of_sktime() -> None:
    results = check_estimator(SktimeForecaster, verbose=False)
    failed = {name: result for name, result in results.items() if result != "PASSED"}
    assert not failed
    assert len(results) > 700


def test_it_forecasts_what_the_forecaster_forecasts(y: pd.Series[float]) -> None:
    forecaster = small(horizon=3)
    model = SktimeForecaster(forecaster).fit(y, fh=[1, 3])
    assert not hasattr(forecaster, "model_")
    dist = forecaster.fit(y).predict_dist(fh=[1, 3])
    np.testing.assert_array_equal(model.predict(), dist.mean)
    assert list(model.predict().index) == list(forecaster.future_index(fh=[1, 3]))
    bounds = model.predict_interval(coverage=[0.5, 0.9])
    np.testing.assert_allclose(bounds["load"][0.9], dist.interval(0.9))
    at = pd.DataFrame({"load": [0.0, 0.5]}, model.predict().index)
    np.testing.assert_allclose(model.predict_proba().cdf(at)["load"], dist.cdf(at["load"]))


def test_the_horizon_reaches_to_the_largest_step(y: pd.Series[float]) -> None:
    model = SktimeForecaster(small()).fit(y, fh=[4])
    assert model.forecaster_.horizon == 4
    assert model.forecaster.horizon == 1


@pytest.mark.parametrize("learns", [True, False])
def test_update_adds_the_rows_that_are_new(y: pd.Series[float], learns: bool) -> None:
    model = SktimeForecaster(small()).fit(y[:100], fh=[1])
    model.update(y[90:], update_params=learns)
    expected = small().fit(y[:100]).update(y[100:], recalibrate=learns)
    np.testing.assert_array_equal(
        model.predict_quantiles(alpha=0.9)["load"][0.9], expected.predict_quantiles(alpha=0.9)
    )
    assert model.predict().index[0] == y.index[-1] + pd.Timedelta("1D")


def test_covariates_known_ahead(y: pd.Series[float]) -> None:
    X = pd.DataFrame({"open": np.arange(120) % 2.0}, y.index)
    model = SktimeForecaster(small(future=["open"])).fit(y[:110], X[:110], fh=[1, 2])
    forecaster = small(horizon=2, future=["open"]).fit(y[:110], X[:110])
    np.testing.assert_array_equal(model.predict(X=X[110:112]), forecaster.predict(X=X[110:112]))


def test_in_a_pipeline_a_tuner_and_an_evaluation(y: pd.Series[float]) -> None:
    pipe = TransformedTargetForecaster(
        [("diff", Differencer()), ("model", SktimeForecaster(small()))]
    )
    search = ForecastingGridSearchCV(
        pipe,
        SingleWindowSplitter(fh=[1, 2], window_length=100),
        {"model__forecaster__window": [2, 14]},
        scoring=PinballLoss(alpha=[0.1, 0.9]),
    )
    assert search.fit(y, fh=[1, 2]).predict_interval(coverage=0.9).shape == (2, 2)
    splits = ExpandingWindowSplitter(fh=[1, 2], initial_window=100, step_length=10)
    scored = evaluate(SktimeForecaster(small()), splits, y, scoring=PinballLoss(alpha=[0.1, 0.9]))
    assert len(scored) == 2
    found = small(horizon=2).fit(y[:100]).predict_dist()
    expected = np.mean([pinball(found, y[100:102], alpha=alpha) for alpha in (0.1, 0.9)])
    assert scored["test_PinballLoss"].iloc[0] == pytest.approx(expected)

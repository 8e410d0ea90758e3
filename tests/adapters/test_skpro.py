"""skpro's own checks, and our regressors in its pipelines, tuners and benchmarks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from skpro.benchmarking.evaluate import evaluate
from skpro.metrics import CRPS
from skpro.model_selection import GridSearchCV
from skpro.regression.compose import Pipeline
from skpro.utils import check_estimator

from calibrant import HeteroscedasticRegressor, MMDRegressor
from calibrant.adapters.skpro import SkproRegressor
from calibrant.metrics import crps


@pytest.fixture(scope="module")
def table() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=80), "age": rng.uniform(0, 90, 80)})
    return X, pd.DataFrame({"price": X["size"] + 0.1 * rng.normal(size=80)})


def small(**options: object) -> HeteroscedasticRegressor:
    return HeteroscedasticRegressor(hidden=(8,), random_state=0, **{"epochs": 3} | options)


def test_it_passes_the_checks_of_skpro() -> None:
    results = check_estimator(SkproRegressor, raise_exceptions=True, verbose=False)
    assert len(results) > 50


def test_it_predicts_what_the_estimator_predicts(table) -> None:
    X, y = table
    estimator = MMDRegressor(quality="fast", hidden=(8,), epochs=2, random_state=0)
    estimator.set_params(matching__epochs=2)
    model = SkproRegressor(estimator).fit(X, y)
    assert not hasattr(estimator, "predictor_")
    dist = estimator.fit(X, y["price"]).predict_dist(X)
    np.testing.assert_allclose(model.predict(X)["price"], dist.mean)
    bounds = model.predict_interval(X, coverage=[0.5, 0.9])
    np.testing.assert_allclose(bounds["price"][0.9], dist.interval(0.9), rtol=1e-9)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.cdf(y)["price"], dist.cdf(y["price"]), rtol=1e-9)


def test_in_a_pipeline_and_a_tuner(table) -> None:
    X, y = table[0][["size"]], table[1]
    pipe = Pipeline([("scale", StandardScaler()), ("model", SkproRegressor(small()))])
    grid = {"model__estimator__lr": [1e-5, 1e-2]}
    search = GridSearchCV(pipe, KFold(2), grid, scoring=CRPS()).fit(X, y)
    assert search.best_params_ == {"model__estimator__lr": 1e-2}
    assert search.predict_quantiles(X, alpha=[0.1]).shape == (80, 1)


def test_in_a_benchmark_its_crps_is_ours(table) -> None:
    X, y = table
    model = small(epochs=20)
    scored = evaluate(SkproRegressor(model), KFold(2), X, y, scoring=[CRPS()])
    train, test = next(iter(KFold(2).split(X)))
    dist = model.fit(X.iloc[train], y["price"].iloc[train]).predict_dist(X.iloc[test])
    assert scored["test_CRPS"].iloc[0] == pytest.approx(crps(dist, y["price"].iloc[test]), rel=1e-6)

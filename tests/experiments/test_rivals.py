"""The distributions are those that the packages predict."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Empirical, Normal
from calibrant.estimators import Windows
from calibrant.experiments.methods import METHODS, build, missing_packages
from calibrant.metrics import evaluate

RIVALS = [key for key in METHODS if METHODS[key].role == "rival"]
X = np.random.default_rng(0).normal(size=(600, 2))
Y = X[:, 0] + np.exp(0.5 * X[:, 1]) * np.random.default_rng(1).normal(size=600)


def fitted(key: str):
    if absent := missing_packages(METHODS[key]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    model = build(METHODS[key], "honest", series=False).set_params(random_state=0)
    if key in ("ngboost", "catboost"):
        model.set_params(n_estimators=50)
    return model.fit(X[:400], Y[:400])


def test_ngboost() -> None:
    model = fitted("ngboost")
    dist, own = model.predict_dist(X[400:]), model.model_.pred_dist(X[400:])
    assert isinstance(dist, Normal)
    np.testing.assert_allclose(dist.ppf(0.9), own.ppf(0.9))


def test_catboost() -> None:
    model = fitted("catboost")
    dist, own = model.predict_dist(X[400:]), model.model_.predict(X[400:])
    assert isinstance(dist, Normal)
    np.testing.assert_allclose(dist.mean, own[:, 0])
    np.testing.assert_allclose(dist.variance, own[:, 1])


def test_conformal_lightgbm() -> None:
    """Quantiles are those of the conformal predictive system, up to one step of it."""
    model = fitted("lightgbm-crepes")
    dist = model.predict_dist(X[400:])
    assert isinstance(dist, Empirical)
    centred = (dist.samples - model.model_.predict(X[400:])[:, None]) / model.difficulty_.apply(
        X[400:]
    )[:, None]
    np.testing.assert_allclose(centred, np.tile(model.errors_, (200, 1)), atol=1e-9)
    # Four fifths to learn from, 80 rows to calibrate: coverage within 3 standard errors.
    share = float(np.mean((dist.cdf(Y[400:]) > 0.1) & (dist.cdf(Y[400:]) < 0.9)))
    assert abs(share - 0.8) < 3 * np.sqrt(0.8 * 0.2 * (1 / 200 + 1 / 80))


def test_quantile_forest() -> None:
    model = fitted("quantile-forest")
    dist = model.predict_dist(X[400:])
    own = model.model_.predict(X[400:], quantiles=[0.495, 0.905])
    np.testing.assert_allclose(dist.ppf([0.495, 0.905]), own)


@pytest.mark.parametrize("key", RIVALS)
def test_better_than_ignoring_the_inputs(key: str) -> None:
    dist = fitted(key).predict_dist(X[400:])
    plain = Normal(np.full(200, Y[:400].mean()), np.full(200, Y[:400].std()))
    assert evaluate(dist, Y[400:]).crps < evaluate(plain, Y[400:]).crps


def test_windows_are_flattened() -> None:
    if absent := missing_packages(METHODS["quantile-forest"]):
        pytest.skip(f"not installed: {', '.join(absent)}")
    windows = Windows(X, np.arange(4, 600), 5)
    model = build(METHODS["quantile-forest"], "honest", series=True, quick=True)
    assert len(model.fit(windows, Y[4:]).predict_dist(windows[:7])) == 7
    assert model.model_.n_features_in_ == 10

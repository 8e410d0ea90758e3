"""Quantiles of any shape, at all levels."""

from __future__ import annotations

import doctest

import numpy as np
from scipy.stats import expon

from calibrant import HeteroscedasticRegressor, QuantileNetworkRegressor
from calibrant.distributions import Quantiles
from calibrant.estimators import quantile
from calibrant.metrics import crps

COMMON = {"hidden": (32, 32), "random_state": 0, "device": "cpu"}


def make_skewed(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, X[:, 0] + (0.2 + 0.3 * (X[:, 0] > 0)) * rng.exponential(size=n)


def test_quantiles_of_skewed_noise() -> None:
    X, y = make_skewed(2500, 1)
    X_test, y_test = make_skewed(2000, 2)
    model = QuantileNetworkRegressor(epochs=80, **COMMON).fit(X, y)
    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    scale = 0.2 + 0.3 * (X_test > 0)
    truth = X_test + scale * expon.ppf(levels)
    error = np.abs(model.predict_quantiles(X_test, levels) - truth).mean(axis=0)
    # A sample quantile of n exponential values has the standard error scale sqrt(p / (1 - p) / n);
    # there are about 1000 rows to learn from on either side of 0, and 0.03 is for the step there.
    deviation = scale.mean() * np.sqrt(levels / (1 - levels) / 1000)
    assert np.all(error < 0.03 + 3 * deviation)
    normal = HeteroscedasticRegressor(epochs=80, **COMMON).fit(X, y).predict_dist(X_test)
    assert crps(model.predict_dist(X_test), y_test) < 0.97 * crps(normal, y_test)


def test_without_the_map_it_is_what_the_network_says() -> None:
    X, y = make_skewed(300, 1)
    model = QuantileNetworkRegressor(recalibrate=False, epochs=10, **COMMON).fit(X, y)
    dist = model.predict_dist(X)
    assert isinstance(dist, Quantiles)
    np.testing.assert_allclose(dist.levels, model.levels)
    fine = dist.ppf(np.linspace(1e-6, 1 - 1e-6, 1001))
    assert np.all(np.diff(fine, axis=1) > 0)


def test_example() -> None:
    assert doctest.testmod(quantile).failed == 0

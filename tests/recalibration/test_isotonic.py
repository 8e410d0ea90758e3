"""Isotonic recalibration: Kuleshov's curve, made invertible."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from calibrant import IsotonicRecalibrator
from calibrant.distributions import Clipped, Empirical, Normal, Recalibrated
from calibrant.metrics import coverage, ecpe, noise_floor, pit
from calibrant.recalibration.isotonic import isotonic_map

AWKWARD = [0.0, 1e-300, 1e-12, 0.25, 0.5, 0.5 + 1e-15, 0.5 + 1e-9, 0.75, 1 - 1e-16, 1.0]


def model(predict_dist):
    return SimpleNamespace(predict_dist=predict_dist)


def kuleshov(u: np.ndarray) -> IsotonicRegression:
    """Algorithm 1: the data set of (F(y_t), share of F(y_s) <= F(y_t)), then the regression."""
    share = np.array([np.mean(u <= p) for p in u])
    return IsotonicRegression(out_of_bounds="clip").fit(u, share)


@pytest.mark.parametrize("n", [2, 7, 400])
@pytest.mark.parametrize("digits", [1, 12])
def test_map_is_kuleshovs_curve_and_one_observation_of_the_model(n: int, digits: int) -> None:
    u = np.random.default_rng(n).beta(2, 5, n).round(digits)  # one digit: many ties
    g = isotonic_map(u, np.ones(n))
    between = np.linspace(u.min(), u.max(), 50)[1:-1]
    for p in (u[u > 0], between):  # at 0 the map must be 0
        ours = ((n + 1) * g(p) - p) / n
        np.testing.assert_allclose(ours, kuleshov(u).predict(p), atol=1e-7)


def test_recalibrates_the_distributions_of_a_model() -> None:
    rng = np.random.default_rng(0)
    X, y = np.zeros((1000, 1)), 3.0 + 2.0 * rng.standard_normal(1000)
    narrow = model(lambda X: Normal(np.full(len(X), 2.0), np.ones(len(X))))
    fitted = IsotonicRecalibrator().fit(narrow, X, y)
    dist = fitted.predict_dist(X)
    assert isinstance(dist, Recalibrated)
    assert fitted.residual_scale_ is None
    assert fitted.n_calibration_ == 1000
    fresh = 3.0 + 2.0 * rng.standard_normal(1000)
    assert ecpe(narrow.predict_dist(X), fresh) > 0.2
    assert ecpe(dist, fresh) < 2 * noise_floor(500).ecpe
    np.testing.assert_allclose(fitted.predict(X[:1]), 3.0, atol=0.2)


def test_points_get_the_residuals_as_their_distribution() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 100, (500, 1))
    y = X[:, 0] + 7.0 + rng.exponential(3.0, 500)
    points = SimpleNamespace(predict=lambda X: X[:, 0])
    fitted = IsotonicRecalibrator().fit(points, X, y)
    # The quantiles of the prediction are those of the residuals.
    level = np.array([0.05, 0.5, 0.95])
    expected = np.quantile(y - X[:, 0], level)
    ours = fitted.predict_quantiles(np.zeros((1, 1)), level)[0]
    np.testing.assert_allclose(ours, expected, rtol=0.02)
    assert fitted.residual_scale_.centre == pytest.approx(np.mean(y - X[:, 0]))


@given(st.lists(st.sampled_from(AWKWARD), min_size=2, max_size=60))
def test_any_pit_values_give_a_map_with_an_inverse(values: list[float]) -> None:
    g = isotonic_map(np.array(values), np.ones(len(values)))
    p = np.linspace(0, 1, 33)
    assert g(0.0) == 0.0
    assert g(1.0) == 1.0
    assert np.all(np.diff(g(p)) > 0)
    assert g.slopes.min() > 0.5 / (len(values) + 1)
    np.testing.assert_allclose(g.inverse(g(p)), p, atol=1e-7)


@given(st.lists(st.sampled_from(AWKWARD), min_size=2, max_size=30), st.integers(0, 100))
def test_quantiles_are_finite_and_never_cross(values: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = isotonic_map(np.array(values), rng.uniform(1e-9, 3.0, len(values)))
    dist = Recalibrated(Normal(rng.standard_normal(5), rng.uniform(0.1, 9, 5)), g)
    level = np.sort(np.concatenate([rng.random(50), [1e-9, 1e-6, 1 - 1e-6, 1 - 1e-9]]))
    quantiles = dist.ppf(level)
    assert np.all(np.isfinite(quantiles))
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert np.all(np.isfinite(dist.mean))
    assert np.all(np.isfinite(dist.log_prob(quantiles)))


def test_a_weight_of_two_is_the_row_twice() -> None:
    u = np.random.default_rng(2).beta(2, 3, 50)
    weight = np.where(np.arange(50) < 20, 2.0, 1.0)
    weighted = isotonic_map(u, weight)
    repeated = np.repeat(u, weight.astype(int))
    rows = weight.sum() ** 2 / np.sum(weight**2)
    ours = ((rows + 1) * weighted(u) - u) / rows
    np.testing.assert_allclose(ours, kuleshov(repeated).predict(u), atol=1e-7)


def test_atoms_are_spread_at_random() -> None:
    rng = np.random.default_rng(3)
    values = np.tile([0.0, 0.0, 0.0, 1.0, 2.0, 3.0], (2000, 1))
    wrong, X, errors = model(lambda X: Empirical(values[: len(X)])), np.zeros((2000, 1)), []
    for _ in range(10):
        y, fresh = rng.integers(0, 4, (2, 2000)).astype(float)  # a quarter each
        dist = IsotonicRecalibrator().fit(wrong, X, y).predict_dist(X)
        np.testing.assert_allclose(dist.cdf(0.0), np.mean(y == 0), atol=0.005)
        errors.append(ecpe(dist, fresh))
    assert np.mean(errors) < 1.5 * noise_floor(1000).ecpe


def test_bounds_stay() -> None:
    rng = np.random.default_rng(4)
    X, y = np.zeros((500, 1)), np.maximum(0.0, rng.standard_normal(500) * 2)
    bounded = model(lambda X: Clipped(Normal(np.zeros(len(X)), np.ones(len(X))), low=0.0))
    dist = IsotonicRecalibrator().fit(bounded, X, y).predict_dist(X)
    assert dist.ppf(0.01).min() == 0.0
    assert coverage(dist, y, coverage=0.9) == pytest.approx(0.9, abs=0.03)


def test_pit_values_of_the_calibration_rows_become_uniform() -> None:
    rng = np.random.default_rng(5)
    X, y = np.zeros((300, 1)), rng.standard_t(3, 300)
    base = model(lambda X: Normal(np.zeros(len(X)), np.ones(len(X))))
    u = pit(IsotonicRecalibrator().fit(base, X, y).predict_dist(X), y)
    assert stats.kstest(u, "uniform").statistic < 2 / 300

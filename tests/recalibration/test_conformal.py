"""Conformal recalibration: the levels of crepes and MAPIE, and coverage that is kept."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import crepes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapie.regression import SplitConformalRegressor
from scipy import stats
from sklearn.linear_model import LinearRegression

from calibrant import ConformalRecalibrator
from calibrant.distributions import Clipped, Empirical, Normal, Recalibrated
from calibrant.errors import CalibrantWarning, DataError, ParameterError
from calibrant.metrics import coverage, ecpe, noise_floor


def predict_dist(X) -> Normal:
    """A model that is wrong in location, spread and shape, but knows where it is noisy."""
    return Normal(X[:, 0], 0.2 + X[:, 1])


MODEL = SimpleNamespace(predict_dist=predict_dist)
POINTS = SimpleNamespace(predict=lambda X: X[:, 0])


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    return X, X[:, 0] + (0.2 + X[:, 1]) * (rng.exponential(2.0, n) - 1.0)


# ---- against other libraries ---------------------------------------------------------------


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("n", [2, 19, 500])
def test_distribution_is_that_of_crepes(n: int, normalize: bool) -> None:
    X, y = draw(n, 0)
    X_test, _ = draw(40, 1)
    sigma = predict_dist(X).stddev if normalize else None
    sigma_test = predict_dist(X_test).stddev if normalize else None
    theirs = crepes.ConformalPredictiveSystem().fit(y - X[:, 0], sigmas=sigma)
    fitted = ConformalRecalibrator(normalize=normalize).fit(MODEL, X, y)
    jumps = theirs.predict_cpds(X_test[:, 0], sigmas=sigma_test)  # (40, n): where theirs steps
    level = np.arange(1, n + 1) / (n + 1)
    np.testing.assert_allclose(fitted.predict_quantiles(X_test, level), jumps, atol=1e-7)
    np.testing.assert_allclose(
        fitted.predict_dist(X_test).cdf(jumps), np.tile(level, (40, 1)), atol=1e-7
    )


@pytest.mark.parametrize("normalize", [True, False])
def test_guaranteed_interval_is_that_of_crepes(normalize: bool) -> None:
    X, y = draw(213, 2)
    X_test, _ = draw(40, 3)
    sigma = predict_dist(X).stddev if normalize else None
    sigma_test = predict_dist(X_test).stddev if normalize else None
    theirs = crepes.ConformalRegressor().fit(y - X[:, 0], sigmas=sigma)
    fitted = ConformalRecalibrator(normalize=normalize, guarantee=True).fit(MODEL, X, y)
    for level in (0.5, 0.83, 0.95):
        expected = theirs.predict_int(X_test[:, 0], sigmas=sigma_test, confidence=level)
        np.testing.assert_allclose(fitted.predict_interval(X_test, level), expected)


def test_guaranteed_quantiles_are_those_of_crepes() -> None:
    X, y = draw(213, 4)
    X_test, _ = draw(40, 5)
    theirs = crepes.ConformalPredictiveSystem().fit(y - X[:, 0])
    expected = theirs.predict_percentiles(
        X_test[:, 0], lower_percentiles=[5, 20], higher_percentiles=[80, 95]
    )
    fitted = ConformalRecalibrator(guarantee=True).fit(POINTS, X, y)
    ours = fitted.predict_quantiles(X_test, [0.05, 0.2, 0.8, 0.95])
    np.testing.assert_allclose(ours, expected)


@pytest.mark.parametrize("n", [99, 150])
def test_guaranteed_interval_is_that_of_mapie(n: int) -> None:
    X, y = draw(n, 6)
    X_test, _ = draw(40, 7)
    regressor = LinearRegression().fit(*draw(100, 8))
    theirs = SplitConformalRegressor(regressor, confidence_level=[0.5, 0.9, 0.98], prefit=True)
    _, expected = theirs.conformalize(X, y).predict_interval(X_test)
    fitted = ConformalRecalibrator(guarantee=True).fit(regressor, X, y)
    np.testing.assert_allclose(fitted.predict_interval(X_test, [0.5, 0.9, 0.98]), expected)


# ---- the distribution ----------------------------------------------------------------------


def test_recovers_a_heteroscedastic_truth_within_halves_of_the_noise() -> None:
    X, y = draw(2000, 9)
    X_test, y_test = draw(4000, 10)
    assert ecpe(predict_dist(X_test), y_test) > 8 * noise_floor(4000).ecpe
    fitted = ConformalRecalibrator().fit(MODEL, X, y)
    dist = fitted.predict_dist(X_test)
    assert isinstance(dist, Recalibrated)
    assert ecpe(dist, y_test) < 2 * noise_floor(1300).ecpe
    for half in (X_test[:, 1] < 0.5, X_test[:, 1] >= 0.5):
        assert coverage(dist[half], y_test[half], coverage=0.9) == pytest.approx(0.9, abs=0.03)
    truth = X_test[:, 0] + (0.2 + X_test[:, 1]) * (2.0 - 1.0)
    assert np.abs(fitted.predict(X_test) - truth).mean() < 0.1
    # Without the predicted spread coverage holds on average only.
    plain = ConformalRecalibrator(normalize=False).fit(MODEL, X, y).predict_dist(X_test)
    assert coverage(plain, y_test, coverage=0.9) == pytest.approx(0.9, abs=0.03)
    quiet = X_test[:, 1] < 0.5
    assert coverage(plain[quiet], y_test[quiet], coverage=0.9) > 0.94


@pytest.mark.parametrize("outlier", [1.0, 1e3, 1e9])
def test_tails_are_finite_and_follow_the_scores(outlier: float) -> None:
    residual = np.append(stats.norm.ppf(np.arange(1, 200) / 200), outlier)
    X = np.zeros((200, 2))
    fitted = ConformalRecalibrator().fit(POINTS, X, residual)
    tails = np.array([1e-12, 1e-9, 1e-6])
    lower, upper = fitted.predict_quantiles(X[:1], np.concatenate([tails, 1 - tails]))[0].reshape(
        2, 3
    )
    biggest = np.abs(residual).max()
    assert np.all(np.isfinite([lower, upper]))
    assert np.all(np.abs([lower, upper]) < 5 * biggest)
    # The bulk is not disturbed by one value far out.
    level = np.arange(20, 180) / 201
    bulk = fitted.predict_quantiles(X[:1], level)[0]
    np.testing.assert_allclose(bulk, np.sort(residual)[19:179], atol=1e-6 * max(1.0, biggest / 1e3))


def test_an_overconfident_model_is_repaired() -> None:
    rng = np.random.default_rng(11)
    X, y = np.zeros((500, 2)), rng.standard_normal(1000)
    sure = SimpleNamespace(predict_dist=lambda X: Normal(np.zeros(len(X)), np.full(len(X), 1e-3)))
    dist = ConformalRecalibrator().fit(sure, X, y[:500]).predict_dist(X)
    assert ecpe(dist, y[500:]) < 2 * noise_floor(250).ecpe
    np.testing.assert_allclose(dist.stddev, 1.0, atol=0.1)


@given(st.lists(st.sampled_from([-1e6, -1.0, 0.0, 1e-12, 1.0, 3.0]), min_size=2, max_size=40))
def test_ties_give_an_invertible_map_and_quantiles_that_never_cross(values: list[float]) -> None:
    residual = np.array(values)
    if np.ptp(residual) == 0:
        residual = np.append(residual, residual[0] + 1.0)
    n = len(residual)
    fitted = ConformalRecalibrator().fit(POINTS, np.zeros((n, 2)), residual)
    level = np.linspace(0.001, 0.999, 97)
    quantiles = fitted.predict_quantiles(np.zeros((1, 2)), level)[0]
    assert np.all(np.isfinite(quantiles))
    assert np.all(np.diff(quantiles) >= 0)
    # Mass of a tie stays on it.
    at = fitted.predict_quantiles(np.zeros((1, 2)), np.arange(1, n + 1) / (n + 1))[0]
    np.testing.assert_allclose(at, np.sort(residual), atol=1e-6 * np.ptp(residual))


def test_weights_count_as_repetitions() -> None:
    X, y = draw(400, 12)
    weight = np.where(np.arange(400) < 200, 3.0, 1.0)
    weighted = ConformalRecalibrator().fit(MODEL, X, y, sample_weight=weight)
    times = weight.astype(int)
    repeated = ConformalRecalibrator().fit(MODEL, np.repeat(X, times, axis=0), np.repeat(y, times))
    level = np.linspace(0.05, 0.95, 19)
    ours, theirs = (fitted.predict_dist(X[:1]).ppf(level)[0] for fitted in (weighted, repeated))
    np.testing.assert_allclose(ours, theirs, atol=0.1)


def test_bounds_of_the_model_hold() -> None:
    rng = np.random.default_rng(13)
    X, y = np.zeros((200, 2)), np.maximum(rng.standard_normal(200), 0.0)
    bounded = SimpleNamespace(
        predict_dist=lambda X: Clipped(Normal(np.zeros(len(X)), np.ones(len(X))), low=0.0)
    )
    fitted = ConformalRecalibrator().fit(bounded, X, y)
    assert fitted.predict_dist(X).ppf(1e-6).min() == 0.0
    promised = ConformalRecalibrator(guarantee=True).fit(bounded, X, y)
    with pytest.warns(CalibrantWarning, match="at least 9999"):
        interval = promised.predict_interval(X[:1], 0.9999)
    np.testing.assert_array_equal(interval, [[0.0, np.inf]])
    with pytest.warns(CalibrantWarning):
        np.testing.assert_array_equal(promised.predict_quantiles(X[:1], 0.001), [0.0])


# ---- the guarantee -------------------------------------------------------------------------


def test_bounds_are_infinite_where_nothing_can_be_promised() -> None:
    X, y = draw(50, 14)
    fitted = ConformalRecalibrator(guarantee=True).fit(MODEL, X, y)
    expected = r"coverage=0\.99 .* 50 calibration rows, it needs at least 99: bounds are infinite"
    with pytest.warns(CalibrantWarning, match=expected):
        bounds = fitted.predict_interval(X, [0.5, 0.99])
    assert bounds.shape == (50, 2, 2)
    assert np.all(np.isfinite(bounds[:, :, 0]))
    np.testing.assert_array_equal(bounds[:, 0, 1], -np.inf)
    np.testing.assert_array_equal(bounds[:, 1, 1], np.inf)
    with pytest.warns(CalibrantWarning, match="alpha=0.01 .* at least 99"):
        quantiles = fitted.predict_quantiles(X, [0.01, 0.5, 0.95])
    np.testing.assert_array_equal(quantiles[:, 0], -np.inf)
    assert np.all(np.isfinite(quantiles[:, 1:]))
    # The distribution has finite tails all the same.
    assert np.all(np.isfinite(fitted.predict_dist(X).ppf([1e-9, 1 - 1e-9])))


@pytest.mark.parametrize(
    ("level", "needed"), [(0.5, 1), (0.55, 2), (0.9, 9), (0.95, 19), (0.99, 99)]
)
def test_the_number_of_rows_that_a_level_needs(level: float, needed: int) -> None:
    for n in {max(needed - 1, 2), max(needed, 2)}:
        X, y = draw(n, 15)
        fitted = ConformalRecalibrator(guarantee=True).fit(MODEL, X, y)
        if n < needed:
            with pytest.warns(CalibrantWarning, match=f"at least {needed}:"):
                assert np.all(np.isinf(fitted.predict_interval(X, level)))
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                bounds = fitted.predict_interval(X, level)
            radius = (bounds[0, 1] - X[0, 0]) / (0.2 + X[0, 1])
            score = np.abs(y - X[:, 0]) / (0.2 + X[:, 1])
            assert np.sum(score <= radius * (1 + 1e-12)) == np.ceil(round((n + 1) * level, 9))


def simulated_coverage(n: int, repetitions: int) -> dict[float, tuple[float, float, float]]:
    """Level -> coverage of fresh rows, the exact value k / (n + 1) and the 99.9% band about it."""
    rng = np.random.default_rng(n)
    levels, fresh = np.array([0.5, 0.9, 0.99]), 20
    covered = np.zeros(3)
    for _ in range(repetitions):
        X = rng.uniform(size=(n + fresh, 2))
        y = X[:, 0] + (0.2 + X[:, 1]) * rng.standard_t(2, n + fresh)
        fitted = ConformalRecalibrator(guarantee=True).fit(MODEL, X[:n], y[:n])
        low, high = fitted.predict_interval(X[n:], levels).transpose(1, 0, 2)
        covered += np.mean((low <= y[n:, None]) & (y[n:, None] <= high), axis=0)
    rank = np.ceil((n + 1) * levels - 1e-9)
    # Coverage of one calibration sample is Beta(k, n + 1 - k); fresh rows count it out.
    spread = stats.betabinom(fresh, rank, n + 1 - rank).std() / fresh / np.sqrt(repetitions)
    band = stats.norm.ppf(0.9995) * spread
    found = zip(levels, covered / repetitions, rank / (n + 1), band, strict=True)
    return {level: (share, exact, width) for level, share, exact, width in found}


@pytest.mark.parametrize(
    ("n", "repetitions"),
    [(99, 300), *(pytest.param(n, 2000, marks=pytest.mark.slow) for n in (100, 150, 999))],
)
def test_coverage_is_kept_and_exact(n: int, repetitions: int) -> None:
    for level, (share, exact, band) in simulated_coverage(n, repetitions).items():
        assert exact >= level - 1e-12
        assert abs(share - exact) < band, f"level {level}: {share} against {exact} +- {band}"


def test_one_sided_bounds_keep_their_level() -> None:
    rng = np.random.default_rng(16)
    below = np.zeros(2)
    for _ in range(300):
        residual = rng.exponential(size=44)
        X = np.zeros((44, 2))
        fitted = ConformalRecalibrator(guarantee=True).fit(POINTS, X[:24], residual[:24])
        low, high = fitted.predict_quantiles(X[:1], [0.1, 0.9])[0]
        below += [np.mean(residual[24:] < low), np.mean(residual[24:] <= high)]
    exact = np.array([2 / 25, 23 / 25])  # floor(2.5) and ceil(22.5) of n + 1 = 25
    np.testing.assert_allclose(below / 300, exact, atol=0.025)


def test_no_promise_where_none_can_be_kept() -> None:
    X, y = draw(50, 17)
    promising = ConformalRecalibrator(guarantee=True)
    with pytest.raises(ParameterError, match=r"hold some out and call fit\(model, X_cal, y_cal\)"):
        promising.cross_fit(LinearRegression(), X, y)
    with pytest.raises(ParameterError, match="rows of unequal weight are not"):
        promising.fit(MODEL, X, y, sample_weight=np.arange(50.0))
    # Rows of weight 0 are left out, the others are equal.
    promising.fit(MODEL, X, y, sample_weight=np.arange(50) % 2)
    assert promising.n_calibration_ == 25
    for wrong in (0.0, 1.0, [0.5, 2.0], [[0.5]], []):
        with pytest.raises(ParameterError, match=r"numbers in \(0, 1\)"):
            promising.predict_interval(X, wrong)
        with pytest.raises(ParameterError, match=r"numbers in \(0, 1\)"):
            promising.predict_quantiles(X, wrong)


def test_a_spread_of_zero() -> None:
    X, y = draw(10, 18)
    constant = SimpleNamespace(predict_dist=lambda X: Empirical(np.zeros((len(X), 3))))
    with pytest.raises(DataError, match=r"standard deviation of 0.* Use normalize=False"):
        ConformalRecalibrator().fit(constant, X, y)
    ConformalRecalibrator(normalize=False).fit(constant, X, y)


def test_residuals_that_are_all_equal() -> None:
    with pytest.raises(DataError, match=r"All calibration residuals equal 0.*fitted on"):
        ConformalRecalibrator().fit(POINTS, np.ones((5, 2)), np.ones(5))

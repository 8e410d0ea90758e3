"""Joint paths: sums over the horizon are covered as stated, which independent draws miss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr
from sklearn.base import BaseEstimator
from sklearn.covariance import ledoit_wolf

from calibrant import Forecaster
from calibrant.distributions import Normal
from calibrant.distributions.copula import joint_sample
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._dependence import series_correlation, step_correlation

PHI, STEPS = 0.9, 5


class LastValueRegressor(BaseEstimator):
    """The right model of an AR(1) process: a regression on the last row of the window."""

    def __init__(self, random_state: int | None = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, cv: Any) -> Self:
        ((train, _),) = cv
        last = X.series[X.ends, 0]
        self.slope_, self.shift_ = np.polyfit(last[train], y[train], 1)
        self.spread_ = float(np.std(y[train] - self.shift_ - self.slope_ * last[train]))
        return self

    def predict_dist(self, X: Any) -> Normal:
        last = X.series[X.ends, 0]
        return Normal(self.shift_ + self.slope_ * last, np.full(len(last), self.spread_))


def many_ar1(series: int, rows: int) -> pd.Series[float]:
    rng = np.random.default_rng(0)
    y = np.empty((series, rows))
    y[:, 0] = rng.normal(size=series) / np.sqrt(1 - PHI**2)
    for t in range(1, rows):
        y[:, t] = PHI * y[:, t - 1] + rng.normal(size=series)
    index = pd.MultiIndex.from_product([range(series), range(rows)], names=["id", "time"])
    return pd.Series(y.ravel(), index)


def with_common_noise(series: int, rows: int, rho: float) -> pd.Series[float]:
    """AR(1) processes whose noise has the correlation rho."""
    rng = np.random.default_rng(0)
    noise = np.sqrt(rho) * rng.normal(size=rows) + np.sqrt(1 - rho) * rng.normal(
        size=(series, rows)
    )
    y = noise.copy()
    for t in range(1, rows):
        y[:, t] += PHI * y[:, t - 1]
    index = pd.MultiIndex.from_product([range(series), range(rows)], names=["id", "time"])
    return pd.Series(y.ravel(), index)


def true_correlation() -> np.ndarray:
    """Of the errors of forecasts 1 ... 5 steps ahead from one origin."""
    response = np.array([[PHI ** (h - k) if k <= h else 0.0 for k in range(5)] for h in range(5)])
    covariance = response @ response.T
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def test_sums_over_the_horizon_are_covered() -> None:
    n, rows = 1000, 45
    y = many_ar1(n, rows)
    known = y.index.get_level_values("time") < rows - STEPS
    model = Forecaster(LastValueRegressor(), window=1, horizon=STEPS, recalibrate=None)
    model.fit(y[known])
    # About 6,000 held-out errors of series that do not depend on each other.
    np.testing.assert_allclose(model.correlation_, true_correlation(), atol=0.05)
    total = y[~known].to_numpy().reshape(n, STEPS).sum(axis=1)

    def share_covered(paths: np.ndarray) -> float:
        low, high = np.quantile(paths.sum(axis=2), [0.05, 0.95], axis=0)
        return float(np.mean((low <= total) & (total <= high)))

    paths = model.predict_paths(400, random_state=1)
    assert paths.shape == (400, n, STEPS)
    # The share is binomial: 3 standard errors of 1,000 series, and 400 draws cost another 0.003.
    assert abs(share_covered(paths) - 0.9) < 3 * np.sqrt(0.09 / n) + 0.003
    dist = model.predict_dist()
    by_step = [dist[at::STEPS] for at in range(STEPS)]
    apart = joint_sample(by_step, np.eye(STEPS), 400, 1)
    assert share_covered(apart) < 0.8


def test_few_origins_show_how_dependence_fades_with_the_distance() -> None:
    steps, n = 40, 30
    distance = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
    truth = 0.9**distance
    errors = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = rng.multivariate_normal(np.zeros(steps), truth, size=n)
        found = step_correlation(ndtr(scores))
        np.testing.assert_allclose(np.diag(found), 1.0)
        assert np.linalg.eigvalsh(found).min() > 0
        to_independence, _ = ledoit_wolf(scores)
        spread = np.sqrt(np.diag(to_independence))
        others = np.corrcoef(scores, rowvar=False), to_independence / np.outer(spread, spread)
        errors.append([np.mean((each - truth) ** 2) for each in (found, *others)])
    mine, sample, independence = np.mean(errors, axis=0)
    assert mine < min(sample, independence)


def test_missing_outcomes_leave_the_other_pairs() -> None:
    rng = np.random.default_rng(0)
    truth = 0.8 ** np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    pits = ndtr(rng.multivariate_normal(np.zeros(6), truth, size=3000))
    whole = step_correlation(pits)
    pits[rng.random(pits.shape) < 0.5] = np.nan  # 1 of 64 origins has all six
    # Half of the rows have half of the pairs: two standard errors of 750 outcomes.
    np.testing.assert_allclose(step_correlation(pits), whole, atol=0.08)


def test_sums_across_series_know_that_series_move_together() -> None:
    series, rows, rho = 4, 20_000, 0.6
    y = with_common_noise(series, rows, rho)
    model = Forecaster(LastValueRegressor(), window=1, horizon=STEPS, recalibrate=None).fit(y)
    found = model.series_correlation_
    assert found is not None
    # 4,000 held-out rows, of which about STEPS in a row say the same.
    error = 4 / np.sqrt(4000 / STEPS)
    np.testing.assert_allclose(found[~np.eye(series, dtype=bool)], rho, atol=error)
    total = model.predict_dist(total="horizon", across_series=True)
    each = model.predict_dist(total="horizon")
    assert len(total) == len(model.future_index(total="horizon", across_series=True)) == 1
    np.testing.assert_allclose(total.mean, each.mean.sum())
    # Variance of a sum of four with the same correlation, beside that of independent ones.
    ratio = total.stddev[0] ** 2 / np.sum(each.stddev**2)
    assert abs(ratio - (1 + 3 * rho)) < 3 * error + 4 * np.sqrt(2 / 2000) * (1 + 3 * rho)


def test_dependence_between_very_many_series_is_not_estimated() -> None:
    pits = pd.DataFrame(np.full((1, 2), 0.5), pd.MultiIndex.from_tuples([(0, 0)]))
    assert series_correlation(pits, 1001) is None


def test_sums_across_series_are_of_the_same_time() -> None:
    y = many_ar1(3, 60)
    fitted = Forecaster(LastValueRegressor(), window=1, horizon=2, recalibrate=None).fit(y)
    with pytest.raises(ParameterError, match='pass total="horizon"'):
        fitted.predict_dist(across_series=True)
    one = pd.Series([0.0], pd.MultiIndex.from_tuples([(0, 60)], names=["id", "time"]))
    fitted.update(one)
    with pytest.raises(DataError, match="0 ends at 60 and 1 at 59"):
        fitted.predict_dist(total="horizon", across_series=True)

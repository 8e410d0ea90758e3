"""Forecasts of a target that has bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import Forecaster, GlobalNetwork, HeteroscedasticRegressor, backtest, load_model
from calibrant.errors import ParameterError


def demand(n: int = 500) -> pd.Series[float]:
    """Demand by the hour, often zero."""
    rng = np.random.default_rng(0)
    level = np.sin(2 * np.pi * np.arange(n) / 24) + 0.3 * rng.standard_normal(n)
    return pd.Series(np.maximum(level, 0.0), pd.date_range("2024-01-01", periods=n, freq="h"))


ESTIMATORS = {
    "one network": GlobalNetwork(members=1, hidden=16, device="cpu"),
    "one for each step": HeteroscedasticRegressor(hidden=(16,), epochs=5),
}


def forecaster(estimator: Any, **changes: Any) -> Forecaster:
    return Forecaster(estimator, window=48, horizon=12, random_state=0, **changes)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_forecasts_paths_and_totals_keep_the_bounds(name: str, tmp_path: Path) -> None:
    y = demand()
    free = forecaster(ESTIMATORS[name]).fit(y)
    assert free.predict_interval(coverage=0.98).min() < 0.0
    model = forecaster(ESTIMATORS[name], bounds=(0, None)).fit(y)
    interval = model.predict_interval(coverage=0.98)
    assert interval.min() == 0.0
    np.testing.assert_allclose(interval[:, 1], free.predict_interval(coverage=0.98)[:, 1])
    assert np.all(model.predict() > np.maximum(free.predict(), 0.0) - 1e-6)
    assert model.predict_paths(50, random_state=0).min() >= 0.0
    assert model.predict_dist(total="horizon").ppf(0.01).min() >= 0.0
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_interval(coverage=0.98), interval)


def test_back_tests_score_bounded_forecasts() -> None:
    y = demand()
    plain, bounded = (
        backtest(forecaster(ESTIMATORS["one network"], bounds=bounds), y, start=400)
        for bounds in (None, (0, None))
    )
    for step in (1, 12):
        lower = bounded.by_horizon[step].dist.ppf(0.05)
        assert lower.min() >= 0.0 > plain.by_horizon[step].dist.ppf(0.05).min()
        assert bounded.baseline[step].dist.ppf(0.05).min() >= 0.0
        y_true = bounded.by_horizon[step].y_true
        scores = [each.by_horizon[step].dist.crps(y_true) for each in (plain, bounded)]
        assert np.all(scores[1] <= scores[0] + 1e-6)


@pytest.mark.parametrize("bounds", [(1, 0), (0,), ("a", None)])
def test_bounds_are_two_numbers_in_order(bounds: Any) -> None:
    with pytest.raises(ParameterError, match=r"bounds must be \(low, high\)"):
        forecaster(None, bounds=bounds).fit(demand())

"""Seasonal naive, the baseline of every back-test."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.forecasting.conftest import tiny
from tests.forecasting.test_global_network import daily, panel, small

from calibrant import Forecaster, backtest
from calibrant.forecasting import SeriesFrame
from calibrant.forecasting._naive import Repeated, SeasonalNaive


def test_the_last_day_is_repeated_and_gaps_have_the_value_before() -> None:
    y = daily(100)
    y.iloc[90] = np.nan
    repeated = Repeated(SeriesFrame.read(y), horizon=30)
    origin = repeated.grid.tick[repeated.grid.position[[95]]]
    for step in (1, 24, 25, 30):
        expected = y.ffill().iloc[95 + (step - 1) % 24 - 23]
        assert repeated.points(np.array([0]), origin, step)[0] == expected


def test_intervals_cover_the_training_errors() -> None:
    series = SeriesFrame.read(pd.concat({"a": daily(600), "b": daily(600, 1, scale=50)}))
    naive = SeasonalNaive.learn(series, 24)
    repeated = Repeated(series, 24)
    rows = np.arange(30, 500)
    for code in (0, 1):
        rows = np.flatnonzero(series.code == code)[30:500]
        dist = naive.forecasts(repeated, series.code[rows], series.tick[rows], 6)
        low, high = dist.interval(0.8).T
        actual = series.y[rows + 6]
        assert abs(np.mean((low <= actual) & (actual <= high)) - 0.8) < 0.05


def test_every_back_test_has_the_baseline() -> None:
    y = daily(400)
    result = backtest(Forecaster(tiny(), window=5, horizon=2, random_state=0), y, start=300)
    scores = result.scores()
    assert list(result.baseline) == [1, 2]
    for step in (1, 2):
        np.testing.assert_array_equal(result.baseline[step].y_true, result.by_horizon[step].y_true)
        assert result.baseline[step].index.equals(result.by_horizon[step].index)
    # The noise has a standard deviation of 0.2: naive errors have 0.28 and a CRPS of 0.16.
    np.testing.assert_allclose(scores["naive_crps"], 0.16, atol=0.03)
    assert "naive_crps" in str(result)


def test_the_network_is_back_tested_by_step() -> None:
    y = panel(420)
    model = Forecaster(small(), window=48, horizon=3, series_id="id", time="time", random_state=0)
    start = y["time"].iloc[380]
    result = backtest(model, y, start=start)
    assert len(result.by_horizon[1]) == 4 * 40
    assert result.index.names == ["id", "target", "time"]
    scores = result.scores()
    assert (scores["crps"] < scores["naive_crps"]).all()
    # What `fit`, `update` and `predict` say at one origin is what the back-test says.
    known = y[y["time"] < start]
    single = Forecaster(
        small(), window=48, horizon=3, series_id="id", time="time", random_state=0
    ).fit(known)
    first = result.by_horizon[1].dist[:4]
    np.testing.assert_allclose(single.predict(fh=1), first.mean, rtol=1e-6)

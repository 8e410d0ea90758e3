"""Sums over the horizon: joint paths keep the marginals and cover sums as stated."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.forecasting.test_dependence import PHI
from tests.forecasting.test_global_network import daily, forecaster, panel

from calibrant import Forecaster
from calibrant.errors import DataError, ParameterError
from calibrant.forecasting._totals import Totals, _periods


def persistent(n: int, seed: int = 0) -> pd.Series[float]:
    """AR(1) around a daily cycle: errors of neighbouring hours belong together."""
    rng = np.random.default_rng(seed)
    noise = np.zeros(n)
    for t in range(1, n):
        noise[t] = PHI * noise[t - 1] + 0.3 * rng.standard_normal()
    return daily(n, scale=1.0) + noise


def test_sums_are_wider_than_those_of_independent_steps() -> None:
    y = persistent(1500)
    model = forecaster(horizon=24).fit(y)
    total = model.predict_dist(total="horizon")
    assert len(total) == 1
    steps = model.predict_dist()
    assert total.stddev[0] > 1.5 * np.sqrt(np.sum(steps.stddev**2))
    np.testing.assert_allclose(
        total.mean[0], steps.mean.sum(), atol=4 * total.stddev[0] / 2000**0.5
    )
    paths = model.predict_paths(4000, random_state=0)
    np.testing.assert_allclose(
        np.quantile(paths, 0.9, axis=0), steps.ppf(0.9), atol=0.15 * steps.stddev.max()
    )


def test_sums_by_day_are_those_of_calendar_days() -> None:
    y = panel(411)  # ends at 2 o'clock
    model = forecaster(horizon=30, series_id="id", time="time").fit(y)
    index = model.future_index(total="D")
    assert index.names == ["id", "target", "time"]
    assert len(index) == len(model.predict_dist(total="D")) == 4 * 2
    assert [stamp.hour for stamp in index.get_level_values("time")] == [3, 0] * 4
    days = model.predict_dist(range(1, 22), total="D")
    np.testing.assert_allclose(
        days.mean, model.predict(range(1, 22)).reshape(4, 21).sum(axis=1), atol=3
    )


HOURS = pd.date_range("2024-02-28 16:00", periods=80, freq="h")


@pytest.mark.parametrize(
    ("stamps", "total", "sizes"),
    [
        (HOURS, "6h", [2, *[6] * 13]),
        (HOURS, "2D", [32, 48]),
        (HOURS, "D", [8, 24, 24, 24]),
        (HOURS, "W", [80]),
        (HOURS, "ME", [32, 48]),
        (HOURS, "MS", [32, 48]),
        (HOURS, "M", [32, 48]),
        (HOURS.to_period("h"), "6h", [2, *[6] * 13]),
        (HOURS.to_period("h"), "M", [32, 48]),
        (pd.period_range("2024-11", periods=4, freq="M"), "Y", [2, 2]),
        (pd.date_range("2024-03-30", periods=71, freq="h", tz="Europe/Berlin"), "D", [24, 23, 24]),
    ],
)
def test_sums_by_any_frequency(stamps: pd.Index, total: str, sizes: list[int]) -> None:
    assert np.bincount(_periods(stamps, total)).tolist() == sizes


def test_sums_of_six_hours() -> None:
    model = forecaster(horizon=24).fit(daily(306))  # ends at 17 o'clock
    sums = model.predict_dist(total="6h")
    expected = model.predict().reshape(4, 6).sum(axis=1)
    np.testing.assert_allclose(sums.mean, expected, atol=4 * sums.stddev.max() / 2000**0.5)
    index = model.future_index(total="6h")
    assert [stamp.hour for stamp in index] == [18, 0, 6, 12]


def test_sums_across_a_panel_are_those_of_each_target() -> None:
    y = panel(411)
    model = forecaster(horizon=30, series_id="id", time="time").fit(y)
    index = model.future_index(total="D", across_series=True)
    assert index.names == ["target", "time"]
    total = model.predict_dist(total="D", across_series=True)
    assert len(index) == len(total) == 2 * 2
    each = model.predict_dist(total="D").mean.reshape(-1, 2, 2)  # series, target, day
    np.testing.assert_allclose(total.mean, each.sum(axis=0).ravel())


def test_sums_of_groups() -> None:
    paths = np.arange(12.0).reshape(2, 2, 3)
    groups = [[np.array([0, 1]), np.array([2])], [np.array([0, 1, 2])]]
    np.testing.assert_array_equal(Totals(groups).of(paths), [[1, 13], [2, 8], [12, 30]])
    steps, total = np.array([0, 1]), [np.array([2])]
    across = Totals([[steps, *total], [steps, *total]], n_added=2)
    np.testing.assert_array_equal(across.of(paths), [[1 + 7, 13 + 19], [2 + 5, 8 + 11]])


def test_bad_totals() -> None:
    model = forecaster().fit(daily(300))
    for total in ("fortnightly", "", "0D", "-1D"):
        with pytest.raises(ParameterError, match=rf'"horizon" or a frequency .*, got {total!r}\.$'):
            model.predict_dist(total=total)
    numbered = Forecaster(forecaster().estimator, window=20, horizon=3, random_state=0)
    numbered.fit(daily(300).to_numpy())
    with pytest.raises(DataError, match="only numbered"):
        numbered.predict_dist(total="D")
    assert len(numbered.predict_dist(total="horizon")) == 1

"""Calendar features: which ones a series gets, and their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from calibrant.forecasting import SeriesFrame
from calibrant.forecasting._calendar import Calendar


def zeros(freq: str, n: int) -> pd.Series[float]:
    return pd.Series(np.zeros(n), pd.date_range("2024-01-01", periods=n, freq=freq))


@pytest.mark.parametrize(
    ("freq", "n", "cycles"),
    [
        ("h", 24 * 10, ("hour",)),
        ("h", 24 * 20, ("hour", "weekday")),
        ("D", 800, ("weekday", "season")),
        ("MS", 36, ("season",)),
        ("D", 13, ()),
        ("YS", 30, ()),
    ],
)
def test_auto_takes_cycles_seen_twice(freq: str, n: int, cycles: tuple[str, ...]) -> None:
    series = SeriesFrame.read(zeros(freq, n))
    assert Calendar.choose("auto", None, series).cycles == cycles


def test_calendar_features_are_angles_and_a_flag() -> None:
    y = zeros("h", 24 * 15)
    index: Any = y.index
    calendar = Calendar.choose(["hour", "weekday"], ["2024-01-06"], SeriesFrame.read(y))
    features: NDArray[np.float64] = calendar.features(index)
    hour = np.mod(np.arctan2(features[:, 0], features[:, 1]) / (2 * np.pi) * 24, 24)
    np.testing.assert_allclose(np.round(hour, 9) % 24, index.hour, atol=1e-8)
    day = np.mod(np.arctan2(features[:, 2], features[:, 3]) / (2 * np.pi) * 7, 7)
    expected = index.day_of_week + index.hour / 24
    np.testing.assert_allclose(np.round(day, 9) % 7, expected, atol=1e-8)
    np.testing.assert_array_equal(features[:, 4] == 1, index.day == 6)

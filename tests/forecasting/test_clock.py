"""Which stamp follows which, whatever the index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import DataError
from calibrant.forecasting._clock import DAY, Clock


def infer(stamps: pd.Index[Any]) -> Clock:
    return Clock.infer(stamps, np.zeros(len(stamps), np.intp))


@pytest.mark.parametrize(
    "stamps",
    [
        pd.date_range("2024-01-01", periods=40, freq="h"),
        pd.date_range("2024-01-01 07:30", periods=40, freq="15min"),
        pd.date_range("2024-01-01", periods=40, freq="D"),
        pd.date_range("2023-01-31", periods=40, freq="ME"),
        pd.date_range("2023-01-01", periods=40, freq="MS"),
        pd.date_range("2000-01-01", periods=40, freq="QS"),
        pd.date_range("1990-12-31", periods=40, freq="YE"),
        pd.date_range("2024-01-01", periods=40, freq="B"),
        pd.date_range("2024-01-01", periods=40, freq="W"),
        pd.date_range("2024-03-20", periods=400, freq="h", tz="Europe/Berlin"),
        pd.date_range("2024-03-20", periods=40, freq="D", tz="Europe/Berlin"),
        pd.period_range("2023-01", periods=40, freq="M"),
        pd.period_range("2023-01-01", periods=40, freq="h"),
        pd.period_range("2023-01-02", periods=40, freq="D"),
        pd.period_range("2023-01-02", periods=40, freq="Q"),
        pd.RangeIndex(5, 45),
        pd.Index(np.arange(0, 400, 10)),
    ],
    ids=lambda stamps: f"{stamps.dtype}-{getattr(stamps, 'freqstr', 'int')}",
)
def test_the_steps_after_the_start_are_the_stamps_of_pandas(stamps: pd.Index[Any]) -> None:
    clock = infer(stamps[:30])
    ticks = clock.ticks(stamps[:30])
    assert np.all(np.diff(ticks) == clock.step)
    ahead = clock.stamps(ticks[-1] + clock.step * np.arange(1, 11))
    assert list(ahead) == list(stamps[30:40])


@pytest.mark.parametrize("freq", ["MS", "ME", "B"])
def test_stamps_before_the_start_of_a_calendar_grid(freq: str) -> None:
    stamps = pd.date_range("2020-01-01", periods=60, freq=freq)
    clock = infer(stamps[50:])
    assert list(clock.stamps(np.arange(-50, 10))) == list(stamps)


def test_most_rows_decide_and_a_gap_stays_a_gap() -> None:
    stamps = pd.date_range("2024-01-01", periods=40, freq="h").delete([10, 11, 20])
    ticks = infer(stamps).ticks(stamps)
    assert infer(stamps).step == DAY // 24
    assert np.sum(np.diff(ticks) != DAY // 24) == 2


def test_daylight_saving_is_no_gap() -> None:
    hours = pd.date_range("2024-10-26", periods=60, freq="h", tz="Europe/Berlin")
    days = pd.date_range("2024-03-20", periods=30, freq="D", tz="Europe/Berlin")
    for stamps in (hours, days):
        clock = infer(stamps)
        assert np.all(np.diff(clock.ticks(stamps)) == clock.step)


def test_no_common_spacing_is_an_error() -> None:
    stamps = pd.DatetimeIndex(pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(20) ** 2, "h"))
    with pytest.raises(DataError, match="no regular spacing"):
        infer(stamps)


def test_one_stamp_has_no_spacing() -> None:
    with pytest.raises(DataError, match="fewer than 2"):
        infer(pd.date_range("2024-01-01", periods=1))


def test_stamps_of_another_kind_are_refused() -> None:
    clock = infer(pd.date_range("2024-01-01", periods=10, freq="h"))
    with pytest.raises(DataError, match="another kind"):
        clock.ticks(pd.RangeIndex(3))
    with pytest.raises(DataError, match="another kind"):
        clock.ticks(pd.date_range("2024-01-01", periods=3, tz="UTC"))


def test_a_stamp_off_the_monthly_grid_is_refused() -> None:
    clock = infer(pd.date_range("2023-01-01", periods=12, freq="MS"))
    with pytest.raises(DataError, match=r"2024-01-15.* is off the grid"):
        clock.ticks(pd.DatetimeIndex(["2024-01-15"]))

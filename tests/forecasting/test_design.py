"""What a window holds, where it may end, and which windows are held out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from calibrant.errors import ParameterError
from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._design import Design
from calibrant.forecasting._rows import read_rows
from calibrant.forecasting._split import blocked_split
from calibrant.forecasting._table import SeriesTable


def broken_table() -> SeriesTable:
    """Two series with a gap and missing values each; x counts the rows of both."""
    rng = np.random.default_rng(3)
    stamps = pd.date_range("2024-01-01", periods=40, freq="h")
    long = pd.DataFrame(
        {
            "id": np.repeat(["a", "b"], 40),
            "at": np.tile(stamps, 2),
            "y": rng.normal(size=80),
            "x": np.arange(80.0),
        }
    )
    long.loc[[5, 60], "y"] = np.nan
    long.loc[[18], "x"] = np.nan
    long = long.drop(index=[25, 26, 70])
    rows = read_rows(long[["id", "at", "y"]], long[["id", "at", "x"]], id="id", time="at")
    covariates = Covariates.learn(rows.inputs, None, ["x"], None)
    return SeriesTable.begin(rows, covariates.encode(rows.inputs, len(rows)))


DESIGN = Design(4, Covariates((), ("x",), (), {}), Calendar())


@pytest.mark.parametrize("step", [1, 3])
def test_origins_are_those_whose_window_and_target_are_whole(step: int) -> None:
    table = broken_table()
    matrix = DESIGN.matrix(table, step)
    expected = []
    for t in range(len(table)):
        rows = np.arange(t - 3, t + step + 1)
        if rows[0] < 0 or rows[-1] >= len(table):
            continue
        one_series = len(set(table.code[rows])) == 1
        regular = np.all(np.diff(table.tick[rows]) == table.clock.step)
        seen, ahead = rows[:4], rows[:4] + step
        known = np.isfinite([*table.y[seen], *table.x[ahead, 0], table.y[t + step]]).all()
        if one_series and regular and known:
            expected.append(t)
    found = DESIGN.aimed(table, matrix, step)
    assert len(expected) > 20
    assert sorted(found) == expected
    assert np.all(np.diff(table.tick[found]) >= 0)


@pytest.mark.parametrize("step", [1, 3])
def test_a_window_holds_past_targets_and_future_covariates(step: int) -> None:
    table = broken_table()
    matrix = DESIGN.matrix(table, step)
    origins = DESIGN.aimed(table, matrix, step)
    windows = np.asarray(DESIGN.windows(matrix, origins))  # (n, 4, y x a b)
    back = origins[:, None] + np.arange(-3, 1)
    np.testing.assert_array_equal(windows[:, :, 0], table.y[back])
    np.testing.assert_array_equal(windows[:, :, 1], table.x[back + step, 0])
    np.testing.assert_array_equal(windows[:, :, 2] == 1, table.code[back] == 0)


def test_windows_keep_rows_in_use_only() -> None:
    table = broken_table()
    matrix = DESIGN.matrix(table, 1)
    windows = DESIGN.windows(matrix, np.array([10, 12]))
    assert windows.series.shape == (6, matrix.shape[1])


@pytest.mark.parametrize("step", [1, 2, 7])
def test_held_out_windows_end_after_all_targets_trained_on(step: int) -> None:
    origin = np.repeat(np.arange(100), 2)
    train, held_out = blocked_split(origin, origin + step, 0.2)
    target = origin + step
    assert target[train].max() <= origin[held_out].min()
    assert len(train) == 160
    assert len(held_out) == 40 - 2 * (step - 1)


def test_the_share_held_out_must_be_a_share() -> None:
    with pytest.raises(ParameterError, match="validation_fraction"):
        blocked_split(np.arange(9), np.arange(9) + 1, 1.0)


def stamps(freq: str, n: int) -> tuple[pd.DatetimeIndex, SeriesTable]:
    index = pd.date_range("2024-01-01", periods=n, freq=freq)
    rows = read_rows(pd.Series(np.zeros(n), index), id=None, time=None)
    return index, SeriesTable.begin(rows, np.zeros((n, 0)))


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
    _, table = stamps(freq, n)
    assert Calendar.choose("auto", None, table.clock, table.tick).cycles == cycles


def test_calendar_features_are_angles_and_a_flag() -> None:
    index, table = stamps("h", 24 * 15)
    calendar = Calendar.choose(["hour", "weekday"], ["2024-01-06"], table.clock, table.tick)
    features: NDArray[np.float64] = calendar.features(index)
    hour = np.mod(np.arctan2(features[:, 0], features[:, 1]) / (2 * np.pi) * 24, 24)
    np.testing.assert_allclose(np.round(hour, 9) % 24, index.hour, atol=1e-8)
    day = np.mod(np.arctan2(features[:, 2], features[:, 3]) / (2 * np.pi) * 7, 7)
    expected = index.day_of_week + index.hour / 24
    np.testing.assert_allclose(np.round(day, 9) % 7, expected, atol=1e-8)
    np.testing.assert_array_equal(features[:, 4] == 1, index.day == 6)

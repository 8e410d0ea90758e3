"""The time grid of a panel: slices of it never reach into another series."""

from __future__ import annotations

import numpy as np
import pandas as pd
from tests.forecasting.conftest import hourly

from calibrant.forecasting import SeriesFrame
from calibrant.forecasting._grid import Grid, observed_after, observed_before

WINDOW, HORIZON = 4, 3


def laid_out(y: pd.Series) -> tuple[SeriesFrame, Grid]:
    series = SeriesFrame.read(y)
    return series, Grid.lay_out(series, WINDOW, HORIZON)


def test_one_series_has_a_window_before_and_a_horizon_after() -> None:
    series, grid = laid_out(hourly(10))
    assert len(grid) == WINDOW + 10 + HORIZON
    np.testing.assert_array_equal(grid.position, WINDOW + np.arange(10))
    np.testing.assert_array_equal(np.diff(grid.tick), series.clock.step)
    values = grid.spread_out(series.y)
    np.testing.assert_array_equal(values[grid.position], series.y)
    assert np.isnan(values).sum() == WINDOW + HORIZON


def test_short_gaps_are_laid_out_whole_and_long_ones_cut() -> None:
    y = hourly(60)
    series, grid = laid_out(y.drop(y.index[20:22]))
    np.testing.assert_array_equal(np.diff(grid.tick), series.clock.step)
    series, grid = laid_out(y.drop(y.index[20:50]))
    assert len(grid) == WINDOW + 20 + (HORIZON + WINDOW) + 10 + HORIZON
    # The rows after a stretch continue its time, those before the next one lead up to it.
    hours = np.diff(grid.tick) // series.clock.step
    assert sorted(set(hours)) == [1, 30 - HORIZON - WINDOW + 1]
    before = grid.position[20] - np.arange(1, WINDOW + 1)
    np.testing.assert_array_equal(
        grid.tick[before], series.tick[20] - series.clock.step * np.arange(1, WINDOW + 1)
    )


def test_series_of_a_panel_do_not_touch() -> None:
    y = pd.concat({"a": hourly(6), "b": hourly(2), "c": hourly(9)})
    series, grid = laid_out(y)
    assert len(grid) == 17 + 3 * (WINDOW + HORIZON)
    for origin in grid.position:
        reach = slice(origin - WINDOW + 1, origin + HORIZON + 1)
        assert len(set(grid.code[reach])) == 1
    assert set(grid.row[grid.row >= 0]) == set(range(len(series)))


def test_counts_of_observed_values() -> None:
    values = np.array([np.nan, 1.0, 2.0, np.nan, np.nan, 3.0, np.nan])
    assert observed_before(values, 2).tolist() == [0, 1, 2, 1, 0, 1, 1]
    assert observed_after(values, 2).tolist() == [True, True, False, True, True, False, False]

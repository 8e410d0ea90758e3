"""What a window holds, where it may end, and which windows are held out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrant.errors import ParameterError
from calibrant.forecasting import SeriesFrame
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._windows import WindowDesign, blocked_split

DESIGN = WindowDesign(4, Covariates(future=["x"]))


def broken_series() -> SeriesFrame:
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
    y, X = long[["id", "at", "y"]], long[["id", "at", "x"]]
    return DESIGN.covariates.encode(SeriesFrame.read(y, X, series_id="id", time="at"))


@pytest.mark.parametrize("step", [1, 3])
def test_origins_are_those_whose_window_and_target_are_whole(step: int) -> None:
    series = broken_series()
    matrix = DESIGN.matrix(series, step)
    expected = []
    for t in range(len(series)):
        rows = np.arange(t - 3, t + step + 1)
        if rows[0] < 0 or rows[-1] >= len(series):
            continue
        one_series = len(set(series.code[rows])) == 1
        regular = np.all(np.diff(series.tick[rows]) == series.clock.step)
        seen, ahead = rows[:4], rows[:4] + step
        known = np.isfinite(
            [*series.y[seen], *series.covariates["x"].to_numpy()[ahead], series.y[t + step]]
        ).all()
        if one_series and regular and known:
            expected.append(t)
    found = DESIGN.origins_with_target(series, matrix, step)
    assert len(expected) > 20
    assert sorted(found) == expected
    assert np.all(np.diff(series.tick[found]) >= 0)


@pytest.mark.parametrize("step", [1, 3])
def test_a_window_holds_past_targets_and_future_covariates(step: int) -> None:
    series = broken_series()
    matrix = DESIGN.matrix(series, step)
    origins = DESIGN.origins_with_target(series, matrix, step)
    windows = np.asarray(DESIGN.windows(matrix, origins))  # (n, 4, y x a b)
    back = origins[:, None] + np.arange(-3, 1)
    np.testing.assert_array_equal(windows[:, :, 0], series.y[back])
    np.testing.assert_array_equal(windows[:, :, 1], series.covariates["x"].to_numpy()[back + step])
    np.testing.assert_array_equal(windows[:, :, 2] == 1, series.code[back] == 0)


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

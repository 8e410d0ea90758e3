"""Series in every form a user has them, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from tests.forecasting.conftest import hourly, wave

from calibrant.errors import DataError
from calibrant.forecasting import SeriesFrame

read = SeriesFrame.read


def forms() -> dict[str, Any]:
    series = hourly(30)
    frame = series.rename_axis("at").reset_index()
    return {
        "pandas": series,
        "frame": series.to_frame(),
        "time column": frame,
        "polars": pl.from_pandas(frame),
        "array": series.to_numpy(),
        "column": series.to_numpy()[:, None],
        "list": series.tolist(),
        "tensor": torch.tensor(series.to_numpy()),
        "polars series": pl.Series(series.to_numpy()),
        "periods": series.to_period("h"),
    }


@pytest.mark.parametrize("form", forms())
def test_all_forms_hold_the_same_numbers(form: str) -> None:
    series = read(forms()[form])
    np.testing.assert_array_equal(series.y, wave(30))
    assert series.report.notes == []
    if form in ("time column", "polars", "frame"):
        assert list(series.index(series.code, series.tick)) == list(hourly(30).index)


def test_rows_out_of_order_are_sorted_with_their_covariates() -> None:
    series = hourly(30)
    inputs = pd.DataFrame({"a": np.arange(30.0)}, index=series.index)
    shuffled = np.random.default_rng(1).permutation(30)
    rows = read(series.iloc[shuffled], inputs)
    np.testing.assert_array_equal(rows.y, series)
    np.testing.assert_array_equal(rows.covariates["a"], np.arange(30.0))
    assert rows.report.unsorted > 0
    assert "sorted by time" in str(rows.report)


def test_of_a_repeated_stamp_the_last_row_stays() -> None:
    series = hourly(30)
    again = pd.concat([series, pd.Series([99.0, 100.0], series.index[[3, 3]])])
    rows = read(again)
    assert rows.y[3] == 100.0
    assert len(rows) == 30
    assert rows.report.repeated == 2


def test_missing_values_are_counted() -> None:
    series = hourly(30)
    series.iloc[[2, 5]] = np.nan
    inputs = pd.DataFrame({"a": series.to_numpy(), "b": 1.0}, index=series.index)
    report = read(series, inputs).report
    assert (report.missing_target, report.missing_inputs) == (2, 2)


def test_panels_come_by_column_or_by_index() -> None:
    long = pd.concat({"b": hourly(20), "a": hourly(20, seed=1)}, names=["shop", "at"])
    by_index = read(long)
    by_column = read(long.reset_index(), series_id="shop", time="at")
    by_polars = read(pl.from_pandas(long.reset_index()), series_id="shop")
    for rows in (by_index, by_column, by_polars):
        assert rows.ids == ("a", "b")
        assert rows.code.tolist() == [0] * 20 + [1] * 20
        np.testing.assert_array_equal(rows.y, np.concatenate([wave(20, 1), wave(20)]))


@pytest.mark.parametrize(
    ("y", "roles", "message"),
    [
        (np.zeros((5, 2, 2)), {}, "one row per time step"),
        (["a", "b"], {}, "must hold numbers"),
        ([1.0, np.inf], {}, "1 infinite"),
        (pd.Series([1.0, 2.0], ["x", "y"]), {}, "dates, periods or whole numbers"),
        (pd.DataFrame({"y": [1.0]}), {"time": "t"}, "no column 't'"),
        (pd.DataFrame({"y": [1.0], "k": ["a"]}), {"series_id": "k"}, "no time stamps"),
        (pd.Series([1.0, 2.0], pd.DatetimeIndex(["2024-01-01", None])), {}, "no time stamp"),
        (
            pd.DataFrame({"y": [1.0, 2.0], "k": ["a", None], "t": [1, 2]}),
            {"series_id": "k", "time": "t"},
            "1 rows of y do not say which series",
        ),
    ],
)
def test_bad_series(y: Any, roles: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(y, **roles)


def test_covariates_must_cover_the_target() -> None:
    series = hourly(30)
    inputs = pd.DataFrame({"a": 1.0}, index=series.index)
    with pytest.raises(DataError, match=r"no row for 2 of 30 time stamps.*2024-01-02 04:00"):
        read(series, inputs.iloc[:28])
    with pytest.raises(DataError, match="same number of rows, got 28 and 30"):
        read(series.to_numpy(), inputs.to_numpy()[:28])
    with pytest.raises(DataError, match="one kind"):
        read(series, inputs.reset_index(drop=True))


def test_several_targets_are_columns() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, None]}, hourly(2).index)
    series = read(table)
    assert list(series.targets.columns) == ["a", "b"]
    np.testing.assert_array_equal(series.targets, table)
    assert series.report.missing_target == 1


def test_rows_appended_continue_the_clock_and_the_names() -> None:
    long = pd.concat({"b": hourly(20), "a": hourly(20, seed=1)}, names=["shop", "at"])
    early = long.index.get_level_values("at") < hourly(20).index[12]
    first = read(long[early])
    joined = first.append(read(long[~early], after=first))
    whole = read(long)
    for name in ("code", "tick", "y", "segment"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    assert joined.report.rows == 16


def test_new_rows_have_the_targets_of_the_old_ones() -> None:
    two = pd.DataFrame({"a": wave(8), "b": wave(8, 1)}, hourly(8).index)
    first = read(two.iloc[:6])
    joined = first.append(read(two.iloc[6:, ::-1], after=first))
    np.testing.assert_array_equal(joined.targets, two)
    with pytest.raises(DataError, match=r"columns of the fit, a, b, .* got a"):
        read(two[["a"]], after=first)
    one = read(hourly(8).iloc[:6])
    renamed = read(hourly(8).iloc[6:].rename("other"), after=one)
    np.testing.assert_array_equal(one.append(renamed).targets, hourly(8).to_frame())


def test_arrays_continue_where_the_series_ends() -> None:
    first = read(pd.Series(wave(20), range(0, 200, 10)))
    joined = first.append(read([1.0, 2.0], after=first))
    assert joined.tick[-3:].tolist() == [190, 200, 210]
    assert len(joined.gaps()) == 0


def test_a_gap_before_new_rows_is_reported_once() -> None:
    series = hourly(30).drop(hourly(30).index[[5, 20]])
    first = read(series.iloc[:19])
    assert first.report.gaps == 1
    joined = first.append(read(series.iloc[19:], after=first))
    assert (joined.report.gaps, joined.report.longest_gap) == (1, "0 days 02:00:00")
    assert joined.segment.tolist() == [0] * 5 + [1] * 14 + [2] * 9

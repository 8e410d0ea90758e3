"""The flaws of the public series are found, counted and never bridged."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant.forecasting._calendar import Calendar
from calibrant.forecasting._covariates import Covariates
from calibrant.forecasting._design import Design
from calibrant.forecasting._rows import read_rows
from calibrant.forecasting._table import SeriesTable

FOLDER = os.environ.get("CALIBRANT_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="CALIBRANT_DATA names no folder of data sets")


def table_of(name: str, target: str) -> tuple[SeriesTable, dict[str, int]]:
    frame = pd.read_csv(Path(FOLDER or "") / f"{name}.csv.gz")
    if "date_time" in frame:
        stamps = pd.to_datetime(frame["date_time"])
    else:
        stamps = pd.to_datetime(frame[["year", "month", "day", "hour"]])
    rows = read_rows(frame[target].set_axis(pd.DatetimeIndex(stamps)), id=None, time=None)
    found = {"repeated": rows.report.repeated, "missing": rows.report.missing_target}
    return SeriesTable.begin(rows, np.zeros((len(rows), 0))), found


def origins(table: SeriesTable) -> np.ndarray:
    design = Design(5, Covariates((), (), (), {}), Calendar())
    return np.asarray(design.aimed(table, design.matrix(table, 1), 1))


def test_metro_repeats_hours_and_has_a_gap_of_307_days() -> None:
    table, found = table_of("metro_interstate_traffic_volume", "traffic_volume")
    assert len(table) == 40575
    assert found["repeated"] == 48204 - 40575
    assert table.clock.step == pd.Timedelta("1h").value
    assert table.clock.span(int(table.gaps().max())).startswith("307 days")
    ends = origins(table)
    span = table.tick[ends + 1] - table.tick[ends - 4]
    assert np.all(span == 5 * table.clock.step)


def test_missing_hours_of_pm25_are_in_no_window() -> None:
    table, found = table_of("beijing_pm25", "pm2.5")
    assert found == {"repeated": 0, "missing": 2067}
    assert len(table.gaps()) == 0
    ends = origins(table)
    assert np.isfinite(table.y[ends[:, None] + np.arange(-4, 2)]).all()
    known = np.isfinite(table.y)
    whole = np.lib.stride_tricks.sliding_window_view(known, 6).all(axis=1)
    assert len(ends) == whole.sum()

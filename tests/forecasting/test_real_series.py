"""The flaws of the public series are found, counted and never bridged."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant.forecasting import SeriesFrame
from calibrant.forecasting._windows import WindowDesign

FOLDER = os.environ.get("CALIBRANT_DATA")
pytestmark = pytest.mark.skipif(not FOLDER, reason="CALIBRANT_DATA names no folder of data sets")


def read(name: str, target: str) -> SeriesFrame:
    frame = pd.read_csv(Path(FOLDER or "") / f"{name}.csv.gz")
    if "date_time" in frame:
        stamps = pd.to_datetime(frame["date_time"])
    else:
        stamps = pd.to_datetime(frame[["year", "month", "day", "hour"]])
    return SeriesFrame.read(frame[target].set_axis(pd.DatetimeIndex(stamps)))


def origins(series: SeriesFrame) -> np.ndarray:
    design = WindowDesign(5)
    return np.asarray(design.origins_with_target(series, design.matrix(series, 1), 1))


def test_metro_repeats_hours_and_has_a_gap_of_307_days() -> None:
    series = read("metro_interstate_traffic_volume", "traffic_volume")
    assert len(series) == 40575
    assert series.report.repeated == 48204 - 40575
    assert series.clock.step == pd.Timedelta("1h").value
    assert series.clock.span(int(series.gaps().max())).startswith("307 days")
    ends = origins(series)
    span = series.tick[ends + 1] - series.tick[ends - 4]
    assert np.all(span == 5 * series.clock.step)


def test_missing_hours_of_pm25_are_in_no_window() -> None:
    series = read("beijing_pm25", "pm2.5")
    assert (series.report.repeated, series.report.missing_target) == (0, 2067)
    assert len(series.gaps()) == 0
    ends = origins(series)
    assert np.isfinite(series.y[ends[:, None] + np.arange(-4, 2)]).all()
    known = np.isfinite(series.y)
    whole = np.lib.stride_tricks.sliding_window_view(known, 6).all(axis=1)
    assert len(ends) == whole.sum()

"""The stored data sets themselves, where the files are at hand."""

from __future__ import annotations

import functools
import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.datasets.conftest import MAIN, zipped

from calibrant.datasets import info
from calibrant.datasets import load as load_anew
from calibrant.datasets._registry import STORED
from calibrant.datasets._stored import StoredDataset

DATA = os.environ.get("CALIBRANT_DATA", "")
needs_data = pytest.mark.skipif(
    not DATA, reason="CALIBRANT_DATA is not set: it names the folder of the stored data sets"
)
load = functools.cache(load_anew)  # the tests change nothing
ENTRIES = {
    (name, variant): entry for name, entries in STORED.items() for variant, entry in entries.items()
}

# Computed with zcat, cut and awk from the files: rows, and mean of the target over its known rows.
TARGETS = {
    ("power_plant", "raw"): (9568, 454.365009),
    ("protein", "raw"): (45730, 7.748528),
    ("naval", "raw"): (11934, 0.975),
    ("wine", "raw"): (4898, 5.877909),
    ("bike_sharing", "raw"): (17379, 189.463088),
    ("pickups", "raw"): (29101, 490.215903),
    ("pm25", "raw"): (43824, 98.613215),
    ("metro_traffic", "raw"): (48204, 3259.818355),
    ("air_quality", "raw"): (9357, 246.896735),
}
# What the published R2 and RMSE of the paper imply for its test rows.
PUBLISHED_STD = {"bike_sharing": 131.5, "air_quality": 196.6, "pm25": 77.1, "metro_traffic": 1987}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=map("-".join, ENTRIES))
def test_every_entry_is_complete(entry: StoredDataset) -> None:
    assert len(entry.info.checksum) == 64
    assert entry.file.endswith(".csv.gz")
    assert entry.info.page.startswith("https://")
    assert entry.info.licence
    assert entry.info.citation
    assert entry.info.paper or (entry.info.name, "raw") not in TARGETS
    assert (entry.url == "") != (entry.instructions == "")
    assert entry.url == "" or entry.url.startswith("https://")
    assert (entry.url == "") == (entry.member == "")


@needs_data
@pytest.mark.parametrize(("name", "variant"), ENTRIES)
def test_shape_is_as_registered(name: str, variant: str) -> None:
    data, known = load(name, variant), info(name, variant)
    assert data.frame.shape == (known.rows, known.columns)
    assert known.at_hand
    assert data.target == known.target
    assert data.target not in data.X
    assert data.y.shape == (known.rows,)
    if "as_run" in STORED[name]:
        assert data.task == "forecasting"
    timed = data.task == "forecasting" and (variant == "raw" or name == "pickups")
    assert (data.time is not None) == timed


@needs_data
@pytest.mark.parametrize(("name", "variant"), TARGETS)
def test_target(name: str, variant: str) -> None:
    rows, mean = TARGETS[name, variant]
    y = load(name, variant).y
    assert len(y) == rows
    assert np.nanmean(y) == pytest.approx(mean, abs=1e-6)


@needs_data
@pytest.mark.parametrize(("name", "std"), PUBLISHED_STD.items())
def test_as_run_is_what_the_published_figures_come_from(name: str, std: float) -> None:
    targets = load(name, "as_run").y[5:]  # the windows of five rows, each with the row after it
    order = np.random.RandomState(2).permutation(len(targets))
    test = targets[order[int(0.7 * len(targets)) :]]
    assert np.std(test) == pytest.approx(std, abs=0.1 if std < 1000 else 1)


@needs_data
def test_naval_leaves_the_other_target_out_and_keeps_its_flaws() -> None:
    data = load("naval")
    assert "GT_Turbine_decay" not in data.frame
    assert data.X["T1"].nunique() == data.X["P1"].nunique() == 1
    assert (data.X["Tp"] == data.X["Ts"]).all()
    assert len(np.unique(data.y)) == 51


@needs_data
def test_wine_has_seven_scores_and_repeated_rows() -> None:
    data = load("wine")
    assert set(data.y) == set(range(3, 10))
    assert data.frame.duplicated().sum() == 937


@needs_data
def test_bike_sharing_hides_the_parts_of_its_target() -> None:
    data = load("bike_sharing")
    assert not {"casual", "registered", "instant"} & set(data.frame)
    assert str(data.time[0]) == "2011-01-01 00:00:00"
    assert str(data.time[-1]) == "2012-12-31 23:00:00"
    assert data.time.is_monotonic_increasing
    assert data.time.is_unique
    assert len(pd.date_range(data.time[0], data.time[-1], freq="h")) - len(data.time) == 165
    assert (data.time.hour == data.frame["hr"]).all()
    # Whole columns of the 2011 rows are what the paper ran.
    as_run = load("bike_sharing", "as_run").frame
    first = data.frame[data.frame["yr"] == 0]
    np.testing.assert_allclose(first[as_run.columns], as_run, rtol=1e-15)


@needs_data
def test_pickups_have_a_borough_called_na() -> None:
    data = load("pickups")
    boroughs = data.frame["borough"].value_counts()
    assert boroughs["NA"] == 3043
    assert len(boroughs) == 7
    assert data.frame.notna().all(axis=None)
    total = load("pickups", "as_run")
    assert total.time.is_unique
    assert total.y.sum() == data.y.sum()
    assert total.y[0] == data.y[data.time == data.time[0]].sum()
    # One value an hour: taking the first of the boroughs loses nothing.
    weather = data.frame.drop(columns=["borough", "pickups"]).astype({"hday": str})
    assert len(weather.reset_index().drop_duplicates()) == 4343


@needs_data
def test_pm25_has_gaps() -> None:
    data = load("pm25")
    assert np.isnan(data.y).sum() == 2067
    assert np.isnan(data.y[:24]).all()
    assert data.X.notna().all(axis=None)
    assert (np.diff(data.time.to_numpy()) == np.timedelta64(1, "h")).all()
    assert set(data.frame["cbwd"].cat.categories) == {"NE", "NW", "SE", "cv"}


@needs_data
def test_metro_repeats_hours() -> None:
    data = load("metro_traffic")
    assert data.time.nunique() == 40575
    assert (data.frame["temp"] == 0).sum() == 10
    assert data.frame["rain_1h"].max() == 9831.3
    assert "None" in data.frame["holiday"].cat.categories
    np.testing.assert_array_equal(data.y, load("metro_traffic", "as_run").y)


@needs_data
def test_air_quality_has_gaps_for_minus_200() -> None:
    data = load("air_quality")
    gaps = data.frame.isna().sum()
    assert gaps["CO(GT)"] == 1683
    assert gaps["NOx(GT)"] == 1639
    assert gaps["NO2(GT)"] == 1642
    assert gaps["NMHC(GT)"] == 8443
    assert set(gaps.drop(["CO(GT)", "NOx(GT)", "NO2(GT)", "NMHC(GT)"])) == {366}
    assert str(data.time[0]) == "2004-03-10 18:00:00"


def _text(name: str) -> str:
    return gzip.decompress(Path(DATA, name).read_bytes()).decode()


def _wine() -> bytes:
    header, body = _text("wine_quality_white.csv.gz").split("\n", 1)
    quoted = ";".join(f'"{name}"' for name in header.split(","))
    return (quoted + "\n" + body.replace(",", ";")).encode()


def _air() -> bytes:
    text = _text("air_quality.csv.gz").replace(",", ";").replace(".", ",")
    first, *others = [f"{line};;" for line in text.splitlines()]
    times = [line.replace(",00,00;", ".00.00;", 1) for line in others]
    header = first.replace("PT08,", "PT08.")
    return "\r\n".join([header, *times, *[";" * 16] * 114]).encode()


def _naval() -> bytes:
    lines = _text("naval_propulsion.csv.gz").splitlines()[1:]
    return "\n".join("   " + line.replace(",", "   ") for line in lines).encode()


def _power() -> bytes:
    header, *lines = _text("power_plant.csv.gz").splitlines()
    names = "".join(
        f'<c r="{column}1" t="inlineStr"><is><t>{name}</t></is></c>'
        for column, name in zip("ABCDE", header.split(","), strict=True)
    )
    rows = [
        "<row>"
        + "".join(
            f'<c r="{column}{i}"><v>{value}</v></c>'
            for column, value in zip("ABCDE", line.split(","), strict=True)
        )
        + "</row>"
        for i, line in enumerate(lines, start=2)
    ]
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData><row>{names}</row>{"".join(rows)}</sheetData>'
    parts = {"xl/workbook.xml": b"", "xl/worksheets/sheet1.xml": f"{sheet}</worksheet>".encode()}
    return zipped(parts)


def _metro() -> bytes:
    return Path(DATA, "metro_interstate_traffic_volume.csv.gz").read_bytes()


@needs_data
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wine", _wine),
        ("air_quality", _air),
        ("naval", _naval),
        ("power_plant", _power),
        ("metro_traffic", _metro),
    ],
)
def test_the_publishers_archive_is_the_same_table(
    name: str, content: Callable[[], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = load(name).frame
    entry = STORED[name]["raw"]
    (tmp_path / entry.archive).write_bytes(zipped({"readme": b"x", entry.member: content()}))
    monkeypatch.delenv("CALIBRANT_DATA")
    repacked = load_anew(name, data_dir=tmp_path, download=False).frame
    assert repacked.equals(expected)  # assert_frame_equal takes seconds over repeated hours
    assert repacked.index.equals(expected.index)

"""Forecasts of a series: what is trained, how long it takes, and what would be faster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from calibrant import Forecaster, HeteroscedasticRegressor
from calibrant.cli import app
from calibrant.forecasting import _separate


@pytest.fixture
def series(tmp_path: Path) -> Path:
    """Ten days of an hourly load, a gap among them."""
    hours = np.arange(240)
    rng = np.random.default_rng(0)
    load = 10 + np.sin(2 * np.pi * hours / 24) + 0.1 * rng.normal(size=240)
    frame = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=240, freq="h"), "load": load})
    frame.loc[100, "load"] = None
    frame.to_csv(tmp_path / "load.csv", index=False)
    return tmp_path / "load.csv"


@pytest.mark.parametrize("command", [["forecast"], ["backtest", "--start", -10]])
def test_a_faster_network_is_named(run, series, monkeypatch, command) -> None:
    options = ["--target", "load", "--horizon", 2, "--epochs", 1]
    how = [command[0], series, *options, *command[1:], "--network", "mlp"]
    assert "network global" not in run(*how).stderr  # two networks of one epoch are no trouble
    monkeypatch.setattr(_separate, "_NOTICED", 0.0)
    monkeypatch.setattr(_separate, "_FASTER", 0.0)
    said = " ".join(run(*how).stderr.split())
    assert "A network for each of 2 steps: about" in said
    assert "--network global on the command line." in said


def test_every_horizon_shows_its_number_and_an_estimate(capsys, monkeypatch, series) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # bars as on a terminal
    frame = pd.read_csv(series, index_col="when", parse_dates=True)["load"].interpolate()
    estimator = HeteroscedasticRegressor(epochs=2, network="mlp")
    Forecaster(estimator, window=6, horizon=3, random_state=0, verbose=True).fit(frame)
    shown = capsys.readouterr().err
    assert "Step 1 of 3" in shown
    assert "Step 3 of 3, about" in shown


@pytest.fixture
def load() -> pd.DataFrame:
    """Twenty days of an hourly load of two sites, in the order of time."""
    stamps = pd.date_range("2024-02-20", periods=480, freq="h").repeat(2)
    values = np.sin(2 * np.pi * np.arange(960) / 48) + 0.1 * np.random.default_rng(0).normal(
        size=960
    )
    return pd.DataFrame({"when": stamps, "site": ["north", "south"] * 480, "load": values})


FORECAST = ["--target", "load", "--epochs", 1]


def test_several_rows_per_time_stamp_are_refused(load, tmp_path) -> None:
    """All rows but one of each stamp would be lost."""
    load.to_csv(tmp_path / "load.csv", index=False)
    command = [str(each) for each in ("forecast", tmp_path / "load.csv", *FORECAST)]
    done = CliRunner(env={"COLUMNS": "80"}).invoke(app, command)
    assert done.exit_code == 2
    said = " ".join(done.stderr.split())
    assert "480 time stamps in 'when' for 960 rows" in said
    assert "such as --id 'site'" in said
    assert CliRunner().invoke(app, [*command, "--id", "site"]).exit_code == 0


def test_rows_that_name_no_series_are_left_out_aloud(run, load, tmp_path) -> None:
    load.loc[:9, "site"] = None
    load.to_csv(tmp_path / "load.csv", index=False)
    done = run("forecast", tmp_path / "load.csv", *FORECAST, "--id", "site")
    assert "10 rows left out, they name no series in 'site'" in done.stderr
    assert "time to come" not in done.stderr


@pytest.mark.parametrize(("day", "clock"), [("%d/%m/%Y", "%H.%M.%S"), ("%Y-%m-%d", "%H:%M")])
def test_days_and_times_of_day_are_joined(run, load, tmp_path, day, clock) -> None:
    load = load[load["site"] == "north"]
    split = {"Date": load["when"].dt.strftime(day), "Time": load["when"].dt.strftime(clock)}
    pd.DataFrame({**split, "load": load["load"]}).to_csv(tmp_path / "load.csv", index=False)
    done = run("forecast", tmp_path / "load.csv", *FORECAST)
    assert "time stamps are in 'Date' and 'Time'" in done.stderr
    assert "\n2024-03-11," in done.stdout
    alone = load.assign(when=load["when"].dt.strftime(f"{day} %H:%M")).drop(columns="site")
    alone.to_csv(tmp_path / "alone.csv", index=False)
    assert run("forecast", tmp_path / "alone.csv", *FORECAST).stdout == done.stdout


def test_messy_time_stamps_and_targets_are_read(run, load, tmp_path) -> None:
    """Two formats of dates, a stray stamp, a unit, a stray cell and a broken line."""
    load = load[load["site"] == "north"].reset_index(drop=True)
    load.loc[[100, 200], "load"] = None
    load.drop(index=50).to_csv(tmp_path / "plain.csv", index=False)
    stamps = load["when"].dt.strftime("%Y-%m-%d %H:%M")
    stamps[300:] = load["when"][300:].dt.strftime("%d.%m.%Y %H:%M")
    stamps[50] = "unknown?"
    cells = [f"{value} MW" for value in load["load"]]
    cells[100], cells[200] = "see note", ""
    messy = tmp_path / "messy.csv"
    load.assign(when=stamps, load=cells).to_csv(messy, index=False)
    lines = messy.read_text().splitlines()
    messy.write_text("\n".join([*lines[:20], "1,2,3,4,5", *lines[20:]]))
    done = run("forecast", messy, *FORECAST)
    said = " ".join(done.stderr.split())
    for words in (
        "line 21 has 5 fields instead of 3",
        "1 of 480 rows left out, they have no time stamp in 'when': one cell is not a date and "
        "counts as a gap: 'unknown?'",
        "time stamps are in 'when'",
        "load: numbers in MW",
        "one cell is not a number in MW and counts as a gap: 'see note'",
    ):
        assert words in said
    assert "DataWarning" not in said
    assert done.stdout == run("forecast", tmp_path / "plain.csv", *FORECAST).stdout


def test_several_columns_of_dates_are_named(load, tmp_path) -> None:
    load = load[load["site"] == "north"].assign(read=lambda rows: rows["when"])
    load.to_csv(tmp_path / "load.csv", index=False)
    command = [str(each) for each in ("forecast", tmp_path / "load.csv", *FORECAST)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "dates in 'when', 'read': name the column of time stamps" in done.stderr


def test_whole_numbers_with_a_gap_are_time_stamps(run, load, tmp_path) -> None:
    load = load[load["site"] == "north"].assign(when=range(480))
    load.drop(index=load.index[7]).to_csv(tmp_path / "plain.csv", index=False)
    load.assign(when=load["when"].mask(load["when"] == 7)).to_csv(tmp_path / "t.csv", index=False)
    done = run("forecast", tmp_path / "t.csv", *FORECAST, "--time", "when")
    assert "1 of 480 rows left out, they have no time stamp in 'when'" in done.stderr
    plain = run("forecast", tmp_path / "plain.csv", *FORECAST, "--time", "when")
    assert done.stdout == plain.stdout


def test_equally_spaced_rows_are_said_to_be(run, load, tmp_path) -> None:
    load["load"][:200].to_csv(tmp_path / "load.csv", index=False)
    said = run("forecast", tmp_path / "load.csv", *FORECAST).stderr
    assert "no column of dates: rows count as equally spaced" in said


def test_codes_for_gaps_are_pointed_out(run, load, tmp_path) -> None:
    values = load["load"][:200].where(np.arange(200) % 20 > 0, -999)
    values.to_csv(tmp_path / "load.csv", index=False)
    said = run("forecast", tmp_path / "load.csv", *FORECAST).stderr
    assert "-999 is repeated in load, far from all other values" in said

"""Forecasts of a series: what is trained, how long it takes, and what would be faster."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import Forecaster, HeteroscedasticRegressor
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

"""A messy file, as a new user brings it, and a way to run commands on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from calibrant.cli import app

Run = Callable[..., Result]


@pytest.fixture(scope="session")
def run() -> Run:
    """Run a command that must succeed."""

    def invoke(*arguments: object) -> Result:
        runner = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"})
        done = runner.invoke(app, [str(argument) for argument in arguments])
        assert done.exit_code == 0, done.stderr
        return done

    return invoke


@pytest.fixture(scope="session")
def trips() -> pd.DataFrame:
    """600 taxi trips: row numbers, times as text, zones, stray cells, gaps, true and false."""
    rng = np.random.default_rng(0)
    n = 600
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 500 * 86_400, n), unit="s")
    minutes = rng.uniform(3.0, 50.0, n)
    night = np.cos(2 * np.pi * (start.hour + start.minute / 60) / 24)
    frame = pd.DataFrame(
        {
            "trip": np.arange(1, n + 1),
            "pickup": start.astype(str),
            "dropoff": (start + pd.to_timedelta((60 * minutes).round(), unit="s")).astype(str),
            "zone": rng.choice([f"zone {i}" for i in range(40)], n),
            "passengers": rng.integers(1, 6, n).astype(str),
            "paid by card": rng.random(n) < 0.5,
            "tolls": pd.Series(rng.choice([0.0, 5.5], n)).mask(rng.random(n) < 0.1),
            "fare": np.maximum(3.0 + 0.6 * minutes + 2.0 * night + rng.normal(0.0, 0.4, n), 0.0),
        }
    )
    frame.loc[[3, 90], "passengers"] = ["unknown", "2)b"]
    frame.loc[::60, "dropoff"] = None
    return frame


@pytest.fixture
def file(trips: pd.DataFrame, tmp_path: Path) -> Path:
    """The trips as a CSV file."""
    trips.to_csv(tmp_path / "trips.csv", index=False)
    return tmp_path / "trips.csv"

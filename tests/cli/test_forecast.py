"""``calibrant forecast`` and ``calibrant backtest`` from file to file."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import Forecaster

SMALL = ("--network", "mlp", "--epochs", 2)


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 hours with covariates, the last three without a target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "t": pd.date_range("2024-01-01", periods=120, freq="h"),
            "y": np.sin(np.arange(120) / 4) + 0.1 * rng.normal(size=120),
            "price": rng.normal(size=120),
            "sky": rng.choice(["blue", "grey"], 120),
        }
    )
    frame.loc[117:, "y"] = np.nan
    path = tmp_path_factory.mktemp("series") / "series.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_next_steps_come_as_csv(run, series) -> None:
    options = ["--time", "t", "--target", "y", "--horizon", 2, "--coverage", 0.8, *SMALL]
    done = run("forecast", series, *options)
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv(io.StringIO(done.stdout), parse_dates=["time"])
    assert list(table.columns) == ["time", "mean", "stddev", "lower_80", "upper_80"]
    assert list(table["time"]) == list(pd.to_datetime(["2024-01-05 21:00", "2024-01-05 22:00"]))
    assert "3 rows after the last 'y'" in done.stderr


def test_a_bound_is_offered_and_kept(run, series, tmp_path) -> None:
    frame = pd.read_csv(series)
    frame.assign(y=frame["y"].clip(lower=0)).to_csv(path := tmp_path / "demand.csv", index=False)
    options = ["--target", "y", "--horizon", 12, "--coverage", 0.98, *SMALL]
    done = run("forecast", path, *options)
    assert "y is never negative. --lower 0" in done.stderr
    assert pd.read_csv(io.StringIO(done.stdout))["lower_98"].min() < 0
    done = run("forecast", path, *options, "--lower", 0)
    assert "never negative" not in done.stderr
    assert pd.read_csv(io.StringIO(done.stdout))["lower_98"].min() == 0
    refused = run("backtest", path, *options[:4], "--start", 100, "--lower", 1, "--upper", 0)
    assert "--lower must be below --upper" in refused.stderr


def test_covariates_figures_and_models(run, series, tmp_path) -> None:
    files = {name: tmp_path / name for name in ("out.csv", "fan.png", "model")}
    options = ["--target", "y", "--horizon", 2, "--future", "price", "--past", "sky", *SMALL]
    done = run(
        *("forecast", series, *options, "--out", files["out.csv"]),
        *("--figure", files["fan.png"], "--save", files["model"], "--json"),
    )
    assert done.exit_code == 0, done.stderr
    assert "time stamps are in 't'" in done.stderr
    records = json.loads(done.stdout)
    assert [record["time"] for record in records] == ["2024-01-05 21:00:00", "2024-01-05 22:00:00"]
    assert len(pd.read_csv(files["out.csv"])) == 2
    assert files["fan.png"].stat().st_size > 5000
    refused = run("predict", files["model"], series)
    assert refused.exit_code == 2
    assert "holds a Forecaster" in refused.stderr
    model = Forecaster.load(files["model"])
    X = pd.read_csv(series, parse_dates=["t"]).drop(columns="y")
    X["sky"] = X["sky"].astype("category")
    np.testing.assert_allclose(model.predict(X=X), [record["mean"] for record in records])


def test_a_panel_has_one_row_per_series_and_step(run, series, tmp_path) -> None:
    frame = pd.read_csv(series).iloc[:117]
    both = pd.concat([frame.assign(shop="north"), frame.assign(shop="south")])
    both.to_parquet(tmp_path / "panel.parquet", index=False)
    options = ["--time", "t", "--target", "y", "--id", "shop", "--horizon", 2, *SMALL]
    files = ["--figure", tmp_path / "p.svg", "--report", tmp_path / "page.html"]
    done = run("forecast", tmp_path / "panel.parquet", *options, *files)
    assert done.exit_code == 0, done.stderr
    assert ">south</option>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = run("forecast", tmp_path / "panel.parquet", *options, *files[2:])
    assert refused.exit_code == 2
    assert "exists already" in refused.stderr
    table = pd.read_csv(io.StringIO(done.stdout))
    assert table["id"].tolist() == ["north", "north", "south", "south"]


def test_rows_without_dates_are_equally_spaced(run, series, tmp_path) -> None:
    pd.read_csv(series)[["y"]].iloc[:117].to_csv(tmp_path / "plain.csv", index=False)
    done = run("forecast", tmp_path / "plain.csv", "--target", "y", *SMALL)
    assert done.exit_code == 0, done.stderr
    assert pd.read_csv(io.StringIO(done.stdout))["time"].tolist() == [117]


def test_back_test_scores_and_forecasts(run, series, tmp_path) -> None:
    options = ["--time", "t", "--target", "y", "--start", "2024-01-05", "--horizon", 2, *SMALL]
    files = ["--out", tmp_path / "rows.csv", "--figure", tmp_path / "figure.png"]
    done = run("backtest", series, *options, *files, "--report", tmp_path / "page.html")
    assert done.exit_code == 0, done.stderr
    assert "By horizon" in done.stdout
    assert "floor  90% cover" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = pd.read_csv(tmp_path / "rows.csv")
    assert rows.groupby("horizon").size().tolist() == [21, 20]
    assert (tmp_path / "figure.png").stat().st_size > 5000
    assert "Coverage by step" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_back_test_scores_for_machines(run, series) -> None:
    options = ["--target", "y", "--start", -30, "--policy", "static", *SMALL]
    done = run("backtest", series, *options, "--json", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    scores = json.loads(done.stdout)
    assert scores["by_horizon"][0]["n"] == 30
    assert len(scores["over_time"]) == 10


def test_an_interrupted_back_test_goes_on(run, series, tmp_path, monkeypatch) -> None:
    options = ["--target", "y", "--start", -30, "--policy", "refit", "--every", 10, *SMALL]
    whole = run("backtest", series, *options)
    assert whole.exit_code == 0, whole.stderr
    options += ["--checkpoint", tmp_path / "trained"]
    trainings, train = [], Forecaster._train

    def interrupted(model: Forecaster) -> None:
        trainings.append(len(model.series_.tick))
        if len(trainings) == 3:
            raise KeyboardInterrupt
        train(model)

    monkeypatch.setattr(Forecaster, "_train", interrupted)
    assert run("backtest", series, *options).exit_code == 130
    done = run("backtest", series, *options)
    assert trainings == [87, 97, 107, 107]  # the first two were kept
    assert done.stdout == whole.stdout


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("forecast", ["--target", "z"], "no column 'z'"),
        (
            "forecast",
            ["--target", "y", "--time", "sky"],
            "or dates such as 2024-01-31 12:00, but row 1",
        ),
        ("forecast", ["--target", "sky"], "must hold numbers"),
        ("forecast", ["--target", "y", "--coverage", 1], "--coverage must lie between"),
        ("forecast", ["--target", "y", "--figure", "fan.gif"], "must end in .png"),
        ("forecast", ["--target", "y", "--out", "no/folder.csv"], "There is no folder"),
        ("forecast", ["--target", "y", "--horizon", 200], "too few for a horizon of 200"),
        (
            "forecast",
            ["--target", "y", "--horizon", 5, "--future", "price"],
            "has 3 of 5 rows after",
        ),
        ("backtest", ["--target", "y", "--start", "soon"], "must be a position or a time stamp"),
        (
            "backtest",
            ["--target", "y", "--start", -10, "--horizon", 20],
            "as many rows from `start` on, but there are 10",
        ),
        ("backtest", ["--target", "y", "--start", 500], "must leave rows on both sides"),
        ("backtest", ["--target", "y", "--start", -9, "--engine", "spark"], "got 'spark'"),
        ("backtest", ["--target", "y", "--start", -9, "--address", "auto"], "names a Ray cluster"),
    ],
)
def test_bad_input(run, series, command, options, message) -> None:
    done = run(command, series, *options, *SMALL)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def panel(series: Path, path: Path, rows_of_south: slice) -> Path:
    """Two shops, one of them with some of the rows only."""
    frame = pd.read_csv(series)
    south = frame.iloc[rows_of_south]
    pd.concat([frame.assign(shop="north"), south.assign(shop="south")]).to_csv(path, index=False)
    return path


def test_known_future_covariates_are_needed_of_every_series(run, series, tmp_path) -> None:
    options = ["--time", "t", "--target", "y", "--id", "shop", "--future", "price", *SMALL]
    # North has a row more than it needs, south one less: together they have enough.
    table = panel(series, tmp_path / "panel.csv", slice(0, 118))
    done = run("forecast", table, *options, "--horizon", 2)
    assert done.exit_code == 2
    assert "has 1 of 2 rows after the last 'y' of series 'south'. Add them" in done.stderr
    assert run("forecast", table, *options, "--horizon", 1).exit_code == 0


def test_a_series_without_targets_is_named(run, series, tmp_path) -> None:
    options = ["--time", "t", "--target", "y", "--id", "shop", *SMALL]
    done = run("forecast", panel(series, tmp_path / "panel.csv", slice(117, 120)), *options)
    assert done.exit_code == 2
    assert "of every series, but 'south' has none" in done.stderr

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def zones() -> pd.DataFrame:
    """Rows whose noise depends on a column that the model does not read."""
    rng = np.random.default_rng(4)
    n = 2400
    zone = rng.choice(["calm", "wild"], n)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {"x": x, "zone": zone, "y": x + rng.normal(size=n) * np.where(zone == "wild", 2.0, 0.5)}
    )


def test_verdict_recalibrate_verdict(run, zones, tmp_path) -> None:
    train, cal, test = (tmp_path / f"{name}.csv" for name in ("train", "cal", "test"))
    for k, path in enumerate((train, cal, test)):
        zones[800 * k : 800 * (k + 1)].to_csv(path, index=False)
    options = ("--method", "heteroscedastic", "--epochs", 30, "--drop", "zone", "--quiet")
    assert run("fit", train, "--target", "y", "--out", tmp_path / "m", *options).exit_code == 0
    asked = ("--group", "zone", "--json")
    before = json.loads(run("evaluate", tmp_path / "m", test, *asked).stdout)
    assert before["state"] != "good"
    assert before["worst"]["source"] == "zone"
    assert "calibrant recalibrate MODEL CALIBRATION.csv --group zone --out NEW" in before["advice"]
    done = run("recalibrate", tmp_path / "m", cal, "--group", "zone", "--out", tmp_path / "new")
    assert done.exit_code == 0, done.stderr
    assert "Recalibrated on 800 rows, 2 of 2 groups corrected by themselves" in done.stderr
    after = json.loads(run("evaluate", tmp_path / "new", test, *asked).stdout)
    assert after["state"] == "good", after["verdict"]
    assert after["crps"] < before["crps"]
    assert run("predict", tmp_path / "new", test).exit_code == 0
    page = tmp_path / "report.html"
    assert run("evaluate", tmp_path / "new", test, "--report", page, *asked).exit_code == 0


def test_errors(run, data, model, tmp_path) -> None:
    done = run(
        "recalibrate", model, data / "table.csv", "--group", "shopp", "--out", tmp_path / "n"
    )
    assert done.exit_code == 2
    assert "no column 'shopp' (did you mean 'shop'?)" in done.stderr
    again = run("recalibrate", model, data / "table.csv", "--out", model)
    assert again.exit_code == 2
    assert "exists already" in again.stderr
    assert not (tmp_path / "n").exists()


def test_several_groups_and_a_coverage(run, data, frame, model) -> None:
    asked = ("--group", "shop", "--group", "colour", "--coverage", 0.8, "--json")
    found = json.loads(run("evaluate", model, data / "table.csv", *asked).stdout)
    assert found["level"] == 0.8
    names = [f"shop = {name}" for name in frame["shop"].unique()]
    assert set(names) <= set(found["groups"]["names"])

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calibrant import IsotonicRecalibrator, load_model


def test_it_is_what_the_recalibrator_learns(run, data, frame, model, tmp_path) -> None:
    out = tmp_path / "new"
    done = run("recalibrate", model, data / "table.csv", "--target", "price", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith(f"Before, on 120 rows of {data / 'table.csv'}: ")
    assert f"calibrant evaluate {out} TEST --against {model}" in done.stderr
    inputs = frame.drop(columns="price")
    expected = IsotonicRecalibrator().fit(load_model(model), inputs, frame["price"])
    got = load_model(out)
    assert type(got) is IsotonicRecalibrator
    np.testing.assert_allclose(
        got.predict_interval(inputs), expected.predict_interval(inputs), rtol=1e-9
    )


def test_the_new_model_predicts_and_keeps_identifiers(run, data, model, tmp_path) -> None:
    run("recalibrate", model, data / "table.csv", "--out", tmp_path / "new")
    done = run("predict", tmp_path / "new", data / "table.csv")
    assert done.stdout.startswith("name,mean,stddev,lower_90,upper_90\n")
    assert run("evaluate", tmp_path / "new", data / "table.csv").exit_code == 0


def test_conformal_with_a_guarantee(run, data, model, tmp_path) -> None:
    options = ["--out", tmp_path / "new", "--method", "conformal", "--guarantee", "--json"]
    done = run("recalibrate", model, data / "table.csv", *options)
    summary = json.loads(done.stdout)
    assert (summary["method"], summary["target"]) == ("ConformalRecalibrator", "price")
    assert (summary["rows"], summary["before"]["n"]) == (120, 120)
    assert load_model(tmp_path / "new").guarantee


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--guarantee"], "--guarantee needs --method conformal."),
        (["--target", "prize"], "has no column 'prize' (did you mean 'price'?)"),
        (["--group", "shopp"], "no column 'shopp' (did you mean 'shop'?)"),
        (["--group", "shop", "--method", "conformal"], "--method conformal takes no --group."),
        (["--method", "groups"], "--method groups needs a --group."),
    ],
)
def test_mistakes(run, data, model, tmp_path, options, complaint) -> None:
    done = run("recalibrate", model, data / "table.csv", "--out", tmp_path / "new", *options)
    assert done.exit_code == 2
    assert complaint in done.stderr
    assert not (tmp_path / "new").exists()


def test_a_model_is_not_replaced(run, data, model) -> None:
    done = run("recalibrate", model, data / "table.csv", "--out", model)
    assert done.exit_code == 2
    assert "exists already" in done.stderr


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
    assert "calibrant recalibrate MODEL CALIBRATION.csv --group" in before["advice"]
    assert "--group zone" in before["advice"]
    done = run("recalibrate", tmp_path / "m", cal, "--group", "zone", "--out", tmp_path / "new")
    assert done.exit_code == 0, done.stderr
    assert (
        "learned from these rows, 2 of 2 groups corrected by themselves, and is in" in done.stderr
    )
    after = json.loads(run("evaluate", tmp_path / "new", test, *asked).stdout)
    assert after["state"] == "good", after["verdict"]
    assert after["crps"] < before["crps"]
    assert run("predict", tmp_path / "new", test).exit_code == 0
    page = tmp_path / "report.html"
    assert run("evaluate", tmp_path / "new", test, "--report", page, *asked).exit_code == 0


def test_several_groups_and_a_coverage(run, data, frame, model) -> None:
    asked = ("--group", "shop", "--group", "colour", "--coverage", 0.8, "--json")
    found = json.loads(run("evaluate", model, data / "table.csv", *asked).stdout)
    assert found["level"] == 0.8
    names = [f"shop = {name}" for name in frame["shop"].unique()]
    assert set(names) <= set(found["groups"]["names"])

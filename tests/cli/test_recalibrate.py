from __future__ import annotations

import json

import numpy as np
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

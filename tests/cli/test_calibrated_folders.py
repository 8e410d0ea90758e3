"""Folders that `calibrate` wrote, on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calibrant import HeteroscedasticRegressor, calibrate, evaluate, load_model
from calibrant.calibration import CalibratedModel


@pytest.fixture(scope="module")
def made(tmp_path_factory, frame) -> tuple[CalibratedModel, Path]:
    """A network of ours that `calibrate` fitted and corrected; 120 rows get one map."""
    network = HeteroscedasticRegressor(epochs=2, random_state=0, device="cpu")
    model = calibrate(network, frame.drop(columns=["price", "name"]), frame["price"], cv=2)
    path = tmp_path_factory.mktemp("calibrated") / "model"
    model.save(path)
    return model, path


def test_it_predicts_and_is_evaluated(run, data, made) -> None:
    model, path = made
    frame = pd.read_csv(data / "table.csv")
    dist = model.predict_dist(frame.drop(columns=["price", "name"]))
    printed = run("predict", path, data / "table.csv", "--coverage", 0.5, "--quiet")
    assert printed.exit_code == 0, printed.stderr
    table = pd.read_csv(io.StringIO(printed.stdout))
    np.testing.assert_allclose(table["lower_50"], dist.interval(0.5)[:, 0])
    found = json.loads(run("evaluate", path, data / "table.csv", "--json").stdout)
    assert found["crps"] == pytest.approx(evaluate(dist, frame["price"]).crps)


def test_it_is_recalibrated(run, data, made, tmp_path) -> None:
    done = run("recalibrate", made[1], data / "table.csv", "--out", tmp_path / "again")
    assert done.exit_code == 0, done.stderr
    assert isinstance(load_model(tmp_path / "again").model_, CalibratedModel)
    assert run("evaluate", tmp_path / "again", data / "table.csv").exit_code == 0


def test_a_target_without_a_name_has_to_be_told(run, data, frame, tmp_path) -> None:
    network = HeteroscedasticRegressor(epochs=1, random_state=0, device="cpu")
    X, y = frame.drop(columns=["price", "name"]), frame["price"].to_numpy()
    calibrate(network, X, y, cv=2).save(tmp_path / "model")
    done = run("evaluate", tmp_path / "model", data / "table.csv")
    assert done.exit_code == 2
    assert "without a name: pass --target" in done.stderr
    price = ["--target", "price"]
    assert run("evaluate", tmp_path / "model", data / "table.csv", *price).exit_code == 0


def test_corrections_without_a_model_predict_no_rows(run, data, frame, tmp_path) -> None:
    calibrate(frame["size"].to_numpy(), None, frame["price"]).save(tmp_path / "map")
    for command in ("predict", "evaluate"):
        done = run(command, tmp_path / "map", data / "table.csv")
        assert done.exit_code == 2
        assert "corrects predictions that are made elsewhere" in done.stderr

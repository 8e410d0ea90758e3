"""Saved calibrated models: what was learned, and the model where it is ours."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from torch import nn

from calibrant import HeteroscedasticRegressor, calibrate, load_model
from calibrant.calibration import CalibratedModel
from calibrant.errors import ModelFileError, ParameterError
from calibrant.persistence import read_model, write_model


def same(first: CalibratedModel, second: CalibratedModel, X) -> None:
    np.testing.assert_array_equal(
        first.predict_interval(X, [0.5, 0.9]), second.predict_interval(X, [0.5, 0.9])
    )
    assert (first.chosen, first.scores, repr(first)) == (second.chosen, second.scores, repr(second))


@pytest.mark.parametrize("n_rows", [100, 600])  # one map, and a network
@pytest.mark.parametrize("guarantee", [False, True])
def test_a_foreign_model_is_given_again(n_rows, guarantee, rows, quick, tmp_path) -> None:
    X, y, _ = rows
    line = LinearRegression().fit(X[600:], y[600:])
    model = calibrate(line, X[:n_rows], y[:n_rows], learner=quick, guarantee=guarantee)
    model.save(tmp_path / "saved")
    same(load_model(tmp_path / "saved", model=line), model, X[:50])
    same(CalibratedModel.load(tmp_path / "saved", model=line), model, X[:50])
    with pytest.raises(ParameterError, match=r"Give them again: load_model\(path, model=...\)"):
        load_model(tmp_path / "saved")


def test_the_name_of_the_target_is_kept(rows, tmp_path) -> None:
    X, y = (part[:100] for part in rows[:2])
    named = pd.Series(y, name="price in euros")
    line = LinearRegression().fit(X, y)
    model = calibrate(line, X, named)
    model.save(tmp_path / "saved")
    for each in (model, load_model(tmp_path / "saved", model=line)):
        assert each.target_name_ == "price in euros"
        assert "price in euros" in each.report(X, y).html
    assert calibrate(line, X, y).target_name_ is None
    own = HeteroscedasticRegressor(hidden=(8,), epochs=1, random_state=0, device="cpu")
    assert calibrate(own.fit(X, named), X, y).target_name_ == "price in euros"


def test_our_own_model_is_saved_inside(rows, quick, tmp_path) -> None:
    X, y, _ = rows
    own = HeteroscedasticRegressor(hidden=(8,), epochs=3, random_state=0, device="cpu")
    model = calibrate(own.fit(X[:600], y[:600]), X[600:], y[600:], learner=quick)
    model.save(tmp_path / "saved")
    same(load_model(tmp_path / "saved"), model, X[:50])


def test_networks_and_functions_are_given_again(rows, quick, tmp_path) -> None:
    X, y, _ = rows
    network = nn.Linear(3, 1)
    options = {"collate": lambda table: table, "features": lambda table: table[:, :1]}
    model = calibrate(network, X, y, learner=quick, **options)
    model.save(tmp_path / "saved")
    same(load_model(tmp_path / "saved", model=network, **options), model, X[:50])
    assert network.training  # it was loaded around a copy
    with pytest.raises(ParameterError, match=r"model=..., collate=..., features=..."):
        load_model(tmp_path / "saved")


def test_predictions_without_a_model(rows, quick, tmp_path) -> None:
    X, y, _ = rows
    quantiles = 2 * X[:, :1] + np.array([-0.1, 0.0, 0.1])
    model = calibrate(quantiles, X, y, levels=[0.1, 0.5, 0.9], learner=quick)
    model.save(tmp_path / "saved")
    again = load_model(tmp_path / "saved")
    np.testing.assert_array_equal(
        again.recalibrate(quantiles, X).ppf(0.9), model.recalibrate(quantiles, X).ppf(0.9)
    )


def test_an_unknown_learner_is_refused(rows, tmp_path) -> None:
    X, y, _ = rows

    class Mine(HeteroscedasticRegressor):
        pass

    learner = Mine(hidden=(8,), epochs=30, random_state=0, device="cpu")
    model = calibrate(LinearRegression(), X, y, learner=learner)
    with pytest.raises(ParameterError, match="the learner is a Mine"):
        model.save(tmp_path / "saved")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_whole_is_refused(rows, quick, tmp_path) -> None:
    X, y, _ = rows
    calibrate(LinearRegression(), X[:60], y[:60]).save(tmp_path / "saved")
    manifest, tensors = read_model(tmp_path / "saved")
    manifest = json.loads(json.dumps(manifest)) | {"source": "os.system"}
    write_model(tmp_path / "other", manifest, tensors)
    with pytest.raises(ModelFileError, match=r"holds predictions of a 'os.system'"):
        load_model(tmp_path / "other", model=LinearRegression())
    del manifest["atoms"]
    write_model(tmp_path / "half", manifest | {"source": "GivenPredictions"}, tensors)
    with pytest.raises(ModelFileError, match="does not describe a whole CalibratedModel"):
        load_model(tmp_path / "half", model=LinearRegression())

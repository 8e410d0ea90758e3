"""Networks of the user with several inputs: a dict of an image and a table."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from calibrant import (
    ConformalRecalibrator,
    DeepEnsembleRegressor,
    Ensemble,
    HeteroscedasticRegressor,
    Matching,
    MMDRegressor,
    MultiOutput,
    QuantileNetworkRegressor,
    calibrate,
    load_model,
)
from calibrant.errors import CalibrantError, DataError, ParameterError
from calibrant.estimators.several_inputs import fit_scaler_of_several
from calibrant.metrics import coverage


class TwoInputs(nn.Module):
    """Reads an image, (n, 1, 4, 4), and a table, (n, 2)."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Conv2d(1, 4, 3)
        self.row = nn.Linear(2, 8)

    def forward(self, image: Tensor, table: Tensor) -> Tensor:
        seen = torch.relu(self.filter(image)).flatten(1)
        return torch.cat([seen, torch.tanh(self.row(table))], dim=1)


def draw(n: int, seed: int) -> tuple[dict[str, Any], np.ndarray]:
    """The brightness of the image moves the target, the second column sets its spread."""
    rng = np.random.default_rng(seed)
    bright = rng.uniform(0, 255, n)
    image = bright[:, None, None, None] + 5 * rng.standard_normal((n, 1, 4, 4))
    table = rng.uniform(-1, 1, (n, 2))
    spread = np.where(table[:, 1] > 0, 0.8, 0.1)
    return {"image": image, "table": table}, bright / 100 + spread * rng.standard_normal(n)


X, Y = draw(900, 0)
NEW, Y_NEW = draw(2000, 1)
QUICK: dict[str, Any] = {"epochs": 2, "random_state": 0, "device": "cpu"}


def rows(inputs: dict[str, Any], which: slice) -> dict[str, Any]:
    return {name: part[which] for name, part in inputs.items()}


@pytest.fixture(scope="module")
def fitted() -> tuple[MMDRegressor, nn.Module, dict[str, Tensor]]:
    torch.manual_seed(0)
    body = TwoInputs()
    before = copy.deepcopy(body.state_dict())
    few = Ensemble(members=1, folds=0)
    model = MMDRegressor(
        network=body, epochs=40, lr=1e-2, matching=Matching(epochs=20), ensemble=few, random_state=0
    )
    return model.fit(X, Y), body, before


def test_every_input_is_used_and_the_module_stays_bit_identical(fitted) -> None:
    model, body, before = fitted
    dist = model.predict_dist(NEW)
    assert coverage(dist, Y_NEW, coverage=0.9) == pytest.approx(0.9, abs=0.04)
    wide = NEW["table"][:, 1] > 0
    assert np.median(dist.stddev[wide]) > 2 * np.median(dist.stddev[~wide])
    assert np.corrcoef(dist.mean, NEW["image"].mean(axis=(1, 2, 3)))[0, 1] > 0.95
    assert all(torch.equal(value, before[name]) for name, value in body.state_dict().items())


def test_saved_and_loaded_with_a_fresh_module(fitted, tmp_path) -> None:
    model, _, _ = fitted
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model", network=TwoInputs())
    levels = [0.1, 0.5, 0.9]
    turned = {name: NEW[name] for name in ("table", "image")}  # names count, not their order
    np.testing.assert_array_equal(
        again.predict_quantiles(turned, levels), model.predict_quantiles(NEW, levels)
    )
    assert again.input_shapes_ == (("image", (1, 4, 4)), ("table", (2,)))
    with pytest.raises(ParameterError, match=r"load\(path, network=MyModule"):
        load_model(tmp_path / "model")


def test_the_graph_of_onnx_reads_one_matrix(fitted, tmp_path) -> None:
    with pytest.raises(ParameterError, match=r"inputs can't be exported.* Save the model"):
        fitted[0].to_onnx(tmp_path / "model.onnx")


def test_calibrate_takes_the_same_inputs(fitted, tmp_path) -> None:
    model, _, _ = fitted
    made = calibrate(model, rows(NEW, slice(150)), Y_NEW[:150])
    made.save(tmp_path / "model")
    again = load_model(tmp_path / "model", model=model)
    np.testing.assert_array_equal(again.predict(NEW), made.predict(NEW))


def test_unfitted_models_of_several_inputs_are_cross_fitted() -> None:
    model = HeteroscedasticRegressor(network=TwoInputs(), **QUICK)
    some = rows(X, slice(150))
    assert calibrate(model, some, Y[:150], cv=2).n_calibration == 150
    recalibrator = ConformalRecalibrator().cross_fit(model, some, Y[:150], cv=2)
    assert recalibrator.predict_interval(rows(NEW, slice(3))).shape == (3, 2)


@pytest.mark.parametrize(
    "method",
    [
        MMDRegressor(ensemble=Ensemble(members=1, folds=2), matching=Matching(epochs=1), **QUICK),
        HeteroscedasticRegressor(**QUICK),
        DeepEnsembleRegressor(members=2, **QUICK),
        QuantileNetworkRegressor(**QUICK),
    ],
    ids=lambda method: type(method).__name__,
)
def test_methods_with_a_network_of_ones_own(method) -> None:
    method.set_params(network=TwoInputs())
    some, held_out = rows(X, slice(200)), rows(X, slice(200, 300))
    method.fit(some, Y[:200], validation_data=(held_out, Y[200:300]))
    alone, all_rows = method.predict(rows(NEW, slice(1))), method.predict(rows(NEW, slice(50)))
    np.testing.assert_allclose(alone[0], all_rows[0], rtol=1e-6)


def test_several_outputs_of_several_inputs() -> None:
    model = MultiOutput(HeteroscedasticRegressor(network=TwoInputs(), **QUICK))
    dist = model.fit(X, np.column_stack([Y, -Y])).predict_dist(rows(NEW, slice(5)))
    assert dist.mean.shape == (5, 2)


def test_tensors_and_sequences() -> None:
    class Reader(nn.Module):
        def forward(self, series: Tensor, number: Tensor) -> Tensor:
            return torch.cat([series.mean(dim=1), number[:, None]], dim=1)

    inputs = {"series": torch.as_tensor(X["image"][:, 0]), "number": X["table"][:, 0]}
    model = HeteroscedasticRegressor(network=Reader(), **QUICK).fit(inputs, Y)
    assert model.n_features_in_ == 17
    assert len(model.predict(inputs)) == 900


def test_images_are_scaled_as_a_whole_and_tables_by_column() -> None:
    rng = np.random.default_rng(0)
    image = 5 + rng.standard_normal((500, 3, 2, 2)) * np.array([1.0, 2.0])  # columns differ
    series = rng.standard_normal((500, 4, 2)) * np.array([1.0, 10.0])
    table = rng.standard_normal((500, 2)) * np.array([3.0, 300.0])
    parts = [image, series, table]
    shapes = tuple((str(i), part.shape[1:]) for i, part in enumerate(parts))
    matrix = np.hstack([part.reshape(500, -1) for part in parts])
    scaler = fit_scaler_of_several(matrix, np.ones(500), "standard", shapes)
    np.testing.assert_allclose(scaler.loc[:12], image.mean())
    np.testing.assert_allclose(scaler.scale[:12], image.std())
    np.testing.assert_allclose(scaler.scale[12:20], np.tile(series.std(axis=(0, 1)), 4))
    np.testing.assert_allclose(scaler.scale[20:], table.std(axis=0))


BROKEN = X["image"].copy()
BROKEN[7, 0, 0, 0] = np.nan


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"image": X["image"]}, r"does not accept inputs of shape image \(n, 1, 4, 4\): .*table"),
        ({"image": X["image"], "table": X["table"][:, :1]}, r"and table \(n, 1\)"),
        ({"image": X["image"], "table": X["table"][:5]}, "900 of 'image', 5 of 'table'"),
        ({"image": BROKEN, "table": X["table"]}, "'image' has NaN or infinity in 1 of 900 rows"),
        ({"image": X["image"], "table": "text"}, "Input 'table' must be numbers"),
        ({"image": X["image"], "table": 1.0}, r"must be an array \(n, ...\)"),
        ({}, "empty dict"),
    ],
)
def test_wrong_inputs_are_refused_by_fit(inputs, message) -> None:
    with pytest.raises(CalibrantError, match=message):
        HeteroscedasticRegressor(network=TwoInputs(), **QUICK).fit(inputs, Y)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (NEW["table"], r"X holds a table \(n, d\), but .* a dict of inputs"),
        ({"image": NEW["image"]}, "has the inputs 'image', but .* 'image', 'table'"),
        (NEW | {"image": NEW["image"][:, :, :2]}, r"shape \(1, 2, 4\), .* on \(1, 4, 4\)"),
    ],
)
def test_wrong_inputs_are_refused_by_predict(inputs, message, fitted) -> None:
    with pytest.raises(DataError, match=message):
        fitted[0].predict(inputs)


def test_built_in_networks_refuse_a_dict() -> None:
    with pytest.raises(ParameterError, match=r"use MMDRegressor\(network=module\)"):
        MMDRegressor().fit(X, Y)
    model = HeteroscedasticRegressor(**QUICK).fit(X["table"], Y)
    with pytest.raises(DataError, match=r"a dict of inputs, but .* a table \(n, d\)"):
        model.predict(X)

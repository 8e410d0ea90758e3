"""Recalibrated models as torch modules, against their distributions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from calibrant import ConformalRecalibrator, HeteroscedasticRegressor, IsotonicRecalibrator
from calibrant.checks import Array
from calibrant.distributions import MonotoneMap
from calibrant.errors import ParameterError
from calibrant.estimators import torch_recalibration as module
from calibrant.estimators.atoms import Atoms
from calibrant.estimators.calibration_map import CalibrationMap
from calibrant.estimators.torch_recalibration import torch_model
from calibrant.recalibration import AdaptiveRecalibrator, GroupRecalibrator, Recalibrator

LEVELS = [0.01, 0.1, 0.5, 0.9, 0.99]
QUICK: dict[str, Any] = {"hidden": (8,), "epochs": 3, "random_state": 0, "device": "cpu"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2))
Y = 1e3 + X[:, 0] + np.exp(0.5 * X[:, 1]) * RNG.normal(size=400)
TRAIN, CALIBRATION, NEW = slice(0, 150), slice(150, 390), slice(390, 400)


@pytest.fixture(scope="module", params=["free", "bounds", "atoms"])
def network(request: pytest.FixtureRequest) -> HeteroscedasticRegressor:
    bounds = (998.5, 1002.0) if request.param == "bounds" else None
    model = HeteroscedasticRegressor(**QUICK, components=3, bounds=bounds)
    model.fit(X[TRAIN], Y[TRAIN])
    if request.param == "atoms":
        points = np.arange(997.0, 1002.0)
        atoms = Atoms(np.column_stack([points, points - 0.5, points + 0.5]))
        model.predictor_ = replace(model.predictor_, atoms=atoms)
    return model


def assert_same(model: Recalibrator, x: Array = X[NEW]) -> None:
    expected = model.predict_dist(x)
    found = torch_model(model)(torch.as_tensor(x)).summary(torch.tensor(LEVELS).double())
    spread = expected.stddev
    assert np.abs((found.mean.numpy() - expected.mean) / spread).max() < 1e-5
    np.testing.assert_allclose(found.stddev.numpy(), spread, rtol=1e-5)
    error = (found.quantiles.numpy() - expected.ppf(LEVELS)) / spread[:, None]
    assert np.abs(error).max() < 1e-5


RECALIBRATORS = {
    "isotonic": IsotonicRecalibrator(),
    "smooth": GroupRecalibrator(),
    "conformal": ConformalRecalibrator(),
    "conformal, one width": ConformalRecalibrator(normalize=False),
}


@pytest.mark.parametrize("name", RECALIBRATORS)
def test_one_recalibrator(name: str, network: HeteroscedasticRegressor) -> None:
    assert_same(RECALIBRATORS[name].fit(network, X[CALIBRATION], Y[CALIBRATION]))


@pytest.mark.parametrize("name", RECALIBRATORS)
@pytest.mark.parametrize("inside", ["isotonic", "conformal"])
def test_recalibrators_of_recalibrators(
    name: str, inside: str, network: HeteroscedasticRegressor
) -> None:
    first = type(RECALIBRATORS[inside])().fit(network, X[150:250], Y[150:250])
    assert_same(RECALIBRATORS[name].fit(first, X[250:390], Y[250:390]))


def test_a_map_that_depends_on_the_predicted_mean_inside() -> None:
    network = HeteroscedasticRegressor(**QUICK).fit(X[TRAIN], Y[TRAIN])
    common = MonotoneMap([0.1, 0.5, 0.9], [0.2, 0.4, 0.8])
    levels = np.array([common.y[1:-1] ** power for power in (1.3, 1.0, 0.8)])
    conditional = CalibrationMap(common, float(Y.mean()) + np.array([-1.0, 0.0, 1.0]), levels)
    network.predictor_ = replace(network.predictor_, map=conditional)
    assert_same(IsotonicRecalibrator().fit(network, X[CALIBRATION], Y[CALIBRATION]))


def test_what_the_graph_cannot_hold(
    network: HeteroscedasticRegressor, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = np.where(X[CALIBRATION, 1] > 0, "wild", "calm")
    y = Y[CALIBRATION] + np.where(zone == "wild", 30.0, 0.0)
    groups = GroupRecalibrator().fit(network, X[CALIBRATION], y, groups=zone)
    with pytest.raises(ParameterError, match="reads no labels"):
        torch_model(groups)
    sure = ConformalRecalibrator(guarantee=True).fit(network, X[CALIBRATION], Y[CALIBRATION])
    with pytest.raises(ParameterError, match=r"Fit ConformalRecalibrator\(guarantee=False\)"):
        torch_model(sure)
    with pytest.raises(ParameterError, match="AdaptiveRecalibrator can't be exported"):
        torch_model(AdaptiveRecalibrator())
    monkeypatch.setattr(module, "_MOST_KNOTS", 100)
    with pytest.raises(ParameterError, match=r"knots.*GroupRecalibrator\(\) without groups"):
        torch_model(IsotonicRecalibrator().fit(network, X[CALIBRATION], Y[CALIBRATION]))

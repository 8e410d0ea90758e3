"""The predictor as a torch module, against the predictor itself."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from calibrant import (
    DeepEnsembleRegressor,
    EnsembleLikelihoodRegressor,
    HeteroscedasticRegressor,
    LaplaceRegressor,
    MCDropoutRegressor,
    MMDRegressor,
    QuantileNetworkRegressor,
)
from calibrant.checks import Array
from calibrant.errors import ParameterError
from calibrant.estimators import Matching, NetworkRegressor
from calibrant.estimators import torch_predictor as module
from calibrant.estimators.calibration_map import CalibrationMap
from calibrant.estimators.predictor import Predictor
from calibrant.estimators.torch_predictor import TorchPredictor

LEVELS = [0.01, 0.1, 0.5, 0.9, 0.99]
QUICK: dict[str, Any] = {"hidden": (8, 8), "epochs": 2, "random_state": 0, "device": "cpu"}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
NOISE = np.exp(0.5 * X[:, 1]) * RNG.normal(size=300)
Y = 1e4 + X[:, 0] + NOISE
SEQUENCES = RNG.normal(size=(120, 5, 2))


@cache
def mmd(what: str = "continuous") -> NetworkRegressor:
    y = {"continuous": Y, "counts": np.round(np.maximum(2 * (X[:, 0] + NOISE), 0.0))}
    y["zeros"] = np.maximum(X[:, 0] + NOISE, 0.0)
    bounds = (0.0, None) if what == "zeros" else None
    model = MMDRegressor(**QUICK, bounds=bounds, matching=Matching(epochs=1))
    return model.fit(X, y[what])


def assert_same(predictor: Predictor, x: Array) -> None:
    expected = predictor.predict(x)
    found = TorchPredictor(predictor)(torch.as_tensor(x)).summary(torch.tensor(LEVELS).double())
    spread = expected.stddev
    assert np.abs(found.mean.numpy() - expected.mean).max() < 1e-6 * spread.min()
    np.testing.assert_allclose(found.stddev.numpy(), spread, rtol=1e-6)
    error = (found.quantiles.numpy() - expected.ppf(LEVELS)) / spread[:, None]
    assert np.abs(error).max() < 1e-6


@pytest.mark.parametrize(
    "model",
    [
        HeteroscedasticRegressor(**QUICK),
        HeteroscedasticRegressor(**QUICK, components=3, bounds=(9_999.0, 10_001.0)),
        DeepEnsembleRegressor(**QUICK, members=3),
        DeepEnsembleRegressor(**QUICK, members=3, combine="mixture", components=2),
        EnsembleLikelihoodRegressor(**QUICK),
    ],
    ids=["normal", "mixture with bounds", "moments", "mixture of members", "points"],
)
def test_networks_on_tables(model: NetworkRegressor) -> None:
    assert_same(model.fit(X, Y).predictor_, X[:40])


@pytest.mark.parametrize("network", ["lstm", "gru"])
def test_recurrent_ensembles(network: str) -> None:
    model = DeepEnsembleRegressor(**QUICK | {"hidden": (6,)}, network=network, members=2)
    model.fit(SEQUENCES, SEQUENCES[:, -1, 0] + RNG.normal(size=120))
    assert_same(model.predictor_, SEQUENCES[:20])


@pytest.mark.parametrize("what", ["continuous", "counts", "zeros"])
def test_default_with_neighbours_and_atoms(what: str) -> None:
    predictor = mmd(what).predictor_
    assert len(predictor.features.more) == 2
    assert bool(len(predictor.atoms.cells)) == (what != "continuous")
    assert_same(predictor, X[:40] + 0.01)


def test_maps_that_depend_on_the_predicted_mean() -> None:
    predictor = mmd().predictor_
    assert predictor.map is not None
    common = predictor.map.common
    levels = np.array([common.y[1:-1] ** power for power in (1.3, 1.0, 0.8)])
    means = float(Y.mean()) + np.array([-1.0, 0.0, 1.0])
    mapped = replace(predictor, map=CalibrationMap(common, means, levels))
    assert_same(mapped, X[:40] + 0.01)


def test_bounds_and_cells_that_cross() -> None:
    predictor = mmd("counts").predictor_
    assert_same(replace(predictor, bounds=(0.3, 2.8)), X[:40] + 0.01)


def test_the_model_itself_stays_as_it_is() -> None:
    model = HeteroscedasticRegressor(**QUICK).fit(X, Y)
    before = model.module_.single.state_dict()["output.weight"].clone()
    TorchPredictor(model.predictor_)
    after = model.module_.single.state_dict()["output.weight"]
    assert after.dtype == torch.float32
    assert torch.equal(before, after)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MCDropoutRegressor(**QUICK, passes=4), "dropout passes can't be exported. Use MMD"),
        (QuantileNetworkRegressor(**QUICK), "QuantileHead can't be exported. Use MMDRegressor"),
        (LaplaceRegressor(**QUICK), "can't be exported. Use MMDRegressor"),
    ],
)
def test_methods_that_cannot_be_exported(model: NetworkRegressor, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TorchPredictor(model.fit(X, Y).predictor_)


def test_too_many_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_NEIGHBOURS", 100)
    with pytest.raises(ParameterError, match=r"nearest of 300 training rows.*without neighbours"):
        TorchPredictor(mmd().predictor_)

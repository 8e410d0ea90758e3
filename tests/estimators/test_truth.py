"""Each method recovers a known heteroscedastic truth: mean, spread and coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant import (
    DeepEnsembleRegressor,
    Ensemble,
    EnsembleLikelihoodRegressor,
    HeteroscedasticRegressor,
    LaplaceRegressor,
    MCDropoutLikelihoodRegressor,
    MCDropoutRegressor,
    MMDRegressor,
    QuantileNetworkRegressor,
)
from calibrant.metrics import coverage, crps

pytestmark = pytest.mark.slow

COMMON: dict[str, Any] = {"hidden": (64, 64), "random_state": 0, "device": "cpu"}


def make_truth(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    mean, spread = np.sin(2 * X[:, 0]), 0.1 + 0.3 * (X[:, 0] > 0)
    return X, mean + spread * rng.normal(size=n), mean, spread


# How far the mean, the spread and the coverage of 90% intervals may be from the truth. Dropout
# blurs the mean; MC-Dropout knows one noise level for all rows, so its spread is not compared;
# ELL and MC NLL have to express noise by disagreement and do it roughly.
METHODS = {
    "heteroscedastic": (HeteroscedasticRegressor(**COMMON), 0.08, 0.06, 0.04),
    "mixture": (HeteroscedasticRegressor(components=5, **COMMON), 0.08, 0.06, 0.04),
    "mc-heteroscedastic": (
        HeteroscedasticRegressor(dropout=0.05, mc_passes=50, **COMMON), 0.12, 0.1, 0.08,
    ),
    "ensemble": (DeepEnsembleRegressor(members=3, **COMMON), 0.07, 0.06, 0.05),
    "mixed ensemble": (
        DeepEnsembleRegressor(members=3, combine="mixture", **COMMON), 0.07, 0.06, 0.05,
    ),
    "ell": (EnsembleLikelihoodRegressor(**COMMON), 0.1, 0.12, 0.08),
    "quantile": (QuantileNetworkRegressor(**COMMON), 0.08, 0.06, 0.03),
    "laplace": (LaplaceRegressor(**COMMON), 0.08, 0.06, 0.04),
    "mcd": (MCDropoutRegressor(dropout=0.05, **COMMON), 0.12, None, 0.06),
    "mc-nll": (
        MCDropoutLikelihoodRegressor(dropout=0.1, **(COMMON | {"epochs": 60})), 0.12, 0.2, 0.1,
    ),
    "mmd": (MMDRegressor(**COMMON), 0.08, 0.06, 0.03),
    "mmd mixture": (
        MMDRegressor(components=2, ensemble=Ensemble(members=1, kinds=("relu",)), **COMMON),
        0.08, 0.06, 0.03,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_recovers_the_truth(name: str) -> None:
    model, mean_error, spread_error, coverage_error = METHODS[name]
    X, y, _, _ = make_truth(3000, 1)
    X_test, y_test, mean, spread = make_truth(2000, 2)
    dist = model.fit(X, y).predict_dist(X_test)
    assert np.sqrt(np.mean((dist.mean - mean) ** 2)) < mean_error
    if spread_error is not None:
        assert np.sqrt(np.mean((dist.stddev - spread) ** 2)) < spread_error
    assert abs(coverage(dist, y_test) - 0.9) < coverage_error


def test_published_mc_dropout_is_an_interval_for_the_mean_alone() -> None:
    X, y, _, _ = make_truth(2000, 1)
    X_test, y_test, _, _ = make_truth(1000, 2)
    settings = COMMON | {"dropout": 0.05, "epochs": 60}
    alone = MCDropoutRegressor(noise="none", **settings).fit(X, y).predict_dist(X_test)
    whole = MCDropoutRegressor(noise="residual", **settings).fit(X, y).predict_dist(X_test)
    np.testing.assert_allclose(alone.mean, whole.mean)
    assert coverage(alone, y_test) < 0.75
    assert coverage(whole, y_test) > 0.84
    np.testing.assert_allclose(alone.epistemic, whole.epistemic)
    np.testing.assert_allclose(alone.aleatoric, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        HeteroscedasticRegressor(dropout=0.1, mc_passes=30, epochs=40, **COMMON),
        DeepEnsembleRegressor(members=3, epochs=40, **COMMON),
        DeepEnsembleRegressor(members=3, combine="mixture", epochs=40, **COMMON),
    ],
    ids=["mc-heteroscedastic", "moments", "mixture"],
)
def test_variance_is_the_sum_of_its_parts(model: Any) -> None:
    X, y, _, _ = make_truth(800, 1)
    dist = model.fit(X, y).predict_dist(X)
    np.testing.assert_allclose(dist.aleatoric + dist.epistemic, dist.variance, rtol=1e-9)
    assert np.all(dist.epistemic > 0)
    far = model.predict_dist(np.array([[0.0], [40.0]]))
    assert far.epistemic[1] > 10 * far.epistemic[0]  # nobody has been there
    np.testing.assert_allclose(dist[3:5].epistemic, dist.epistemic[3:5])


def test_the_first_member_is_the_network_alone() -> None:
    """It has that network's seed; a few epochs, before rounding drives the two apart."""
    X, y, _, _ = make_truth(500, 1)
    settings = COMMON | {"epochs": 3}
    ensemble = DeepEnsembleRegressor(members=3, **settings).fit(X, y).module_.by_name()
    single = HeteroscedasticRegressor(**settings).fit(X, y).module_.by_name()
    for name, value in single.items():
        np.testing.assert_allclose(ensemble[name][0], value[0], atol=1e-5)
    assert not np.allclose(ensemble["output.weight"][0], ensemble["output.weight"][1])


def test_an_ensemble_beats_a_single_network() -> None:
    X, y, _, _ = make_truth(1000, 1)
    X_test, y_test, _, _ = make_truth(1000, 2)
    ensemble = DeepEnsembleRegressor(members=4, combine="mixture", **COMMON).fit(X, y)
    single = HeteroscedasticRegressor(**COMMON).fit(X, y)
    assert crps(ensemble.predict_dist(X_test), y_test) < 1.01 * crps(
        single.predict_dist(X_test), y_test
    )


def test_no_component_of_the_mixture_dies() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 1))
    y = np.where(rng.random(2000) < 0.5, -2.0, 2.0) + X[:, 0] + 0.2 * rng.normal(size=2000)
    plain = HeteroscedasticRegressor(**COMMON).fit(X, y).predict_dist(X)
    model = HeteroscedasticRegressor(components=4, **COMMON).fit(X, y)
    dist = model.predict_dist(X)
    assert crps(dist, y) < 0.9 * crps(plain, y)  # one Gaussian can't have two modes
    assert dist.weights.mean(axis=0).min() > 0.01

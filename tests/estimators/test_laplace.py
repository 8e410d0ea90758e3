"""The last layer's posterior against Bayesian linear regression done by hand."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar

import calibrant.estimators.predictor as predictor
from calibrant import HeteroscedasticRegressor, LaplaceRegressor, Training
from calibrant.estimators import laplace
from calibrant.estimators.laplace import _prior_precision

QUICK = {"hidden": (16,), "epochs": 20, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def linear():
    """Features are the inputs themselves, so that the last layer is the whole network."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + np.exp(0.3 * X[:, 1]) * rng.normal(size=400)
    weight = rng.uniform(0.5, 2.0, 400)
    settings = QUICK | {"network": torch.nn.Identity(), "epochs": 400, "lr": 1e-2}
    settings["training"] = Training(patience=100, beta=0.0)
    model = LaplaceRegressor(**settings)
    return model.fit(X, y, weight, validation_data=(X, y, weight)), X, y, weight


def test_it_is_bayesian_linear_regression(linear) -> None:
    model, X, y, weight = linear
    inputs, scaler = model.predictor_.features.scaler, model.predictor_.target
    dist, unit = model.predict_dist(X), float(scaler.scale)
    design = np.column_stack([inputs.transform(X), np.ones(len(X))])
    precision = weight / weight.mean() / (dist.aleatoric / unit**2)
    alpha = model.predictor_.combine.prior_precision * np.eye(4)
    covariance = np.linalg.inv(design.T @ (precision[:, None] * design) + alpha)
    new = np.random.default_rng(1).normal(0, 3, size=(50, 3))
    phi = np.column_stack([inputs.transform(new), np.ones(50)])
    epistemic = unit**2 * np.einsum("ij,jk,ik->i", phi, covariance, phi)
    np.testing.assert_allclose(model.predict_dist(new).epistemic, epistemic, rtol=1e-6)
    # The posterior mean, which the network finds by training: to a part of its own uncertainty.
    target = scaler.transform(y)
    weights = covariance @ (design.T @ (precision * target))
    mean = scaler.loc + unit * phi @ weights
    assert np.all(np.abs(model.predict(new) - mean) < 0.5 * np.sqrt(epistemic))


def test_the_prior_has_the_largest_marginal_likelihood() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 9)) * np.geomspace(0.1, 30, 6)[:, None]
    information, squares = root @ root.T, 2.5

    def minus_log_evidence(log_alpha: float) -> float:
        alpha = np.exp(log_alpha)
        _, log_det = np.linalg.slogdet(information + alpha * np.eye(6))
        return 0.5 * (alpha * squares - 6 * log_alpha + log_det)

    best = np.exp(minimize_scalar(minus_log_evidence, bounds=(-20, 20), method="bounded").x)
    assert _prior_precision(np.linalg.eigvalsh(information), squares) == pytest.approx(
        best, rel=1e-4
    )
    assert np.isfinite(_prior_precision(np.linalg.eigvalsh(information), 0.0))


def test_parts_add_up_and_grow_away_from_the_data() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(500, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=500)
    model = LaplaceRegressor(**QUICK).fit(X, y)
    dist = model.predict_dist([[0.0], [1.0], [2.0], [4.0], [8.0]])
    np.testing.assert_allclose(dist.aleatoric + dist.epistemic, dist.variance, rtol=1e-12)
    assert np.all(np.diff(dist.epistemic) > 0)
    assert dist.epistemic[-1] > 100 * dist.epistemic[0]
    # With more rows the last layer is better known.
    more = LaplaceRegressor(**QUICK).fit(np.tile(X, (8, 1)), np.tile(y, 8))
    ratio = more.predict_dist(X).epistemic.mean() / model.predict_dist(X).epistemic.mean()
    assert ratio < 0.5


def test_mean_and_noise_are_the_networks() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + rng.normal(size=200)
    plain = HeteroscedasticRegressor(**QUICK).fit(X, y).predict_dist(X)
    dist = LaplaceRegressor(**QUICK).fit(X, y).predict_dist(X)
    np.testing.assert_allclose(dist.mean, plain.mean, rtol=1e-12)
    np.testing.assert_allclose(dist.aleatoric, plain.variance, rtol=1e-9)


def test_rows_in_chunks_give_the_same_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    whole = LaplaceRegressor(**QUICK).fit(X, y).predict_dist(X).epistemic
    monkeypatch.setattr(predictor, "_PREDICT_ROWS", 7)
    np.testing.assert_allclose(
        LaplaceRegressor(**QUICK).fit(X, y).predict_dist(X).epistemic, whole, rtol=1e-9
    )


def test_example() -> None:
    assert doctest.testmod(laplace).failed == 0

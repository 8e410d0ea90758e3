"""Models whose calibration differs from fit to fit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from calibrant import ConformalRecalibrator, calibrate
from calibrant.distributions import Normal
from calibrant.errors import CalibrantWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 1))
Y = RNG.normal(size=600)


class Varying(BaseEstimator):
    """Predicts a spread that depends on the rows that it was fitted on."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def fit(self, X, y):
        self.scale_ = self.factor ** (int(1e6 * abs(X[0, 0])) % 3 - 1)
        return self

    def predict_dist(self, X):
        return Normal(np.zeros(len(X)), np.full(len(X), self.scale_))


def shuffled(seed: int) -> list:
    """Folds whose training rows begin with another row each."""
    order = np.random.default_rng(seed).permutation(600)
    return [
        (np.roll(np.delete(order, part), i), order[part])
        for i, part in enumerate(np.array_split(np.arange(600), 6))
    ]


def test_a_model_that_differs_from_fit_to_fit_is_named() -> None:
    for fit in (
        lambda: calibrate(Varying(2.0), X, Y, cv=shuffled(0)),
        lambda: ConformalRecalibrator().cross_fit(Varying(2.0), X, Y, cv=shuffled(0)),
    ):
        with pytest.warns(CalibrantWarning, match="Varying differs from fit to fit: 50% intervals"):
            fit()


def test_chance_is_no_reason_to_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(20):
            ConformalRecalibrator().cross_fit(Varying(1.0), X, Y, cv=shuffled(seed))

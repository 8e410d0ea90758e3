from __future__ import annotations

import pickle
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV

from calibrant import metrics
from calibrant.distributions import Normal


class Climatology(RegressorMixin, BaseEstimator):
    """Mean and spread of the training targets, the spread times a factor."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def fit(self, X: Any, y: Any) -> Self:
        self.mean_, self.stddev_ = float(np.mean(y)), float(np.std(y))
        return self

    def predict_dist(self, X: Any) -> Normal:
        n = len(X)
        return Normal(np.full(n, self.mean_), np.full(n, self.factor * self.stddev_))


@pytest.mark.parametrize("name", ["crps", "nll", "ecpe"])
def test_grid_search_finds_the_right_spread(name: str) -> None:
    scorer = getattr(metrics, f"{name}_scorer")
    y = np.random.default_rng(0).normal(3, 2, size=600)
    X = np.zeros((600, 1))
    search = GridSearchCV(Climatology(), {"factor": [0.5, 1.0, 2.0]}, scoring=scorer, cv=3)
    search.fit(X, y)
    assert search.best_params_ == {"factor": 1.0}
    model = search.best_estimator_
    assert scorer(model, X, y) == -getattr(metrics, name)(model.predict_dist(X), y)
    assert pickle.loads(pickle.dumps(scorer)) is scorer

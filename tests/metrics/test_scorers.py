from __future__ import annotations

import pickle
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from calibrant import metrics
from calibrant.distributions import Normal
from calibrant.errors import ParameterError
from calibrant.metrics.scorers import _FUNCTIONS


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
    scorer = metrics.get_scorer(name)
    y = np.random.default_rng(0).normal(3, 2, size=600)
    X = np.zeros((600, 1))
    search = GridSearchCV(Climatology(), {"factor": [0.5, 1.0, 2.0]}, scoring=scorer, cv=3)
    search.fit(X, y)
    assert search.best_params_ == {"factor": 1.0}
    model = search.best_estimator_
    assert scorer(model, X, y) == -getattr(metrics, name)(model.predict_dist(X), y)
    assert pickle.loads(pickle.dumps(scorer)) == scorer == metrics.get_scorer(name)


@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_greater_is_better(name: str) -> None:
    y = np.random.default_rng(0).normal(3, 2, size=50)
    model = Climatology().fit(None, y)
    sign = {"lower": -1.0, "higher": 1.0}[metrics.METRICS[name].better]
    expected = sign * getattr(metrics, name)(model.predict_dist(y), y)
    assert metrics.get_scorer(name)(model, y, y) == expected


def test_a_scorer_takes_options_of_its_metric() -> None:
    y = np.random.default_rng(0).normal(3, 2, size=50)
    model = Climatology().fit(None, y)
    score = metrics.get_scorer("interval_score", coverage=0.5)(model, y, y)
    assert score == -metrics.interval_score(model.predict_dist(y), y, coverage=0.5)


def test_cross_validation_takes_the_scorer_and_not_its_name() -> None:
    y = np.random.default_rng(0).normal(3, 2, size=60)
    X, folds = np.zeros((60, 1)), KFold(3)
    expected = [
        -metrics.crps(Climatology().fit(X[train], y[train]).predict_dist(X[test]), y[test])
        for train, test in folds.split(X)
    ]
    for scorer in (metrics.crps_scorer, metrics.get_scorer("crps")):
        found = cross_val_score(Climatology(), X, y, scoring=scorer, cv=folds)
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="scoring"):  # as the documentation says
        cross_val_score(Climatology(), X, y, scoring="crps", cv=folds)


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"one of crps, ecpe, .*, got 'coverage'"):
        metrics.get_scorer("coverage")

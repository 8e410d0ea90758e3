"""References that need no further package: the naive forecast, and trees of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.checks import Array
from calibrant.distributions import Distribution, Empirical
from calibrant.experiments.rivals import LEVELS, Rival
from calibrant.experiments.trial import calibration_rows


class MarginalBaseline(Rival):
    """The distribution of the training targets, the same for every row: it ignores the inputs."""

    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None:
        self.targets_: Array = np.quantile(y, LEVELS)

    def _predict(self, x: Array) -> Distribution:
        return Empirical(np.broadcast_to(self.targets_, (len(x), len(self.targets_))))


class ConformalBoostedTrees(Rival):
    """Histogram-based boosted trees, and the errors of a fifth of the rows around their means."""

    def _fit(self, x: Array, y: Array, hold_out: dict[str, Any]) -> None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        train, held_out = calibration_rows(len(y), **hold_out)
        self.model_ = HistGradientBoostingRegressor(
            max_iter=self.n_estimators, random_state=self.random_state
        ).fit(x[train], y[train])
        self.errors_: Array = np.quantile(y[held_out] - self.model_.predict(x[held_out]), LEVELS)

    def _predict(self, x: Array) -> Distribution:
        errors = np.broadcast_to(self.errors_, (len(x), len(self.errors_)))
        return Empirical(errors).affine(np.asarray(self.model_.predict(x)), 1.0)

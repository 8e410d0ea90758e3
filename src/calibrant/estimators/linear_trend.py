"""The linear trend of a target, which networks then need not learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from sklearn.ensemble import RandomForestRegressor

from calibrant.checks import Array
from calibrant.estimators.scaling import fit_scaler
from calibrant.estimators.splits import group_folds
from calibrant.persistence import savable_part

_PENALTIES = np.logspace(-13.0, 2.0, 31)  # per row, for inputs of variance 1
_MOST_INPUTS = 500
_LEAST_ROWS = 50
_MOST_UNEXPLAINED = 0.9  # of the mean absolute deviation; with more there is no trend
_MOST_LEFT = 0.7  # of the absolute error of a forest
_FAR = 10.0  # times the median error, beyond which a row is an outlier
_WILD = 50.0  # robust units beyond which an input is an outlier
_FOREST_ROWS = 5_000  # at most, to compare errors on
_ROUNDING = 1e-12  # relative spread below which an input counts as constant


@savable_part
@dataclass(frozen=True, eq=False)
class LinearTrend:
    """Ridge regression on inputs that are clipped near the range of the training rows.

    Networks and trees need many rows to learn a weighted sum of the inputs, such as a total of its
    parts, and learn it to a thousandth of the target's spread at best.

    Parameters
    ----------
    low, high : arrays of shape (d,)
        Limits of the inputs: the range of the training rows, extended by its width on either
        side. The trend is constant beyond them.
    weights : array of shape (d,)
    intercept : float
    """

    low: Array
    high: Array
    weights: Array
    intercept: float

    def predict(self, x: Array) -> Array:
        """Trend of rows (n, d), in target units, (n,)."""
        trend: Array = np.clip(x, self.low, self.high) @ self.weights + self.intercept
        return trend


class FittedTrend(NamedTuple):
    """A trend, and what it predicts for its training rows from other rows alone, (n,)."""

    trend: LinearTrend
    unseen: Array


def find_linear_trend(
    x: Array, y: Array, weight: Array, groups: NDArray[np.generic] | None, seed: int
) -> FittedTrend | None:
    """Fit the trend of a target, or return None if the residual is no easier to predict.

    The out-of-bag error of a random forest decides: it must be smaller on the residual.

    Parameters
    ----------
    x : array of shape (n, d)
    y, weight : arrays of shape (n,)
    groups : array of shape (n,), optional
        Rows of a group do not inform each other.
    seed : int
    """
    if len(y) < _LEAST_ROWS or x.shape[1] > _MOST_INPUTS:
        return None
    trend, unseen = _fit_robust(x, y, weight)
    if groups is not None:
        for train, fold in group_folds(groups):
            unseen[fold] = _fit_robust(x[train], y[train], weight[train]).trend.predict(x[fold])
    found = FittedTrend(trend, unseen)
    return found if _pays(x, y, weight, unseen, seed) else None


def _fit_robust(x: Array, y: Array, weight: Array) -> FittedTrend:
    """Ridge regression, fitted again without outliers if there are any."""
    first = _fit_ridge(x, y, weight)
    inliers = _inliers(y - first.unseen, weight)
    return first if inliers.all() else _fit_ridge(x, y, weight * inliers)


def _inliers(errors: Array, weight: Array) -> NDArray[np.bool_]:
    """Which rows, (n,), are not outliers."""
    size = abs(errors)
    return np.asarray(size <= _FAR * np.median(size[weight > 0]))


def _fit_ridge(x: Array, y: Array, weight: Array) -> FittedTrend:
    """Ridge regression with the penalty of the least leave-one-out error."""
    low, high = _range(x, weight)
    reach = high - low
    x = np.clip(x, low, high)
    share = weight / weight.sum()
    centre = share @ x
    spread = np.sqrt(share @ (x - centre) ** 2)
    constant = spread <= _ROUNDING * np.maximum(abs(low), abs(high))
    unit = np.where(constant, np.inf, spread)
    root = np.sqrt(share)
    mean = share @ y
    # With U D V' the scaled inputs, weighted: the hat matrix is U D^2 / (D^2 + penalty) U'.
    scaled = (x - centre) / unit
    u, d, vt = svd(root[:, None] * scaled, full_matrices=False)
    along, axes = d * (u.T @ (root * (y - mean))), scaled @ vt.T

    def left_out(penalty: float) -> Array:
        """Leave-one-out errors of the rows."""
        inside = (y - mean) - axes @ (along / (d**2 + penalty))
        leverage = share + u**2 @ (d**2 / (d**2 + penalty))
        return np.asarray(inside / np.maximum(1.0 - leverage, _ROUNDING))

    penalty = min(_PENALTIES, key=lambda each: share @ left_out(each) ** 2)
    weights = vt.T @ (along / (d**2 + penalty)) / unit
    trend = LinearTrend(low - reach, high + reach, weights, float(mean - centre @ weights))
    return FittedTrend(trend, y - left_out(penalty))


def _range(x: Array, weight: Array) -> tuple[Array, Array]:
    """Smallest and largest value of each input, without outliers."""
    robust = fit_scaler(x, weight, "robust")
    reach = _WILD * robust.scale
    low, high = np.maximum(x.min(axis=0), robust.loc - reach), robust.loc + reach
    return low, np.minimum(x.max(axis=0), high)


def _pays(x: Array, y: Array, weight: Array, unseen: Array, seed: int) -> bool:
    """Whether a forest predicts the residual better than the target itself."""
    used = np.flatnonzero(_inliers(y - unseen, weight) & (weight > 0))
    unit = abs(y[used] - np.median(y[used])).mean()
    if abs(y - unseen)[used].mean() >= _MOST_UNEXPLAINED * unit:  # also where all are the same
        return False
    rows = np.random.default_rng(seed).permutation(used)[:_FOREST_ROWS]

    def error(target: Array) -> float:
        """Mean absolute error of the forest out of bag."""
        forest = RandomForestRegressor(
            50, min_samples_leaf=3, max_features=0.5, oob_score=True, random_state=seed
        ).fit(x[rows], target[rows], weight[rows])
        misses = abs(target[rows] - forest.oob_prediction_)
        return float(np.average(misses, weights=weight[rows]))

    # In units of the target: trees do not split variances near the rounding error of 1.
    return error((y - unseen) / unit) <= _MOST_LEFT * error(y / unit)

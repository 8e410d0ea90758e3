"""Errors of the predicted mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.distributions import Distribution
from calibrant.metrics._inputs import Array, check_target


def rmse(dist: Distribution, y: ArrayLike) -> float:
    """Root mean squared error of the mean, in target units.

    ``sqrt(mean((y - mu)^2))``

    Large errors weigh most; it says nothing about the predicted spread.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)
        Observed targets.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import rmse
    >>> rmse(Normal([0.0, 0.0], [1.0, 1.0]), [3.0, -3.0])
    3.0
    """
    target = check_target(dist, y)
    return accuracy_scores(dist.mean, target)["rmse"]


def mae(dist: Distribution, y: ArrayLike) -> float:
    """Mean absolute error of the mean, in target units.

    ``mean(|y - mu|)``

    All errors weigh alike; it says nothing about the predicted spread.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import mae
    >>> mae(Normal([0.0, 0.0], [1.0, 1.0]), [3.0, -1.0])
    2.0
    """
    target = check_target(dist, y)
    return accuracy_scores(dist.mean, target)["mae"]


def r2(dist: Distribution, y: ArrayLike) -> float:
    """Share of the variance of y that the mean explains.

    ``1 - sum((y - mu)^2) / sum((y - mean(y))^2)``

    It is 1 for a perfect forecast, 0 for one as good as always predicting the mean of y, and nan
    where y is constant.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import r2
    >>> r2(Normal([1.0, 2.0, 4.0], [1.0, 1.0, 1.0]), [1.0, 2.0, 3.0])
    0.5
    """
    target = check_target(dist, y)
    return accuracy_scores(dist.mean, target)["r2"]


def smape(dist: Distribution, y: ArrayLike) -> float:
    """Symmetric mean absolute percentage error of the mean, between 0 and 200 percent.

    ``100 mean(|mu - y| / ((|y| + |mu|) / 2))``

    Only for targets whose zero means nothing at all: on others it depends on where zero is.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)

    Notes
    -----
    A row where both are zero counts as no error.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import smape
    >>> smape(Normal([3.0, 0.0], [1.0, 1.0]), [1.0, 0.0])
    50.0
    """
    target = check_target(dist, y)
    return accuracy_scores(dist.mean, target)["smape"]


def rse(dist: Distribution, y: ArrayLike) -> float:
    """Root relative squared error of the mean; nan where y is constant.

    ``sqrt(sum((y - mu)^2) / sum((y - mean(y))^2))``

    It is 0 for a perfect forecast and 1 for one as good as always predicting the mean of y.

    Parameters
    ----------
    dist : Distribution of n rows
    y : array of shape (n,) or (n, 1)

    Notes
    -----
    This is the formula printed in Cui, Hu and Zhu (2020). The values in their tables divide by
    the spread of the predictions instead, so they are not comparable.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import rse
    >>> rse(Normal([2.0, 2.0], [1.0, 1.0]), [1.0, 3.0])
    1.0
    """
    target = check_target(dist, y)
    return accuracy_scores(dist.mean, target)["rse"]


def accuracy_scores(prediction: Array, y: Array) -> dict[str, float]:
    """All scores of a point prediction, (n,), at once."""
    error = y - prediction
    squared = float(np.sum(error**2))
    spread = float(np.sum((y - y.mean()) ** 2))
    # Compare values: the mean of a constant may differ from it in the last digit.
    ratio = squared / spread if y.min() < y.max() else np.nan
    size = 0.5 * (np.abs(y) + np.abs(prediction))
    relative = np.divide(np.abs(error), size, out=np.zeros(len(y)), where=size > 0)
    return {
        "rmse": float(np.sqrt(squared / len(y))),
        "mae": float(np.mean(np.abs(error))),
        "r2": 1.0 - ratio,
        "smape": float(100.0 * relative.mean()),
        "rse": float(np.sqrt(ratio)),
    }

"""Errors of the predicted mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array
from calibrant.distributions import Distribution
from calibrant.metrics.inputs import check_target


def rmse(dist: Distribution, y: ArrayLike) -> float:
    """Root mean squared error of the mean, in target units.

    ``sqrt(mean((y - mu)^2))``

    Large errors weigh most; the predicted spread is ignored.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import rmse
    >>> rmse(Normal([0.0, 0.0], [1.0, 1.0]), [3.0, -3.0])
    3.0
    """
    target = check_target(dist, y)
    return float(np.sqrt(np.sum((target - dist.mean) ** 2) / len(target)))


def mae(dist: Distribution, y: ArrayLike) -> float:
    """Mean absolute error of the mean, in target units.

    ``mean(|y - mu|)``

    Errors count in proportion to their size; the predicted spread is ignored.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import mae
    >>> mae(Normal([0.0, 0.0], [1.0, 1.0]), [3.0, -1.0])
    2.0
    """
    target = check_target(dist, y)
    return float(np.mean(np.abs(target - dist.mean)))


def r2(dist: Distribution, y: ArrayLike) -> float:
    """Share of the variance of y that the mean explains.

    ``1 - sum((y - mu)^2) / sum((y - mean(y))^2)``

    It is 1 for a perfect forecast, 0 for one as good as always predicting the mean of y, and nan
    where y is constant.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import r2
    >>> r2(Normal([1.0, 2.0, 4.0], [1.0, 1.0, 1.0]), [1.0, 2.0, 3.0])
    0.5
    """
    target = check_target(dist, y)
    return 1.0 - _relative_squared_error(dist.mean, target)


def smape(dist: Distribution, y: ArrayLike) -> float:
    """Symmetric mean absolute percentage error of the mean, between 0 and 200 percent.

    ``100 mean(|mu - y| / ((|y| + |mu|) / 2))``

    Only for targets with a natural zero, such as amounts: elsewhere it depends on the origin.

    Notes
    -----
    A row where target and mean are both zero has no error.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import smape
    >>> smape(Normal([3.0, 0.0], [1.0, 1.0]), [1.0, 0.0])
    50.0
    """
    target = check_target(dist, y)
    mean = dist.mean
    size = 0.5 * (np.abs(target) + np.abs(mean))
    relative = np.divide(np.abs(target - mean), size, out=np.zeros(len(mean)), where=size > 0)
    return float(100.0 * relative.mean())


def rse(dist: Distribution, y: ArrayLike) -> float:
    """Root relative squared error of the mean; nan where y is constant.

    ``sqrt(sum((y - mu)^2) / sum((y - mean(y))^2))``

    It is 0 for a perfect forecast and 1 for one as good as always predicting the mean of y.

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
    return float(np.sqrt(_relative_squared_error(dist.mean, target)))


def _relative_squared_error(prediction: Array, y: Array) -> float:
    # Compare values: the mean of a constant may differ from it in the last digit.
    if y.min() == y.max():
        return float("nan")
    return float(np.sum((y - prediction) ** 2)) / float(np.sum((y - y.mean()) ** 2))

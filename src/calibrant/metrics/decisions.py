"""Decisions by a forecast: which rows to leave to a human, and what decisions cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calibrant.checks import Array, Flags, as_numbers, check_level
from calibrant.distributions import Distribution
from calibrant.errors import DataError, ParameterError
from calibrant.metrics.inputs import check_dist, check_target


def reject(dist: Distribution, *, max_width: float, coverage: float = 0.9) -> Flags:
    """Rows whose interval is wider than allowed.

    Leave them to a human or to another model.

    ``F_i^-1((1 + coverage) / 2) - F_i^-1((1 - coverage) / 2) > max_width``

    Parameters
    ----------
    max_width : float
        Largest width of the central interval, in target units.
    coverage : float in (0, 1), default 0.9

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import reject
    >>> reject(Normal([0.0, 0.0], [1.0, 3.0]), max_width=5.0)
    array([False,  True])
    """
    most = as_numbers(max_width, "max_width")
    if most.ndim or not most > 0:
        raise ParameterError(f"max_width must be a number above 0, got {max_width!r}.")
    rejected: Flags = _widths(dist, coverage) > most
    return rejected


@dataclass(frozen=True)
class RiskCoverage:
    """Mean error of the rows that are kept if the widest are rejected first.

    Attributes
    ----------
    kept : array of shape (n,)
        Shares of the rows that are kept, ``1/n ... 1``.
    risk : array of shape (n,)
        Mean absolute error of the median over these rows.
    max_width : array of shape (n,)
        The `max_width` of `reject` that keeps them.
    """

    kept: Array
    risk: Array
    max_width: Array

    @property
    def area(self) -> float:
        """Mean risk over all shares; lower is better."""
        return float(np.mean(self.risk))

    def width_for(self, risk: float) -> float:
        """Return the largest `max_width` at which the mean error of the kept rows is at most risk.

        It is chosen on these rows: use others than those that it is applied to.
        """
        allowed = np.flatnonzero(self.risk <= risk)
        if not len(allowed):
            raise DataError(
                f"No share of the rows has a mean error of {risk:g} or less: the least is "
                f"{self.risk.min():g}."
            )
        return float(self.max_width[allowed[-1]])


def risk_coverage(dist: Distribution, y: ArrayLike, *, coverage: float = 0.9) -> RiskCoverage:
    """Error that is left when the least certain rows are rejected.

    Where widths say what a forecast does not know, it falls with every row that is left out.

    ``risk_k = mean of |y_i - median_i| over the k narrowest intervals``

    Parameters
    ----------
    coverage : float in (0, 1), default 0.9
        Of the intervals whose widths order the rows.

    Examples
    --------
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import risk_coverage
    >>> risk_coverage(Normal([0.0, 0.0], [1.0, 3.0]), [0.5, -2.5]).risk
    array([0.5, 1.5])
    """
    target = check_target(dist, y)
    width = _widths(dist, coverage)
    order = np.argsort(width, kind="stable")
    count = np.arange(1, len(target) + 1)
    error = np.abs(target - dist.median)[order]
    return RiskCoverage(count / len(target), np.cumsum(error) / count, width[order])


@dataclass(frozen=True)
class CostCheck:
    """Expected against realised cost of the best decisions under a forecast.

    Attributes
    ----------
    expected, realised : float
        Mean over rows.
    standard_error : float
        Of their difference.
    """

    expected: float
    realised: float
    standard_error: float

    @property
    def z(self) -> float:
        """Difference in standard errors: beyond 2 either way, chance is an unlikely cause."""
        difference = self.realised - self.expected
        return difference / self.standard_error if self.standard_error > 0 else np.inf * difference

    def __str__(self) -> str:
        told = "as the forecast promised" if abs(self.z) <= 2 else "not what the forecast promised"
        return (
            f"Decisions cost {self.realised:.4g} per row, {self.expected:.4g} were expected: "
            f"{told} ({self.z:+.1f} standard errors)."
        )


def cost_check(dist: Distribution, y: ArrayLike, *, under: ArrayLike, over: ArrayLike) -> CostCheck:
    """Cost that the best decisions were expected to have, and the one that they had.

    A calibrated forecast knows the cost of acting on it, an overconfident one promises less.

    ``mean_i E c(d_i, Y_i), mean_i c(d_i, y_i);  c = under (y-d)+ + over (d-y)+``

    Parameters
    ----------
    under, over : float or array of shape (n,)
        Cost of one unit too little, and of one unit too much.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import cost_check
    >>> y = np.random.default_rng(0).normal(size=2000)
    >>> print(cost_check(Normal(np.zeros(2000), np.full(2000, 0.5)), y, under=3.0, over=1.0))
    Decisions cost 1.335 per row, 0.6356 were expected: not what the forecast promised \
(+25.9 standard errors).
    """
    target = check_target(dist, y)
    decision = dist.newsvendor(under=under, over=over)
    expected = dist.expected_cost(decision, under=under, over=over)
    missing = target - decision
    realised = np.where(missing > 0, np.asarray(under) * missing, -np.asarray(over) * missing)
    difference = realised - expected
    error = float(np.std(difference, ddof=1) / np.sqrt(len(target))) if len(target) > 1 else 0.0
    return CostCheck(float(np.mean(expected)), float(np.mean(realised)), error)


def _widths(dist: Distribution, coverage: float) -> Array:
    check_dist(dist)
    low, high = dist.interval(check_level(coverage, "coverage")).T
    width: Array = high - low
    return width

"""Sums over rows, from which scores and the accuracy of the mean follow; those of parts add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from calibrant.metrics.row_values import RowValues


@dataclass(frozen=True)
class RowSums:
    """Sums over n rows.

    Attributes
    ----------
    n : int
    crps, log_prob : float
    squared, absolute, relative : float
        Errors of the predicted mean; relative to half the sum of the sizes of both.
    mean : float
        Mean of the targets.
    spread : float
        Squared distances of the targets from their mean.
    low, high : float
        Smallest and largest target.
    """

    n: int
    crps: float
    log_prob: float
    squared: float
    absolute: float
    relative: float
    mean: float
    spread: float
    low: float
    high: float

    @classmethod
    def of(cls, rows: RowValues) -> Self:
        """Sum the values of rows."""
        y, error = rows.y, np.abs(rows.y - rows.mean)
        size = 0.5 * (np.abs(y) + np.abs(rows.mean))
        relative = np.divide(error, size, out=np.zeros(len(y)), where=size > 0)
        mean = float(y.mean())
        return cls(
            n=len(y),
            crps=float(rows.crps.sum()),
            log_prob=float(rows.log_prob.sum()),
            squared=float(np.sum(error**2)),
            absolute=float(error.sum()),
            relative=float(relative.sum()),
            mean=mean,
            spread=float(np.sum((y - mean) ** 2)),
            low=float(y.min()),
            high=float(y.max()),
        )

    def __add__(self, other: Self) -> Self:
        """Return the sums of both."""
        n, distance = self.n + other.n, other.mean - self.mean
        return type(self)(
            n=n,
            crps=self.crps + other.crps,
            log_prob=self.log_prob + other.log_prob,
            squared=self.squared + other.squared,
            absolute=self.absolute + other.absolute,
            relative=self.relative + other.relative,
            mean=self.mean + distance * other.n / n,
            spread=self.spread + other.spread + distance**2 * self.n * other.n / n,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )

    @property
    def relative_squared_error(self) -> float:
        """Squared errors relative to those of the mean of the targets."""
        # Compare values: the mean of a constant may differ from it in the last digit.
        return math.nan if self.low == self.high else self.squared / self.spread

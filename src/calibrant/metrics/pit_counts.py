"""Counts of PIT values, from which all calibration errors follow; those of parts add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array
from calibrant.metrics.calibration import LEVELS


@dataclass(frozen=True, eq=False)
class PitCounts:
    """Counts of R draws of the PIT values of n rows.

    Attributes
    ----------
    n : int
    level : float
        Nominal coverage of the intervals whose coverage is reported.
    within : array of int of shape (R, 100)
        Rows inside the central intervals of each of `LEVELS`, and of `level`.
    at_most : array of int of shape (R, 99)
        Rows at or below each of `LEVELS`.
    below : array of int of shape (R,)
        Rows below one half.
    moments : array of shape (R, 2)
        Sums of the distance from one half, and of its square.
    """

    n: int
    level: float
    within: NDArray[np.int64]
    at_most: NDArray[np.int64]
    below: NDArray[np.int64]
    moments: Array

    @classmethod
    def of(cls, draws: Array, level: float) -> Self:
        """Count draws of PIT values, (R, n)."""
        levels = np.append(LEVELS, level)
        centred = draws - 0.5
        return cls(
            n=draws.shape[1],
            level=level,
            within=_at_most(np.abs(2.0 * draws - 1.0), levels),
            at_most=_at_most(draws, LEVELS),
            below=np.count_nonzero(draws < 0.5, axis=1),
            moments=np.stack([centred.sum(axis=1), (centred**2).sum(axis=1)], axis=1),
        )

    def __add__(self, other: Self) -> Self:
        """Return the counts of both; one draw, of rows without atoms, stands for any number."""
        return type(self)(
            n=self.n + other.n,
            level=self.level,
            within=self.within + other.within,
            at_most=self.at_most + other.at_most,
            below=self.below + other.below,
            moments=self.moments + other.moments,
        )

    @property
    def curves(self) -> Array:
        """Coverage at each of `LEVELS`, (R, 99)."""
        curves: Array = self.within[:, :-1] / self.n
        return curves

    @property
    def errors(self) -> Array:
        """Absolute coverage error at each of `LEVELS`, (R, 99)."""
        errors: Array = np.abs(self.curves - LEVELS)
        return errors

    @property
    def ecpe(self) -> float:
        """Mean coverage error."""
        return float(self.errors.mean(axis=1).mean())

    @property
    def coverage(self) -> float:
        """Share of targets inside the central intervals of `level`."""
        return float(np.mean(self.within[:, -1] / self.n))

    @property
    def quantile_error(self) -> float:
        """Mean error of one-sided calibration."""
        return float(np.abs(self.at_most / self.n - LEVELS).mean(axis=1).mean())

    @property
    def below_median(self) -> float:
        """Share of targets below the predicted median."""
        return float(np.mean(self.below / self.n))

    @property
    def is_biased(self) -> bool:
        """Whether the location of the PIT is further off than its spread."""
        # The first two Legendre components of the PIT, location and spread, are each standard
        # normal for a perfect forecast: the larger one names the fault.
        mean, square = self.moments.mean(axis=0) / self.n
        location = np.sqrt(12.0 * self.n) * mean
        spread = np.sqrt(180.0 * self.n) * (square - 1.0 / 12.0)
        return bool(abs(location) > max(abs(spread), 2.0))


def _at_most(values: Array, thresholds: Array) -> NDArray[np.int64]:
    """Values of each draw, (R, n), at or below each threshold, (R, L): one sort, no table."""
    return np.array([np.searchsorted(np.sort(u), thresholds, side="right") for u in values])

"""Means over trials with their standard errors, and differences that are paired by trial."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from calibrant.checks import Array
from calibrant.experiments.store import Record
from calibrant.experiments.tasks import TASKS, splits_differ

_CONFIDENCE = 0.95
_ROUNDING = 1e-9  # trials of a deterministic method differ by rounding alone


class Estimate(NamedTuple):
    """A mean over trials.

    Attributes
    ----------
    mean : float
    std_error : float or None
        None for a single trial, which says nothing about noise.
    trials : int
    """

    mean: float
    std_error: float | None
    trials: int

    def __str__(self) -> str:
        error = "" if self.std_error is None else f" ± {self.std_error:.2g}"
        return f"{self.mean:.4g}{error}"

    def over(self, unit: float) -> Estimate:
        """The same estimate in another unit."""
        error = None if self.std_error is None else self.std_error / unit
        return Estimate(self.mean / unit, error, self.trials)

    @property
    def margin(self) -> float | None:
        """95% margin of the mean; None for a single trial."""
        return None if self.std_error is None else margin((self.std_error, self.trials - 1))


def estimate(values: Iterable[float]) -> Estimate | None:
    """Mean and standard error of values, or None if there are none.

    Examples
    --------
    >>> print(estimate([1.0, 2.0, 3.0]), estimate([1.0]), estimate([]))
    2 ± 0.58 1 None
    """
    array = np.array(list(values), dtype=np.float64)
    if not len(array):
        return None
    return Estimate(float(array.mean()), standard_error(array), len(array))


def paired_difference(
    ours: Mapping[int, float], theirs: Mapping[int, float], test_ratio: float
) -> Estimate | None:
    """Mean difference over shared trials, with the corrected resampled standard error.

    Random splits of one data set share training rows, so that differences of trials are
    correlated and their plain standard error is too small. Nadeau and Bengio (2003) estimate the
    variance of the mean difference over J splits as ``(1 / J + n_test / n_train) * s^2``.

    Parameters
    ----------
    ours, theirs : mapping from trial to float
    test_ratio : float
        ``n_test / n_train``, or 0 where all trials share one split and differ in their seed; the
        error is then that of training alone. See `ratio_of_test_rows`.

    Examples
    --------
    >>> print(paired_difference({0: 1.0, 1: 2.0}, {0: 0.5, 1: 1.0, 2: 9.0}, test_ratio=0.25))
    0.75 ± 0.31
    """
    gaps = estimate(ours[trial] - theirs[trial] for trial in sorted(ours.keys() & theirs.keys()))
    if gaps is None or gaps.std_error is None:
        return gaps
    correction = math.sqrt(1.0 + gaps.trials * test_ratio)
    return gaps._replace(std_error=gaps.std_error * correction)


def ratio_of_test_rows(records: Sequence[Record]) -> float:
    """Test rows per training row of a cell's trials; 0 if they all share one split."""
    cell = records[0]["cell"]
    if not splits_differ(cell["protocol"], TASKS[cell["dataset"]]):
        return 0.0
    return float(np.mean([record["rows"]["test"] / record["rows"]["train"] for record in records]))


def margin(*parts: tuple[float, float]) -> float:
    """Half-width of the 95% confidence interval of a difference.

    Student's quantile times the joint standard error: with five trials 2.8 standard errors, with
    two 12.7. The degrees of freedom of the sum follow Welch and Satterthwaite.

    Parameters
    ----------
    *parts : pair of float
        Independent standard errors, each with its degrees of freedom.

    Examples
    --------
    >>> round(margin((1.0, 4)), 2), round(margin((0.6, 4), (0.8, math.inf)), 2)
    (2.78, 2.04)
    """
    from scipy.stats import t

    variance = sum(error**2 for error, _ in parts)
    if variance == 0.0:
        return 0.0
    spread = sum(error**4 / freedom for error, freedom in parts)
    freedom = variance**2 / spread if spread else math.inf
    return float(t.ppf(0.5 + _CONFIDENCE / 2, freedom)) * math.sqrt(variance)


def standard_error(values: Array) -> float | None:
    """Standard error of a mean; None for fewer than two values."""
    n = len(values)
    if n < 2:
        return None
    error = float(values.std(ddof=1) / math.sqrt(n))
    return error if error > _ROUNDING * abs(float(values.mean())) else 0.0

"""Which of two forecasts is better, row by row on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import t, ttest_rel

from calibrant.metrics._inputs import Array
from calibrant.report._forecasts import Judged


@dataclass(frozen=True)
class Pair:
    """Mean difference in CRPS, first less second, with its paired t-test.

    Attributes
    ----------
    first, second : str
    difference : float
        In target units; negative where the first is better.
    low, high : float
        95% confidence interval of the difference.
    p_value : float
        Two-sided, adjusted for the number of pairs (Holm).
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float

    @property
    def sentence(self) -> str:
        """Say which one is better, or that it can't be told."""
        if self.p_value >= 0.05:
            return f"{self.first} and {self.second} can't be told apart on these rows"
        better, other = (
            (self.first, self.second) if self.difference < 0 else (self.second, self.first)
        )
        return f"{better} is better than {other}"


def compare(forecasts: list[Judged]) -> list[Pair]:
    """Test every pair; the rows must be independent of each other."""
    pairs = list(combinations(forecasts, 2))
    if not pairs or len(forecasts[0].crps) < 2:
        return []
    raw = np.array([_p_value(a.crps, b.crps) for a, b in pairs])
    return [_pair(a, b, p_value) for (a, b), p_value in zip(pairs, _holm(raw), strict=True)]


def _pair(a: Judged, b: Judged, p_value: float) -> Pair:
    difference = a.crps - b.crps
    n = len(difference)
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(n))
    reach = float(t.ppf(0.975, n - 1)) * error
    return Pair(a.name, b.name, mean, mean - reach, mean + reach, float(p_value))


def _p_value(first: Array, second: Array) -> float:
    if np.array_equal(first, second):  # scipy divides zero by zero
        return 1.0
    return float(ttest_rel(first, second).pvalue)


def _holm(p_values: Array) -> Array:
    order = np.argsort(p_values)
    scaled = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted

"""Paired comparison of forecasts, row by row on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t, ttest_rel

from calibrant.checks import Array
from calibrant.errors import DataError
from calibrant.metrics.significance import holm


@dataclass(frozen=True)
class ScoreDifference:
    """Mean difference between the scores of two forecasts, with its paired t-test.

    Attributes
    ----------
    first, second : str
    difference : float
        Mean score of the first minus that of the second; negative if the first is better.
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
        """Which one is better, or that the difference is within noise."""
        if self.p_value >= 0.05:
            return f"{self.first} and {self.second} can't be told apart on these rows"
        better, other = (
            (self.first, self.second) if self.difference < 0 else (self.second, self.first)
        )
        return f"{better} is better than {other}"


def compare_scores(scores: Mapping[str, ArrayLike]) -> list[ScoreDifference]:
    """Test every pair of forecasts for a difference in their mean score.

    ``t = sqrt(n) mean(d) / std(d)``

    Scores of two forecasts rise and fall together from row to row, so their differences d are
    far less noisy than the two means.

    Parameters
    ----------
    scores : mapping from names to arrays of shape (n,)
        Score of each row, lower is better, such as ``evaluate(dist, y).rows.crps``.

    Returns
    -------
    list of ScoreDifference
        One for each pair; empty for fewer than two names or rows.

    Notes
    -----
    Student's t-test of the differences; p-values of several pairs are adjusted (Holm). The result
    holds for new rows like these, which must be independent, and for these fits, not for other
    seeds.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.distributions import Normal
    >>> from calibrant.metrics import compare_scores
    >>> y = np.random.default_rng(0).normal(size=300)
    >>> truth, wide = Normal(0 * y, 1 + 0 * y), Normal(0 * y, 3 + 0 * y)
    >>> (found,) = compare_scores({"truth": truth.crps(y), "wide": wide.crps(y)})
    >>> found.sentence
    'truth is better than wide'
    """
    rows = {name: np.asarray(values, dtype=np.float64) for name, values in scores.items()}
    shapes = {values.shape for values in rows.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise DataError(
            "Scores are compared row by row, so all must be of one shape (n,), got "
            f"{ {name: values.shape for name, values in rows.items()} }."
        )
    pairs = list(combinations(rows, 2))
    if not pairs or len(next(iter(rows.values()))) < 2:
        return []
    raw = np.array([_p_value(rows[a], rows[b]) for a, b in pairs])
    return [
        _difference(a, b, rows[a] - rows[b], p_value)
        for (a, b), p_value in zip(pairs, holm(raw), strict=True)
    ]


def _difference(first: str, second: str, rows: Array, p_value: float) -> ScoreDifference:
    n = len(rows)
    mean, error = float(rows.mean()), float(rows.std(ddof=1) / np.sqrt(n))
    reach = float(t.ppf(0.975, n - 1)) * error
    return ScoreDifference(first, second, mean, mean - reach, mean + reach, float(p_value))


def _p_value(first: Array, second: Array) -> float:
    if np.array_equal(first, second):  # scipy divides zero by zero
        return 1.0
    return float(ttest_rel(first, second).pvalue)

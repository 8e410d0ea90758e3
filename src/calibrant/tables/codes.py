"""Whole numbers that are codes, such as those of shops or patients: their order means nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_float_dtype, is_integer_dtype
from scipy import stats

from calibrant.checks import Array

_LEAST_CODES = 12.0  # steps of fewer values are easily learned from the number
_MOST_CODES = 256
_ROWS_PER_CODE = 4
_MOST_ROWS = 20_000  # are enough to decide
_LARGEST_P = 1e-6
_LEAST_SHARE = 0.1  # of the remaining variance that the codes explain


def holds_whole_numbers(column: pd.Series[Any]) -> bool:
    """Whether a column is of whole numbers, which pandas stores as decimals if it has gaps."""
    if is_integer_dtype(column.dtype):
        return True
    known = column.dropna()
    gaps = len(known) < len(column)
    return gaps and is_float_dtype(column.dtype) and bool((known == known.round()).all())


def unexplained(matrix: Array, y: Array) -> Array:
    """What a linear model of all inputs leaves of the targets, as normal scores, (n,).

    Parameters
    ----------
    matrix : array of shape (n, d)
        Encoded inputs.
    y : array of shape (n,)
    """
    scores = stats.norm.ppf((stats.rankdata(y) - 0.5) / len(y))
    spread = matrix.std(axis=0)
    x = (matrix - matrix.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    gram = x.T @ x + 1e-3 * len(y) * np.eye(x.shape[1])
    return np.asarray(scores - x @ np.linalg.solve(gram, x.T @ scores), dtype=np.float64)


def sample_rows(n_rows: int) -> Any:
    """Rows to decide by: all, or a fixed random sample of many."""
    if n_rows <= _MOST_ROWS:
        return slice(None)
    return np.random.default_rng(0).choice(n_rows, _MOST_ROWS, replace=False)


def are_codes(column: pd.Series[Any], rest: Array) -> bool:
    """Whether the values of a column matter, but not their order.

    The mean of `rest` differs from value to value by far more than chance (a one-way analysis of
    variance), and the means of adjacent values are not alike, as they are for quantities.

    Parameters
    ----------
    column : Series of length n
        Whole numbers, possibly with gaps.
    rest : array of shape (n,)
        What other inputs, and a linear dependence on this one, do not explain.
    """
    known = column.notna().to_numpy()
    values = column[known].to_numpy(dtype=np.float64)
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    n, k = len(values), len(counts)
    squares = float((counts.astype(np.float64) ** 2).sum())
    # Counts of events are mostly 0 and 1, however large a few of them are; codes are used evenly.
    evenly_used = n**2 / squares
    if evenly_used < _LEAST_CODES or k > min(_MOST_CODES, n / _ROWS_PER_CODE):
        return False
    rest = rest[known] - rest[known].mean()
    means = np.bincount(place, rest) / counts
    within = ((rest - means[place]) ** 2).sum() / (n - k)
    ratio = (counts * means**2).sum() / (k - 1) / within
    if stats.f.sf(ratio, k - 1, n - k) > _LARGEST_P:
        return False
    between = (ratio - 1.0) * within * (k - 1) / (n - squares / n)
    if between < _LEAST_SHARE * (between + within):
        return False
    pairs = np.sqrt(counts[1:] * counts[:-1])
    likeness = (pairs * means[1:] * means[:-1]).sum() / pairs.sum() / between
    return bool(likeness < max(0.25, 1.64 / np.sqrt(k)))  # 0 for codes, up to chance

"""Groups of rows by the values of one column, found again among new rows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.checks import Array, Index
from calibrant.distributions import Distribution
from calibrant.errors import DataError
from calibrant.persistence import savable_part

Labels = dict[str, NDArray[Any]]
PREDICTED = ("predicted mean", "predicted spread")
# Numbers are cut at their deciles if there are many, and few rows of each: not numbered zones.
_MOST_NUMBERS, _ROWS_OF_NUMBER = 20, 10
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_DECILES = np.arange(1, 10) / 10


@savable_part
@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups by the labels of a column, or by deciles of its numbers.

    Attributes
    ----------
    source : str
        Name of the column, "predicted mean" or "predicted spread".
    labels : tuple of str or None
        Labels by the number of their group; None is a missing one.
    edges : array of shape (B,)
        Inner edges of the bins of a numeric column; empty where there are labels. The bin after
        the last one holds missing numbers.
    """

    source: str
    labels: tuple[str | None, ...]
    edges: Array

    @classmethod
    def fit(cls, source: str, values: NDArray[Any]) -> Self:
        """Find the groups of a column of n values."""
        numbers = _without_dates(_parse_dates(values) if _are_dates(values) else values)
        distinct = len(np.unique(numbers)) if numbers.dtype.kind in "iuf" else 0
        if distinct > max(_MOST_NUMBERS, len(numbers) / _ROWS_OF_NUMBER):
            known = numbers[np.isfinite(numbers)].astype(np.float64)
            return cls(source, (), np.unique(np.quantile(known, _DECILES)))
        values = _without_dates(values)
        labels = dict.fromkeys(_label(value) for value in values)
        return cls(source, tuple(labels), np.empty(0))

    def __len__(self) -> int:
        return len(self.edges) + 2 if len(self.edges) else len(self.labels)

    def __call__(self, values: NDArray[Any]) -> Index:
        """Number of the group of every value, (n,); -1 for a label that was not seen before."""
        if len(self.edges):
            dates = values.dtype.kind in "OUT" and any(isinstance(each, str) for each in values)
            numbers = _without_dates(_parse_dates(values) if dates else values).astype(np.float64)
            bins = np.searchsorted(self.edges, numbers, side="right")
            return np.where(np.isnan(numbers), len(self.edges) + 1, bins).astype(np.intp)
        values = _without_dates(values)
        codes = {label: code for code, label in enumerate(self.labels)}
        return np.array([codes.get(_label(value), -1) for value in values], dtype=np.intp)


def _are_dates(values: NDArray[Any]) -> bool:
    """Whether all texts of a column are dates of ISO 8601, which a CSV file has."""
    if values.dtype.kind not in "OUT":
        return False
    known = [value for value in values if _label(value) is not None]
    return bool(known) and all(isinstance(value, str) and _DATE.fullmatch(value) for value in known)


def _parse_dates(values: NDArray[Any]) -> NDArray[Any]:
    """Dates of ISO 8601; what is none is missing."""
    known = [isinstance(value, str) and _DATE.fullmatch(value) for value in values]
    texts = [value if date else "NaT" for value, date in zip(values, known, strict=True)]
    return np.array(texts, dtype="datetime64[ns]")


def _without_dates(values: NDArray[Any]) -> NDArray[Any]:
    """Return dates and durations as numbers, which can be cut at their deciles."""
    if values.dtype.kind not in "mM":
        return values
    numbers = values.astype(f"{values.dtype.kind}8[ns]").astype(np.int64).astype(np.float64)
    return np.where(np.isnat(values), np.nan, numbers)


def _label(value: Any) -> str | None:
    """Text of a label, without spaces around it.

    3 and 3.0 are the same, as gaps turn whole numbers into floats.
    """
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    text = str(value).strip()
    return None if text in ("NaT", "<NA>") else text


def group_values(name: str, X: Any, dist: Distribution, labels: Labels | None) -> NDArray[Any]:
    """Values to group by, (n,): given labels, what is predicted, or a column of X."""
    if labels and name in labels:
        return labels[name]
    if name in PREDICTED:
        return dist.mean if name == PREDICTED[0] else dist.stddev
    if hasattr(X, "columns") and name in X.columns:
        return np.asarray(X[name])
    have = f"columns {', '.join(map(str, X.columns))}" if hasattr(X, "columns") else "no names"
    raise DataError(
        f"Rows are grouped by {name!r}, but X has {have}. Pass a frame with that column, or "
        f"groups={{{name!r}: labels}}; what is predicted is called 'predicted mean' and 'predicted "
        "spread'."
    )


def group_codes(
    groupings: Sequence[Grouping], columns: Sequence[NDArray[Any]], n_rows: int
) -> Index:
    """Group of every row by each column, (n, C)."""
    codes = [grouping(values) for grouping, values in zip(groupings, columns, strict=True)]
    return np.stack(codes, axis=1) if codes else np.empty((n_rows, 0), dtype=np.intp)


def model_columns(model: Any, X: Any) -> Any:
    """Return the columns of a frame that a model was fitted on: others may be there to group by."""
    while not hasattr(model, "feature_names_in_") and hasattr(model, "model_"):
        model = model.model_
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    if not names or not hasattr(X, "columns") or not set(names) < {str(c) for c in X.columns}:
        return X
    return X[names]

"""Rows of whatever a model takes: tables, several arrays, data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant.checks.arrays import Index, package_of
from calibrant.errors import DataError


def count_rows(X: Any) -> int:
    """Return the number of rows of a table, of several arrays or of a data set."""
    if isinstance(X, Mapping | tuple):
        named = X.items() if isinstance(X, Mapping) else enumerate(X)
        counts = {name: count_rows(part) for name, part in named}
        if len(set(counts.values())) != 1:
            found = ", ".join(f"{n} of {name!r}" for name, n in counts.items()) or "no inputs"
            raise DataError(f"All inputs must have as many rows, got {found}.")
        return next(iter(counts.values()))
    if hasattr(X, "shape"):
        if not X.shape:
            raise DataError("X must have rows, got a single number.")
        return int(X.shape[0])
    try:
        return len(X)
    except TypeError as cause:
        raise DataError(
            f"X must be a table, a dict or tuple of arrays, or a data set with a length, got "
            f"{type(X).__name__}."
        ) from cause


def take_rows(X: Any, rows: Index) -> Any:
    """Return rows by position, in the same container; samples of a data set come as a list.

    Parameters
    ----------
    X : frame, Arrow table, array, tensor, sparse matrix, data set, or dict or tuple of them
    rows : array of shape (m,)
    """
    if isinstance(X, Mapping):
        return {name: take_rows(part, rows) for name, part in X.items()}
    if isinstance(X, tuple):
        return tuple(take_rows(part, rows) for part in X)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if package_of(X) == "pyarrow":
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else [X[int(row)] for row in rows]

"""Rows of whatever a user's model takes: tables, several arrays, data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from calibrant.checks import Index, take_rows
from calibrant.errors import DataError
from calibrant.tables import to_local

Features = Callable[[Any], Any]  # from X to a table (n, d), or None


def count_rows(X: Any) -> int:
    """Return the number of rows of a table, of several arrays or of a data set."""
    if isinstance(X, Mapping | tuple):
        parts = list(X.values() if isinstance(X, Mapping) else X)
        counts = {count_rows(part) for part in parts}
        if len(counts) != 1:
            raise DataError(f"All inputs must have as many rows, got {sorted(counts)}.")
        return counts.pop()
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


def take(X: Any, rows: Index) -> Any:
    """Return some rows, in the same container; samples of a data set come as a list."""
    if isinstance(X, Mapping):
        return {name: take(part, rows) for name, part in X.items()}
    if isinstance(X, tuple):
        return tuple(take(part, rows) for part in X)
    if hasattr(X, "shape"):
        return take_rows(X, rows)
    return [X[int(row)] for row in rows]


def table_or_none(X: Any) -> Any:
    """Return X as features if it is a table (n, d); None for anything else."""
    local = to_local(X)
    if isinstance(local, list) and local and np.ndim(local[0]) == 1:
        local = np.asarray(local)
    is_table = getattr(local, "ndim", 0) == 2 and not hasattr(local, "tocsr")
    return local if is_table else None

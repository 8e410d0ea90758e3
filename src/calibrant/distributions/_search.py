"""Row-wise binary search and ordering of quantiles."""

from __future__ import annotations

from typing import Literal

import numpy as np

from calibrant.checks import Array, Index

_FEW = 4096  # comparisons per row up to which counting whole columns beats one search per row


def search_rows(table: Array, values: Array, side: Literal["left", "right"] = "left") -> Index:
    """``np.searchsorted`` per row: table (n, P) with sorted rows, values and result (n, k)."""
    found = np.empty(values.shape, dtype=np.intp)
    few = table.shape[1] * values.shape[1] <= _FEW
    if few and len(values) > values.shape[1]:
        before = np.less if side == "left" else np.less_equal
        for j in range(values.shape[1]):
            found[:, j] = np.count_nonzero(before(table, values[:, j, None]), axis=1)
    else:
        for i in range(len(values)):
            found[i] = np.searchsorted(table[i], values[i], side)
    return found


def without_crossing(values: Array, q: Array) -> Array:
    """Make quantiles (n, L) not decreasing in their levels q, (1, L) or (n, L), in place.

    Only rounding in the last digit can have made them cross.
    """
    if np.all(q[:, 1:] >= q[:, :-1]):
        return np.maximum.accumulate(values, axis=1, out=values)
    order = np.argsort(q, axis=1, kind="stable")
    if len(q) == 1:
        values[:, order[0]] = np.maximum.accumulate(values[:, order[0]], axis=1)
    else:
        ordered = np.take_along_axis(values, order, axis=1)
        np.put_along_axis(values, order, np.maximum.accumulate(ordered, axis=1), axis=1)
    return values

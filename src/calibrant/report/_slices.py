"""Slices of the rows: groups, categories, and deciles of columns and of the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.checks import Index, as_array
from calibrant.metrics import GroupCalibration
from calibrant.metrics.conditional import bin_codes, coded_calibration, group_codes
from calibrant.metrics.inputs import column
from calibrant.metrics.slices import LEAST_ROWS
from calibrant.report.scored_forecast import ScoredForecast
from calibrant.tables import as_read

_DECILES = 10
_MANY_LABELS = 50  # of which the rare ones are put together
_LEAST_FREQUENT = 0.5  # share of the rows whose labels must not be rare

Codes = tuple[Index, Sequence[Any]]  # number of the slice of each row, names of the slices


@dataclass(frozen=True, eq=False)
class Slicing:
    """All rows cut by one source."""

    source: str
    found: GroupCalibration
    codes: Index  # slice of each row, (n,)
    ordered: bool  # slices have an order, so that a line may join them


def table_columns(X: Any, n: int) -> dict[str, NDArray[Any]]:
    """Columns of a frame, array or tensor by name; none for windows and other shapes."""
    if X is None:
        return {}
    if hasattr(X, "columns"):
        return {str(name): column(X[name], f"Column {name!r}", n) for name in X.columns}
    array = as_array(X)
    if array.ndim != 2 or len(array) != n:
        return {}
    return {f"column {j + 1}": array[:, j] for j in range(array.shape[1])}


def cut(
    forecast: ScoredForecast, columns: dict[str, NDArray[Any]], groups: dict[str, Any], level: float
) -> list[Slicing]:
    """Slice the rows by every source; columns with one slice only are left out.

    Parameters
    ----------
    columns, groups : dict of name to array of shape (n,)
        Numeric columns are cut into deciles, groups are used as they are.
    """
    rows = forecast.scores.rows
    draws = rows.pit_draws()
    columns = {
        f"column {name}" if name.startswith("predicted ") else name: _as_read(values)
        for name, values in columns.items()
        if name not in groups
    }
    ways = {name: _column_codes(values) for name, values in columns.items()}
    ways |= {name: group_codes(labels) for name, labels in groups.items()}
    ways["predicted spread"] = bin_codes(rows.stddev, _DECILES)
    found = {name: way for name, way in ways.items() if way is not None and len(way[1]) > 1}
    # Always included, so that there is something to show.
    found["predicted mean"] = bin_codes(rows.mean, _DECILES)
    apart = {*groups, *(name for name, values in columns.items() if not _is_ordered(values))}
    return [
        Slicing(
            source=name,
            found=coded_calibration(draws, codes, names, level),
            codes=codes,
            ordered=name not in apart and len(names) > 1,
        )
        for name, (codes, names) in found.items()
    ]


def _as_read(values: NDArray[Any]) -> NDArray[Any]:
    """Values as a model reads them, without a time zone."""
    if values.dtype.kind in "iufbmM":
        return values
    found = as_read(pd.Series(values))
    if isinstance(found.dtype, pd.DatetimeTZDtype):
        found = found.dt.tz_localize(None)
    return np.asarray(found)


def _column_codes(values: NDArray[Any]) -> Codes | None:
    if values.dtype.kind == "m":
        values = values / np.timedelta64(1, "D")
    if values.dtype.kind == "M":
        known = ~np.isnat(values)
        labels = np.full(len(values), "missing", dtype=object)
        labels[known] = _periods(values[known])
        return group_codes(labels)
    if values.dtype.kind not in "iuf":
        labels = np.array([str(value) for value in values], dtype=object)
        labels[pd.isna(values)] = "missing"
        return _common_labels(labels)
    numbers = values.astype(np.float64)
    known = np.isfinite(numbers)
    if known.all() and len(np.unique(numbers)) <= _DECILES:
        whole = np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < 2**53))
        return group_codes(numbers.astype(np.int64) if whole else numbers)
    if not known.any():
        return None
    bins, names = bin_codes(numbers[known], _DECILES)
    if known.all():
        return bins, names
    codes = np.full(len(numbers), len(names), dtype=np.intp)
    codes[known] = bins
    return codes, [*names, "missing"]


def _common_labels(labels: NDArray[Any]) -> Codes | None:
    """Groups of all labels, or of the frequent ones among many; None if most rows have rare ones.

    Names and identifiers are rare, and a slice of nearly all rows says nothing.
    """
    codes, names = group_codes(labels)
    if len(names) <= _MANY_LABELS:
        return codes, names
    frequent = np.bincount(codes) >= LEAST_ROWS
    if frequent[codes].mean() < _LEAST_FREQUENT:
        return None
    rest = "all others"
    return group_codes(np.where(frequent[codes], labels, rest))


def _is_ordered(values: NDArray[Any]) -> bool:
    """Whether all values have an order: labels and missing numbers have none."""
    return values.dtype.kind in "iumM" or (
        values.dtype.kind == "f" and bool(np.isfinite(values).all())
    )


def _periods(dates: NDArray[Any]) -> NDArray[Any]:
    """Name the tenth of the rows, in order of time, that each date falls into."""
    parts = np.array_split(np.argsort(dates, kind="stable"), min(_DECILES, len(dates)))
    ends = [[str(dates[row]) for row in (part[0], part[-1])] for part in parts]
    # The day alone if that tells the parts apart, else the minute.
    digits = 10 if len({(first[:10], last[:10]) for first, last in ends}) == len(parts) else 16
    labels = np.empty(len(dates), dtype=object)
    for part, period in zip(parts, ends, strict=True):
        labels[part] = " to ".join(end[:digits].replace("T", " ") for end in period)
    return labels

"""Calibration in slices of the rows: groups, categories, and deciles of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from calibrant.checks import Array
from calibrant.metrics import GroupCalibration
from calibrant.metrics.conditional import bin_calibration, group_calibration
from calibrant.metrics.formatting import p_value_text
from calibrant.metrics.inputs import column
from calibrant.report._format import level_text, percent
from calibrant.report.scored_forecast import ScoredForecast

_DECILES = 10
_MOST_LABELS = 50


@dataclass(frozen=True, eq=False)
class Slicing:
    """All rows cut by one source, with the exact p-value of the coverage of each slice."""

    source: str
    found: GroupCalibration
    p_values: Array
    ordered: bool  # slices have an order, so that a line may join them


@dataclass(frozen=True)
class Worst:
    """The slice least explained by chance, of all that were searched."""

    source: str
    name: str
    n: int
    coverage: float
    level: float
    p_value: float  # adjusted
    searched: int

    @property
    def sentence(self) -> str:
        """Name the slice and say whether chance explains it."""
        rest = (
            "That is more than chance explains"
            if self.p_value < 0.05
            else "That is within what chance gives when so many slices are searched"
        )
        return (
            f"Worst of {self.searched:,} slices: {self.source}, {self.name} ({self.n:,} rows), "
            f"where {level_text(self.level)} intervals cover {percent(self.coverage, self.n)}. "
            f"{rest} ({p_value_text(self.p_value)}, adjusted for {self.searched:,} slices)."
        )


def table_columns(X: Any, n: int) -> dict[str, NDArray[Any]]:
    """Columns of a frame, array or tensor by name; none for windows and other shapes."""
    if X is None:
        return {}
    if hasattr(X, "columns"):
        return {str(name): column(X[name], f"Column {name!r}", n) for name in X.columns}
    array = np.asarray(X.detach().cpu() if hasattr(X, "detach") else X)
    if array.ndim != 2 or len(array) != n:
        return {}
    return {f"column {j + 1}": array[:, j] for j in range(array.shape[1])}


def cut(
    forecast: ScoredForecast, columns: dict[str, NDArray[Any]], groups: dict[str, Any], level: float
) -> list[Slicing]:
    """Slice the rows by every source; columns with one value or too many labels are left out.

    Parameters
    ----------
    columns, groups : dict of name to array of shape (n,)
        Numeric columns are cut into deciles, groups are used as they are.
    """
    rows = forecast.scores.rows
    draws = rows.pit_draws()
    columns = {
        f"column {name}" if name.startswith("predicted ") else name: values
        for name, values in columns.items()
        if name not in groups
    }
    ways = {name: _by_column(draws, values, level) for name, values in columns.items()}
    ways |= {name: group_calibration(draws, labels, level) for name, labels in groups.items()}
    ways["predicted spread"] = bin_calibration(draws, rows.stddev, _DECILES, level)
    found = {name: cuts for name, cuts in ways.items() if cuts is not None and len(cuts) > 1}
    # Always included, so that there is something to show.
    found["predicted mean"] = bin_calibration(draws, rows.mean, _DECILES, level)
    apart = {*groups, *(name for name, values in columns.items() if not _is_ordered(values))}
    return [
        Slicing(name, each, _p_values(each), name not in apart and len(each) > 1)
        for name, each in found.items()
    ]


def worst(slicings: list[Slicing]) -> Worst:
    """Slice with the smallest p-value, adjusted by Bonferroni."""
    searched = sum(len(each.found) for each in slicings)
    most = min(slicings, key=lambda each: float(each.p_values.min()))
    g = int(np.argmin(most.p_values))
    return Worst(
        source=most.source,
        name=str(most.found.names[g]),
        n=int(most.found.n[g]),
        coverage=float(most.found.coverage[g]),
        level=most.found.level,
        p_value=min(1.0, searched * float(most.p_values[g])),
        searched=searched,
    )


def _p_values(found: GroupCalibration) -> Array:
    inside = np.round(found.coverage * found.n)
    below = binom.cdf(inside, found.n, found.level)
    above = binom.sf(inside - 1, found.n, found.level)
    result: Array = np.minimum(1.0, 2.0 * np.minimum(below, above))
    return result


def _by_column(draws: Array, values: NDArray[Any], level: float) -> GroupCalibration | None:
    if values.dtype.kind == "m":
        values = values / np.timedelta64(1, "D")
    if values.dtype.kind == "M":
        return group_calibration(draws, _periods(values), level)
    if values.dtype.kind not in "iuf":
        labels = np.array([str(value) for value in values], dtype=object)
        few = len(set(labels)) <= _MOST_LABELS
        return group_calibration(draws, labels, level) if few else None
    numbers = values.astype(np.float64)
    known = np.isfinite(numbers)
    if known.all() and len(np.unique(numbers)) <= _DECILES:
        whole = np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < 2**53))
        return group_calibration(draws, numbers.astype(np.int64) if whole else numbers, level)
    if not known.any():
        return None
    bins = bin_calibration(draws[:, known], numbers[known], _DECILES, level)
    if known.all():
        return bins
    missing = np.full((~known).sum(), "missing")
    return GroupCalibration.joined([bins, group_calibration(draws[:, ~known], missing, level)])


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

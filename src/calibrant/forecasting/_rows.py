"""Rows of series in order of time, with their covariates beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.errors import DataError
from calibrant.forecasting._reading import Given, read_table
from calibrant.forecasting._report import SeriesReport

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Rows of one or several series, sorted by series and time, no stamp twice.

    Attributes
    ----------
    ids : array of shape (n,) or None
        Which series a row belongs to; None for a single one.
    stamps : index of n stamps or whole numbers
    y : array of shape (n,), nan where the target is missing
    inputs : DataFrame of n rows, or None
        Covariates.
    report : SeriesReport
    """

    ids: NDArray[Any] | None
    stamps: pd.Index[Any]
    y: Array
    inputs: pd.DataFrame | None
    report: SeriesReport

    def __len__(self) -> int:
        return len(self.y)

    def take(self, mask: Mask) -> Rows:
        """Return the rows of a mask."""
        return Rows(
            None if self.ids is None else self.ids[mask],
            self.stamps[mask],
            self.y[mask],
            None if self.inputs is None else self.inputs[mask],
            self.report,
        )


def read_rows(y: Any, X: Any = None, *, id: str | None, time: str | None, start: int = 0) -> Rows:
    """Read targets and covariates, put them in order and match them by series and stamp.

    Parameters
    ----------
    y : series, frame or array
    X : frame or array, optional
    id, time : str or None
        Columns of frames that name the series and hold the time stamps.
    start : int
        Position of the first row, where rows have no stamps.
    """
    given = read_table(y, "y", id, time)
    target = _target(given.values)
    stamps = _known_stamps(given, start)
    order, unsorted, repeated = _in_order(given.ids, stamps)
    ids = None if given.ids is None else given.ids[order]
    inputs, missing = None, 0
    if X is not None:
        inputs = _matched(read_table(X, "X", id, time), given, stamps, order)
        missing = int(inputs.isna().any(axis=1).sum())
    values = target[order]
    report = SeriesReport(
        rows=len(target),
        series=1 if ids is None else len(pd.unique(ids)),
        unsorted=unsorted,
        repeated=repeated,
        missing_target=int(np.isnan(values).sum()),
        missing_inputs=missing,
    )
    return Rows(ids, stamps[order], values, inputs, report)


def read_inputs(
    X: Any, *, id: str | None, time: str | None
) -> tuple[NDArray[Any] | None, pd.Index[Any] | None, pd.DataFrame]:
    """Series, stamps (or None) and values of covariates alone; the last row of a stamp counts."""
    given = read_table(X, "X", id, time)
    if given.stamps is None:
        return given
    order, _, _ = _in_order(given.ids, given.stamps)
    ids = None if given.ids is None else given.ids[order]
    return ids, given.stamps[order], given.values.iloc[order]


def _target(values: pd.DataFrame) -> Array:
    if values.shape[1] != 1:
        raise DataError(
            f"y must have one column besides series and time, got {values.shape[1]}: "
            f"{', '.join(map(str, values.columns))}. Pass the others as X."
        )
    try:
        target = values.iloc[:, 0].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise DataError(f"y must hold numbers: {error}") from error
    if np.isinf(target).any():
        raise DataError(f"y has {int(np.isinf(target).sum())} infinite values.")
    return target


def _known_stamps(given: Given, start: int) -> pd.Index[Any]:
    if given.stamps is not None:
        return given.stamps
    return pd.RangeIndex(start, start + len(given.values))


def _in_order(ids: NDArray[Any] | None, stamps: pd.Index[Any]) -> tuple[NDArray[np.intp], int, int]:
    """Positions that put rows in order, the last of each stamp; how many were unsorted, repeated.

    A row counts as unsorted where it came after a later one of its series.
    """
    codes = np.zeros(len(stamps), np.intp) if ids is None else pd.factorize(ids, sort=True)[0]
    keys = stamps.asi8 if hasattr(stamps, "asi8") else stamps.to_numpy()
    order = np.lexsort((np.arange(len(keys)), keys, codes))
    latest = pd.Series(keys).groupby(codes).cummax().to_numpy()
    unsorted = int(np.sum(keys < latest))
    same = (np.diff(keys[order]) == 0) & (np.diff(codes[order]) == 0)
    kept = np.append(~same, True) if len(order) else np.zeros(0, bool)
    return order[kept], unsorted, int(same.sum())


def _matched(
    given: Given, y: Given, stamps: pd.Index[Any], order: NDArray[np.intp]
) -> pd.DataFrame:
    """Covariates of the ordered rows of y: by position where one of them has no stamps."""
    if given.stamps is None or y.stamps is None:
        if len(given.values) != len(stamps):
            raise DataError(
                f"X and y must have the same rows, got {len(given.values)} and {len(stamps)}."
            )
        return given.values.iloc[order]
    if (given.ids is None) != (y.ids is None):
        raise DataError("X and y must both name their series, by the id column or the index.")
    if given.stamps.dtype.kind != stamps.dtype.kind:
        raise DataError(
            f"X and y must have time stamps of one kind, got {given.stamps.dtype} and "
            f"{stamps.dtype}."
        )
    own_order, _, _ = _in_order(given.ids, given.stamps)
    own = _keys(given.ids, given.stamps, own_order)
    wanted = _keys(y.ids, stamps, order)
    where = own.get_indexer(wanted)
    if np.any(where < 0):
        first = wanted[int(np.argmax(where < 0))]
        raise DataError(
            f"X has no row for {int(np.sum(where < 0))} of the {len(order)} rows of y; the first "
            f"is {first}. Covariates must cover the time stamps of the target."
        )
    return given.values.iloc[own_order[where]]


def _keys(
    ids: NDArray[Any] | None, stamps: pd.Index[Any], order: NDArray[np.intp]
) -> pd.Index[Any]:
    if ids is None:
        return stamps[order]
    return pd.MultiIndex.from_arrays([ids[order], stamps[order]])

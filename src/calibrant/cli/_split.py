"""Rows that are set aside before a fit, to evaluate it on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from calibrant.cli._data import group_labels
from calibrant.errors import DataError, ParameterError
from calibrant.tables import DateColumn, date_formats


class TestSplit(NamedTuple):
    """Rows to fit and rows to evaluate on.

    Attributes
    ----------
    train, test : DataFrame
    how : str
        How the test rows were chosen, in words.
    is_random : bool
        Whether each row was drawn by itself.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    how: str
    is_random: bool = False


def split_rows(
    rows: pd.DataFrame, share: float, *, time: str | None, groups: str | None, seed: int
) -> TestSplit:
    """Set a share of the rows aside: the last in time, whole groups, or some at random.

    Parameters
    ----------
    rows : DataFrame of n rows
    share : float in (0, 1)
    time, groups : str or None
        Columns; time has the last word.
    seed : int
    """
    if not 1 <= round(share * len(rows)) < len(rows):
        raise ParameterError(f"--test-size {share:g} of {len(rows):,} rows leaves one side empty.")
    if time is not None:
        stamps = _stamps(rows[time])
        # Rows of one time stamp stay together.
        start = stamps.sort_values().iloc[len(rows) - round(share * len(rows))]
        later = (stamps >= start).to_numpy()
        if later.all():
            raise ParameterError(f"The last {share:.0%} of {time!r} begin with its first value.")
        return TestSplit(rows[~later], rows[later], f"the last by {time!r}, from {start} on")
    if groups is not None:
        labels = group_labels(rows, groups)
        different = len(np.unique(labels))
        if different < 2:
            raise ParameterError(f"Column {groups!r} has one value only, and groups stay whole.")
        train, test = _first(GroupShuffleSplit(1, test_size=share, random_state=seed), rows, labels)
        how = f"{len(np.unique(labels[test]))} of {different} values of {groups!r}, whole"
        return TestSplit(rows.iloc[train], rows.iloc[test], how)
    train, test = _first(ShuffleSplit(1, test_size=share, random_state=seed), rows, None)
    return TestSplit(rows.iloc[np.sort(train)], rows.iloc[np.sort(test)], "drawn at random", True)


def _first(splitter: Any, rows: pd.DataFrame, labels: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    train, test = next(splitter.split(rows, groups=labels))
    return train, test


def _stamps(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers or dates that order the rows."""
    stamps = column
    if not pd.api.types.is_numeric_dtype(column.dtype):
        formats = () if column.dtype.kind == "M" else date_formats(column)
        if column.dtype.kind != "M" and not formats:
            raise DataError(f"Column {column.name!r} must hold dates or numbers, to split by time.")
        stamps = DateColumn.fit(str(column.name), column, formats).stamps(column)
    if stamps.isna().any():
        row = int(stamps.isna().to_numpy().argmax()) + 1
        raise DataError(f"Column {column.name!r} has no time in row {row}: drop or fill it.")
    return stamps

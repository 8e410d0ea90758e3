"""Tables in the forms that users have: pandas, polars, tensors, arrays, lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.errors import DataError
from calibrant.tables import as_frame, to_local


class Table(NamedTuple):
    """The rows of a user's table in their own order.

    Attributes
    ----------
    ids : array of shape (n,) or None
        Series of each row; None for a single series.
    stamps : index of length n or None
        Time of each row; None where rows are known by their position only.
    values : DataFrame of n rows
        All other columns.
    """

    ids: NDArray[Any] | None
    stamps: pd.Index[Any] | None
    values: pd.DataFrame

    def keys(self) -> pd.Index[Any]:
        """Stamps, or series and stamps for a panel."""
        assert self.stamps is not None
        if self.ids is None:
            return self.stamps
        return pd.MultiIndex.from_arrays([self.ids, self.stamps])

    def rows_at(self, wanted: pd.Index[Any]) -> pd.DataFrame:
        """Values at the wanted stamps, or series and stamps; the last row of a stamp counts."""
        assert self.stamps is not None
        if (self.ids is not None) != isinstance(wanted, pd.MultiIndex):
            raise DataError(
                "X and y must both name their series, by the series_id column or by the index."
            )
        stamps = wanted.levels[-1] if isinstance(wanted, pd.MultiIndex) else wanted
        if self.stamps.dtype.kind != stamps.dtype.kind:
            raise DataError(
                "X and y must have time stamps of one kind, got "
                f"{self.stamps.dtype} and {stamps.dtype}."
            )
        keys = self.keys()
        last = np.flatnonzero(~keys.duplicated(keep="last"))
        found = keys[last].get_indexer(wanted)
        if np.any(found < 0):
            raise DataError(
                f"X has no row for {int(np.sum(found < 0))} of {len(wanted)} time stamps, the "
                f"first is {wanted[int(np.argmax(found < 0))]}. Covariates must cover the time "
                "stamps of the target, and of the forecast if they are known ahead."
            )
        return self.values.iloc[last[found]]


def read_table(data: Any, name: str, series_id: str | None, time: str | None) -> Table:
    """Read pandas, polars, tensors, arrays or lists.

    Parameters
    ----------
    data
    name : str
        What error messages call the table.
    series_id, time : str or None
        Columns of frames that name the series and hold the time stamps.
    """
    from_polars = type(data).__module__.startswith("polars")
    data = to_local(data)
    if isinstance(data, pd.Series) and from_polars:
        data = data.to_numpy()  # polars has no index: the one of this series means nothing
    if isinstance(data, pd.Series):
        return _from_index(data.to_frame(str(data.name or name)), name)
    if isinstance(data, pd.DataFrame):
        return _from_frame(data.rename(columns=str), name, series_id, time)
    values = np.asarray(data)
    if values.ndim not in (1, 2):
        raise DataError(f"{name} must have one row per time step, got shape {values.shape}.")
    return Table(None, None, as_frame(values.reshape(len(values), -1)))


def matching_rows(X: Table, y: Table, order: NDArray[np.intp]) -> pd.DataFrame:
    """Values of X at the rows `order` of y: by time stamp if both have them, or by position."""
    if X.stamps is not None and y.stamps is not None:
        return X.rows_at(y.keys()[order])
    if len(X.values) != len(y.values):
        raise DataError(
            f"X and y must have the same number of rows, got {len(X.values)} and {len(y.values)}."
        )
    return X.values.iloc[order]


def _from_frame(frame: pd.DataFrame, name: str, series_id: str | None, time: str | None) -> Table:
    for role, column in (("series_id", series_id), ("time", time)):
        if column is not None and column not in frame.columns and column not in frame.index.names:
            raise DataError(
                f"{name} has no column {column!r}, which {role}= names. Its columns are: "
                f"{', '.join(map(str, frame.columns))}."
            )
    if isinstance(frame.index, pd.RangeIndex) and time is None:
        time = _date_column(frame)
        if time is None and series_id in frame.columns:
            raise DataError(
                f"{name} has several series in {series_id!r} but no time stamps: name their "
                "column, time=..."
            )
    ids = None
    if series_id in frame.columns:
        ids = _checked_ids(frame[series_id], name)
        frame = frame.drop(columns=series_id)
    if time in frame.columns:
        stamps = _checked_stamps(pd.Index(frame[time]), name)
        return Table(ids, stamps, frame.drop(columns=time).reset_index(drop=True))
    table = _from_index(frame, name)
    return table if ids is None else table._replace(ids=ids)


def _from_index(frame: pd.DataFrame, name: str) -> Table:
    index, values = frame.index, frame.reset_index(drop=True)
    if not isinstance(index, pd.MultiIndex):
        return Table(None, _checked_stamps(index, name), values)
    if index.nlevels != 2:
        raise DataError(f"{name} must be indexed by series and time, got {index.nlevels} levels.")
    ids = _checked_ids(index.get_level_values(0), name)
    return Table(ids, _checked_stamps(index.get_level_values(1), name), values)


def _date_column(frame: pd.DataFrame) -> str | None:
    """Return the only column of dates, if there is just one."""
    dates = [
        column
        for column in frame.columns
        if pd.api.types.is_datetime64_any_dtype(frame[column])
        or isinstance(frame[column].dtype, pd.PeriodDtype)
    ]
    return dates[0] if len(dates) == 1 else None


def _checked_ids(ids: Any, name: str) -> NDArray[Any]:
    if missing := int(np.sum(ids.isna())):
        raise DataError(f"{missing} rows of {name} do not say which series they belong to.")
    return np.asarray(ids)


def _checked_stamps(stamps: pd.Index[Any], name: str) -> pd.Index[Any]:
    if stamps.dtype == object and len(stamps) and hasattr(stamps[0], "year"):
        stamps = pd.DatetimeIndex(stamps)  # polars gives its dates as datetime.date
    dated = isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex)
    if not dated and not pd.api.types.is_integer_dtype(stamps.dtype):
        raise DataError(
            f"{name} must be indexed by dates, periods or whole numbers, got {stamps.dtype}. "
            "Convert the stamps, for example with pandas.to_datetime."
        )
    if stamps.hasnans:
        raise DataError(
            f"{int(np.sum(stamps.isna()))} rows of {name} have no time stamp. Drop them."
        )
    return stamps

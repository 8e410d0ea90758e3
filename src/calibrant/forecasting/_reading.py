"""Tables in the forms that users have: pandas, polars, arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.errors import DataError
from calibrant.tables import as_frame, to_local


class Given(NamedTuple):
    """A table as it came: where its rows stand in time, and what they hold."""

    ids: NDArray[Any] | None
    stamps: pd.Index[Any] | None  # None: rows have a position only
    values: pd.DataFrame


def read_table(data: Any, name: str, id: str | None, time: str | None) -> Given:
    """Read pandas, polars, tensors, arrays or lists.

    Parameters
    ----------
    data
    name : str
        What the table is called in messages.
    id, time : str or None
        Columns of frames that name the series and hold the time stamps.
    """
    made_up = type(data).__module__.startswith("polars")  # the index that pandas gives it
    data = to_local(data)
    if isinstance(data, pd.Series) and made_up:
        data = data.to_numpy()
    if isinstance(data, pd.Series):
        return _from_index(data.to_frame(str(data.name or name)), name)
    if isinstance(data, pd.DataFrame):
        return _from_frame(data.rename(columns=str), name, id, time)
    values = np.asarray(data)
    if values.ndim not in (1, 2):
        raise DataError(f"{name} must have one row a time step, got shape {values.shape}.")
    return Given(None, None, as_frame(values.reshape(len(values), -1)))


def _from_frame(frame: pd.DataFrame, name: str, id: str | None, time: str | None) -> Given:
    for column, role in ((id, "id"), (time, "time")):
        if column is not None and column not in frame.columns and column not in frame.index.names:
            raise DataError(
                f"{name} has no column {column!r}, which {role}= names. Its columns are: "
                f"{', '.join(map(str, frame.columns))}."
            )
    plain = isinstance(frame.index, pd.RangeIndex)
    if time is None and plain:
        time = _time_column(frame)
    if id is not None and id in frame.columns and time is None and plain:
        raise DataError(
            f"{name} has several series by {id!r} but no time stamps: name their column, time=..."
        )
    ids = None
    if id is not None and id in frame.columns:
        ids = _checked_ids(frame[id], name)
        frame = frame.drop(columns=id)
    if time is not None and time in frame.columns:
        stamps = pd.Index(frame[time])
        values = frame.drop(columns=time)
        return Given(ids, _checked_stamps(stamps, name), values.reset_index(drop=True))
    found = _from_index(frame, name)
    return found if ids is None else found._replace(ids=ids)


def _from_index(frame: pd.DataFrame, name: str) -> Given:
    index, values = frame.index, frame.reset_index(drop=True)
    if isinstance(index, pd.MultiIndex):
        if index.nlevels != 2:
            raise DataError(
                f"{name} must be indexed by series and time, got {index.nlevels} levels"
            )
        ids = _checked_ids(index.get_level_values(0), name)
        return Given(ids, _checked_stamps(index.get_level_values(1), name), values)
    return Given(None, _checked_stamps(index, name), values)


def _checked_ids(ids: Any, name: str) -> NDArray[Any]:
    if missing := int(np.sum(ids.isna())):
        raise DataError(f"{missing} rows of {name} do not say which series they belong to.")
    return np.asarray(ids)


def _time_column(frame: pd.DataFrame) -> str | None:
    """Return the one column of dates, where there is one: polars frames have no index."""
    dates = [
        column
        for column in frame.columns
        if pd.api.types.is_datetime64_any_dtype(frame[column])
        or isinstance(frame[column].dtype, pd.PeriodDtype)
    ]
    return dates[0] if len(dates) == 1 else None


def _checked_stamps(stamps: pd.Index[Any], name: str) -> pd.Index[Any]:
    if stamps.dtype == object and len(stamps) and hasattr(stamps[0], "year"):
        stamps = pd.DatetimeIndex(stamps)  # datetime.date, as polars hands dates over
    known = isinstance(stamps, pd.DatetimeIndex | pd.PeriodIndex)
    if not known and not pd.api.types.is_integer_dtype(stamps.dtype):
        raise DataError(
            f"{name} must be indexed by dates, periods or whole numbers, got {stamps.dtype}. "
            "Convert the stamps, for example with pandas.to_datetime."
        )
    if stamps.hasnans:
        raise DataError(
            f"{int(np.sum(stamps.isna()))} rows of {name} have no time stamp. Drop them."
        )
    return stamps

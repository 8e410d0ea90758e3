"""Time stamps of a series in a table: which column has them, and how its text is read."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from calibrant.cli._output import Messages
from calibrant.errors import DataError
from calibrant.tables import DateColumn, are_few, date_formats, gaps_in_words, unreadable

_TIME_OF_DAY = r"\s*(?:[01]?\d|2[0-3])[:.][0-5]\d(?:[:.][0-5]\d)?\s*"


def date_columns(frame: pd.DataFrame, without: Collection[str]) -> list[str]:
    """Columns whose cells are dates, but for a few."""
    return [str(name) for name in frame.columns if name not in without and _has_dates(frame[name])]


def with_time_stamps(
    frame: pd.DataFrame, name: str, path: Path, messages: Messages
) -> pd.DataFrame:
    """Read a column as whole numbers or dates; a few rows where that is impossible are left out.

    Raises
    ------
    DataError
        If these rows are many; the message names the first one.
    """
    column = frame[name]
    stamps = _stamps(column)
    missing = stamps.isna()
    if missing.any():
        row = int(missing.to_numpy().argmax())
        if not _are_few_gaps(column, stamps):
            cell = "none" if pd.isna(column.iloc[row]) else repr(str(column.iloc[row]))
            raise DataError(
                f"Column {name!r} of {path} must hold whole numbers, or dates such as "
                f"2024-01-31 12:00, but row {row + 1} has {cell}."
            )
        read = gaps_in_words(column, unreadable(column, stamps), "dates")
        messages.note(
            f"{int(missing.sum()):,} of {len(frame):,} rows left out, they have no time stamp"
            + (f" in {name!r}: {read}" if read else f" in {name!r}")
        )
    frame = frame.assign(**{name: stamps})[~missing]
    return frame.astype({name: "int64"}) if frame[name].dtype.kind == "f" else frame


def with_times_of_day(frame: pd.DataFrame, name: str) -> tuple[pd.DataFrame, str]:
    """Add the time of day to a column of days, if another column has it; say where it was found.

    Returns
    -------
    frame : DataFrame
    words : str
        The names of the columns.
    """
    stamps = frame[name]
    clocks = [other for other in frame.columns if _has_time_of_day(frame[other])]
    if len(clocks) != 1 or (stamps != stamps.dt.normalize()).any():
        return frame, repr(name)
    text = frame[clocks[0]].astype(str).str.strip().str.replace(".", ":")
    hours = text.where(text.str.count(":") == 2, text + ":00")
    joined = frame.assign(**{name: stamps + pd.to_timedelta(hours)})
    return joined, f"{name!r} and {str(clocks[0])!r}"


def _stamps(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole numbers as they are, and text as dates, NaT where that is impossible."""
    if pd.api.types.is_integer_dtype(column.dtype) or column.dtype.kind == "M":
        return column
    if column.dtype.kind == "f":  # whole numbers with gaps are no time in nanoseconds
        return column.where(column % 1 == 0)
    formats = date_formats(column) if pd.api.types.is_string_dtype(column.dtype) else ()
    try:
        if len(formats) == 1 and formats != ("ISO8601",):
            return pd.to_datetime(column, format=formats[0])
        with warnings.catch_warnings():
            # pandas warns where it would guess a format for each row: 3/4 may then be March or
            # April in one and the same file.
            warnings.simplefilter("error", UserWarning)
            return pd.to_datetime(column)
    except (TypeError, ValueError, UserWarning):  # several formats, or cells that are no dates
        if formats:
            return DateColumn.fit(str(column.name), column, formats).stamps(column)
        return pd.Series(pd.NaT, column.index)


def _are_few_gaps(column: pd.Series[Any], stamps: pd.Series[Any]) -> bool:
    cells = column.astype(object).where(column.notna(), "no time")  # a gap counts as a cell
    return are_few(cells, stamps.isna().to_numpy())


def _has_dates(column: pd.Series[Any]) -> bool:
    if column.dtype.kind == "M":
        return True
    if pd.api.types.is_numeric_dtype(column.dtype) or column.isna().all():
        return False
    formats = date_formats(column)
    if formats:
        return _are_few_gaps(column, _stamps(column))
    try:
        pd.to_datetime(column, format="ISO8601")
    except (TypeError, ValueError):
        return False
    return True


def _has_time_of_day(column: pd.Series[Any]) -> bool:
    if not pd.api.types.is_string_dtype(column.dtype):
        return False
    return bool(column.str.fullmatch(_TIME_OF_DAY).eq(True).all())

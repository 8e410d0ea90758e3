"""Tables in files, CSV or Parquet by suffix."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from calibrant.errors import DataError, MissingFileError, ParameterError

_SUFFIXES = (".csv", ".csv.gz", ".parquet")
_SUFFIXES_IN_WORDS = ".csv, .csv.gz or .parquet"


def read_table(path: Path, *, text: Collection[str] = ()) -> pd.DataFrame:
    """Read a table with at least one row.

    Parameters
    ----------
    path : Path
        Ends in .csv, .csv.gz or .parquet.
    text : collection of str
        Columns of a CSV file to keep as text. A category "01" would otherwise be read as 1 from
        a file in which all values of the column are numbers.
    """
    suffix = check_suffix(path)
    if not path.exists():
        raise MissingFileError(f"There is no file {path}.")
    if not path.is_file():
        raise DataError(f"{path} is not a file: expected a table in {_SUFFIXES_IN_WORDS}.")
    frame = _read_parquet(path) if suffix == ".parquet" else _read_csv(path, text)
    if not len(frame) or not len(frame.columns):
        raise DataError(f"{path} has no rows: expected at least one below the column names.")
    return frame


def check_suffix(path: Path) -> str:
    """Return the suffix that says the format of a table, or raise `ParameterError`."""
    for suffix in _SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ParameterError(f"{path} must end in {_SUFFIXES_IN_WORDS}: the suffix says the format.")


def _read_csv(path: Path, text: Collection[str]) -> pd.DataFrame:
    try:
        # low_memory=False: types are inferred from whole columns, not from pieces of them.
        frame = pd.read_csv(path, dtype=dict.fromkeys(text, str), low_memory=False)
    except pd.errors.EmptyDataError as error:
        raise DataError(f"{path} is empty: expected a line of column names and rows.") from error
    except (ValueError, EOFError, OSError) as error:  # parsing, decoding and gzip errors
        raise DataError(f"{path} can't be read as CSV: {error}") from error
    if len(frame.columns) == 1 and any(mark in str(frame.columns[0]) for mark in ";\t|"):
        raise DataError(
            f"{path} has a single column {frame.columns[0]!r}: columns must be separated by commas."
        )
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        # A handle, not a path: a folder name such as "year=2024" would add a column.
        with path.open("rb") as file:
            table = parquet.read_table(file)
        decimals = [i for i, field in enumerate(table.schema) if pa.types.is_decimal(field.type)]
        for i in decimals:  # pandas would make Python objects of them
            table = table.set_column(i, table.schema[i].name, table[i].cast(pa.float64()))
        frame: pd.DataFrame = table.to_pandas()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} can't be read as Parquet: {error}") from error
    return frame

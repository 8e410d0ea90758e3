"""Tables in files, CSV or Parquet by suffix."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli._interrupts import keeping
from calibrant.errors import DataError, MissingFileError, OutputExistsError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

_SUFFIXES = (".csv", ".csv.gz", ".parquet")


def read_table(path: Path, *, text: Collection[str] = ()) -> pd.DataFrame:
    """Read a table with at least one row.

    Parameters
    ----------
    path : Path
        Ends in .csv, .csv.gz or .parquet.
    text : collection of str
        Columns to keep as the text that stands in a CSV file. A category "01" or "true" would
        otherwise become 1 or True in one file and stay text in the next.
    """
    suffix = _suffix(path)
    if not path.exists():
        raise MissingFileError(f"There is no file {path}.")
    if not path.is_file():
        raise DataError(f"{path} is not a file: expected a table in {_one_of(_SUFFIXES)}.")
    frame = _read_parquet(path) if suffix == ".parquet" else _read_csv(path, text)
    if not len(frame) or not len(frame.columns):
        raise DataError(f"{path} has no rows: expected at least one below the column names.")
    return frame


def read_training_table(path: Path) -> pd.DataFrame:
    """Read a table to learn from; categories are the texts of the file, "01" is not 1."""
    from calibrant.cli._columns import text_columns

    frame = read_table(path)
    # A second time where needed: which columns are text shows only once they have been read.
    text = text_columns(frame)
    return read_table(path, text=text) if text else frame


def _read_csv(path: Path, text: Collection[str]) -> pd.DataFrame:
    import pandas as pd

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


def check_output(path: Path, *, force: bool) -> None:
    """Complain before the work if its result can't be written afterwards."""
    _suffix(path)
    if not path.absolute().parent.is_dir():
        raise MissingFileError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder. Choose another name.")
    if path.exists() and not force:
        raise OutputExistsError(f"{path} exists already. Choose another name, or pass --force.")


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all."""
    with staged(path.parent) as folder:
        if _suffix(path) == ".parquet":
            frame.to_parquet(folder / path.name, index=False)
        else:
            frame.to_csv(folder / path.name, index=False)


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Give a temporary folder whose files move into `folder` once all of them are written.

    `folder` is made if need be, and is gone again if nothing came to be written.
    """
    # Beside the destination: a rename is atomic within one file system only.
    made = not folder.exists()
    folder.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".calibrant.", dir=folder))
    try:
        yield work
        files = sorted(work.iterdir())
        with keeping(*(folder / file.name for file in files)):
            for file in files:
                os.replace(file, folder / file.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if made and not any(folder.iterdir()):
            folder.rmdir()


def _suffix(path: Path) -> str:
    for suffix in _SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise ParameterError(f"{path} must end in {_one_of(_SUFFIXES)}: the suffix says the format.")


def _one_of(names: Collection[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}"

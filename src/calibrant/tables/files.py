"""Tables in files, text or Parquet by suffix."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import re
import warnings
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from calibrant.errors import DataError, DataWarning, MissingFileError, ParameterError
from calibrant.tables.amounts import without_unit
from calibrant.tables.headers import plain_names, repeated_names
from calibrant.tables.parquet_files import as_url
from calibrant.tables.sources import ParquetSource
from calibrant.tables.texts import SURE_DECIMAL_COMMA, with_decimal_points

_SUFFIXES = (".csv", ".csv.gz", ".tsv", ".txt", ".parquet")
_SUFFIXES_IN_WORDS = ".csv, .csv.gz, .tsv, .txt or .parquet"
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
_FOLDERS = ("", ".parquet")  # suffixes of folders of Parquet files
_SEPARATORS = (",", ";", "\t", "|")
_DECIMAL_COMMA = re.compile(r"-?[\d.\s]*\d,\d+")
_CHUNK = 1 << 20  # bytes
_MOST_BROKEN = 0.05  # share of lines that may be broken


def read_table(path: Path, *, text: Collection[str] = ()) -> pd.DataFrame:
    """Read a table with at least one row.

    Parameters
    ----------
    path : Path
        Ends in .csv, .csv.gz, .tsv, .txt or .parquet, or is a folder, pattern or URL of Parquet
        files. Text may be separated by commas, semicolons, tabs or vertical bars, all but the first
        with decimal commas, too. What is not UTF-8 is read as UTF-16 if it says so, otherwise as
        Windows-1252, which contains Latin-1, with a warning. Spaces around column names are left
        out.
    text : collection of str
        Columns of a text file to keep as text. A category "01" would otherwise be read as 1 from
        a file in which all values of the column are numbers.
    """
    url = as_url(path)
    is_many = any(sign in path.name for sign in "*?[")
    if is_many or "://" in url or (path.is_dir() and path.suffix in _FOLDERS):
        return _read_parts(url)
    suffix = check_suffix(path)
    if not path.exists():
        raise MissingFileError(f"There is no file {path}.{_similar(path)}")
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
    hint = " Save the sheet as CSV." if path.suffix.lower() in _SPREADSHEETS else ""
    raise ParameterError(
        f"{path} must end in {_SUFFIXES_IN_WORDS}: the suffix says the format.{hint}"
    )


def _read_csv(path: Path, text: Collection[str]) -> pd.DataFrame:
    try:
        encoding = _encoding(path)
        # low_memory=False: types are inferred from whole columns, not from pieces of them.
        options: dict[str, Any] = {**_dialect(path, encoding), "encoding": encoding}
        header = _header(path, options)
        as_text = [*text, *(name for name in header if name.strip() in text)]
        options |= {"dtype": dict.fromkeys(as_text, str), "low_memory": False}
        try:
            frame: pd.DataFrame = pd.read_csv(path, **options)
        except pd.errors.ParserError as error:
            frame = _without_broken_lines(path, options, error)
        if len(header) == len(frame.columns) and frame.iloc[:, -1].isna().any():
            _warn_of_short_lines(path, options, len(header))
        if options["decimal"] == ",":  # pandas reads no column with a stray cell, nor 1.250,50
            texts = frame.select_dtypes(["object", "str"]).columns
            frame = frame.assign(**{name: with_decimal_points(frame[name]) for name in texts})
        frame = frame.set_axis(plain_names([str(name) for name in frame.columns]), axis=1)
    except pd.errors.EmptyDataError as error:
        raise DataError(f"{path} is empty: expected a line of column names and rows.") from error
    except (ValueError, EOFError, OSError) as error:  # parsing, decoding and gzip errors
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} can't be read as CSV: {error}") from error
    return frame


def _opened(path: Path, mode: str, **options: Any) -> Any:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    return opened(path, mode, **options)


def _encoding(path: Path) -> str:
    """Encoding of a text file: UTF-8, or what spreadsheets write instead, with a warning."""
    with _opened(path, "rb") as file:
        start = file.read(_CHUNK)
        if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        decoder, chunk = codecs.getincrementaldecoder("utf-8")(), start
        try:
            while chunk:
                decoder.decode(chunk)
                chunk = file.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            if b"\0" in start:  # no text at all; the error of reading it says more
                return "utf-8-sig"
            warnings.warn(
                f"{path} is not UTF-8 and is read as Windows-1252 (Latin-1). If letters look "
                "wrong, save it as UTF-8.",
                DataWarning,
                stacklevel=4,
            )
            return "cp1252"
    return "utf-8-sig"


def _dialect(path: Path, encoding: str) -> dict[str, str]:
    """Separator and decimal point: what cuts the first lines into most columns, all alike."""
    with _opened(path, "rt", encoding=encoding, newline="") as file:
        lines = list(islice(file, 20))
    widths = {}
    for separator in _SEPARATORS:
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        header = len(rows[0]) if rows else 0
        alike = sum(len(row) == header for row in rows[1:])
        widths[separator] = (header > 1 and alike >= 0.8 * (len(rows) - 1), header)
    separator = max(widths, key=lambda each: widths[each])
    cells = [cell.strip() for row in csv.reader(lines, delimiter=separator) for cell in row]
    # With tabs, 1,250 is as likely a thousand; with semicolons the comma is the decimal point.
    decimal = _DECIMAL_COMMA if separator == ";" else re.compile(SURE_DECIMAL_COMMA)
    commas = separator != "," and any(decimal.fullmatch(without_unit(cell)) for cell in cells)
    return {"sep": separator, "decimal": "," if commas else "."}


def _header(path: Path, options: dict[str, Any]) -> list[str]:
    """Column names as they are written, with a warning of those that are written twice."""
    line = pd.read_csv(path, header=None, nrows=1, dtype=str, **options).fillna("")
    header = [str(name) for name in line.iloc[0]]
    if repeated := repeated_names(header):
        first = repeated[0]
        warnings.warn(
            f"{path} has more than one column {', '.join(map(repr, repeated))}: the later ones get "
            f"a number, such as {first + '.1'!r}.",
            DataWarning,
            stacklevel=4,
        )
    return header


def _without_broken_lines(
    path: Path, options: dict[str, Any], error: pd.errors.ParserError
) -> pd.DataFrame:
    """Leave out lines with too many fields, with a warning; many of them are an error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        frame: pd.DataFrame = pd.read_csv(path, on_bad_lines="warn", **options)
    broken = re.findall(
        r"Skipping line (\d+): expected (\d+) fields, saw (\d+)",
        "\n".join(str(each.message) for each in caught),
    )
    if not broken or len(broken) > _MOST_BROKEN * len(frame):
        raise error
    line, expected, found = broken[0]
    first = f"line {line} has {found} fields instead of {expected}"
    which = f"{first} and is left out"
    if len(broken) > 1:
        which = f"{len(broken)} broken lines are left out; {first}"
    warnings.warn(f"{path}: {which}.", DataWarning, stacklevel=4)
    return frame


def _warn_of_short_lines(path: Path, options: dict[str, Any], width: int) -> None:
    """Name lines with too few fields, which pandas fills with gaps without a word."""
    with _opened(path, "rt", encoding=options["encoding"], newline="") as file:
        reader = csv.reader(file, delimiter=options["sep"])
        try:
            short = [(reader.line_num, len(row)) for row in reader if any(row) and len(row) < width]
        except csv.Error:  # such as a cell beyond its limit of 131,072 signs
            return
    if not short:
        return
    line, found = short[0]
    first = f"line {line} has {found} field{'s' * (found > 1)} instead of {width}"
    which = f"{first}, and gaps for the others"
    if len(short) > 1:
        which = f"{len(short):,} lines have gaps for the fields that they lack; {first}"
    warnings.warn(f"{path}: {which}.", DataWarning, stacklevel=4)


def _read_parts(path: str) -> pd.DataFrame:
    """All rows of the Parquet files of a folder or a pattern."""
    import pyarrow as pa

    frame: pd.DataFrame = pa.Table.from_batches(
        [part.batch for part in ParquetSource(path).parts()]
    ).to_pandas()
    return frame


def _similar(path: Path) -> str:
    """Ask whether a file beside a missing one was meant."""
    files = [each.name for each in path.parent.glob("*") if each.is_file()]
    close = difflib.get_close_matches(path.name, files, n=1, cutoff=0.8)
    return f" Did you mean {path.with_name(close[0])}?" if close else ""


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

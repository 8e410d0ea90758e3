"""Which kind a column is: number, duration, date, categories, or nothing to learn from."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype, is_numeric_dtype

from calibrant.checks import Array
from calibrant.tables.categories import fit_categories
from calibrant.tables.columns import ColumnEncoder, DroppedColumn
from calibrant.tables.date_text import date_formats
from calibrant.tables.dates import DateColumn
from calibrant.tables.numbers import DurationColumn, NumericColumn, parse_seconds
from calibrant.tables.texts import (
    are_few,
    as_text,
    common_unit,
    has_decimal_commas,
    known_text,
    mixed_units,
    parse_in_unit,
    parse_numbers,
    unreadable,
    with_decimal_points,
)

_LEAST_ROWS = 10  # fewer may count up by chance
_EXPECTED_REPEATS = 20.0  # pairs, where there are none
_FEW_GAPS = 0.05  # share of rows without their number
_PADDED = r"\s*-?0\d"
_PLAIN = r"\s*-?\d+(?:\.0*)?\s*"
_REPEATS = 5  # rows per number that make numbers written as text categories
_ID_NAME = re.compile(r"(?:.*[_\s.-])?(?i:id|uuid|guid)|.*[a-z](?:ID|Id)")
_ROW_NAME = re.compile(
    r"(?:row|record|line)[_\s.-]?(?:index|idx|no|nr|num|number|names?|id)|index|idx|row|key",
    re.IGNORECASE,
)
_TIME_NAME = re.compile(
    r"(?:.*[_\s.-])?(?:t|time|timestep|step|period|tick|second|minute|hour|day|week|month|quarter"
    r"|year|date|age|epoch|round)s?",
    re.IGNORECASE,
)


def fit_column(column: pd.Series[Any]) -> ColumnEncoder:
    """Decide from the training rows what a column is, and learn its encoding."""
    name = str(column.name)
    if isinstance(column.dtype, pd.CategoricalDtype):  # chosen by the user, so never dropped
        return fit_categories(name, column)
    if re.fullmatch(r"Unnamed: \d+", name):  # pandas' name where the header is empty
        return DroppedColumn(name, "a column without a name is taken for row numbers")
    if column.isna().all():
        return DroppedColumn(name, "it has no values")
    if is_bool_dtype(column.dtype):
        return fit_categories(name, column)
    if is_numeric_dtype(column.dtype):
        return _fit_numbers(name, column)
    if column.dtype.kind == "m":
        return DurationColumn.fit(name, column)
    if column.dtype.kind == "M":
        return DateColumn.fit(name, column)
    return _fit_text(name, column)


def as_read(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers, dates and durations that are written as text, and any other column as it is.

    Cells that are something else, as few as `fit_column` allows, are gaps.

    Examples
    --------
    >>> as_read(pd.Series(["3.2", "3,2 mi", "4.5", "5.75"])).tolist()
    [3.2, nan, 4.5, 5.75]
    """
    if column.dtype.kind in "iufbmM" or isinstance(column.dtype, pd.CategoricalDtype):
        return column
    found = fit_column(column)
    if isinstance(found, DurationColumn):
        return pd.Series(pd.to_timedelta(found.parse(column), unit="s"), column.index)
    if isinstance(found, NumericColumn):
        return pd.Series(found.parse(column), column.index)
    return found.stamps(column) if isinstance(found, DateColumn) else column


def row_number(column: pd.Series[Any]) -> DroppedColumn | None:
    """Return why whole numbers only count the rows; None if they may mean something.

    Decimal numbers, and columns named after a time, are never row numbers. A few gaps, such as a
    broken line leaves, don't matter.
    """
    name = str(column.name)
    numbers = _whole_numbers(column)
    if numbers is None or len(numbers) < _LEAST_ROWS:
        return None
    values, unique = numbers.to_numpy(), numbers.is_unique
    if unique and (_ID_NAME.fullmatch(name) or _ROW_NAME.fullmatch(name)):
        return DroppedColumn(name, "named like an identifier, no value twice", names_rows=True)
    if names_a_time(name):
        return None
    if _counts(values, numbers.index.to_numpy()):
        reason = "whole numbers in steps of one are taken for row numbers"
        return DroppedColumn(name, reason, names_rows=True)
    if unique and _repeats_by_chance(values) >= _EXPECTED_REPEATS:
        reason = "whole numbers near each other, but none twice, are taken for row numbers"
        return DroppedColumn(name, reason, names_rows=True)
    return None


def names_a_time(name: object) -> bool:
    """Whether a column is named after a time, such as "year" or "order_hour"."""
    return _TIME_NAME.fullmatch(str(name)) is not None


def _fit_numbers(name: str, column: pd.Series[Any]) -> ColumnEncoder:
    # An identifier that repeats, such as the number of a zone, is no quantity.
    if _ID_NAME.fullmatch(name) and is_integer_dtype(column.dtype) and not column.is_unique:
        return _fit_categories(name, column)
    return NumericColumn.fit(name, column)


def _fit_text(name: str, column: pd.Series[Any]) -> ColumnEncoder:
    comma = has_decimal_commas(column)
    read = with_decimal_points(column) if comma else column
    unit, numbers = common_unit(read), parse_numbers(read)
    are_numbers = are_few(column, unreadable(column, numbers)) and not _are_codes(read, numbers)
    if are_numbers and not unit:
        found = NumericColumn.fit(name, column, decimal_comma=comma)
        mixed = mixed_units(read)
        warning = f"amounts in {mixed} are taken as one unit" if mixed else ""
        return replace(found, note="; ".join(filter(None, [warning, found.note])))
    if formats := date_formats(column):
        dates = DateColumn.fit(name, column, formats)
        if are_few(column, unreadable(column, dates.stamps(column))):
            return dates
    if are_few(column, unreadable(column, parse_seconds(column))):
        return DurationColumn.fit(name, column)
    if unit and not _name_rows(read, unit):
        return NumericColumn.fit(name, column, unit, decimal_comma=comma)
    return _fit_categories(name, column)


def _fit_categories(name: str, column: pd.Series[Any]) -> ColumnEncoder:
    """Categories, unless their values hardly repeat: names and keys teach the rows alone."""
    different = as_text(column).nunique()
    if different > len(column) / 2:
        reason = f"{different:,} different texts in {len(column):,} rows look like an identifier"
        if mixed := mixed_units(with_decimal_points(column)):
            reason += f"; if they are amounts in {mixed}, convert them to one unit"
        return DroppedColumn(name, reason, names_rows=True)
    return fit_categories(name, column)


def _are_codes(column: pd.Series[Any], numbers: Array) -> bool:
    """Whether numbers that are written as text are names: "007", or whole numbers that repeat."""
    texts = known_text(column).dropna()
    if texts.str.match(_PADDED).any():
        return True
    known = numbers[~np.isnan(numbers)]
    whole = len(known) == column.notna().sum() and bool(np.all(known == np.round(known)))
    # "1,250" and "$5" are amounts: nobody writes the number of a zone like that.
    plain = whole and bool(texts.str.fullmatch(_PLAIN).all())
    return plain and texts.nunique() * _REPEATS <= len(texts)


def _name_rows(column: pd.Series[Any], unit: str) -> bool:
    """Whether amounts are names after all: "007 A", or 10001X, 10002X and so on."""
    numbers = pd.Series(parse_in_unit(column, unit), name=column.name)
    padded = known_text(column).dropna().str.match(_PADDED).any()
    return bool(padded) or row_number(numbers.convert_dtypes()) is not None


def _whole_numbers(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Numbers of a column by the position of their row; None for decimals, or many gaps.

    Whole numbers of a type of decimals are decimals by choice, but for float64 with gaps, which
    pandas makes of any numbers.
    """
    column = column.reset_index(drop=True)
    if not is_integer_dtype(column.dtype):
        if is_float_dtype(column.dtype) and not (column.dtype == np.float64 and column.hasnans):
            return None
        column = pd.Series(parse_numbers(column))
    known = column.dropna()
    if len(column) - len(known) > max(1, _FEW_GAPS * len(column)):
        return None
    values = known.to_numpy()
    return known if bool(np.all(values == np.round(values))) else None


def _repeats_by_chance(values: Any) -> float:
    """Pairs of equal values to expect if n values had been drawn from their range at random.

    Row numbers of some of the rows, such as the training part of a file, have gaps and come in
    any order, but never repeat.
    """
    span = float(values.max()) - float(values.min()) + 1.0
    return len(values) * (len(values) - 1) / (2.0 * span)


def _counts(values: Any, rows: Any) -> bool:
    steps, expected = np.diff(values.astype(np.int64)), np.diff(rows)
    return bool(np.all(steps == expected) or np.all(steps == -expected))

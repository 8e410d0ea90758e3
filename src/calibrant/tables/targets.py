"""Targets: numbers, however they are written."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype

from calibrant.checks import Array
from calibrant.errors import DataError, DataWarning
from calibrant.tables.texts import (
    are_few,
    as_text,
    common_unit,
    gaps_in_words,
    has_decimal_commas,
    known_text,
    mixed_units,
    parse_in_unit,
    parse_numbers,
    unreadable,
    with_decimal_points,
)


def read_target(column: pd.Series[Any], source: str = "") -> pd.Series[float]:
    """Return the targets of a column as numbers, (n,).

    Text is read as amounts in their common unit, with decimal points or commas, and a warning
    says so. A few cells that are something else, named in a warning, are NaN, as gaps are.

    Parameters
    ----------
    column : Series of n values
    source : str
        What an error calls the table.

    Raises
    ------
    DataError
        If more than a few cells are no numbers; the message names the first one.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     read_target(pd.Series(["$4,733.00", "$519.50"], name="price")).tolist()
    [4733.0, 519.5]
    """
    name = "y" if column.name is None else str(column.name)
    if infer_dtype(column, skipna=True) == "boolean":
        column = as_text(column)  # true and false are no numbers to predict
    values, what = _amounts(column)
    if what != "numbers":
        warnings.warn(f"{name}: {what}", DataWarning, stacklevel=2)
    broken = unreadable(column, values)
    if broken.any() and not are_few(column, broken):
        strange = broken & known_text(column).notna().to_numpy()
        row = int((strange if strange.any() else broken).argmax())
        where = f"Column {name!r} of {source}" if source else name
        raise DataError(
            f"{where} must hold numbers, but row {row + 1} has {str(column.iloc[row])!r}."
        )
    if broken.any():
        warnings.warn(f"{name}: {gaps_in_words(column, broken, what)}", DataWarning, stacklevel=2)
    return pd.Series(values, column.index, name=column.name)


def _amounts(column: pd.Series[Any]) -> tuple[Array, str]:
    """Numbers of a column, (n,), NaN where that is impossible, and what they are in words."""
    if is_numeric_dtype(column.dtype):
        return parse_numbers(column), "numbers"
    what = "numbers"
    if has_decimal_commas(column):
        column, what = with_decimal_points(column), "numbers with decimal commas"
    if unit := common_unit(column):
        return parse_in_unit(column, unit), f"{what} in {unit}"
    if mixed := mixed_units(column):
        what = f"{what} in {mixed}, taken as one unit"
    return parse_numbers(column), what

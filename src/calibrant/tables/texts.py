"""Cells as text, and text as numbers: which cells are gaps, and which can't be read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from calibrant.checks import Array, Flags
from calibrant.errors import DataError
from calibrant.tables.amounts import as_number, in_unit, parse_amount, with_point, without_unit

# Words for a gap, in lower case; pandas reads some of them itself, in CSV files only.
GAP_WORDS = {"", "-", "--", "?", ".", "n/a", "#n/a", "na", "n.a.", "nan", "nat"} | {
    *("none", "null", "nil", "missing", "unknown", "not available")
}
_FEW = 0.05  # share of cells that may be unreadable
# Share of gaps from which on a column of flags is worth an input: a flag that is hardly ever
# raised teaches nothing, and one input more costs accuracy.
FLAGGED = 0.01
# "0,5" and "12,50" have a decimal comma; that of "1,250" may separate thousands.
SURE_DECIMAL_COMMA = r"-?[\d.\s]*\d,(?!\d{3}$)\d+|-?0,\d+"
_LIKE_COMMA_NUMBER = r"-?[\d.\s]*\d(?:,\d+)?"
_SAMPLE = 200
_MOST_UNITS = 5  # more are parts of names, such as "3a7f"
_POINT_DECIMAL = re.compile(r"\D*\d+\.(?!\d{3}(?:\D|$))\d+\D*")  # "0.41", not "1.250"


def is_categorical(column: pd.Series[Any]) -> bool:
    """Whether the type of a column is none of numbers: text, booleans, categories, dates."""
    return is_bool_dtype(column.dtype) or not is_numeric_dtype(column.dtype)


def as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert the values of a column to text, as Python prints them; gaps stay gaps."""
    text = text_of(column)
    return map_different(column, lambda values: [text(value) for value in values])


def text_of(column: pd.Series[Any]) -> Callable[[Any], str]:
    """Return how values of a column are printed."""
    # Whole numbers beside gaps are floats: 7.0 is the text 7.
    return _whole if is_float_dtype(column.dtype) else str


def map_different(
    column: pd.Series[Any], function: Callable[[list[Any]], list[Any]]
) -> pd.Series[Any]:
    """Apply a function to the different values of a column, once each; gaps become NaN."""
    values = column.astype(object)
    try:
        codes, different = pd.factorize(values)
    except TypeError:  # lists and the like have no hash
        codes, different = pd.factorize(values.map(str, na_action="ignore"))
    mapped = np.array([*function(list(different)), np.nan], dtype=object)
    return pd.Series(mapped[codes], index=column.index, name=column.name, dtype=object)


def known_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """As `as_text`, with words for a gap ("n/a", "unknown") as gaps."""
    return map_different(
        as_text(column),
        lambda texts: [np.nan if text.strip().lower() in GAP_WORDS else text for text in texts],
    )


def parse_numbers(column: pd.Series[Any]) -> Array:
    """Convert cells to finite numbers, (n,); NaN where that is impossible.

    Examples
    --------
    >>> parse_numbers(pd.Series(["1.5", "$1,250", "12 %", "n/a", "4 rooms"]))
    array([   1.5, 1250. ,   12. ,    nan,    nan])
    """
    if is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return map_different(column, _numbers).to_numpy(dtype=np.float64)


def parse_in_unit(column: pd.Series[Any], unit: str) -> Array:
    """Convert cells in a unit, or without any, to numbers, (n,); NaN for all others.

    Examples
    --------
    >>> parse_in_unit(pd.Series(["0.3 ct", "1,250ct", "2", "4 kg", None]), "ct")
    array([3.00e-01, 1.25e+03, 2.00e+00,      nan,      nan])
    """
    if is_numeric_dtype(column.dtype):
        return parse_numbers(column)
    numbers = map_different(column, lambda cells: [in_unit(str(cell), unit) for cell in cells])
    return numbers.to_numpy(dtype=np.float64)


def common_unit(column: pd.Series[Any]) -> str:
    """Return the unit that nearly all cells share; empty if there is none.

    Examples
    --------
    >>> common_unit(pd.Series(["0.3 ct", "0.4 ct", "n/a"])), common_unit(pd.Series(["1", "2 kg"]))
    ('ct', '')
    """
    units = _units(column)
    counts = units[units != ""].value_counts()  # of the cells that have one
    if counts.empty or counts.iloc[0] <= len(units) / 2:
        return ""
    unit = str(counts.index[0])
    return unit if are_few(column, unreadable(column, parse_in_unit(column, unit))) else ""


def mixed_units(column: pd.Series[Any]) -> str:
    """Units of a column of amounts, in words, if there are several; otherwise empty.

    Examples
    --------
    >>> mixed_units(pd.Series(["5 kg", "400 g", "2 kg", "250 g"]))
    "'kg' and 'g'"
    >>> mixed_units(pd.Series(["5 kg", "2 kg"])), mixed_units(pd.Series(["5 kg", "Ulm", "400 g"]))
    ('', '')
    """
    units = _units(column)
    counts = units[units != ""].value_counts()
    often = [repr(str(unit)) for unit in counts[counts > max(1, _FEW * len(units))].index]
    if units.notna().mean() < 1.0 - _FEW or not 2 <= len(often) <= _MOST_UNITS:
        return ""
    return f"{', '.join(often[:-1])} and {often[-1]}"


def has_decimal_commas(column: pd.Series[Any]) -> bool:
    """Whether nearly all cells are numbers, some of which can only have a decimal comma.

    Examples
    --------
    >>> has_decimal_commas(pd.Series(["0,41", "1.250,5 €", "12"]))
    True
    >>> has_decimal_commas(pd.Series(["1,250", "12,500"]))  # thousands, or not
    False
    """
    if not column.head(_SAMPLE).astype(str).str.contains(",", regex=False).any():
        return False
    cells = map_different(known_text(column).dropna(), lambda texts: list(map(without_unit, texts)))
    like_numbers = cells.str.fullmatch(_LIKE_COMMA_NUMBER).mean() >= 1.0 - _FEW
    commas = cells[cells.str.contains(",", regex=False)]
    sure = commas.str.fullmatch(SURE_DECIMAL_COMMA).mean()
    return bool(like_numbers and sure > 2 * _FEW)  # a few could be typing errors


def with_decimal_points(column: pd.Series[Any]) -> pd.Series[Any]:
    """Rewrite texts with decimal commas as Python writes numbers; other texts stay.

    A point is taken for a separator of thousands, unless a cell of the column has decimals
    after one.

    Examples
    --------
    >>> with_decimal_points(pd.Series(["0,41", "1.250,5 €", "5.914", "21.01.2024"])).tolist()
    ['0.41', '1250.5 €', '5914', '21.01.2024']
    >>> with_decimal_points(pd.Series(["0,41", "5.914", "0.41"])).tolist()
    ['0.41', '5.914', '0.41']
    """

    def rewrite(texts: list[Any]) -> list[Any]:
        mixed = any(_POINT_DECIMAL.fullmatch(str(text)) for text in texts)
        return [with_point(text, mixed=mixed) if isinstance(text, str) else text for text in texts]

    return map_different(column, rewrite)


def unreadable(column: pd.Series[Any], parsed: Array | pd.Series[Any]) -> Flags:
    """Cells that hold something, but not what was parsed from the column, (n,)."""
    flags: Flags = column.notna().to_numpy() & pd.isna(np.asarray(parsed))
    return flags


def are_few(column: pd.Series[Any], flags: Flags) -> bool:
    """Whether the cells that can't be read are few, words for a gap not counted."""
    strange = int((known_text(column).notna().to_numpy() & flags).sum())
    known = len(flags) - int(column.isna().sum())
    return strange <= max(1, _FEW * known) and int(flags.sum()) <= known / 2


def gaps_in_words(column: pd.Series[Any], flags: Flags, what: str) -> str:
    """Name the cells that are read as gaps; empty if there are none.

    Examples
    --------
    >>> cells = pd.Series(["1", "n/a", "n/a", "2", "5 rooms"])
    >>> gaps_in_words(cells, np.isnan(parse_numbers(cells)), "numbers")
    "3 cells are not numbers and count as gaps: 'n/a' (2 times), '5 rooms'"
    """
    if not flags.any():
        return ""
    counts = as_text(column[flags]).value_counts(sort=True)
    shown = [
        repr(shortened(str(text))) + (f" ({count:,} times)" if count > 1 else "")
        for text, count in counts.head(3).items()
    ]
    more = f" and {len(counts) - 3} others" if len(counts) > 3 else ""
    total = int(flags.sum())
    cells = f"{total:,} cells are not {what} and count as gaps"
    if total == 1:
        one = re.sub(r"s\b", "", what, count=1)  # "numbers in kg"
        cells = f"one cell is not a {one} and counts as a gap"
    return f"{cells}: {', '.join(shown)}{more}"


def check_readable(column: pd.Series[Any], flags: Flags, what: str) -> str:
    """Return what to warn of: cells of new rows that count as gaps; empty if there are none.

    Raises
    ------
    DataError
        If more than a few cells can't be read: it is another column than in training.
    """
    strange = known_text(column).notna().to_numpy() & flags
    if strange.sum() > _FEW * len(strange):
        row = int(strange.argmax())
        raise DataError(
            f"Column {column.name!r} of X must hold {what}, but row {row + 1} has "
            f"{str(column.iloc[row])!r}."
        )
    return gaps_in_words(column, strange, what)


def shortened(text: str, limit: int = 20) -> str:
    """Cut a long text."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _numbers(values: list[Any]) -> list[float]:
    """Finite numbers, NaN for what is none."""
    parsed = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").tolist()
    return [
        number if math.isfinite(number) else as_number(str(value))
        for number, value in zip(parsed, values, strict=True)
    ]


def _units(column: pd.Series[Any]) -> pd.Series[Any]:
    """Unit of every cell but gaps; empty where none is written, NaN where there is no amount."""
    texts = known_text(column).dropna()
    return map_different(texts, lambda cells: [_unit(cell) for cell in cells])


def _unit(text: str) -> str | float:
    found = parse_amount(text)
    return np.nan if found is None else found.unit


def _whole(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)

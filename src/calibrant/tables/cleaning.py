"""Which columns of a raw table can be learned from, and which of them are categories."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

MAX_CATEGORIES = 1000


def is_categorical(column: pd.Series[Any]) -> bool:
    """Whether a column is taken as categories: text, booleans, dates, anything but numbers."""
    return is_bool_dtype(column.dtype) or not is_numeric_dtype(column.dtype)


def as_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Convert the values of a column to text, as Python prints them; gaps stay gaps."""
    return column.astype(object).map(str, na_action="ignore").astype(object)


def reason_to_drop(column: pd.Series[Any]) -> str | None:
    """Why a column should not be learned from, or None.

    A categorical column whose values hardly repeat (names, keys, time stamps) would teach a
    model the training rows and nothing else.
    """
    if re.fullmatch(r"Unnamed: \d+", str(column.name)):  # pandas' name where the header is empty
        return "left out, a column without a name is taken for row numbers"
    if is_categorical(column):
        different = as_text(column).nunique()
        if different > min(len(column) / 2, MAX_CATEGORIES):
            return (
                f"left out, {different:,} different texts in {len(column):,} rows look like an "
                "identifier"
            )
    return None


def clean_table(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Keep the columns that can be learned from, with text and booleans as categories.

    `TableEncoder` cleans in the same way by itself. Cleaning beforehand frees the model from
    columns that it would ignore: they need not be there at prediction.

    Parameters
    ----------
    frame : DataFrame of n rows
        Inputs only, without the target.

    Returns
    -------
    cleaned : DataFrame of n rows
    notes : list of str
        Why columns were left out, one note per column.

    Examples
    --------
    >>> raw = pd.DataFrame({"key": ["a1", "b2", "c3", "d4"], "size": [1, 2, 3, 4]})
    >>> cleaned, notes = clean_table(raw)
    >>> list(cleaned.columns)
    ['size']
    >>> notes
    ['key: left out, 4 different texts in 4 rows look like an identifier']
    """
    reasons = {name: reason_to_drop(column) for name, column in frame.items()}
    kept = frame[[name for name, reason in reasons.items() if reason is None]]
    categories = {
        str(name): as_text(column).astype("category")
        for name, column in kept.items()
        if is_categorical(column)
    }
    notes = [f"{name}: {reason}" for name, reason in reasons.items() if reason is not None]
    return kept.assign(**categories), notes

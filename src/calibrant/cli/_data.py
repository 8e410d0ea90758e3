"""Rows of a file and the roles of its columns, with errors that name the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import NDArray

from calibrant.cli._hints import did_you_mean
from calibrant.cli._output import Messages
from calibrant.errors import DataError
from calibrant.tables import as_text, clean_table, read_table, to_numbers


class TrainingTable(NamedTuple):
    """A table to learn from.

    Attributes
    ----------
    rows : DataFrame of n rows
        All columns of the rows whose target is known.
    inputs : DataFrame of n rows
        Columns to learn from, text as categories.
    notes : list of str
        Which columns were left out, and why.
    """

    rows: pd.DataFrame
    inputs: pd.DataFrame
    notes: list[str]


def read_training_table(
    path: Path, target: str, others: Iterable[str | None], messages: Messages
) -> TrainingTable:
    """Read a table and clean its inputs.

    Parameters
    ----------
    path : Path
    target : str
        Column to predict.
    others : iterable of str or None
        Columns that are not inputs: they have another role, or are dropped.
    messages : Messages
    """
    frame = read_table(path)
    roles = [target, *(name for name in others if name is not None)]
    check_columns(frame, roles, path)
    rows = rows_with_target(frame, target, path, messages)
    inputs, notes = clean_table(rows.drop(columns=roles))
    if inputs.columns.empty:
        raise DataError("No columns are left to learn from, besides the target.")
    for note in notes:
        messages.note(note)
    return TrainingTable(rows, inputs, notes)


def check_columns(frame: pd.DataFrame, names: Iterable[str], path: Path) -> None:
    """Raise `DataError` if names are not columns of the table, with a hint."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        wanted = " and ".join(_with_hint(name, frame.columns) for name in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise DataError(f"{path} has no column {wanted}{more}. {_listing(frame.columns)}")


def rows_with_target(
    frame: pd.DataFrame, target: str, path: Path, messages: Messages
) -> pd.DataFrame:
    """Return the rows whose target is known, the target as numbers."""
    values = target_values(frame, target, path)
    known = values.notna()
    if gaps := int((~known).sum()):
        messages.note(f"{path}: {gaps:,} of {len(frame):,} rows left out, they have no {target!r}")
    return frame.assign(**{target: values})[known]


def target_values(frame: pd.DataFrame, target: str, path: Path) -> pd.Series[Any]:
    """Return the target of every row as a number, NaN where it is missing."""
    column = frame[target]
    if pd.api.types.infer_dtype(column, skipna=True) == "boolean":
        column = as_text(column)  # true and false are no numbers to predict
    values = pd.Series(to_numbers(column, str(path)), index=frame.index, name=target)
    if values.isna().all():
        raise DataError(f"Column {target!r} of {path} has no values.")
    return values


def group_labels(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a column as labels of groups, (n,); rows without a label form a group."""
    return frame[name].astype(object).map(str).to_numpy(dtype=object)


def select_inputs(
    frame: pd.DataFrame, names: Collection[str], categorical: Collection[str], path: Path
) -> pd.DataFrame:
    """Select columns by name, as text where they are categorical and as numbers elsewhere."""
    check_columns(frame, names, path)
    columns = {
        name: as_text(frame[name]) if name in categorical else to_numbers(frame[name], str(path))
        for name in names
    }
    return pd.DataFrame(columns, index=frame.index)


def _with_hint(name: str, known: Iterable[str]) -> str:
    close = did_you_mean(name, known)
    return repr(name) if close is None else f"{name!r} (did you mean {close!r}?)"


def _listing(columns: Collection[str]) -> str:
    names = [str(name) for name in columns]
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return f"Its columns are: {', '.join(names[:10])}{more}."

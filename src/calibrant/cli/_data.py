"""Rows of a file and the roles of its columns, with errors that name the file."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.cli._hints import did_you_mean, listing
from calibrant.cli._output import Messages
from calibrant.errors import DataError
from calibrant.estimators.fit_data import may_fall_below_zero
from calibrant.tables import (
    DateColumn,
    TableEncoder,
    gap_code,
    is_categorical,
    parse_numbers,
    read_table,
    read_target,
)

# What lies among the training rows, and what to do instead, for `note_order`.
RANDOM_FOLDS = (
    "the rows of random folds",
    "If the model is for later rows, test on the last ones: calibrant fit --test-size 0.2 "
    "--time {time}",
)


class TrainingTable(NamedTuple):
    """A table to learn from.

    Attributes
    ----------
    rows : DataFrame of n rows
        All columns of the rows whose target is known.
    columns : DataFrame of n rows
        All columns that have no other role.
    inputs : DataFrame of n rows
        Those among them that can be learned from.
    encoder : TableEncoder
        How each of `columns` is read.
    """

    rows: pd.DataFrame
    columns: pd.DataFrame
    inputs: pd.DataFrame
    encoder: TableEncoder


def read_training_table(
    path: Path, target: str, others: Iterable[str | None], messages: Messages
) -> TrainingTable:
    """Read a table and say how its columns are read.

    Parameters
    ----------
    path : Path
    target : str
        Column to predict.
    others : iterable of str or None
        Columns that are not inputs: they have another role, or are dropped.
    messages : Messages
    """
    roles = [name for name in others if name is not None]
    return training_table(read_rows(path, [target], roles, messages), [target], roles, messages)


def fit_command(
    data: Path, target: str, groups: str | None, drop: Iterable[str] | None
) -> list[str]:
    """Words of the command that learns from the same columns of a table, but for its method."""
    words = ["calibrant", "fit", str(data), "--target", target]
    words += [] if groups is None else ["--groups", groups]
    return words + [word for name in drop or [] for word in ("--drop", name)]


def read_rows(
    path: Path, targets: Sequence[str], others: Iterable[str], messages: Messages
) -> pd.DataFrame:
    """Read the rows whose targets are known, with all columns; `others` must be among them."""
    with messages.warnings_as_notes():
        frame = read_table(path)
    check_columns(frame, [*targets, *others], path)
    return rows_with_targets(frame, targets, path, messages)


def observed(rows: pd.DataFrame, targets: Sequence[str]) -> pd.Series[Any] | pd.DataFrame:
    """Targets of rows, (n,), or (n, m) of several outputs."""
    return rows[targets[0]] if len(targets) == 1 else rows[list(targets)]


def as_inputs(rows: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Give columns types that are never taken for identifiers: decimals, or categories."""
    # Not float64, which pandas gives whole numbers beside gaps.
    kinds = {name: "category" if is_categorical(rows[name]) else "Float64" for name in names}
    return rows.astype(kinds)


def training_table(
    rows: pd.DataFrame, targets: Sequence[str], others: Collection[str], messages: Messages
) -> TrainingTable:
    """Decide how the columns without a role are read, and say so."""
    columns = rows.drop(columns=[*targets, *others])
    if columns.columns.empty:
        raise DataError("No columns are left to learn from, besides the target.")
    first = rows[targets[0]].to_numpy(dtype=np.float64)  # others are read alike, but for codes
    encoder = TableEncoder().fit(columns).with_codes(columns, first)
    if encoder.notes:  # plain numbers need no words
        messages.say(f"{encoder.describe()}\n")
    note_gap_codes(rows[[*targets, *columns.columns]], messages)
    return TrainingTable(rows, columns, columns.drop(columns=encoder.left_out), encoder)


def note_order(
    rows: pd.DataFrame, encoder: TableEncoder, messages: Messages, what: str, instead: str
) -> None:
    """Say that the rows are in the order of a date, where random rows are to test a model.

    Parameters
    ----------
    rows : DataFrame
    encoder : TableEncoder
    messages : Messages
    what : str
        Which rows lie among the training rows, in words.
    instead : str
        What to do, with ``{time}`` for the name of the column.
    """
    for column in encoder.encoders_:
        if isinstance(column, DateColumn):
            stamps = column.stamps(rows[column.name]).dropna()
            if stamps.nunique() > 1 and stamps.is_monotonic_increasing:
                messages.note(
                    f"the rows are in the order of {column.name!r}, and {what} lie among the "
                    f"training rows. {instead.format(time=repr(column.name))}"
                )
                return


def offer_bound(rows: pd.DataFrame, targets: Sequence[str], messages: Messages) -> None:
    """Name the bound that keeps predictions of targets without negative values above zero."""
    for target in targets:
        if may_fall_below_zero(rows[target].dropna()):
            named = "0" if len(targets) == 1 else shlex.quote(f"{target}=0")
            messages.note(
                f"{target} is never negative. --lower {named} (in Python bounds=(0, None)) keeps "
                "the predictions there as well."
            )


def note_gap_codes(columns: pd.DataFrame, messages: Messages) -> None:
    """Name numbers that probably stand for gaps: they would be learned from as they are."""
    found: dict[float, list[str]] = {}
    for name, column in columns.items():
        if not is_categorical(column) and (code := gap_code(parse_numbers(column))) is not None:
            found.setdefault(code, []).append(str(name))
    for code, names in found.items():
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        messages.note(
            f"{code:g} is repeated in {', '.join(names[:5])}{more}, far from all other values. If "
            "it stands for a gap, leave these cells empty."
        )


def check_columns(frame: pd.DataFrame, names: Iterable[str], path: Path) -> None:
    """Raise `DataError` if names are not columns of the table, with a hint."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        wanted = [_with_hint(name, frame.columns) for name in missing[:5]]
        last = f"{len(missing) - 5} more" if len(missing) > 5 else wanted.pop()
        found = f"{', '.join(wanted)} and {last}" if wanted else last
        raise DataError(f"{path} has no column {found}. {listing(frame.columns)}")


def rows_with_targets(
    frame: pd.DataFrame, targets: Iterable[str], path: Path, messages: Messages
) -> pd.DataFrame:
    """Return the rows whose targets are known, the targets as numbers."""
    for target in targets:
        frame = _rows_with_target(frame, target, path, messages)
    return frame


def _rows_with_target(
    frame: pd.DataFrame, target: str, path: Path, messages: Messages
) -> pd.DataFrame:
    frame = with_target(frame, target, path, messages)
    known = frame[target].notna()
    if gaps := int((~known).sum()):
        messages.note(f"{path}: {gaps:,} of {len(frame):,} rows left out, they have no {target!r}")
    return _whole_again(frame, known)


def with_target(frame: pd.DataFrame, target: str, path: Path, messages: Messages) -> pd.DataFrame:
    """Return the rows with the target as numbers, NaN in gaps and in a few other cells."""
    with messages.warnings_as_notes():
        values = read_target(frame[target], str(path))
    if values.isna().all():
        raise DataError(f"Column {target!r} of {path} has no values.")
    return frame.assign(**{target: values})


def _whole_again(frame: pd.DataFrame, kept: pd.Series[bool]) -> pd.DataFrame:
    """Select rows; whole numbers that were decimals only for gaps in the others are whole again."""
    rows = frame[kept]
    whole = [
        name
        for name in frame.columns[frame.isna().any()]
        if rows[name].dtype == np.float64 and (rows[name] % 1 == 0).all()
    ]
    return rows.astype(dict.fromkeys(whole, "int64"))


def group_labels(frame: pd.DataFrame, name: str) -> NDArray[Any]:
    """Return a column as labels of groups, (n,), without spaces around them.

    Rows without a label form a group.
    """
    labels = frame[name].astype(object)
    return labels.map(str).str.strip().where(labels.notna(), "missing").to_numpy(dtype=object)


def select_inputs(frame: pd.DataFrame, encoder: TableEncoder, path: Path) -> pd.DataFrame:
    """Select the columns that a model was fitted on; those it left out may be missing."""
    names = [each.name for each in encoder.encoders_]
    check_columns(frame, [name for name in names if name not in encoder.left_out], path)
    return frame[[name for name in names if name in frame.columns]]


def _with_hint(name: str, known: Iterable[str]) -> str:
    close = did_you_mean(name, known)
    return repr(name) if close is None else f"{name!r} (did you mean {close!r}?)"

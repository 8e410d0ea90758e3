"""Fit to a table that is read into memory, with roles of columns and rows set aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from calibrant.cli._data import (
    as_inputs,
    check_columns,
    group_labels,
    note_order,
    observed,
    offer_bound,
    read_rows,
    rows_with_targets,
    select_inputs,
    training_table,
)
from calibrant.cli._output import Messages
from calibrant.cli._split import TestSplit, split_rows
from calibrant.errors import ColumnWarning
from calibrant.tables import TableEncoder, read_table, to_numbers


class Roles(NamedTuple):
    """What the columns of a table mean."""

    targets: list[str]
    groups: str | None
    weight: str | None
    time: str | None
    drop: list[str]
    use: list[str]


def fit_table(
    fitting: Callable[..., object],
    path: Path,
    roles: Roles,
    validation: Path | None,
    test: tuple[float, int] | None,
    messages: Messages,
    *,
    unbounded: list[str],
) -> tuple[int, TestSplit | None]:
    """Read a table into memory and fit to it; `test` is the share of test rows and its seed.

    Targets that are `unbounded` from below are offered a bound if they are never negative.

    Returns
    -------
    n_rows : int
        Rows that were fitted to.
    split : TestSplit or None
        The test rows.
    """
    targets, groups, weight = roles.targets, roles.groups, roles.weight
    others = [name for name in (groups, weight, *roles.drop) if name is not None]
    named = [*others, *roles.use, *([] if roles.time is None else [roles.time])]
    all_rows, split = as_inputs(read_rows(path, targets, named, messages), roles.use), None
    rows = all_rows
    if test is not None:
        size, seed = test
        split = split_rows(rows, size, time=roles.time, groups=groups, seed=seed)
        rows = split.train
    table = training_table(rows, targets, others, messages)
    if split is not None and split.is_random:
        instead = "If the model is for later rows, test it on the last ones: --time {time}"
        note_order(all_rows, table.encoder, messages, "random test rows", instead)
    offer_bound(rows, unbounded, messages)
    with messages.warnings_as_notes(but=ColumnWarning):  # the table of columns has said it
        held_out = None
        if validation is not None:
            held_out = _validation_data(validation, table.encoder, targets, weight, messages)
        fitting(
            table.columns,
            observed(table.rows, targets),
            None if weight is None else to_numbers(table.rows[weight], str(path)),
            groups=None if groups is None else group_labels(table.rows, groups),
            validation_data=held_out,
        )
    return len(table.rows), split


def _validation_data(
    path: Path, encoder: TableEncoder, targets: list[str], weight: str | None, messages: Messages
) -> tuple[Any, ...]:
    """Read inputs, targets and, where there are any, weights of the validation rows."""
    frame = read_table(path, text=encoder.categories_)
    check_columns(frame, targets if weight is None else [*targets, weight], path)
    rows = rows_with_targets(frame, targets, path, messages)
    data = select_inputs(rows, encoder, path), observed(rows, targets)
    return data if weight is None else (*data, to_numbers(rows[weight], str(path)))

"""``calibrant recalibrate``: correct the intervals of a model on held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import _options as option
from calibrant.cli._output import Messages

Data = Annotated[
    Path,
    typer.Argument(
        help="Rows that neither training nor the test has used, with targets.", metavar="DATA"
    ),
]
Out = Annotated[Path, option.folder(help="Folder for the recalibrated model.")]
Target = Annotated[
    str | None,
    option.column(help="Column of the targets.", show_default="the one it was fitted to"),
]


def recalibrate(
    model: option.Model,
    data: Data,
    out: Out,
    group: option.Group = None,
    target: Target = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
) -> None:
    """Recalibrate a model on held-out rows, over all of them and within groups.

    A group is named by a column of the table, "predicted mean" or "predicted spread". The new
    model is used as the old one; its rows need the columns of the groups.
    """
    from calibrant.persistence import check_free

    check_free(out, overwrite=force)
    from calibrant.cli._data import check_columns, rows_with_target
    from calibrant.cli._models import (
        categorical_columns,
        load_table_model,
        model_inputs,
        target_name,
    )
    from calibrant.recalibration import GroupRecalibrator
    from calibrant.recalibration.grouping import PREDICTED
    from calibrant.tables import read_table

    messages = Messages(quiet=quiet)
    fitted = load_table_model(model)
    column = target or target_name(fitted, model)
    groups = list(dict.fromkeys(group or []))
    frame = read_table(data, text=categorical_columns(fitted))
    columns = [name for name in groups if name not in PREDICTED]
    check_columns(frame, [column, *columns], data)
    rows = rows_with_target(frame, column, data, messages)
    with messages.warnings_as_notes():
        inputs = model_inputs(fitted, rows, data, without=[column], also=columns)
        made = GroupRecalibrator(groups=groups).fit(fitted, inputs, rows[column])
    made.save(out, overwrite=force)
    off = len({(step.column, step.code) for step in made.steps_})
    found = sum(len(each) for each in made.groupings_)
    within = f", {off} of {found} groups corrected by themselves" if groups else ""
    messages.say(f"Recalibrated on {len(rows):,} rows{within}: {out}")

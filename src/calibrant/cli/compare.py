"""``calibrant compare``: which method suits a table best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._cells import cell_progress, resumable, split_names
from calibrant.cli._files import write_figure
from calibrant.cli._output import Messages, write_json, write_out

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.experiments import Leaderboard

Table = Annotated[Path, typer.Argument(help="Table: .csv, .csv.gz or .parquet.", metavar="TABLE")]
Methods = Annotated[
    str | None,
    option.names(
        help="Methods, separated by commas, such as mmd,hnn,ngboost.",
        show_default="all of this library",
    ),
]
Folds = Annotated[int, typer.Option(min=2, help="Parts to predict in turn.", metavar="N")]
Groups = Annotated[str | None, option.column(help="Rows with the same label stay in one fold.")]
Results = Annotated[Path, option.folder(help="Folder of the results; a run continues there.")]


def compare(
    data: Table,
    target: option.Target,
    methods: Methods = None,
    folds: Folds = 5,
    groups: Groups = None,
    drop: option.Drop = None,
    out: Results = Path("comparison"),
    figure: option.Figure = None,
    seed: option.Seed = 0,
    device: option.Device = "auto",
    engine: option.Engine = "processes",
    workers: option.Workers = None,
    address: option.Address = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    as_markdown: option.Markdown = False,
) -> None:
    """Cross-validate all methods on a table and recommend one, with the reason.

    Calibration stands beside its noise floor. Rows with equal inputs stay in one fold. Not for a
    series: folds at random would let a method see the future.
    """
    option.check_one_format(json=as_json, markdown=as_markdown)
    from calibrant.cli._data import group_labels, read_training_table

    messages = Messages(quiet=quiet)
    table = read_training_table(data, target, [groups, *(drop or [])], messages)
    found = _cross_validate(
        table.inputs,
        table.rows[target],
        split_names(methods),
        out,
        messages,
        table={
            "folds": folds,
            "groups": None if groups is None else group_labels(table.rows, groups),
            "name": data.name.split(".")[0],
            "seed": seed,
        },
        how={"device": device, "engine": engine, "workers": workers, "address": address},
    )
    for method, message in found.failed.items():
        messages.note(f"{method} is left out: {message}")
    if as_json:
        write_json(found.to_dict())
    elif as_markdown:
        write_out(found.to_markdown())
    else:
        write_out(str(found))
    if figure is not None:
        write_figure(found.draw(), figure, dpi=150)
        messages.say(f"Figure: {figure}")


def _cross_validate(
    X: pd.DataFrame,
    y: pd.Series[Any],
    methods: list[str],
    out: Path,
    messages: Messages,
    *,
    table: dict[str, Any],
    how: dict[str, Any],
) -> Leaderboard:
    """Run every method on every fold, with progress; an interrupted run can be continued."""
    from calibrant.experiments import Store, missing
    from calibrant.experiments import compare as compare_methods
    from calibrant.experiments.own_table import chosen_methods, own_table

    keys = chosen_methods(methods or None)

    def count_missing() -> int:
        experiment = own_table(X, y, **table)
        return len(missing(experiment.cells(keys), Store(out), experiment))

    total = len(keys) * table["folds"]
    with (
        messages.warnings_as_notes(),
        resumable(out, total, count_missing),
        cell_progress(total, messages) as show,
    ):
        return compare_methods(X, y, methods=keys, store=out, on_outcome=show, **table, **how)

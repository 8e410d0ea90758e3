"""``calibrant predict``: means, spreads, intervals and quantiles for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._files import check_table_output, write_table
from calibrant.cli._output import Messages, write_csv, write_json

if TYPE_CHECKING:
    import pandas as pd


def predict(
    model: option.Model,
    data: Annotated[Path, typer.Argument(help="Rows to predict.", metavar="DATA")],
    coverage: Annotated[
        list[float] | None,
        typer.Option(
            callback=option.check_levels,
            help="Share of targets an interval should cover, in (0, 1); repeatable.",
            metavar="P",
            show_default="0.9",
        ),
    ] = None,
    quantile: Annotated[
        list[float] | None,
        typer.Option(
            callback=option.check_levels, help="Quantile level in (0, 1); repeatable.", metavar="Q"
        ),
    ] = None,
    out: option.Predictions = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
) -> None:
    """Predict the rows of a table, in their order.

    The columns are mean, stddev, lower_90 and upper_90 for --coverage 0.9, quantile_5 for
    --quantile 0.05.
    """
    check_table_output(out, force=force)
    from calibrant.cli._models import categorical_columns, load_table_model, model_inputs
    from calibrant.tables import read_table

    fitted = load_table_model(model)
    frame = read_table(data, text=categorical_columns(fitted))
    with Messages(quiet=quiet).warnings_as_notes():
        inputs = model_inputs(fitted, frame, data)
        table = prediction_table(fitted, inputs, coverage or [0.9], quantile or [])
    if out is not None:
        write_table(table, out)
    if as_json:
        # An infinite bound is null: JSON has no number for it.
        bounded = table.abs() < float("inf")
        write_json(table.astype(object).where(bounded, None).to_dict("records"))
    elif out is None:
        write_csv(table)


def prediction_table(
    model: Any, inputs: Any, coverages: list[float], levels: list[float]
) -> pd.DataFrame:
    """Table of means, spreads, intervals and quantiles, one row per row of the inputs.

    Parameters
    ----------
    model : fitted model
    inputs : what the model predicts, n rows
    coverages : list of float
        Of the intervals.
    levels : list of float
        Of the quantiles.
    """
    import pandas as pd

    dist = model.predict_dist(X=inputs)
    columns = {"mean": dist.mean, "stddev": dist.stddev}
    # The model's own intervals, not the distribution's: conformal ones may be wider.
    bounds = model.predict_interval(X=inputs, coverage=coverages)  # (n, 2, L)
    for index, coverage in enumerate(coverages):
        columns[f"lower_{_percent(coverage)}"] = bounds[:, 0, index]
        columns[f"upper_{_percent(coverage)}"] = bounds[:, 1, index]
    if levels:
        values = model.predict_quantiles(X=inputs, alpha=levels)  # (n, L)
        for index, level in enumerate(levels):
            columns[f"quantile_{_percent(level)}"] = values[:, index]
    return pd.DataFrame(columns)


def _percent(share: float) -> str:
    return f"{100 * share:.10g}"

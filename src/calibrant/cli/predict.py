"""``calibrant predict``: means, spreads, intervals and quantiles for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli._output import Voice, write_csv, write_json
from calibrant.cli._tables import check_output, read_table, write_table
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd


def predict(
    model: Annotated[Path, typer.Argument(help="Folder of a fitted model.", metavar="MODEL")],
    data: Annotated[Path, typer.Argument(help="Rows to predict.", metavar="DATA")],
    coverage: Annotated[
        list[float] | None,
        typer.Option(
            help="Share of targets an interval should cover, in (0, 1); repeatable.",
            metavar="P",
            show_default="0.9",
        ),
    ] = None,
    quantile: Annotated[
        list[float] | None, typer.Option(help="Quantile level in (0, 1); repeatable.", metavar="Q")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; without it CSV is printed.", metavar="FILE"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON record a row.")] = False,
) -> None:
    """Predict the rows of a table, in their order.

    The columns are mean, stddev, lower_90 and upper_90 for --coverage 0.9, quantile_5 for
    --quantile 0.05.
    """
    shares = _levels(coverage or [0.9], "--coverage")
    quantiles = _levels(quantile or [], "--quantile")
    if out is not None:
        check_output(out, force=force)
    from calibrant.cli._models import categorical_columns, load_rows_model, model_inputs

    fitted = load_rows_model(model)
    frame = read_table(data, text=categorical_columns(fitted))
    with Voice(quiet=quiet).hears_warnings():
        table = predictions(fitted, model_inputs(fitted, frame, data), shares, quantiles)
    if out is not None:
        write_table(table, out)
    if as_json:
        # A bound at infinity, where a promise can't be kept, is null: JSON has no number for it.
        bounded = table.abs() < float("inf")
        write_json(table.astype(object).where(bounded, None).to_dict("records"))
    elif out is None:
        write_csv(table)


def _levels(values: list[float], option: str) -> list[float]:
    for value in values:
        if not 0 < value < 1:
            raise ParameterError(
                f"{option} must lie between 0 and 1, both excluded, got {value:g}."
            )
    return list(dict.fromkeys(values))


def predictions(
    model: Any, inputs: Any, shares: list[float], quantiles: list[float]
) -> pd.DataFrame:
    """Table of means, spreads, intervals and quantiles of every row."""
    import pandas as pd

    dist = model.predict_dist(X=inputs)
    columns = {"mean": dist.mean, "stddev": dist.stddev}
    # The model's own, not those of the distribution: a conformal model may promise more.
    bounds = model.predict_interval(X=inputs, coverage=shares)  # (n, 2, L)
    for index, share in enumerate(shares):
        columns[f"lower_{_percent(share)}"] = bounds[:, 0, index]
        columns[f"upper_{_percent(share)}"] = bounds[:, 1, index]
    if quantiles:
        values = model.predict_quantiles(X=inputs, alpha=quantiles)  # (n, L)
        for index, level in enumerate(quantiles):
            columns[f"quantile_{_percent(level)}"] = values[:, index]
    return pd.DataFrame(columns)


def _percent(share: float) -> str:
    return f"{100 * share:.10g}"

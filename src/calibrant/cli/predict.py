"""``calibrant predict``: means, spreads, intervals and quantiles for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli._files import check_table_output, write_table
from calibrant.cli._output import Messages, write_csv, write_json
from calibrant.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from calibrant.tables import ParquetSource

Data = Annotated[Path, typer.Argument(help="Rows to predict.", metavar="DATA")]
Coverages = Annotated[
    list[float] | None,
    typer.Option(
        callback=option.check_levels,
        help="Share of targets an interval should cover, in (0, 1); repeatable.",
        metavar="P",
        show_default="0.9",
    ),
]
Levels = Annotated[
    list[float] | None,
    typer.Option(
        callback=option.check_levels, help="Quantile level in (0, 1); repeatable.", metavar="Q"
    ),
]
Keep = Annotated[
    list[str] | None,
    option.column(
        help="Column of DATA to put beside the predictions; repeatable.",
        show_default="identifiers that the model left out",
    ),
]


def predict(
    model: option.Model,
    data: Data,
    coverage: Coverages = None,
    quantile: Levels = None,
    keep: Keep = None,
    out: option.Predictions = None,
    engine: option.Cluster = "local",
    address: option.Address = None,
    workers: option.Workers = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
) -> None:
    """Predict the rows of a table, in their order.

    The columns are those of --keep, mean, stddev, lower_90 and upper_90 for --coverage 0.9,
    quantile_5 for --quantile 0.05.
    """
    option.check_cluster(engine, address)
    if engine == "ray":
        how: dict[str, Any] = {"address": address, "workers": workers}
        _predict_on_ray(model, data, coverage or [0.9], quantile or [], keep or [], out, **how)
        Messages(quiet=quiet).say(f"The predictions are in {out}, in parts; row tells their order.")
        return
    if out is not None and out.suffix in ("", ".parquet"):
        from calibrant.cli._streams import large_source, parquet_source

        source = (large_source if out.suffix else parquet_source)(data)
        if source is not None:
            _predict_source(
                model,
                source,
                data,
                coverage or [0.9],
                quantile or [],
                keep,
                out,
                force=force,
                messages=Messages(quiet=quiet),
            )
            return
    check_table_output(out, force=force)
    import pandas as pd

    from calibrant.cli._models import categorical_columns, load_table_model, model_inputs
    from calibrant.tables import read_table

    fitted = load_table_model(model)
    messages = Messages(quiet=quiet)
    with messages.warnings_as_notes():
        frame = read_table(data, text=categorical_columns(fitted))
        kept = _kept(fitted, frame, keep, data)
        inputs = model_inputs(fitted, frame, data, without=keep or [])
        made = fitted.predict_table(inputs, coverage or [0.9], quantile or [], container="pandas")
    if clashes := [name for name in kept.columns if name in made.columns]:
        raise ParameterError(f"--keep {clashes[0]}: the predictions have a column of that name.")
    table = pd.concat([part.reset_index(drop=True) for part in (kept, made)], axis=1)
    if out is not None:
        write_table(table, out)
        messages.say(f"{len(table):,} rows in {out}: {', '.join(table.columns)}.")
    if as_json:
        write_json(_records(table))
    elif out is None:
        write_csv(table)


def _predict_source(
    model: Path,
    source: ParquetSource,
    data: Path,
    coverages: list[float],
    levels: list[float],
    keep: list[str] | None,
    out: Path,
    *,
    force: bool,
    messages: Messages,
) -> None:
    """Predict the rows of Parquet files part by part, into a file or a folder of parts."""
    from calibrant.cli._models import innermost, load_table_model, model_inputs
    from calibrant.streaming import predict_parquet

    fitted = load_table_model(model)
    encoder = innermost(fitted).encoder_
    named = keep or ([] if encoder is None else encoder.row_names)
    with messages.warnings_as_notes():
        columns = predict_parquet(
            fitted,
            source,
            out,
            coverage=coverages,
            alpha=levels,
            keep=[name for name in named if keep or name in source.schema.names],
            inputs=lambda frame: model_inputs(fitted, frame, data, without=keep or []),
            overwrite=force,
            verbose=messages.shows_progress,
        )
    messages.say(f"{source.n_rows:,} rows in {out}: {', '.join(columns)}.")


def _predict_on_ray(
    path: Path,
    data: Path,
    coverage: list[float],
    levels: list[float],
    keep: list[str],
    out: Path | None,
    *,
    address: str | None,
    workers: int | None,
) -> None:
    """Predict Parquet files on a Ray cluster, into a new folder."""
    from calibrant.cli._cluster import is_parquet, predict_on_cluster
    from calibrant.cli._models import load_table_model
    from calibrant.engines import PredictFrame

    if out is None or out.exists():
        raise ParameterError("--engine ray writes parts: pass --out with the name of a new folder.")
    if not is_parquet(data):
        raise ParameterError(f"--engine ray reads Parquet files, got {data}.")
    function = PredictFrame(load_table_model(path), coverage, levels, ["row", *keep])
    predict_on_cluster(function, data, out, address=address, workers=workers)


def _kept(model: Any, frame: pd.DataFrame, names: list[str] | None, path: Path) -> pd.DataFrame:
    """Columns of the data to put beside the predictions."""
    from calibrant.cli._data import check_columns
    from calibrant.cli._models import innermost

    encoder = innermost(model).encoder_
    if names is not None:
        check_columns(frame, names, path)
        return frame[list(dict.fromkeys(names))]
    named = [] if encoder is None else encoder.row_names
    return frame[[name for name in named if name in frame.columns]]


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON values; gaps and infinite bounds are null, JSON has no number for them."""
    infinite = table.isin([float("inf"), float("-inf")])
    cells = table.astype(object).where(table.notna() & ~infinite, None)
    return [
        {
            str(name): value if isinstance(value, str | int | float | None) else str(value)
            for name, value in row.items()
        }
        for row in cells.to_dict("records")
    ]

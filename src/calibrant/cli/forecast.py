"""``calibrant forecast``: the coming values of a series, with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli._output import Voice, write_csv, write_json
from calibrant.cli._series import (
    check_ahead,
    check_figure,
    check_level,
    make_forecaster,
    read_series,
    write_figure,
)
from calibrant.cli._series_options import SeriesOptions, spelled_out
from calibrant.cli._tables import check_output, write_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from calibrant.forecasting import Forecaster


@spelled_out
def forecast(
    options: SeriesOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; without it CSV is printed.", metavar="FILE"),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Folder to save the model in.", metavar="FOLDER")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON record a row.")] = False,
) -> None:
    """Learn a series and forecast its next steps.

    One network learns each step of the horizon. Rows after the last target are the time to come:
    they hold the values of --future covariates. The columns are time, mean, stddev, lower_90 and
    upper_90 for --coverage 0.9.
    """
    check_level(options.coverage)
    if out is not None:
        check_output(out, force=force)
    if options.figure is not None:
        check_figure(options.figure, force=force)
    if save is not None:
        from calibrant.persistence import check_free

        check_free(save, overwrite=force)
    voice = Voice(quiet=quiet)
    series = read_series(options, voice)
    if options.future:
        check_ahead(series, options)
    model = make_forecaster(series, options, voice)
    with voice.hears_warnings():
        model.fit(series.y, series.X)
        table = _table(model, series.X, options.coverage)
    if save is not None:
        model.save(save, overwrite=force)
    if options.figure is not None:
        drawn = _figure(model, series.X, options.target, options.coverage)
        write_figure(drawn, options.figure)
    if out is not None:
        write_table(table, out)
        voice.say(f"The next {options.horizon} steps of {options.target!r} are in {out}.")
    if as_json:
        write_json(table.astype({"time": str}).to_dict("records"))
    elif out is None:
        write_csv(table)


def _table(model: Forecaster, X: Any, coverage: float) -> pd.DataFrame:
    from calibrant.cli.predict import predictions

    index = model.future_index()
    table = predictions(model, X, [coverage], [])
    table.insert(0, "time", index.get_level_values(-1))
    if index.nlevels > 1:
        table.insert(0, "id", index.get_level_values(0))
    return table


def _figure(model: Forecaster, X: Any, target: str, coverage: float) -> Figure:
    """Draw the end of each series and the fan of its forecast, at most six of them."""
    import numpy as np
    from matplotlib.figure import Figure

    from calibrant.plots import intervals

    table, dist = model.series_, model.predict_dist(X=X)
    steps = len(model.fh_)
    shown = range(min(len(table.ids), 6))
    figure = Figure(figsize=(7.2, 3.4 * len(shown)), layout="constrained")
    for code, ax in zip(shown, np.ravel(figure.subplots(len(shown), squeeze=False)), strict=True):
        rows = np.flatnonzero(table.code == code)[-max(4 * steps, 48) :]
        ax.plot(_drawn(table, rows), table.y[rows], color="black", linewidth=1, label="observed")
        part = dist[code * steps : (code + 1) * steps]
        ahead = model.future_index()[code * steps : (code + 1) * steps].get_level_values(-1)
        ahead = ahead.to_timestamp() if hasattr(ahead, "to_timestamp") else ahead
        intervals(part, x=ahead, coverage=sorted({0.5, coverage}), ax=ax)
        name = "" if table.ids == (None,) else f", {table.ids[code]}"
        ax.set(xlabel="time", ylabel=f"{target}{name}")
    return figure


def _drawn(table: Any, rows: Any) -> Any:
    stamps = table.clock.stamps(table.tick[rows])
    return stamps.to_timestamp() if hasattr(stamps, "to_timestamp") else stamps

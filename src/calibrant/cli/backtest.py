"""``calibrant backtest``: what forecasts of a series would have been worth."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli._grid import aligned
from calibrant.cli._output import Voice, write_json, write_out
from calibrant.cli._series import (
    check_figure,
    check_level,
    make_forecaster,
    read_series,
    write_figure,
)
from calibrant.cli._series_options import SeriesOptions, spelled_out
from calibrant.cli._tables import check_output, write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from calibrant.forecasting import Backtest


class Policy(StrEnum):
    """What happens to the model as time goes on."""

    UPDATE = "update"
    REFIT = "refit"
    STATIC = "static"


@spelled_out
def backtest(
    options: SeriesOptions,
    start: Annotated[
        str,
        typer.Option(
            help="First time to forecast: a time stamp or a position, negative from the end.",
            metavar="TIME",
        ),
    ],
    policy: Annotated[
        Policy,
        typer.Option(
            help="update the recalibration with every outcome, refit now and then, or static.",
            metavar="NAME",
        ),
    ] = Policy.UPDATE,
    every: Annotated[
        int | None,
        typer.Option(min=1, help="Time stamps between two refits.", metavar="N"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the forecasts, row by row.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
) -> None:
    """Forecast every row from --start on with what was known before it, and score that.

    Scores are printed by horizon and over time, ECPE beside what a perfect forecaster would show
    by chance.
    """
    coverage = check_level(options.coverage)
    if out is not None:
        check_output(out, force=force)
    if options.figure is not None:
        check_figure(options.figure, force=force)
    from calibrant.forecasting import backtest as run

    voice = Voice(quiet=quiet)
    series = read_series(options, voice)
    model = make_forecaster(series, options, voice)
    model.verbose = False
    with voice.hears_warnings():
        result = run(
            model,
            series.y,
            series.X,
            start=_start(start),
            policy=policy.value,
            every=every,
            verbose=voice.shows_progress,
        )
    if options.figure is not None:
        write_figure(_figure(result, options.target, coverage), options.figure)
    if out is not None:
        write_table(result.frame(coverage=coverage), out)
    blocks = min(10, len(result.y_true))
    by_horizon = result.scores(coverage=coverage)
    over_time = result.scores_over_time(blocks, coverage=coverage)
    if as_json:
        write_json({"by_horizon": _records(by_horizon), "over_time": _records(over_time)})
    elif not quiet:
        write_out(f"By horizon\n{_shown(by_horizon, coverage)}\n\n")
        write_out(f"Over time, one step ahead\n{_shown(over_time, coverage)}")


def _start(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _shown(scores: Any, coverage: float) -> str:
    """Return the scores people look at first, in lines of 80 characters; --json has them all."""
    from calibrant.metrics.formatting import format_number

    lines = [
        {
            str(scores.index.name): str(place),
            "rows": str(int(row["n"])),
            "ECPE": f"{row['ecpe']:.4f}",
            "floor": f"{row['ecpe_floor']:.4f}",
            f"{100 * coverage:.4g}% cover": f"{row['coverage']:.1%}",
            "CRPS": format_number(row["crps"]),
            "RMSE": format_number(row["rmse"]),
            "EPIW": format_number(row["epiw"]),
        }
        for place, row in scores.iterrows()
    ]
    return aligned(lines, left=(str(scores.index.name),))


def _records(scores: Any) -> list[dict[str, Any]]:
    table = scores.reset_index()
    table[table.columns[0]] = table[table.columns[0]].astype(str)
    records: list[dict[str, Any]] = (
        table.astype(object).where(table.notna(), None).to_dict("records")
    )
    return records


def _figure(result: Backtest, target: str, coverage: float) -> Figure:
    """Draw intervals against the truth at the end, and coverage over the whole time."""
    from matplotlib.figure import Figure

    from calibrant.plots import coverage_over_time, intervals

    figure = Figure(figsize=(7.6, 6.8), layout="constrained")
    above, below = figure.subplots(2)
    last = slice(-200, None)
    times = result.index[last].get_level_values(-1)
    times = times.to_timestamp() if hasattr(times, "to_timestamp") else times
    intervals(result.dist[last], result.y_true[last], x=times, coverage=coverage, ax=above)
    above.set(xlabel="time", ylabel=target)
    coverage_over_time(result, coverage=coverage, ax=below)
    below.set(xlabel="time")
    return figure

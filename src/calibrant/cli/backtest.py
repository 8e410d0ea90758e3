"""``calibrant backtest``: how good forecasts of a series would have been."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import _options as option
from calibrant.cli import _series_options as series_option
from calibrant.cli._files import check_output, check_table_output, write_figure, write_table
from calibrant.cli._output import Messages, write_json, write_out
from calibrant.cli._series_options import Roles
from calibrant.cli._text_table import text_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from calibrant.forecasting import Backtest

Start = Annotated[
    str,
    typer.Option(
        help="First time to forecast: a time stamp or a position, negative from the end.",
        metavar="TIME",
    ),
]
Policy = Annotated[
    str,
    option.one_of(
        ("update", "refit", "static"),
        help="update the recalibration with every outcome, refit now and then, or static.",
    ),
]
Every = Annotated[int | None, option.count(help="Time stamps between two refits.")]
Checkpoint = Annotated[
    Path | None,
    option.folder(help="Folder for trained models: run again, only missing ones are trained."),
]
Rows = Annotated[Path | None, option.file(help="File for the forecasts, row by row.")]


def backtest(
    data: series_option.Data,
    target: series_option.Target,
    start: Start,
    time: series_option.Time = None,
    horizon: series_option.Horizon = 1,
    window: series_option.Window = None,
    coverage: option.Coverage = 0.9,
    series_id: series_option.Id = None,
    past: series_option.Past = None,
    future: series_option.Future = None,
    static: series_option.Static = None,
    lower: option.Lower = None,
    upper: option.Upper = None,
    network: series_option.Network = "global",
    epochs: option.Epochs = None,
    seed: option.Seed = 0,
    figure: option.Figure = None,
    report: series_option.Report = None,
    policy: Policy = "update",
    every: Every = None,
    checkpoint: Checkpoint = None,
    engine: option.Engine = "serial",
    workers: option.Workers = None,
    address: option.Address = None,
    out: Rows = None,
    force: option.Force = False,
    quiet: option.Silent = False,
    as_json: option.Json = False,
) -> None:
    """Forecast every row from --start on with what was known before it, and score that.

    Scores are printed by horizon and over time, ECPE beside what a perfect forecaster would show
    by chance, CRPS beside that of seasonal naive with calibrated intervals. With --policy refit,
    an --engine trains the models side by side.
    """
    bounds = option.bounds_of(lower, upper)
    check_table_output(out, force=force)
    check_output(figure, force=force)
    check_output(report, force=force)
    from calibrant.cli._data import offer_bound
    from calibrant.cli._series import make_forecaster, read_series
    from calibrant.engines import make_engine
    from calibrant.forecasting import backtest as run_backtest

    messages = Messages(quiet=quiet)
    roles = Roles(target, time, series_id, past or [], future or [], static or [])
    series = read_series(data, roles, messages)
    if lower is None:
        offer_bound(series.y, [target], messages)
    model = make_forecaster(
        series, horizon, window, network, epochs, bounds=bounds, random_state=seed
    )
    how: dict[str, Any] = {"start": _position_or_time(start), "policy": policy, "every": every}
    how["checkpoint"] = checkpoint
    if engine != "serial" or address is not None:
        how["run"] = make_engine(engine, workers=workers, address=address)
    with messages.warnings_as_notes():
        result = run_backtest(model, series.y, series.X, verbose=messages.shows_progress, **how)
    if figure is not None:
        write_figure(_draw(result, target, coverage), figure)
    if report is not None:
        result.report(report, coverage=coverage, target=target, overwrite=force)
        messages.say(f"Report: {report}")
    if out is not None:
        write_table(result.frame(coverage=coverage), out)
    by_horizon = result.scores(coverage=coverage)
    over_time = result.scores_over_time(min(10, len(result.y_true)), coverage=coverage)
    if as_json:
        write_json({"by_horizon": _records(by_horizon), "over_time": _records(over_time)})
    elif not quiet:
        write_out(f"By horizon\n{_score_table(by_horizon, coverage)}\n\n")
        write_out(f"Over time, one step ahead\n{_score_table(over_time, coverage)}")


def _position_or_time(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _score_table(scores: pd.DataFrame, coverage: float) -> str:
    """Table of the most important scores, at most 80 characters wide; --json has them all."""
    from calibrant.metrics.formatting import format_number

    index = str(scores.index.name)
    rows = [
        {
            index: str(label),
            "rows": str(int(row["n"])),
            "ECPE": f"{row['ecpe']:.4f}",
            "floor": f"{row['ecpe_floor']:.4f}",
            f"{100 * coverage:.4g}% cover": f"{row['coverage']:.1%}",
            "CRPS": format_number(row["crps"]),
            **({"naive": format_number(row["naive_crps"])} if "naive_crps" in row else {}),
            "RMSE": format_number(row["rmse"]),
            "EPIW": format_number(row["epiw"]),
        }
        for label, row in scores.iterrows()
    ]
    return text_table(rows, left=(index,))


def _records(scores: pd.DataFrame) -> list[dict[Any, Any]]:
    table = scores.reset_index()
    table[table.columns[0]] = table[table.columns[0]].astype(str)
    return table.astype(object).where(table.notna(), None).to_dict("records")


def _draw(result: Backtest, target: str, coverage: float) -> Figure:
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

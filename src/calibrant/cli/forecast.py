"""``calibrant forecast``: the coming values of a series, with their intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from calibrant.cli import _options as option
from calibrant.cli import _series_options as series_option
from calibrant.cli._files import check_output, check_table_output, write_figure, write_table
from calibrant.cli._output import Messages, write_csv, write_json
from calibrant.cli._series_options import Roles

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from calibrant.forecasting import Forecaster

MAX_PANELS = 6


def forecast(
    data: series_option.Data,
    target: series_option.Target,
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
    out: option.Predictions = None,
    save: Annotated[Path | None, option.folder(help="Folder to save the model in.")] = None,
    force: option.Force = False,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
) -> None:
    """Learn a series and forecast its next steps.

    One network learns all steps of the horizon. Rows after the last target are the time to come:
    they hold the values of --future covariates. The columns are time, mean, stddev, lower_90 and
    upper_90 for --coverage 0.9.
    """
    bounds = option.bounds_of(lower, upper)
    check_table_output(out, force=force)
    check_output(figure, force=force)
    check_output(report, force=force)
    if save is not None:
        from calibrant.persistence import check_free

        check_free(save, overwrite=force)
    from calibrant.cli._data import offer_bound
    from calibrant.cli._series import check_future, make_forecaster, read_series

    messages = Messages(quiet=quiet)
    roles = Roles(target, time, series_id, past or [], future or [], static or [])
    series = read_series(data, roles, messages)
    if lower is None:
        offer_bound(series.y, [target], messages)
    if future:
        check_future(series, horizon, data)
    common: dict[str, Any] = {"random_state": seed, "verbose": messages.shows_progress}
    common["bounds"] = bounds
    model = make_forecaster(series, horizon, window, network, epochs, **common)
    with messages.warnings_as_notes():
        model.fit(series.y, series.X)
        table = _forecast_table(model, series.X, coverage)
    if save is not None:
        model.save(save, overwrite=force)
        messages.say(f"The model is in {save}.")
    if figure is not None:
        write_figure(_draw(model, series.X, target, coverage), figure)
    if report is not None:
        model.report(report, X=series.X, coverage=coverage, target=target, overwrite=force)
        messages.say(f"Report: {report}")
    if out is not None:
        write_table(table, out)
        messages.say(f"The next {horizon} steps of {target!r} are in {out}.")
    if as_json:
        write_json(table.astype({"time": str}).to_dict("records"))
    elif out is None:
        write_csv(table)


def _forecast_table(model: Forecaster, X: pd.DataFrame | None, coverage: float) -> pd.DataFrame:
    """One row per series and step: its time, mean, spread and interval."""
    import pandas as pd

    from calibrant.distributions.prediction_table import prediction_columns

    index = model.future_index()
    table = pd.DataFrame(prediction_columns(model.predict_dist(X=X), coverage, []))
    table.insert(0, "time", index.get_level_values(-1))
    if index.nlevels > 1:
        table.insert(0, "id", index.get_level_values(0))
    return table


def _draw(model: Forecaster, X: pd.DataFrame | None, target: str, coverage: float) -> Figure:
    """Draw the end of each series and the fan of its forecast, for the first few series."""
    import numpy as np
    from matplotlib.figure import Figure

    from calibrant.plots import intervals

    table, dist = model.series_, model.predict_dist(X=X)
    steps = len(model.fh_)
    shown = range(min(len(table.ids), MAX_PANELS))
    figure = Figure(figsize=(7.2, 3.4 * len(shown)), layout="constrained")
    for code, ax in zip(shown, np.ravel(figure.subplots(len(shown), squeeze=False)), strict=True):
        rows = np.flatnonzero(table.code == code)[-max(4 * steps, 48) :]
        past = _on_time_axis(table.clock.stamps(table.tick[rows]))
        ax.plot(past, table.y[rows], color="black", linewidth=1, label="observed")
        ahead = slice(code * steps, (code + 1) * steps)
        future = _on_time_axis(model.future_index()[ahead].get_level_values(-1))
        intervals(dist[ahead], x=future, coverage=sorted({0.5, coverage}), ax=ax)
        name = "" if table.ids == (None,) else f", {table.ids[code]}"
        ax.set(xlabel="time", ylabel=f"{target}{name}")
    return figure


def _on_time_axis(stamps: Any) -> Any:
    """Periods as time stamps, which matplotlib can draw."""
    return stamps.to_timestamp() if hasattr(stamps, "to_timestamp") else stamps

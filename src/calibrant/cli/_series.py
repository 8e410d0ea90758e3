"""A series in a table and its model, for ``forecast`` and ``backtest``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.cli._data import check_columns, note_gap_codes, with_target
from calibrant.cli._output import Messages
from calibrant.cli._series_options import Roles
from calibrant.cli._time_stamps import date_columns, with_time_stamps, with_times_of_day
from calibrant.errors import DataError
from calibrant.estimators import MMDRegressor, limited_epochs
from calibrant.forecasting import Forecaster, GlobalNetwork
from calibrant.tables import as_read, is_categorical, read_table

_LONGEST_WINDOW = 336  # two weeks of hours


class Series(NamedTuple):
    """Rows up to the last known target, and covariates of these rows and the coming ones."""

    y: pd.DataFrame
    X: pd.DataFrame | None
    roles: Roles


def read_series(path: Path, roles: Roles, messages: Messages) -> Series:
    """Read a table; rows after the last known target hold known-future covariates only."""
    with messages.warnings_as_notes():
        frame = read_table(path)
    named = [name for name in (roles.target, roles.time, roles.series_id) if name is not None]
    check_columns(frame, [*named, *roles.covariates], path)
    dates: list[str] = []
    if roles.time is None:
        dates = date_columns(frame, [*named, *roles.covariates])
        roles = replace(roles, time=dates[0] if len(dates) == 1 else None)
    target, time, series_id = roles.target, roles.time, roles.series_id
    if time is not None:
        frame = with_time_stamps(frame, time, path, messages)
        if dates:
            frame, where = with_times_of_day(frame, time)
            messages.note(f"time stamps are in {where}")
    elif series_id is not None:
        raise DataError(f"{path} has several series: name the column of time stamps, --time.")
    elif dates:
        raise DataError(
            f"{path} has dates in {', '.join(map(repr, dates))}: name the column of time stamps, "
            f"such as --time {dates[0]!r}."
        )
    else:
        messages.note("there is no column of dates: rows count as equally spaced, in their order")
    if series_id is not None and (nameless := int(frame[series_id].isna().sum())):
        messages.note(f"{nameless:,} rows left out, they name no series in {series_id!r}")
        frame = frame[frame[series_id].notna()]
    if time is not None and series_id is None:
        _check_one_row_each(frame, time, path)
    frame = frame.assign(**{name: _covariate(frame[name]) for name in roles.covariates})
    frame = with_target(frame, target, path, messages)
    note_gap_codes(frame[[target, *roles.covariates]], messages)
    if series_id is not None:
        _check_targets(frame, target, series_id, path)
    known = frame[_up_to_last_target(frame, target, time, series_id)]
    if ahead := len(frame) - len(known):
        messages.note(f"{ahead:,} rows after the last {target!r} count as the time to come")
    keys = [name for name in (series_id, time) if name is not None]
    X = frame[[*keys, *roles.covariates]] if roles.covariates else None
    return Series(known[[*keys, target]], X, roles)


def check_future(series: Series, horizon: int, path: Path) -> None:
    """Check before the training that known-future covariates of every series cover the horizon."""
    roles, X = series.roles, series.X
    assert X is not None  # there are covariates of the future
    ahead = X.drop(index=series.y.index).dropna(subset=roles.future)
    rows, of_series = len(ahead), ""
    if roles.series_id is not None and roles.time is not None:
        names = series.y[roles.series_id].unique()
        found = ahead.groupby(roles.series_id)[roles.time].nunique().reindex(names, fill_value=0)
        rows, of_series = int(found.min()), f" of series {found.idxmin()!r}"
    if rows < horizon:
        raise DataError(
            f"The forecast needs {', '.join(roles.future)} at all of the next {horizon} "
            f"time stamps, but {path} has {rows} of {horizon} rows after the last "
            f"{roles.target!r}{of_series}. Add them, with {roles.target!r} left empty."
        )


def make_forecaster(
    series: Series,
    horizon: int,
    window: int | None,
    network: Any,
    epochs: int | None,
    **common: Any,
) -> Forecaster:
    """Return the forecaster that the options ask for.

    Parameters
    ----------
    series : Series
    horizon : int
    window : int or None
        None for the horizon, at least 5; the global network looks back further.
    network : {"global", "lstm", "gru", "mlp"}
    epochs : int or None
        Largest number of epochs per stage.
    **common
        Parameters that `Forecaster` takes as they are.
    """
    roles = series.roles
    least = max(5, horizon)
    estimator: Any
    if network == "global":
        estimator = GlobalNetwork()
        estimator.set_params(epochs=min(estimator.epochs, epochs or np.inf))
        names = 1 if roles.series_id is None else series.y[roles.series_id].nunique()
        least = max(least, min(_LONGEST_WINDOW, len(series.y) // names // 4))
    else:
        estimator = MMDRegressor(network=network)
        if epochs is not None:
            estimator.set_params(**limited_epochs("default", epochs))
    return Forecaster(
        estimator,
        window=least if window is None else window,
        horizon=horizon,
        past=roles.past,
        future=roles.future,
        static=roles.static,
        series_id=roles.series_id,
        time=roles.time,
        **common,
    )


def _covariate(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers, of text as well, as numbers; everything else as categories."""
    read = as_read(column)
    return column.astype("category") if is_categorical(read) else read


def _check_one_row_each(frame: pd.DataFrame, time: str, path: Path) -> None:
    """Check that most time stamps have one row: of the others, all rows but one would be lost."""
    n_stamps = frame[time].nunique()
    if len(frame) - n_stamps < len(frame) / 3:
        return
    names = [
        name
        for name in frame.columns
        if is_categorical(frame[name])
        and name != time
        and not frame[[time, name]].duplicated().any()
    ]
    such_as = f", such as --id {names[0]!r}" if names else ", --id"
    raise DataError(
        f"{path} has {n_stamps:,} time stamps in {time!r} for {len(frame):,} rows, but expected is "
        f"one row each. If it has several series, name their column{such_as}. If parts of the time "
        "are in other columns, join them in one, such as 2024-01-31 12:00."
    )


def _check_targets(frame: pd.DataFrame, target: str, series_id: str, path: Path) -> None:
    """Check that no series is without any target: all its rows would count as the time to come."""
    known = frame[target].notna().groupby(frame[series_id]).any()
    if not known.all():
        raise DataError(
            f"The forecast needs earlier values of {target!r} of every series, but "
            f"{known.idxmin()!r} has none in {path}. Add them, or leave out its rows."
        )


def _up_to_last_target(
    frame: pd.DataFrame, target: str, time: str | None, series_id: str | None
) -> NDArray[np.bool_]:
    """Mask of the rows up to the last known target of their series, (n,)."""
    order = frame[time] if time is not None else frame.index.to_series()
    series = frame[series_id] if series_id is not None else np.zeros(len(frame))
    last = order.where(frame[target].notna()).groupby(series).transform("max")
    mask: NDArray[np.bool_] = (order <= last).to_numpy()
    return mask

"""A series in a table and its model, for ``forecast`` and ``backtest``."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calibrant.cli._data import check_columns, target_values
from calibrant.cli._output import Messages
from calibrant.cli._series_options import Roles
from calibrant.errors import DataError
from calibrant.estimators import MMDRegressor, limited_epochs
from calibrant.forecasting import Forecaster, GlobalNetwork
from calibrant.tables import is_categorical, read_table

_LONGEST_WINDOW = 336  # two weeks of hours


class Series(NamedTuple):
    """Rows up to the last known target, and covariates of these rows and the coming ones."""

    y: pd.DataFrame
    X: pd.DataFrame | None
    roles: Roles


def read_series(path: Path, roles: Roles, messages: Messages) -> Series:
    """Read a table; rows after the last known target hold known-future covariates only."""
    frame = read_table(path)
    named = [name for name in (roles.target, roles.time, roles.series_id) if name is not None]
    check_columns(frame, [*named, *roles.covariates], path)
    if roles.time is None and (found := _date_column(frame, [*named, *roles.covariates])):
        messages.note(f"time stamps are in {found!r}")
        roles = replace(roles, time=found)
    target, time, series_id = roles.target, roles.time, roles.series_id
    if time is not None:
        frame = frame.assign(**{time: _stamps(frame[time], path)})
    elif series_id is not None:
        raise DataError(f"{path} has several series: name the column of time stamps, --time.")
    categories = {
        name: frame[name].astype("category")
        for name in roles.covariates
        if is_categorical(frame[name])
    }
    frame = frame.assign(**{target: target_values(frame, target, path)}, **categories)
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


def _stamps(column: pd.Series[Any], path: Path) -> pd.Series[Any]:
    """Return whole numbers as they are, and text as dates."""
    if pd.api.types.is_integer_dtype(column.dtype):
        return column
    try:
        with warnings.catch_warnings():
            # pandas warns where it would guess a format for each row: 3/4 may then be March or
            # April in one and the same file.
            warnings.simplefilter("error", UserWarning)
            stamps: pd.Series[Any] = pd.to_datetime(column)
    except (TypeError, ValueError, UserWarning) as error:
        raise DataError(
            f"Column {column.name!r} of {path} must hold whole numbers, or dates of one format "
            f"such as 2024-01-31 12:00: {error}"
        ) from error
    if stamps.isna().any():
        raise DataError(
            f"Column {column.name!r} of {path} has no time stamp in row "
            f"{int(stamps.isna().to_numpy().argmax()) + 1}."
        )
    return stamps


def _date_column(frame: pd.DataFrame, without: Collection[str]) -> str | None:
    """Return the one column of ISO 8601 dates, or None if there is none or more than one."""
    found = []
    for name in frame.columns:
        if name in without or pd.api.types.is_numeric_dtype(frame[name].dtype):
            continue
        try:
            pd.to_datetime(frame[name], format="ISO8601")
        except (TypeError, ValueError):
            continue
        found.append(str(name))
    return found[0] if len(found) == 1 else None

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

from calibrant.cli._data import check_columns, note_gap_codes, target_values
from calibrant.cli._output import Messages
from calibrant.cli._series_options import Roles
from calibrant.errors import DataError
from calibrant.estimators import MMDRegressor, limited_epochs
from calibrant.forecasting import Forecaster, GlobalNetwork
from calibrant.tables import date_formats, is_categorical, read_table

_LONGEST_WINDOW = 336  # two weeks of hours
_TIME_OF_DAY = r"\s*(?:[01]?\d|2[0-3])[:.][0-5]\d(?:[:.][0-5]\d)?\s*"


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
        stamps, words = _found_stamps(frame, found, path)
        messages.note(f"time stamps are in {words}")
        frame, roles = frame.assign(**{found: stamps}), replace(roles, time=found)
    target, time, series_id = roles.target, roles.time, roles.series_id
    if time is not None:
        frame = frame.assign(**{time: _stamps(frame[time], path)})
    elif series_id is not None:
        raise DataError(f"{path} has several series: name the column of time stamps, --time.")
    else:
        messages.note("there is no column of dates: rows count as equally spaced, in their order")
    if series_id is not None and (nameless := int(frame[series_id].isna().sum())):
        messages.note(f"{nameless:,} rows left out, they name no series in {series_id!r}")
        frame = frame[frame[series_id].notna()]
    if time is not None and series_id is None:
        _check_one_row_each(frame, time, path)
    categories = {
        name: frame[name].astype("category")
        for name in roles.covariates
        if is_categorical(frame[name])
    }
    frame = frame.assign(**{target: target_values(frame, target, path)}, **categories)
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


def _stamps(column: pd.Series[Any], path: Path) -> pd.Series[Any]:
    """Return whole numbers as they are, and text as dates."""
    if pd.api.types.is_integer_dtype(column.dtype):
        return column
    try:
        formats = date_formats(column) if pd.api.types.is_string_dtype(column.dtype) else ()
        if len(formats) == 1 and formats != ("ISO8601",):
            return pd.to_datetime(column, format=formats[0])
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
    """Return the one column of dates, or None if there is none or more than one."""
    found = [str(name) for name in frame.columns if name not in without and _has_dates(frame[name])]
    return found[0] if len(found) == 1 else None


def _has_dates(column: pd.Series[Any]) -> bool:
    if column.dtype.kind == "M":
        return True
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    formats = date_formats(column)
    try:
        pd.to_datetime(column, format=formats[0] if len(formats) == 1 else "ISO8601")
    except (TypeError, ValueError):
        return False
    return True


def _found_stamps(frame: pd.DataFrame, name: str, path: Path) -> tuple[pd.Series[Any], str]:
    """Return the time stamps of a column of dates, and where they are in words.

    Days are joined with the time of day, if another column has it.
    """
    stamps = _stamps(frame[name], path)
    clocks = [other for other in frame.columns if _has_time_of_day(frame[other])]
    if len(clocks) != 1 or (stamps != stamps.dt.normalize()).any():
        return stamps, repr(name)
    text = frame[clocks[0]].astype(str).str.strip().str.replace(".", ":")
    hours = text.where(text.str.count(":") == 2, text + ":00")
    return stamps + pd.to_timedelta(hours), f"{name!r} and {str(clocks[0])!r}"


def _has_time_of_day(column: pd.Series[Any]) -> bool:
    if not pd.api.types.is_string_dtype(column.dtype):
        return False
    return bool(column.str.fullmatch(_TIME_OF_DAY).eq(True).all())

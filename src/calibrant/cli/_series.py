"""The series in a table and its model, for ``forecast`` and ``backtest``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant.cli._columns import check_columns, numbers, text_columns
from calibrant.cli._output import Voice
from calibrant.cli._series_options import SeriesOptions
from calibrant.cli._tables import read_table, staged
from calibrant.errors import DataError, MissingFileError, OutputExistsError, ParameterError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from calibrant.forecasting import Forecaster

_FIGURES = (".png", ".pdf", ".svg")


class Series(NamedTuple):
    """Rows whose target may be known, and covariates of these and the coming ones."""

    y: pd.DataFrame
    X: pd.DataFrame | None
    time: str | None


def read_series(options: SeriesOptions, voice: Voice) -> Series:
    """Read a table; rows after the last known target hold known-future covariates only."""
    import pandas as pd

    path, target, time, id = options.data, options.target, options.time, options.id
    frame = read_table(path)
    named = [target, *(name for name in (time, id) if name is not None), *options.inputs]
    check_columns(frame, named, path)
    if time is None:
        time = _date_column(frame, without=named)
        if time is not None:
            voice.note(f"time stamps are in {time!r}")
    if time is not None:
        frame = frame.assign(**{time: _stamps(frame[time], path)})
    elif id is not None:
        raise DataError(f"{path} has several series: name the column of time stamps, --time.")
    values = numbers(frame, target, path)
    if not values.notna().any():
        raise DataError(f"Column {target!r} of {path} has no values.")
    text = {name: frame[name].astype("category") for name in text_columns(frame[options.inputs])}
    frame = frame.assign(**{target: values}, **text)
    keys = [name for name in (id, time) if name is not None]
    known = frame[_up_to_last_target(frame, target, time, id)]
    if ahead := len(frame) - len(known):
        voice.note(f"{ahead:,} rows after the last {target!r} count as the time to come")
    X = frame[[*keys, *options.inputs]] if options.inputs else None
    return Series(pd.DataFrame(known[[*keys, target]]), X, time)


def check_ahead(series: Series, options: SeriesOptions) -> None:
    """Complain before the training if known-future covariates can't be there for all steps."""
    ahead = len(series.X if series.X is not None else ()) - len(series.y)
    needed = options.horizon * (series.y[options.id].nunique() if options.id is not None else 1)
    if ahead < needed:
        raise DataError(
            f"The forecast needs {', '.join(options.future)} at all of the next {options.horizon} "
            f"time stamps, but {options.data} has {ahead} of {needed} rows after the last "
            f"{options.target!r}. Add them, with {options.target!r} left empty."
        )


def make_forecaster(series: Series, options: SeriesOptions, voice: Voice) -> Forecaster:
    """Return the forecaster that the options ask for."""
    from calibrant.estimators import MMDRegressor, limited_epochs
    from calibrant.forecasting import Forecaster

    horizon, window, epochs = options.horizon, options.window, options.epochs
    estimator = MMDRegressor(network=options.network.value)
    if epochs is not None:
        estimator.set_params(**limited_epochs("default", epochs))
    return Forecaster(
        estimator,
        window=max(5, horizon) if window is None else window,
        horizon=horizon,
        past=options.past,
        future=options.future,
        static=options.static,
        series_id=options.id,
        time=series.time,
        random_state=options.seed,
        verbose=voice.shows_progress,
    )


def check_level(coverage: float) -> float:
    """Complain about a coverage outside (0, 1)."""
    if not 0 < coverage < 1:
        raise ParameterError(f"--coverage must lie between 0 and 1, got {coverage:g}.")
    return coverage


def check_figure(path: Path, *, force: bool) -> None:
    """Complain before the work if the figure can't be written afterwards."""
    if path.suffix.lower() not in _FIGURES:
        raise ParameterError(
            f"{path} must end in {', '.join(_FIGURES)}: the suffix says the format."
        )
    if not path.absolute().parent.is_dir():
        raise MissingFileError(f"There is no folder {path.parent} to write {path.name} into.")
    if path.exists() and not force:
        raise OutputExistsError(f"{path} exists already. Choose another name, or pass --force.")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a figure whole or not at all."""
    with staged(path.parent) as folder:
        figure.savefig(folder / path.name, dpi=110)


def _up_to_last_target(frame: pd.DataFrame, target: str, time: str | None, id: str | None) -> Any:
    """Rows up to the last known target of their series."""
    import numpy as np

    order = frame[time] if time is not None else frame.index.to_series()
    series = frame[id] if id is not None else np.zeros(len(frame))
    last = order.where(frame[target].notna()).groupby(series).transform("max")
    return (order <= last).to_numpy()


def _stamps(column: pd.Series[Any], path: Path) -> Any:
    import warnings

    import pandas as pd

    if pd.api.types.is_integer_dtype(column.dtype):
        return column
    try:
        with warnings.catch_warnings():
            # Pandas warns where it would guess a format for each row: 3/4 may then be March or
            # April in one and the same file.
            warnings.simplefilter("error", UserWarning)
            stamps = pd.to_datetime(column)
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


def _date_column(frame: pd.DataFrame, without: Sequence[str]) -> str | None:
    import pandas as pd

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

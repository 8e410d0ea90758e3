"""What ``forecast`` and ``backtest`` share: options, the series in a table, its model."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from calibrant.cli._columns import check_columns, numbers, text_columns
from calibrant.cli._output import Voice
from calibrant.cli._tables import read_table, staged
from calibrant.errors import DataError, MissingFileError, OutputExistsError, ParameterError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from calibrant.forecasting import Forecaster

_FIGURES = (".png", ".pdf", ".svg")


class Network(StrEnum):
    """Networks that read windows, by the names they have on the command line."""

    LSTM = "lstm"
    GRU = "gru"
    MLP = "mlp"


Data = Annotated[
    Path,
    typer.Argument(help="Table with the series: .csv, .csv.gz or .parquet.", metavar="SERIES"),
]
Target = Annotated[str, typer.Option(help="Column to forecast.", metavar="COL")]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of time stamps.",
        metavar="COL",
        show_default="the one column of dates; without one rows count as equally spaced",
    ),
]
Horizon = Annotated[int, typer.Option(min=1, help="Steps to look ahead.", metavar="N")]
Window = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Rows to look back on.",
        metavar="N",
        show_default="the horizon, at least 5",
    ),
]
Coverage = Annotated[
    float, typer.Option(help="Share of targets an interval should cover.", metavar="P")
]
Id = Annotated[
    str | None, typer.Option("--id", help="Column that names the series.", metavar="COL")
]
Past = Annotated[
    list[str] | None,
    typer.Option(help="Covariate known up to now; repeatable.", metavar="COL"),
]
Future = Annotated[
    list[str] | None,
    typer.Option(help="Covariate known ahead of time; repeatable.", metavar="COL"),
]
Static = Annotated[
    list[str] | None,
    typer.Option(help="Covariate that is constant in a series; repeatable.", metavar="COL"),
]
NetworkName = Annotated[Network, typer.Option(help="lstm, gru or mlp.", metavar="NAME")]
Epochs = Annotated[
    int | None,
    typer.Option(min=1, help="Most passes over the windows in each stage.", metavar="N"),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same model.", metavar="N")
]
FigureFile = Annotated[
    Path | None, typer.Option(help="Picture to draw: .png, .pdf or .svg.", metavar="FILE")
]


class Roles(NamedTuple):
    """Columns of the table by what they mean."""

    target: str
    time: str | None
    id: str | None
    past: list[str]
    future: list[str]
    static: list[str]

    @property
    def inputs(self) -> list[str]:
        """Columns of covariates."""
        return [*self.past, *self.future, *self.static]


class Series(NamedTuple):
    """Rows whose target may be known, and covariates of these and the coming ones."""

    y: pd.DataFrame
    X: pd.DataFrame | None
    roles: Roles


def read_series(path: Path, roles: Roles, voice: Voice) -> Series:
    """Read a table; rows after the last known target hold known-future covariates only."""
    import pandas as pd

    frame = read_table(path)
    named = [roles.target, *(n for n in (roles.time, roles.id) if n is not None), *roles.inputs]
    check_columns(frame, named, path)
    if roles.time is None:
        roles = roles._replace(time=_date_column(frame, without=named))
        if roles.time is not None:
            voice.note(f"time stamps are in {roles.time!r}")
    if roles.time is not None:
        frame = frame.assign(**{roles.time: _stamps(frame[roles.time], path)})
    elif roles.id is not None:
        raise DataError(f"{path} has several series: name the column of time stamps, --time.")
    target = numbers(frame, roles.target, path)
    if not target.notna().any():
        raise DataError(f"Column {roles.target!r} of {path} has no values.")
    text = {name: frame[name].astype("category") for name in text_columns(frame[roles.inputs])}
    frame = frame.assign(**{roles.target: target}, **text)
    keys = [name for name in (roles.id, roles.time) if name is not None]
    known = frame[_up_to_last_target(frame, roles)]
    if ahead := len(frame) - len(known):
        voice.note(f"{ahead:,} rows after the last {roles.target!r} count as the time to come")
    X = frame[[*keys, *roles.inputs]] if roles.inputs else None
    return Series(pd.DataFrame(known[[*keys, roles.target]]), X, roles)


def check_ahead(series: Series, horizon: int, path: Path) -> None:
    """Complain before the training if known-future covariates can't be there for all steps."""
    roles, ahead = series.roles, len(series.X if series.X is not None else ()) - len(series.y)
    needed = horizon * (series.y[roles.id].nunique() if roles.id is not None else 1)
    if ahead < needed:
        raise DataError(
            f"The forecast needs {', '.join(roles.future)} at all of the next {horizon} time "
            f"stamps, but {path} has {ahead} of {needed} rows after the last {roles.target!r}. "
            f"Add them, with {roles.target!r} left empty."
        )


def make_forecaster(
    roles: Roles,
    *,
    horizon: int,
    window: int | None,
    network: Network,
    epochs: int | None,
    seed: int,
    voice: Voice,
) -> Forecaster:
    """Return the forecaster that the options ask for."""
    from calibrant.estimators import MMDRegressor
    from calibrant.forecasting import Forecaster

    make: Any = MMDRegressor
    estimator = make(network=network.value)
    if epochs is not None:
        estimator.at_most(epochs)
    return Forecaster(
        estimator,
        window=max(5, horizon) if window is None else window,
        horizon=horizon,
        past=roles.past,
        future=roles.future,
        static=roles.static,
        id=roles.id,
        time=roles.time,
        random_state=seed,
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


def _up_to_last_target(frame: pd.DataFrame, roles: Roles) -> Any:
    """Rows up to the last known target of their series."""
    import numpy as np

    order = frame[roles.time] if roles.time is not None else frame.index.to_series()
    series = frame[roles.id] if roles.id is not None else np.zeros(len(frame))
    last = order.where(frame[roles.target].notna()).groupby(series).transform("max")
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

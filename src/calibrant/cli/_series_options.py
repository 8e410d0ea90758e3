"""The options that ``forecast`` and ``backtest`` share, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from calibrant.cli._seed import check_seed


class Network(StrEnum):
    """Networks that read windows, by the names they have on the command line."""

    LSTM = "lstm"
    GRU = "gru"
    MLP = "mlp"


@dataclass(frozen=True)
class SeriesOptions:
    """A series in a table, what its columns mean, the model of it and its picture."""

    data: Annotated[
        Path,
        typer.Argument(help="Table with the series: .csv, .csv.gz or .parquet.", metavar="SERIES"),
    ]
    target: Annotated[str, typer.Option(help="Column to forecast.", metavar="COL")]
    time: Annotated[
        str | None,
        typer.Option(
            help="Column of time stamps.",
            metavar="COL",
            show_default="the one column of dates; without one rows count as equally spaced",
        ),
    ] = None
    horizon: Annotated[int, typer.Option(min=1, help="Steps to look ahead.", metavar="N")] = 1
    window: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Rows to look back on.",
            metavar="N",
            show_default="the horizon, at least 5",
        ),
    ] = None
    coverage: Annotated[
        float, typer.Option(help="Share of targets an interval should cover.", metavar="P")
    ] = 0.9
    id: Annotated[
        str | None, typer.Option("--id", help="Column that names the series.", metavar="COL")
    ] = None
    past: Annotated[
        list[str],
        typer.Option(help="Covariate known up to now; repeatable.", metavar="COL"),
    ] = field(default_factory=list)
    future: Annotated[
        list[str],
        typer.Option(help="Covariate known ahead of time; repeatable.", metavar="COL"),
    ] = field(default_factory=list)
    static: Annotated[
        list[str],
        typer.Option(help="Covariate that is constant in a series; repeatable.", metavar="COL"),
    ] = field(default_factory=list)
    network: Annotated[Network, typer.Option(help="lstm, gru or mlp.", metavar="NAME")] = (
        Network.LSTM
    )
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Most passes over the windows in each stage.", metavar="N"),
    ] = None
    seed: Annotated[
        int, typer.Option(callback=check_seed, help="Same seed, same model.", metavar="N")
    ] = 0
    figure: Annotated[
        Path | None, typer.Option(help="Picture to draw: .png, .pdf or .svg.", metavar="FILE")
    ] = None

    @property
    def inputs(self) -> list[str]:
        """Columns of covariates."""
        return [*self.past, *self.future, *self.static]


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """Show typer the fields of `SeriesOptions` one by one, where a command takes them as one.

    Parameters
    ----------
    command : function
        Its first parameter is a `SeriesOptions`, the others are options of its own.
    """
    hints = get_type_hints(SeriesOptions, include_extras=True)
    shared = [_parameter(each, hints[each.name]) for each in fields(SeriesOptions)]
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [*shared, *(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own)]
    # What must be given stands first in the help.
    parameters.sort(key=lambda each: each.default is not inspect.Parameter.empty)

    @wraps(command)
    def called(**values: Any) -> None:
        mine = {each.name: values.pop(each.name) for each in own}
        command(SeriesOptions(**values), **mine)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def _parameter(option: Field[Any], annotation: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if option.default is MISSING else option.default
    if option.default_factory is not MISSING:
        default = option.default_factory()
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )

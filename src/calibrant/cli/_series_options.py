"""Options that ``forecast`` and ``backtest`` share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli._options import column, count, file, one_of

Data = Annotated[
    Path,
    typer.Argument(help="Table with the series: .csv, .csv.gz or .parquet.", metavar="SERIES"),
]
Target = Annotated[str, column(help="Column to forecast.")]
Time = Annotated[
    str | None,
    column(
        help="Column of time stamps.",
        show_default="the one column of dates; without one rows count as equally spaced",
    ),
]
Id = Annotated[str | None, column("--id", help="Column that names the series.")]
Past = Annotated[list[str] | None, column(help="Covariate known up to now; repeatable.")]
Future = Annotated[list[str] | None, column(help="Covariate known ahead of time; repeatable.")]
Static = Annotated[
    list[str] | None, column(help="Covariate that is constant in a series; repeatable.")
]
Horizon = Annotated[int, count(help="Steps to look ahead.")]
Window = Annotated[
    int | None,
    count(
        help="Rows to look back on.",
        show_default="the horizon, at least 5; global: a quarter of the rows, at most 336",
    ),
]
Network = Annotated[
    str,
    one_of(
        ("global", "lstm", "gru", "mlp"),
        help="global: one for all steps and series; lstm, gru or mlp: one for each step.",
    ),
]

Report = Annotated[
    Path | None, file(help="Also write an interactive page with fan charts, one HTML file.")
]


@dataclass(frozen=True)
class Roles:
    """What the columns of a table of series mean."""

    target: str
    time: str | None
    series_id: str | None
    past: list[str]
    future: list[str]
    static: list[str]

    @property
    def covariates(self) -> list[str]:
        """All columns of covariates."""
        return [*self.past, *self.future, *self.static]

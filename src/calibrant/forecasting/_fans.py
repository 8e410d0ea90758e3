"""Fans for the report: forecasts from one origin, with what came before and after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from calibrant.distributions import Distribution, concatenate
from calibrant.metrics import Evaluation

if TYPE_CHECKING:
    from calibrant.forecasting._backtest import Backtest
    from calibrant.forecasting.forecaster import Forecaster

_FANS = 12
_QUANTILE_ROWS = 2500  # of all fans together: 199 quantiles each make a page of 3 MB
_STRETCH = 150  # times of a picture one step ahead


def forecast_fans(model: Forecaster, dist: Distribution) -> list[Any]:
    """Forecasts of the coming steps, one fan for each of the first series.

    Parameters
    ----------
    model : Forecaster
        A fitted one.
    dist : Distribution of n_series * h rows
        Its forecasts.
    """
    from calibrant.report import Fan

    index, steps, values = model.future_index(), len(model.fh_), model.series_.values()
    fans = []
    for first in range(0, min(len(dist), steps * _fan_count(steps)), steps):
        ahead = slice(first, first + steps)
        name = ", ".join(map(str, index[first][:-1])) if index.nlevels > 1 else "the next steps"
        known = _of_series(values, index[first])
        times = index[ahead].get_level_values(-1)
        fans.append(Fan(name, dist[ahead], times, known.iloc[-_past_rows(steps) :]))
    return fans


def backtest_fans(result: Backtest, evaluations: Mapping[int, Evaluation]) -> list[Any]:
    """Some forecasts of a back-test: that with the largest error, then evenly spaced ones.

    With a horizon of one, each is a stretch of consecutive forecasts instead of a single row.
    """
    rows = pd.concat(
        [
            pd.DataFrame(
                {"row": np.arange(len(found)), "step": step, "crps": evaluations[step].rows.crps},
                index=found.origin,
            )
            for step, found in result.by_horizon.items()
        ]
    )
    groups = _stretches(rows) if len(result.by_horizon) == 1 else _by_origin(rows)
    worst = int(np.argmax([group["crps"].mean() for group in groups]))
    count = min(len(groups), _fan_count(max(map(len, groups))))
    spaced = np.linspace(0, len(groups) - 1, count).round().astype(int).tolist()
    chosen = [k for k in spaced if k != worst][: count - 1]
    values = result.forecaster.series_.values()
    largest = " (largest error)" if chosen else ""
    return [
        _backtest_fan(result, groups[worst], values, largest),
        *(_backtest_fan(result, groups[k], values) for k in chosen),
    ]


def _backtest_fan(
    result: Backtest, group: pd.DataFrame, values: pd.Series[Any], remark: str = ""
) -> Any:
    from calibrant.report import Fan

    found = [(result.by_horizon[step], row) for step, row in group[["step", "row"]].to_numpy()]
    origin = group.index[0]
    one_step = len(result.by_horizon) == 1
    known = _of_series(values, origin)
    stamp = origin[-1] if isinstance(origin, tuple) else origin
    name = f"{', '.join(map(str, origin[:-1]))}, " if isinstance(origin, tuple) else ""
    way = "one step ahead from" if one_step else "from"
    return Fan(
        f"{name}{way} {stamp}{remark}",
        concatenate([forecasts.dist[row : row + 1] for forecasts, row in found]),
        pd.Index([forecasts.index.get_level_values(-1)[row] for forecasts, row in found]),
        known[known.index <= stamp].iloc[-_past_rows(1 if one_step else len(group)) :],
        np.array([forecasts.y_true[row] for forecasts, row in found]),
    )


def _by_origin(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Rows of each series and origin, in order of the steps."""
    groups = rows.groupby(level=list(range(rows.index.nlevels)), sort=False)
    return [group.sort_values("step") for _, group in groups]


def _stretches(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Consecutive rows of each series, `_STRETCH` at most."""
    levels = list(range(rows.index.nlevels - 1))
    series = [group for _, group in rows.groupby(level=levels, sort=False)] if levels else [rows]
    return [
        group.iloc[first : first + _STRETCH]
        for group in series
        for first in range(0, len(group), _STRETCH)
    ]


def _of_series(values: pd.Series[Any], label: Any) -> pd.Series[Any]:
    """Values by time of the series that a label of series and time belongs to."""
    if not isinstance(label, tuple):
        return values
    found: pd.Series[Any] = values.loc[label[:-1]]
    return found


def _fan_count(steps: int) -> int:
    return max(1, min(_FANS, _QUANTILE_ROWS // steps))


def _past_rows(steps: int) -> int:
    return max(3 * steps, 48)

"""Predicted against observed."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.checks import Index
from calibrant.metrics.quantile_pass import evenly_spaced
from calibrant.report._chart import Chart, colour, label, line, points
from calibrant.report._format import Units, spans_decades
from calibrant.report.scored_forecast import ScoredForecast

_POINTS = 600
_PARTS = 10


def accuracy_chart(forecast: ScoredForecast, index: int, target: str) -> Chart:
    """Observed targets against predicted medians of some rows; all rows by tenths in the table."""
    rows = forecast.scores.rows
    y, median, units = rows.y, rows.median, Units(rows.y)
    shown = evenly_spaced(len(y), _POINTS)
    log = spans_decades(y)
    if log:  # a prediction of zero or less has no place on a log axis
        shown = shown[median[shown] > 0]
    ends = [float(v) for v in _ends(forecast, shown)]
    axis: dict[str, Any] = {"type": "log"} if log else {"zeroline": False}
    some = f"{len(shown):,} of {len(y):,} rows" if len(shown) < len(y) else f"{len(y):,} rows"
    parts = np.array_split(np.argsort(median, kind="stable"), min(_PARTS, len(y)))
    return Chart(
        id=f"accuracy-{index}",
        title=f"Predicted and observed: {forecast.name}",
        description=f"Observed {target} against its predicted median, {some}"
        f"{', on logarithmic axes' if log else ''}. Points above the line were predicted too low. "
        "The table has all rows, in tenths of the prediction.",
        data=[
            line(ends, ends, "@grey", name="equal", hoverinfo="skip", showlegend=False),
            points(
                units.round(median[shown]),
                units.round(y[shown]),
                colour(index),
                "rows",
                "circle",
                5,
            )
            | {"showlegend": False},
        ],
        layout={
            "xaxis": {"title": {"text": f"predicted median, {label(target)}"}, **axis},
            "yaxis": {"title": {"text": f"observed {label(target)}"}, **axis},
            "height": 300,
        },
        head=["tenth", "rows", "mean predicted median", "mean observed"],
        rows=[
            [
                str(k + 1),
                f"{len(part):,}",
                units.show(float(median[part].mean())),
                units.show(float(y[part].mean())),
            ]
            for k, part in enumerate(parts)
        ],
    )


def _ends(forecast: ScoredForecast, shown: Index) -> tuple[float, float]:
    rows = forecast.scores.rows
    both = np.concatenate([rows.y[shown], rows.median[shown]])
    return (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)

"""Charts that follow the slider, with what they show at each of the 99 levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.checks import Index
from calibrant.metrics import LEVELS
from calibrant.report._chart import Chart, colour, label, line, points
from calibrant.report._format import Units, level_text, spans_decades
from calibrant.report.scored_forecast import ScoredForecast

# Quantile levels of the widths over rows, by plotly's names for the parts of a box.
_BOX = {"lowerfence": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 0.95}
_TABLE_LEVELS = (9, 24, 49, 74, 89, 94, 98)  # 10%, 25% ... 99%


def interval_chart(
    forecast: ScoredForecast, index: int, rows: Index, target: str
) -> tuple[Chart, dict[str, Any]]:
    """Intervals of a few rows in order of their median; the script draws their bounds.

    Returns
    -------
    chart : Chart
    moving : dict
        Number of the model and the order of the rows, as positions among the picked ones.
    """
    values = forecast.scores.rows
    order = np.argsort(values.median[rows], kind="stable")
    x = list(range(1, len(rows) + 1))
    empty: list[float | None] = [None] * len(rows)
    n, log = len(values.y), spans_decades(values.y)
    shown = f"{len(rows):,} of {n:,} rows" if len(rows) < n else f"{n:,} rows"
    units = Units(values.y)
    chart = Chart(
        id=f"intervals-{index}",
        title=f"Intervals: {forecast.name}",
        description=f"Central intervals at the chosen coverage, the median and the observed "
        f"{target} of {shown}, in order of the predicted median{', on a log axis' if log else ''}. "
        "Crosses lie outside their interval. A click on a row tells more about it.",
        data=[
            line(x, empty, colour(index), showlegend=False, hoverinfo="skip")
            | {"line": {"width": 0}},
            line(x, empty, colour(index), name="interval", hoverinfo="skip")
            | {"line": {"width": 0}, "fill": "tonexty", "fillcolor": f"{colour(index)}-fill"},
            line(x, units.round(values.median[rows[order]]), colour(index), name="median"),
            points(x, empty, "@ink", "covered", "circle", 4),
            points(x, empty, "@warn", "outside", "x", 7),
        ],
        layout={
            "xaxis": {"title": {"text": "row, by predicted median"}, "zeroline": False},
            "yaxis": {"title": {"text": label(target)}, "zeroline": False}
            | ({"type": "log"} if log else {}),
            "height": 340,
        },
        follows="intervals",
    )
    # Bounds of zero or less are drawn at the lower edge of a log axis.
    least = float(values.y.min()) / 2 if log else None
    return chart, {
        "chart": chart.id,
        "model": index,
        "order": order.tolist(),
        "least": least,
    }


def width_chart(
    forecasts: list[ScoredForecast], start: int, target: str
) -> tuple[Chart, list[Any]]:
    """A box plot of interval widths for each model, and its figures at all 99 levels."""
    n, sampled = forecasts[0].scores.n, len(forecasts[0].scores.quantiles.sample)
    moving, traces, rows = [], [], []
    for i, each in enumerate(forecasts):
        quantiles = each.scores.quantiles
        bounds = quantiles.sample_intervals
        boxes = np.quantile(bounds[:, 1] - bounds[:, 0], list(_BOX.values()), axis=0)  # (5, 99)
        units = Units(bounds[:, 1, 49] - bounds[:, 0, 49])
        levels = {key: units.round(part) for key, part in zip(_BOX, boxes, strict=True)}
        levels["mean"] = units.round(quantiles.widths)
        moving.append(levels)
        traces.append(
            {
                "type": "box",
                "orientation": "h",
                "y": [i],
                **{key: [values[start - 1]] for key, values in levels.items()},
                "boxmean": True,
                "line": {"color": colour(i)},
                "fillcolor": f"{colour(i)}-fill",
                "showlegend": False,
                "name": label(each.name),
            }
        )
        rows += [
            [
                each.name,
                level_text(LEVELS[k]),
                *(units.show(float(value)) for value in (*boxes[:, k], quantiles.widths[k])),
            ]
            for k in _TABLE_LEVELS
        ]
    source = f"{sampled:,} evenly spaced rows" if sampled < n else "all rows"
    names = [label(each.name) for each in forecasts]
    chart = Chart(
        id="widths",
        title="Width of the intervals",
        description="Widths at the chosen coverage: the box holds the middle half of the rows, the "
        f"whiskers 5% to 95%, from {source}; the dashed line is the exact mean of all rows. "
        "Narrow is good only among calibrated forecasts.",
        data=traces,
        layout={
            "xaxis": {"title": {"text": f"width ({label(target)})"}, "rangemode": "tozero"},
            "yaxis": {
                "tickvals": list(range(len(names))),
                "ticktext": names,
                "autorange": "reversed",
                "automargin": True,
            },
            "height": 120 + 60 * len(names),
        },
        head=["model", "coverage", "5% of rows", "25%", "median", "75%", "95%", "mean"],
        rows=rows,
    )
    return chart, moving

"""Charts of the page as plotly traces, each with its description and its table.

Colours are written as names (``@m0``): the page fills in those of its light or dark theme. All
text that comes from the user is escaped, because plotly reads a small HTML in labels.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.metrics import LEVELS
from calibrant.metrics._inputs import Array
from calibrant.metrics.floor import binomial_band
from calibrant.report._forecasts import Judged, thin
from calibrant.report._slices import Slicing
from calibrant.report._words import Units, level_text, percent

DRAWN_ROWS = 200
WIDTH_ROWS = 2000
PALETTE = 7
_DASHES = ("solid", "dash", "dot", "dashdot")
_PIT_BINS = 20
BAND_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Chart:
    """One chart: what is drawn, what it says, and the numbers behind it."""

    id: str
    title: str
    description: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def label(text: object) -> str:
    """Text for plotly, shown as it is."""
    return html.escape(str(text), quote=False)


def colour(index: int) -> str:
    """Name of the colour of the model with this number."""
    return f"@m{index % PALETTE}"


def reliability_chart(forecasts: list[Judged], start: int) -> Chart:
    """Coverage against level for all models, with the band of chance."""
    n = len(forecasts[0].pit)
    low, high = binomial_band(n, LEVELS, BAND_CONFIDENCE)
    x = _percent(LEVELS)
    band = [
        _line(x, _percent(low), "@band", name="", showlegend=False, hoverinfo="skip"),
        _line(x, _percent(high), "@band", name="chance (95%)", hoverinfo="skip")
        | {"fill": "tonexty", "fillcolor": "@band"},
    ]
    diagonal = _line([0, 100], [0, 100], "@grey", name="perfect", hoverinfo="skip")
    curves = [
        _line(x, _percent(each.coverage), colour(i), name=label(each.name))
        | {"line": {"color": colour(i), "width": 2, "dash": _DASHES[i // PALETTE % 4]}}
        for i, each in enumerate(forecasts)
    ]
    points = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [start],
            "y": [float(100 * each.coverage[start - 1])],
            "marker": {"color": colour(i), "size": 10, "line": {"color": "@paper", "width": 2}},
            "showlegend": False,
            "hoverinfo": "skip",
        }
        for i, each in enumerate(forecasts)
    ]
    errors = "; ".join(f"{each.name} ECPE {each.scores.ecpe:.4f}" for each in forecasts)
    shares = [[percent(v, n) for v in each.coverage] for each in forecasts]
    return Chart(
        id="reliability",
        title="Reliability at every level",
        description="Share of targets inside the central interval against its nominal level. On "
        "the diagonal intervals cover what they promise, below it they are too narrow. "
        f"{errors}; a perfect forecaster scores {forecasts[0].scores.floor.ecpe:.4f} by chance.",
        data=[*band, diagonal, *curves, *points],
        layout={
            "xaxis": {"title": {"text": "nominal level (%)"}, "range": [0, 100], "dtick": 20},
            "yaxis": {"title": {"text": "covered (%)"}, "range": [0, 100], "dtick": 20},
            "height": 420,
        },
        head=["level", "chance from", "to", *(each.name for each in forecasts)],
        rows=[
            [level_text(LEVELS[k]), percent(low[k], n), percent(high[k], n), *column]
            for k, column in enumerate(zip(*shares, strict=True))
        ],
    )


def pit_chart(forecast: Judged, index: int) -> Chart:
    """Histogram of PIT values with the band of a single bar."""
    n = len(forecast.pit)
    counts, edges = np.histogram(forecast.pit, bins=_PIT_BINS, range=(0.0, 1.0))
    low, high = (float(v) * _PIT_BINS for v in binomial_band(n, 1 / _PIT_BINS, BAND_CONFIDENCE))
    heights = counts / n * _PIT_BINS
    ends = [f"{a:.2f} to {b:.2f}" for a, b in pairwise(edges)]
    return Chart(
        id=f"pit-{index}",
        title=f"PIT: {forecast.name}",
        description="How often targets fell into each twentieth of their predictive distribution; "
        "1 is as often as promised. A U shape is overconfident, a hump underconfident, a slope "
        f"biased. 95% of bars of a perfect forecaster end between {low:.2f} and {high:.2f}.",
        data=[
            {
                "type": "bar",
                "x": [float(v) for v in (edges[:-1] + edges[1:]) / 2],
                "y": [round(float(v), 4) for v in heights],
                "width": 1 / _PIT_BINS,
                "marker": {"color": colour(index), "line": {"color": "@paper", "width": 1}},
                "text": [f"{e}: {c:,} rows" for e, c in zip(ends, counts, strict=True)],
                "hoverinfo": "text",
                "textposition": "none",
            }
        ],
        layout={
            "xaxis": {"title": {"text": "PIT value"}, "range": [0, 1]},
            "yaxis": {"title": {"text": "relative frequency"}, "rangemode": "tozero"},
            "shapes": [
                _box(0, 1, low, high, "@over") | {"layer": "above"},
                {"type": "line", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"color": "@ink"}},
            ],
            "height": 280,
        },
        head=["PIT", "rows", "relative frequency"],
        rows=[[e, f"{c:,}", f"{h:.3f}"] for e, c, h in zip(ends, counts, heights, strict=True)],
    )


def interval_chart(
    forecast: Judged, y: Array, index: int, start: int, target: str
) -> tuple[Chart, dict[str, Any]]:
    """Intervals of a few rows in order of their median, and the bounds at all 99 levels."""
    units, dist = Units(y), forecast.dist
    rows = np.argsort(dist.median, kind="stable")[thin(len(y), DRAWN_ROWS)]
    bounds = dist[rows].interval(LEVELS)  # (r, 2, 99)
    # The first level that covers a row: central intervals grow, so one number says all.
    first = np.searchsorted(LEVELS, np.abs(2.0 * forecast.pit[rows] - 1.0)) + 1
    moving = {
        "chart": f"intervals-{index}",
        "lower": [units.round(bounds[:, 0, k]) for k in range(99)],
        "upper": [units.round(bounds[:, 1, k]) for k in range(99)],
        "median": units.round(dist[rows].median),
        "y": units.round(y[rows]),
        "first": first.tolist(),
    }
    x = list(range(1, len(rows) + 1))
    empty: list[float | None] = [None] * len(rows)
    k = start - 1
    drawn = f"{len(rows):,} of {len(y):,} rows" if len(rows) < len(y) else f"{len(y):,} rows"
    chart = Chart(
        id=f"intervals-{index}",
        title=f"Intervals: {forecast.name}",
        description=f"Central intervals at the chosen level, the median and the observed {target} "
        f"of {drawn}, in order of the predicted median. Crosses lie outside their interval.",
        data=[
            _line(x, moving["lower"][k], colour(index), showlegend=False, hoverinfo="skip")
            | {"line": {"width": 0}},
            _line(x, moving["upper"][k], colour(index), name="interval", hoverinfo="skip")
            | {"line": {"width": 0}, "fill": "tonexty", "fillcolor": f"{colour(index)}-fill"},
            _line(x, moving["median"], colour(index), name="median"),
            _points(x, empty, "@ink", "covered", "circle", 4),
            _points(x, empty, "@warn", "outside", "x", 7),
        ],
        layout={
            "xaxis": {"title": {"text": "row, by predicted median"}, "zeroline": False},
            "yaxis": {"title": {"text": label(target)}, "zeroline": False},
            "height": 340,
        },
    )
    return chart, moving


def width_chart(forecasts: list[Judged], start: int, target: str) -> tuple[Chart, list[Any]]:
    """A box of the widths over rows for each model, and the boxes at all 99 levels."""
    n = len(forecasts[0].pit)
    every, shares = thin(n, WIDTH_ROWS), (0.05, 0.25, 0.5, 0.75, 0.95)
    keys = ("lowerfence", "q1", "median", "q3", "upperfence")
    moving, traces, rows = [], [], []
    for i, each in enumerate(forecasts):
        bounds = each.dist[every].interval(LEVELS)
        boxes = np.quantile(bounds[:, 1] - bounds[:, 0], shares, axis=0)  # (5, 99)
        units = Units(bounds[:, 1, 49] - bounds[:, 0, 49] + 0.0)
        levels = {key: units.round(box) for key, box in zip(keys, boxes, strict=True)}
        levels["mean"] = units.round(each.width)
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
                *(units.show(float(value)) for value in (*boxes[:, k], each.width[k])),
            ]
            for k in (9, 24, 49, 74, 89, 94, 98)
        ]
    source = f"{len(every):,} evenly spaced rows" if len(every) < n else "all rows"
    names = [label(each.name) for each in forecasts]
    chart = Chart(
        id="widths",
        title="Width of the intervals",
        description="Widths at the chosen level: the box holds the middle half of the rows, the "
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
        head=["model", "level", "5% of rows", "25%", "median", "75%", "95%", "mean"],
        rows=rows,
    )
    return chart, moving


def slice_chart(index: int, source: str, cuts: list[tuple[int, str, Slicing]]) -> Chart:
    """Coverage of the slices of one source, a line a model: (number, name, slicing)."""
    _, _, lead = cuts[0]
    found = lead.found
    low, high = binomial_band(found.n, found.level, 1.0 - 0.05 / len(found))
    places = list(range(len(found)))
    bars = [_box(p - 0.4, p + 0.4, 100 * low[p], 100 * high[p], "@band") for p in places]
    nominal = {"type": "line", "x0": -0.5, "x1": len(found) - 0.5, "line": {"color": "@grey"}}
    nominal |= {"y0": 100 * found.level, "y1": 100 * found.level}
    rows = [
        [name, part, f"{n:,}", percent(share, n), f"{p_value:.2g}"]
        for _, name, s in cuts
        for part, n, share, p_value in _table(s)
    ]
    return Chart(
        id=f"slice-{index}",
        title=source,
        description=f"Share of targets inside {level_text(found.level)} intervals in each slice "
        f"of {source}; grey bars hold a calibrated forecast (95% for the chart as a whole).",
        data=[
            _points(
                list(range(len(s.found))),
                _percent(s.found.coverage),
                colour(i),
                label(name),
                "circle",
                8,
            )
            | {
                "mode": "lines+markers" if len(s.found) > 1 else "markers",
                "line": {"color": colour(i), "width": 1},
                "text": [
                    label(f"{part}: {percent(share, n)} of {n:,} rows")
                    for part, n, share, _ in _table(s)
                ],
                "hoverinfo": "text",
            }
            for i, name, s in cuts
        ],
        layout={
            "shapes": [*bars, nominal],
            "showlegend": False,
            "xaxis": {
                "tickvals": places,
                "ticktext": [label(_short(str(name))) for name in found.names],
                "tickangle": -40,
                "automargin": True,
                "range": [-0.6, len(found) - 0.4],
                "showgrid": False,
            },
            "yaxis": {"title": {"text": "covered (%)"}, "zeroline": False},
            "height": 280,
        },
        head=["model", "slice", "rows", "covered", "p-value, unadjusted"],
        rows=rows,
    )


def _table(cut: Slicing) -> list[tuple[str, int, float, float]]:
    """Name, rows, coverage and p-value of each slice."""
    found = cut.found
    names = [str(name) for name in found.names]
    columns = (found.n.tolist(), found.coverage.tolist(), cut.p_values.tolist())
    return list(zip(names, *columns, strict=True))


def _short(name: str) -> str:
    return name if len(name) <= 22 else f"{name[:20]}…"


def _percent(shares: Array) -> list[float]:
    return [round(float(v), 6) for v in 100 * shares]


def _line(x: Any, y: Any, name_of_colour: str, **more: Any) -> dict[str, Any]:
    line = {"color": name_of_colour, "width": 1.5}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, **more}


def _points(x: Any, y: Any, name_of_colour: str, name: str, symbol: str, size: int) -> Any:
    marker = {"color": name_of_colour, "symbol": symbol, "size": size}
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "marker": marker, "name": name}


def _box(x0: float, x1: float, y0: float, y1: float, fill: str) -> dict[str, Any]:
    corners = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
    return {"type": "rect", "layer": "below", "fillcolor": fill, "line": {"width": 0}, **corners}

"""Charts of calibration: reliability, PIT, and coverage within slices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from calibrant.metrics import LEVELS
from calibrant.metrics.floor import binomial_band
from calibrant.report._chart import (
    BAND_CONFIDENCE,
    Chart,
    box,
    colour,
    dash,
    label,
    line,
    percents,
    points,
    symbol,
)
from calibrant.report._format import level_text, percent
from calibrant.report._slices import Slicing
from calibrant.report.scored_forecast import ScoredForecast

_PIT_BINS = 20
_LONGEST = 24  # characters of a label, enough for two dates


def reliability_chart(forecasts: list[ScoredForecast], start: int) -> Chart:
    """Coverage against nominal level for all models, with the band of a perfect forecaster."""
    n = forecasts[0].scores.n
    low, high = binomial_band(n, LEVELS, BAND_CONFIDENCE)
    x = percents(LEVELS)
    band = [
        line(x, percents(low), "@band", name="", showlegend=False, hoverinfo="skip"),
        line(x, percents(high), "@band", name="chance (95%)", hoverinfo="skip")
        | {"fill": "tonexty", "fillcolor": "@band"},
    ]
    diagonal = line([0, 100], [0, 100], "@grey", name="perfect", hoverinfo="skip")
    curves = [
        line(x, percents(each.scores.test.coverage), colour(i), name=label(each.name))
        | {"line": {"color": colour(i), "width": 2, "dash": dash(i)}}
        for i, each in enumerate(forecasts)
    ]
    points = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [start],
            "y": [float(100 * each.scores.test.coverage[start - 1])],
            "marker": {"color": colour(i), "size": 10, "line": {"color": "@paper", "width": 2}},
            "showlegend": False,
            "hoverinfo": "skip",
        }
        for i, each in enumerate(forecasts)
    ]
    errors = "; ".join(f"{each.name} ECPE {each.scores.ecpe:.4f}" for each in forecasts)
    shares = [[percent(v, n) for v in each.scores.test.coverage] for each in forecasts]
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
            "height": 400 + 20 * len(forecasts),  # a line of the legend each
        },
        head=["level", "chance from", "to", *(each.name for each in forecasts)],
        rows=[
            [level_text(LEVELS[k]), percent(low[k], n), percent(high[k], n), *column]
            for k, column in enumerate(zip(*shares, strict=True))
        ],
    )


def pit_chart(forecast: ScoredForecast, index: int) -> Chart:
    """Histogram of PIT values with the pointwise band of its bars."""
    pit = forecast.scores.rows.pit
    n = len(pit)
    counts, edges = np.histogram(pit, bins=_PIT_BINS, range=(0.0, 1.0))
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
                box(0, 1, low, high, "@over") | {"layer": "above"},
                {"type": "line", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": {"color": "@ink"}},
            ],
            "height": 280,
        },
        head=["PIT", "rows", "relative frequency"],
        rows=[[e, f"{c:,}", f"{h:.3f}"] for e, c, h in zip(ends, counts, heights, strict=True)],
    )


def slice_chart(index: int, source: str, cuts: list[tuple[int, str, Slicing]]) -> Chart:
    """Coverage of the slices of one source, a line per model: (number, name, slicing)."""
    found = max((s.found for _, _, s in cuts), key=len)
    # Deciles of the prediction differ between models, which share only their numbers.
    shared = all(s.found.names == found.names for _, _, s in cuts)
    ticks = _short(found.names) if shared else [f"decile {p + 1}" for p in range(len(found))]
    low, high = binomial_band(found.n, found.level, 1.0 - 0.05 / len(found))
    positions = list(range(len(found)))
    bars = [box(p - 0.4, p + 0.4, 100 * low[p], 100 * high[p], "@band") for p in positions]
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
        f"of {source}{'' if shared else ', for each model its own'}; grey bars hold a calibrated "
        "forecast (95% for the chart as a whole).",
        data=[
            points(
                list(range(len(s.found))),
                percents(s.found.coverage),
                colour(i),
                label(name),
                symbol(i),
                8,
            )
            | {
                "mode": "lines+markers" if s.ordered else "markers",
                "line": {"color": colour(i), "width": 1, "dash": dash(i)},
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
            "showlegend": len(cuts) > 1,
            "xaxis": {
                "tickvals": positions,
                "ticktext": [label(tick) for tick in ticks],
                "autotickangles": [0, -90],  # slanted labels would be cut off at the left
                "tickfont": {"size": 10},
                "range": [-0.6, len(found) - 0.4],
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {"title": {"text": "covered (%)"}, "zeroline": False},
            "height": 180 + 5 * max(map(len, ticks)) + 20 * len(cuts),  # labels, legend
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


def _short(names: tuple[Any, ...]) -> list[str]:
    """Names shortened in the middle for an axis, and numbered if that makes them equal."""
    texts = [str(name) for name in names]
    cut = [t if len(t) <= _LONGEST else f"{t[:12]}…{t[-10:]}" for t in texts]
    return [t if cut.count(t) == 1 else f"{t} ({i + 1})" for i, t in enumerate(cut)]

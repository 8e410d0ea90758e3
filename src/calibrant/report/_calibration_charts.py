"""Charts of calibration: reliability, PIT, and coverage within slices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from calibrant.metrics import LEVELS
from calibrant.metrics.floor import binomial_band
from calibrant.report._chart import (
    BAND_CONFIDENCE,
    Chart,
    colour,
    dash,
    label,
    line,
    percents,
)
from calibrant.report._format import level_text, percent
from calibrant.report.scored_forecast import ScoredForecast

_PIT_BINS = 20


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
        title="Reliability at every coverage",
        description="Share of targets inside the central interval against its nominal coverage. "
        "On the diagonal intervals cover what they promise, below it they are too narrow. "
        f"{errors}; a perfect forecaster scores {forecasts[0].scores.floor.ecpe:.4f} by chance.",
        data=[*band, diagonal, *curves, *points],
        layout={
            "xaxis": {"title": {"text": "nominal coverage (%)"}, "range": [0, 100], "dtick": 20},
            "yaxis": {"title": {"text": "covered (%)"}, "range": [0, 100], "dtick": 20},
            "height": 400 + 20 * len(forecasts),  # a line of the legend each
        },
        head=["coverage", "chance from", "to", *(each.name for each in forecasts)],
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
        f"biased. 95% of bars of a perfect forecaster end between the dashed lines, {low:.2f} and "
        f"{high:.2f}.",
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
            # Lines, not a band: a band in front of the bars would give them two tones.
            "shapes": [
                {
                    "type": "line",
                    "x0": 0,
                    "x1": 1,
                    "y0": at,
                    "y1": at,
                    "line": {"color": "@ink", "width": 1, "dash": style},
                }
                for at, style in ((low, "dash"), (1.0, "solid"), (high, "dash"))
            ],
            "height": 300,
        },
        head=["PIT", "rows", "relative frequency"],
        rows=[[e, f"{c:,}", f"{h:.3f}"] for e, c, h in zip(ends, counts, heights, strict=True)],
    )


def detail_chart() -> Chart:
    """The chart of a row or slice that is picked; the script fills it."""
    return Chart(
        id="detail",
        title="Density",
        description="The predictive density of the row, with its interval at the chosen coverage "
        "shaded and the observed target as a line; of a slice, its coverage at every level.",
        data=[],
        layout={"xaxis": {}, "yaxis": {}, "height": 320},
        follows="detail",
    )

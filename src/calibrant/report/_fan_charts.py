"""Charts of forecasts over time: the fan, coverage by step, reliability of a step, CRPS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calibrant.checks import Array
from calibrant.metrics import LEVELS, Evaluation
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.formatting import format_number
from calibrant.report._chart import BAND_CONFIDENCE, Chart, label, line, percents, points
from calibrant.report._format import Units, level_text, percent
from calibrant.report.fan import Fan

# Of the 99 central intervals and the median, in order.
_QUANTILES = np.arange(1, 200) / 200


def fan_chart(target: str, *, known: bool) -> Chart:
    """The forecasts from one origin; the script fills in the chosen one."""
    outcomes = " Crosses are outcomes outside their interval." if known else ""
    no_line = {"line": {"width": 0}, "hoverinfo": "skip", "fill": "toself"}
    return Chart(
        id="fan",
        title="Forecast",
        description=f"What was known of {target}, the median of the forecast, and its central "
        f"intervals: 50% dark, the chosen coverage light.{outcomes}",
        data=[
            line([], [], "@grey", name="interval") | no_line | {"fillcolor": "@m0-fill"},
            line([], [], "@grey", name="50%") | no_line | {"fillcolor": "@m0-deep"},
            line([], [], "@ink", name="observed"),
            line([], [], "@m0", name="median") | {"line": {"color": "@m0", "width": 2}},
            points([], [], "@ink", "covered", "circle", 5),
            points([], [], "@warn", "outside", "x", 8),
        ],
        layout={
            "xaxis": {"title": {"text": "time"}, "zeroline": False},
            "yaxis": {"title": {"text": label(target)}, "zeroline": False},
            "height": 420,
        },
        follows="fan",
    )


def fan_values(fans: list[Fan]) -> list[dict[str, Any]]:
    """What the script draws of each fan."""
    known = [np.concatenate([each.past.to_numpy(), _outcomes(each)]) for each in fans]
    values = np.concatenate([*known, *(each.dist.mean for each in fans)])
    units = Units(values[np.isfinite(values)])
    return [
        {
            "name": each.name,
            "past": {"x": _stamps(each.past.index), "y": units.round(each.past.to_numpy())},
            "x": _stamps(each.times),
            "quantiles": [units.round(row) for row in each.dist.ppf(_QUANTILES)],
            "y": None if each.observed is None else units.round(each.observed),
        }
        for each in fans
    ]


def coverage_chart(evaluations: Mapping[int, Evaluation]) -> Chart:
    """Coverage of every step at the chosen level; the script fills it."""
    return Chart(
        id="steps",
        title="Coverage by step",
        description="Share of outcomes inside the interval at the chosen coverage, by the number "
        f"of steps ahead, 1 to {max(evaluations)}. The band holds 95% of perfect forecasters with "
        "independent outcomes; overlapping forecasts share their errors and vary more. A click "
        "shows all levels of a step.",
        data=[
            line([], [], "@band", showlegend=False, hoverinfo="skip"),
            line([], [], "@band", name="chance (95%)", hoverinfo="skip")
            | {"fill": "tonexty", "fillcolor": "@band"},
            line([], [], "@m0", name="covered", mode="lines+markers"),
        ],
        layout={
            "xaxis": {"title": {"text": "steps ahead"}},
            "yaxis": {"title": {"text": "covered (%)"}},
            "height": 320,
        },
        follows="steps",
    )


def step_chart() -> Chart:
    """Reliability of the chosen step; the script fills it."""
    axis = {"range": [0, 100], "dtick": 20}
    return Chart(
        id="step",
        title="Reliability of a step",
        description="Share of outcomes inside the central interval against its nominal coverage. "
        "Below the diagonal intervals are too narrow.",
        data=[
            line([], [], "@band", showlegend=False, hoverinfo="skip"),
            line([], [], "@band", name="chance (95%)", hoverinfo="skip")
            | {"fill": "tonexty", "fillcolor": "@band"},
            line([0, 100], [0, 100], "@grey", name="perfect", hoverinfo="skip"),
            line([], [], "@m0", name="covered") | {"line": {"color": "@m0", "width": 2}},
        ],
        layout={
            "xaxis": {"title": {"text": "nominal coverage (%)"}, **axis},
            "yaxis": {"title": {"text": "covered (%)"}, **axis},
            "height": 320,
        },
        follows="step",
    )


def step_values(evaluations: Mapping[int, Evaluation]) -> dict[str, Any]:
    """Coverage of every step at the 99 levels, in percent, and the bands of chance."""
    sizes = sorted({each.n for each in evaluations.values()})
    return {
        "step": list(evaluations),
        "n": [each.n for each in evaluations.values()],
        "covered": [_rounded(each.test.coverage) for each in evaluations.values()],
        "bands": {
            str(n): [_rounded(end) for end in binomial_band(n, LEVELS, BAND_CONFIDENCE)]
            for n in sizes
        },
    }


def crps_chart(
    evaluations: Mapping[int, Evaluation],
    naive_crps: Mapping[int, float],
    level: float,
    target: str,
) -> Chart:
    """CRPS by step beside that of the baseline; all scores in the table."""
    steps = list(evaluations)
    curves = [line(steps, [each.crps for each in evaluations.values()], "@m0", name="forecast")]
    baseline = ""
    if naive_crps:
        curves.append(
            line(list(naive_crps), list(naive_crps.values()), "@m1", name="seasonal naive")
            | {"line": {"color": "@m1", "width": 1.5, "dash": "dash"}}
        )
        baseline = "Seasonal naive repeats the last season, with calibrated intervals. "
    return Chart(
        id="crps",
        title="CRPS by step",
        description=f"Error of the whole distribution in the units of {target}; lower is better. "
        f"{baseline}The table has all scores.",
        data=[trace | {"mode": "lines+markers"} for trace in curves],
        layout={
            "xaxis": {"title": {"text": "steps ahead"}},
            "yaxis": {"title": {"text": "CRPS"}, "rangemode": "tozero"},
            "height": 320,
        },
        head=[
            "steps ahead",
            "forecasts",
            f"covered by {level_text(level)}",
            "ECPE",
            "noise floor",
            "CRPS",
            *(["naive CRPS"] if naive_crps else []),
            "mean width",
        ],
        rows=[
            [
                str(step),
                f"{each.n:,}",
                percent(each.coverage, each.n),
                f"{each.ecpe:.4f}",
                f"{each.floor.ecpe:.4f}",
                format_number(each.crps),
                *([format_number(naive_crps[step])] if naive_crps else []),
                format_number(each.metrics["epiw"]),
            ]
            for step, each in evaluations.items()
        ],
    )


def _outcomes(fan: Fan) -> Array:
    return np.empty(0) if fan.observed is None else fan.observed


def _rounded(shares: Array) -> list[float]:
    return [round(value, 2) for value in percents(shares)]


def _stamps(times: pd.Index[Any]) -> list[Any]:
    """Times as plotly reads them: ISO 8601 for dates, the first instant of periods."""
    if isinstance(times, pd.PeriodIndex):
        times = times.to_timestamp()
    if isinstance(times, pd.DatetimeIndex):
        return [stamp.isoformat() for stamp in times.tz_localize(None)]  # the clock on the wall
    return times.tolist()

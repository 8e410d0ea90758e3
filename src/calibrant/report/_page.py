"""The page: everything it shows, as plain values, rendered by the template."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from calibrant.checks import Index, group_columns
from calibrant.metrics import LEVELS, METRICS, GroupCalibration, Metric, compare_scores
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.formatting import format_number, p_value_text
from calibrant.metrics.slices import rank_slices, tolerated_error
from calibrant.metrics.verdict import judge
from calibrant.report._accuracy_chart import accuracy_chart
from calibrant.report._calibration_charts import detail_chart, pit_chart, reliability_chart
from calibrant.report._chart import BAND_CONFIDENCE
from calibrant.report._facts import data_facts, surprises, version_facts
from calibrant.report._format import Units, cell_text, level_text, percent, unbroken
from calibrant.report._moving_charts import interval_chart, width_chart
from calibrant.report._row_details import picked_rows, row_details, row_label, slices_of_rows
from calibrant.report._slice_charts import slice_charts
from calibrant.report._slices import cut, table_columns
from calibrant.report._template import render_page
from calibrant.report.scored_forecast import ScoredForecast

_SURPRISE_COLUMNS = 6  # of the inputs; the others are shown when a row is picked


def render(
    forecasts: list[ScoredForecast],
    X: Any,
    *,
    groups: Any,
    level: float,
    title: str,
    target: str,
) -> str:
    """Return the whole page."""
    y = forecasts[0].scores.rows.y
    n, start = len(y), min(99, max(1, round(100 * level)))
    columns = table_columns(X, n)
    named = {} if groups is None else group_columns(groups, n)
    cuts = [cut(each, columns, named, level) for each in forecasts]
    ways = [{each.source: each.found for each in model} for model in cuts]
    rows, drawn = picked_rows(forecasts)
    intervals = [interval_chart(each, i, rows[:drawn], target) for i, each in enumerate(forecasts)]
    widths, boxes = width_chart(forecasts, start, target)
    sliced, slices = slice_charts(forecasts, cuts, [rank_slices(each) for each in ways])
    for moving in slices:
        for part in moving["models"]:
            (own,) = (s for s in cuts[part["model"]] if s.source == moving["source"])
            part["of_rows"] = slices_of_rows(own, part["names"], rows)
    sections = {
        "intervals": [chart for chart, _ in intervals],
        "detail": [detail_chart()],
        "reliability": [reliability_chart(forecasts, start)],
        "accuracy": [accuracy_chart(each, i, target) for i, each in enumerate(forecasts)],
        "pit": [pit_chart(each, i) for i, each in enumerate(forecasts)],
        "widths": [widths],
        "slices": sliced,
    }
    charts = [chart for part in sections.values() for chart in part]
    levels = _level_texts(forecasts, Units(y))
    shown = list(columns)[:_SURPRISE_COLUMNS]
    settings = [(each.name, each.settings) for each in forecasts if each.settings]
    several = f" · {len(forecasts)} models" if len(forecasts) > 1 else ""
    return render_page(
        "report.html.j2",
        ("report.js", "ask.js"),
        charts,
        {
            "start": start,
            "target": target,
            "intervals": [moving for _, moving in intervals],
            "boxes": boxes,
            "slices": slices,
            "rows": row_details(forecasts, rows, columns, X),
            "levels": levels,
        },
        title=title,
        subtitle=f"{target} · {n:,} rows{several}",
        target=target,
        n=n,
        start=start,
        level=level_text(level),
        models=[
            _verdict(each, ways[i], level, n)
            | {"name": each.name, "surprises": _surprises(each, rows, columns, shown, X)}
            for i, each in enumerate(forecasts)
        ],
        now=levels[start - 1],
        scores=_scores(forecasts),
        pairs=[
            asdict(pair) | {"sentence": pair.sentence, "p": unbroken(p_value_text(pair.p_value))}
            for pair in compare_scores({each.name: each.scores.rows.crps for each in forecasts})
        ],
        sections={name: [asdict(chart) for chart in part] for name, part in sections.items()},
        sources=len(cuts[0]),
        picked=len(rows),
        surprise_columns=shown,
        other_columns=len(columns) - len(shown),
        facts=[("Data", data_facts(columns, y, target)), ("Versions", version_facts()), *settings],
    )


def _surprises(
    forecast: ScoredForecast,
    rows: Index,
    columns: dict[str, NDArray[Any]],
    shown: list[str],
    X: Any,
) -> list[dict[str, Any]]:
    """Rows of the table of surprises: label, position among the picked rows, cells, inputs."""
    at = {int(row): k for k, row in enumerate(rows)}
    return [
        {
            "label": row_label(X, row),
            "pick": at[row],
            "cells": cells,
            "inputs": [cell_text(columns[name][row]) for name in shown],
        }
        for row, cells in surprises(forecast)
    ]


def _verdict(
    forecast: ScoredForecast, ways: dict[str, GroupCalibration], level: float, n: int
) -> dict[str, str]:
    """Coverage, verdict over all slices and advice as text, and whether they are good or bad."""
    scores = forecast.scores
    low, high = (float(v) for v in binomial_band(n, level, BAND_CONFIDENCE))
    covered = (
        f"{level_text(level)} intervals covered {percent(scores.coverage, n)} of {n:,} "
        f"row{'s' if n > 1 else ''}; a perfect forecaster lands between {percent(low, n)} and "
        f"{percent(high, n)}"
    )
    judged = judge(scores, ways)
    state, verdict = judged.state, judged.about_all
    outside = not low <= scores.coverage <= high
    if state == "good" and outside and abs(scores.coverage - level) > tolerated_error(level):
        # One level in twenty is outside by chance, and says less than all levels together.
        state = "mixed"
        verdict += (
            f" At {level_text(level)} alone coverage is outside that range; over all levels "
            "that is what chance gives."
        )
    return {
        "sentence": covered,
        "verdict": unbroken(verdict),
        "worst": unbroken(judged.about_slices),
        "advice": judged.advice,
        "state": state,
    }


def _level_texts(forecasts: list[ScoredForecast], units: Units) -> list[dict[str, Any]]:
    """Texts beside the slider at each of the 99 levels."""
    n = forecasts[0].scores.n
    low, high = binomial_band(n, LEVELS, BAND_CONFIDENCE)
    return [
        {
            "band": f"{percent(low[k], n)} to {percent(high[k], n)}",
            "models": [
                {
                    "covered": percent(each.scores.test.coverage[k], n),
                    "width": units.show(float(each.scores.quantiles.widths[k])),
                    "state": _state(each.scores.test.coverage[k], LEVELS[k], low[k], high[k]),
                }
                for each in forecasts
            ],
        }
        for k in range(len(LEVELS))
    ]


def _state(share: float, level: float, low: float, high: float) -> str:
    if low <= share <= high:
        return "within chance"
    side = "narrow" if share < low else "wide"
    return f"{'too' if abs(share - level) > tolerated_error(level) else 'slightly too'} {side}"


def _scores(forecasts: list[ScoredForecast]) -> list[dict[str, Any]]:
    """Rows of the table of scores: the metrics of the registry that a report shows."""
    first = forecasts[0].scores
    floors = first.floors
    return [
        {
            "name": first.label(name),
            "what": _meaning(METRICS[name]),
            "floor": format_number(floors[name].expected) if name in floors else "",
            "values": [METRICS[name].format(each.scores.metrics[name]) for each in forecasts],
        }
        for name in first.metrics
        if METRICS[name].in_report and all(name in each.scores.metrics for each in forecasts)
    ]


def _meaning(metric: Metric) -> str:
    return (
        metric.meaning if metric.better is None else f"{metric.meaning}; {metric.better} is better"
    )

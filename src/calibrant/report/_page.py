"""The page: everything it shows, as plain values, rendered by the template."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from calibrant.checks import group_columns
from calibrant.metrics import LEVELS, METRICS, Metric, compare_scores
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.formatting import format_number, p_value_text
from calibrant.report._calibration_charts import pit_chart, reliability_chart, slice_chart
from calibrant.report._chart import BAND_CONFIDENCE, Chart
from calibrant.report._facts import data_facts, surprises, version_facts
from calibrant.report._format import Units, level_text, percent, unbroken
from calibrant.report._moving_charts import interval_chart, width_chart
from calibrant.report._plotly import plotly_script
from calibrant.report._slices import Slicing, cut, table_columns, worst
from calibrant.report.scored_forecast import ScoredForecast

_SLICE_CHARTS = 8


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
    intervals = [interval_chart(each, i, start, target) for i, each in enumerate(forecasts)]
    widths, boxes = width_chart(forecasts, start, target)
    sections = {
        "intervals": [chart for chart, _ in intervals],
        "reliability": [reliability_chart(forecasts, start)],
        "pit": [pit_chart(each, i) for i, each in enumerate(forecasts)],
        "widths": [widths],
        "slices": _slice_charts(forecasts, cuts),
    }
    drawn = [chart for part in sections.values() for chart in part]
    levels = _level_texts(forecasts, Units(y))
    script = {
        "start": start,
        "charts": {chart.id: {"data": chart.data, "layout": chart.layout} for chart in drawn},
        "intervals": [moving for _, moving in intervals],
        "boxes": boxes,
        "levels": levels,
    }
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            target=target,
            n=n,
            start=start,
            level=level_text(level),
            models=[
                _verdict(each, level, n)
                | {
                    "name": each.name,
                    "settings": each.settings,
                    "worst": unbroken(worst(cuts[i]).sentence),
                    "surprises": surprises(each, X),
                }
                for i, each in enumerate(forecasts)
            ],
            now=levels[start - 1],
            scores=_scores(forecasts),
            pairs=[
                asdict(pair)
                | {"sentence": pair.sentence, "p": unbroken(p_value_text(pair.p_value))}
                for pair in compare_scores({each.name: each.scores.rows.crps for each in forecasts})
            ],
            sections={name: [asdict(chart) for chart in part] for name, part in sections.items()},
            sources=len(cuts[0]),
            facts={"Data": data_facts(columns, y, target), "Versions": version_facts()},
            page=script,
            scripts=_scripts(),
        )
    )


def _verdict(forecast: ScoredForecast, level: float, n: int) -> dict[str, str]:
    """Coverage and verdict as text, and whether they are good, bad or mixed."""
    scores = forecast.scores
    low, high = (float(v) for v in binomial_band(n, level, BAND_CONFIDENCE))
    covered = (
        f"{level_text(level)} intervals covered {percent(scores.coverage, n)} of {n:,} "
        f"row{'s' if n > 1 else ''}; a perfect forecaster lands between {percent(low, n)} and "
        f"{percent(high, n)}"
    )
    verdict, state = scores.verdict, "good"
    if scores.test.reject:
        state = "bad"
    elif not scores.floor.explains(scores.ecpe):
        state = "mixed"
    elif not low <= scores.coverage <= high:
        # One level in twenty is outside by chance, and says less than all levels together.
        state = "mixed"
        verdict += (
            f" At {level_text(level)} alone coverage is outside that range; over all levels "
            "that is what chance gives."
        )
    return {"sentence": covered, "verdict": unbroken(verdict), "state": state}


def _level_texts(forecasts: list[ScoredForecast], units: Units) -> list[dict[str, Any]]:
    """Texts beside the slider at each of the 99 levels."""
    n = forecasts[0].scores.n
    low, high = binomial_band(n, LEVELS, BAND_CONFIDENCE)
    return [
        {
            "level": level_text(LEVELS[k]),
            "band": f"{percent(low[k], n)} to {percent(high[k], n)}",
            "models": [
                {
                    "covered": percent(each.scores.test.coverage[k], n),
                    "width": units.show(float(each.scores.quantiles.widths[k])),
                    "state": _state(each.scores.test.coverage[k], low[k], high[k]),
                }
                for each in forecasts
            ],
        }
        for k in range(len(LEVELS))
    ]


def _state(share: float, low: float, high: float) -> str:
    if low <= share <= high:
        return "within chance"
    return "too narrow" if share < low else "too wide"


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


def _slice_charts(forecasts: list[ScoredForecast], cuts: list[list[Slicing]]) -> list[Chart]:
    """Charts of the slicings that chance explains least, for all models."""
    by_source: dict[str, list[tuple[int, str, Slicing]]] = {}
    for i, (forecast, ways) in enumerate(zip(forecasts, cuts, strict=True)):
        for way in ways:
            by_source.setdefault(way.source, []).append((i, forecast.name, way))
    # A constant prediction has no deciles to compare with those of other models.
    cuttable = {
        source: [found for found in ways if len(found[2].found) > 1] or ways
        for source, ways in by_source.items()
    }
    # Times the number of slices: having many must not make a column look worse.
    ordered = sorted(
        cuttable.items(),
        key=lambda item: min(len(s.p_values) * float(s.p_values.min()) for _, _, s in item[1]),
    )
    return [
        slice_chart(i, source, found) for i, (source, found) in enumerate(ordered[:_SLICE_CHARTS])
    ]


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("calibrant.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@lru_cache(maxsize=1)
def _scripts() -> dict[str, str]:
    """Scripts, style, and the hashes by which the content security policy admits the scripts."""
    loader, environment = PackageLoader("calibrant.report"), _environment()
    own, style = (loader.get_source(environment, name)[0] for name in ("report.js", "report.css"))
    plotly = plotly_script()
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (plotly, own))
    return {"plotly": plotly, "own": own, "style": style, "hashes": hashes}


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""The page: everything it shows as plain values, put into the template."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from calibrant.metrics import LEVELS, compare_scores
from calibrant.metrics._inputs import Array, column
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.significance import p_text
from calibrant.report._calibration_charts import pit_chart, reliability_chart, slice_chart
from calibrant.report._chart import BAND_CONFIDENCE, Chart
from calibrant.report._facts import data_facts, surprises, version_facts
from calibrant.report._forecasts import Judged
from calibrant.report._moving_charts import interval_chart, width_chart
from calibrant.report._plotly import plotly_script
from calibrant.report._slices import Slicing, cut, table_columns, worst
from calibrant.report._words import Units, level_text, percent, unbroken

_SLICE_CHARTS = 8
_SCORES = {
    "ECPE": ("ecpe", "mean distance of coverage from its level"),
    "MCPE": ("mcpe", "largest distance of coverage from its level"),
    "p-value of ECPE": ("p_value", "share of perfect forecasters that score no better"),
    "CRPS": ("crps", "proper score, target units"),
    "NLL": ("nll", "proper score, natural logarithm"),
    "RMSE": ("rmse", "of the mean, target units"),
    "MAE": ("mae", "of the mean, target units"),
    "R2": ("r2", "of the mean"),
    "EPIW": ("epiw", "mean interval width, target units"),
}


def render(
    forecasts: list[Judged],
    X: Any,
    y: Array,
    *,
    groups: Any,
    level: float,
    title: str,
    target: str,
) -> str:
    """Return the whole page."""
    n, start = len(y), min(99, max(1, round(100 * level)))
    columns = table_columns(X, n)
    named = {} if groups is None else {_name(groups): column(groups, "groups", n)}
    cuts = [cut(each, columns, named, level) for each in forecasts]
    intervals = [interval_chart(each, y, i, start, target) for i, each in enumerate(forecasts)]
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
                    "surprises": surprises(each, X, y, level),
                }
                for i, each in enumerate(forecasts)
            ],
            now=levels[start - 1],
            scores=_scores(forecasts),
            pairs=[
                asdict(pair) | {"sentence": pair.sentence, "p": unbroken(p_text(pair.p_value))}
                for pair in compare_scores({each.name: each.crps for each in forecasts})
            ],
            sections={name: [asdict(chart) for chart in part] for name, part in sections.items()},
            sources=len(cuts[0]),
            facts={"Data": data_facts(columns, y, target), "Versions": version_facts()},
            page=script,
            scripts=_scripts(),
        )
    )


def _name(groups: Any) -> str:
    return str(getattr(groups, "name", None) or "group")


def _verdict(forecast: Judged, level: float, n: int) -> dict[str, str]:
    """What the intervals covered, what the tests say, and whether that is good, bad or mixed."""
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
        # One level in twenty is out by chance, and says less than all levels together.
        state = "mixed"
        verdict += (
            f" At {level_text(level)} alone coverage is outside that range; over all levels "
            "that is what chance gives."
        )
    return {"sentence": covered, "verdict": unbroken(verdict), "state": state}


def _level_texts(forecasts: list[Judged], units: Units) -> list[dict[str, Any]]:
    """What stands beside the slider at each of the 99 levels, as it is shown."""
    n = len(forecasts[0].pit)
    low, high = binomial_band(n, LEVELS, BAND_CONFIDENCE)
    return [
        {
            "level": level_text(LEVELS[k]),
            "band": f"{percent(low[k], n)} to {percent(high[k], n)}",
            "models": [
                {
                    "covered": percent(each.coverage[k], n),
                    "width": units.show(float(each.width[k])),
                    "state": _state(each.coverage[k], low[k], high[k]),
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


def _scores(forecasts: list[Judged]) -> list[dict[str, Any]]:
    floor = forecasts[0].scores.floor
    floors = {"ecpe": f"{floor.ecpe:.4f}", "mcpe": f"{floor.mcpe:.4f}"}
    return [
        {
            "name": name,
            "what": what,
            "floor": floors.get(key, ""),
            "values": [_score(key, getattr(each.scores, key)) for each in forecasts],
        }
        for name, (key, what) in _SCORES.items()
    ]


def _score(key: str, value: float) -> str:
    if key == "p_value":
        return p_text(value).removeprefix("p = ").removeprefix("p ")
    return f"{value:.4f}" if key in ("ecpe", "mcpe", "r2") else f"{value:,.4g}"


def _slice_charts(forecasts: list[Judged], cuts: list[list[Slicing]]) -> list[Chart]:
    """Charts of the ways to cut the rows that chance explains least, for all models."""
    by_source: dict[str, list[tuple[int, str, Slicing]]] = {}
    for i, (forecast, ways) in enumerate(zip(forecasts, cuts, strict=True)):
        for way in ways:
            by_source.setdefault(way.source, []).append((i, forecast.name, way))
    # A constant prediction has no deciles to set beside those of others.
    cuttable = {
        source: [found for found in ways if len(found[2].found) > 1] or ways
        for source, ways in by_source.items()
    }
    # Times the number of slices: a column with many is not more suspicious for that.
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
    """The scripts, the style and the hashes by which the browser knows them from any other."""
    loader, environment = PackageLoader("calibrant.report"), _environment()
    own, style = (loader.get_source(environment, name)[0] for name in ("report.js", "report.css"))
    plotly = plotly_script()
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in (plotly, own))
    return {"plotly": plotly, "own": own, "style": style, "hashes": hashes}


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""The page about forecasts over time: fans, and calibration by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from calibrant.checks import check_level
from calibrant.errors import DataError
from calibrant.metrics import Evaluation
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.formatting import format_number
from calibrant.metrics.slices import tolerated_error
from calibrant.report._chart import BAND_CONFIDENCE
from calibrant.report._facts import version_facts
from calibrant.report._fan_charts import (
    coverage_chart,
    crps_chart,
    fan_chart,
    fan_values,
    step_chart,
    step_values,
)
from calibrant.report._format import level_text, percent
from calibrant.report._template import render_page
from calibrant.report.fan import Fan
from calibrant.report.report import Report

_ADVICE = (
    'Let the recalibration follow the outcomes (policy "update"), train again now and then '
    '(policy "refit"), or give the training more rows.'
)


def build_series_report(
    fans: list[Fan],
    *,
    evaluations: Mapping[int, Evaluation] | None = None,
    naive_crps: Mapping[int, float] | None = None,
    coverage: float = 0.9,
    title: str | None = None,
    target: str = "target",
    settings: Mapping[str, str] | None = None,
) -> Report:
    """Show forecasts of series as fans, with their calibration by step, on one interactive page.

    Parameters
    ----------
    fans : list of Fan
        Forecasts that can be picked; the first is shown first.
    evaluations : mapping from int to Evaluation, optional
        Results of `evaluate` by the number of steps ahead, for a back-test.
    naive_crps : mapping from int to float, optional
        CRPS of a baseline by step.
    coverage : float in (0, 1)
        Nominal coverage of the verdict, and the start of the slider.
    title : str, optional
    target : str
        Name of the target, with its unit.
    settings : mapping from str to str, optional
        Facts about the model.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from calibrant.distributions import Normal
    >>> from calibrant.report import Fan, build_series_report
    >>> past = pd.Series([1.0, 2.0, 1.5], index=pd.date_range("2026-01-01", periods=3))
    >>> ahead = pd.date_range("2026-01-04", periods=2)
    >>> fan = Fan("sales", Normal(np.full(2, 1.5), np.array([0.4, 0.6])), ahead, past)
    >>> "2026-01-04" in build_series_report([fan], target="sales").html
    True
    """
    if not fans:
        raise DataError("A report of forecasts needs at least one fan, got none.")
    level, steps = check_level(coverage, "coverage"), dict(evaluations or {})
    start = min(99, max(1, round(100 * level)))
    charts = [fan_chart(target, known=any(each.observed is not None for each in fans))]
    if steps:
        charts.append(step_chart())
    if len(steps) > 1:
        charts += [coverage_chart(steps), crps_chart(steps, naive_crps or {}, level, target)]
    count = f"{len(fans)} forecast{'s' if len(fans) > 1 else ''}"
    facts = [("Versions", version_facts())]
    if settings:
        facts.insert(0, ("Model", dict(settings)))
    return Report(
        render_page(
            "series.html.j2",
            ("series.js",),
            charts,
            {
                "start": start,
                "fans": fan_values(fans),
                "steps": step_values(steps) if steps else None,
            },
            title=title or ("Back-test" if steps else "Forecast"),
            subtitle=f"{target} · {_ahead(steps)}" if steps else f"{target} · {count}",
            start=start,
            fans=[each.name for each in fans],
            steps=list(steps),
            verdict=_verdict(steps, naive_crps or {}, level) if steps else None,
            figures={chart.id: asdict(chart) for chart in charts},
            facts=facts,
        )
    )


def _ahead(steps: Mapping[int, Evaluation]) -> str:
    total = sum(each.n for each in steps.values())
    reach = f"1 to {max(steps)} steps" if len(steps) > 1 else f"{max(steps)} step"
    return f"{total:,} forecasts {reach} ahead"


def _verdict(
    steps: Mapping[int, Evaluation], naive_crps: Mapping[int, float], level: float
) -> dict[str, Any]:
    """What the page says first: coverage over all steps, the worst step, error, advice."""
    n = np.array([each.n for each in steps.values()])
    covered = np.array([each.coverage for each in steps.values()])
    share = float(covered @ n / n.sum())
    low, high = binomial_band(n, level, 1 - (1 - BAND_CONFIDENCE) / len(steps))
    tolerated = tolerated_error(level)
    off = ((covered < low) | (covered > high)) & (np.abs(covered - level) > tolerated)
    number, least, most = list(steps), int(covered.argmin()), int(covered.argmax())
    lead = (
        f"{level_text(level)} intervals covered {percent(share, int(n.sum()))} of {_ahead(steps)}"
    )
    if len(steps) > 1:
        lead += (
            f": from {percent(covered[least], n[least])} ({_ordinal(number[least])}) to "
            f"{percent(covered[most], n[most])} ({_ordinal(number[most])})"
        )
    error = np.abs(covered - level)
    worst = int(np.argmax(np.where(off, error, -1.0))) if off.any() else int(np.argmax(error))
    if off.any():
        which = f"{int(off.sum())} of {len(steps)} steps" if len(steps) > 1 else "The step"
        says = (
            f"{which} {'are' if off.sum() > 1 else 'is'} further off than chance explains"
            f"{f', worst {_ordinal(number[worst])}' if len(steps) > 1 else ''}: "
            f"{percent(covered[worst], n[worst])} of {n[worst]:,} outcomes covered, where chance "
            f"gives {percent(low[worst], n[worst])} to {percent(high[worst], n[worst])}."
        )
    else:
        says = (
            "No step is further off than chance explains."
            if len(steps) > 1
            else ("Chance explains the difference.")
        )
    state = "good" if not off.any() else "bad" if abs(share - level) > tolerated else "mixed"
    return {
        "lead": lead,
        "about_steps": says,
        "about_scores": _about_scores(steps, naive_crps),
        "advice": "" if state == "good" else _ADVICE,
        "state": state,
        "worst": number[worst],
    }


def _about_scores(steps: Mapping[int, Evaluation], naive_crps: Mapping[int, float]) -> str:
    ecpe = float(np.mean([each.ecpe for each in steps.values()]))
    floor = float(np.mean([each.floor.ecpe for each in steps.values()]))
    crps = float(np.mean([each.crps for each in steps.values()]))
    mean = " in the mean over steps" if len(steps) > 1 else ""
    text = f"ECPE {ecpe:.4f}{mean}, {ecpe / floor:.1f} times its noise floor. CRPS "
    text += f"{format_number(crps)}{mean}"
    if naive_crps:
        naive = float(np.mean(list(naive_crps.values())))
        side = "below" if crps <= naive else "above"
        text += f", {abs(1 - crps / naive):.0%} {side} that of seasonal naive"
    return f"{text}."


def _ordinal(step: int) -> str:
    return f"{step} step{'s' if step > 1 else ''} ahead"

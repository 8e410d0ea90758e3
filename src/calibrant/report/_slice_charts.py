"""Coverage within slices: charts and tables that follow the slider."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant.metrics import LEVELS, Slice
from calibrant.metrics.floor import binomial_band
from calibrant.metrics.slices import rank_slices
from calibrant.report._chart import Chart, colour, dash, label, points, symbol
from calibrant.report._slices import Slicing
from calibrant.report.scored_forecast import ScoredForecast

_MOST_CHARTS = 8
_MOST_SLICES = 12  # of a chart whose slices have no order: the worst ones
_LONGEST = 24  # characters of a label, enough for two dates

Cuts = list[tuple[int, str, Slicing]]  # number and name of the model, its slicing


def slice_charts(
    forecasts: list[ScoredForecast], cuts: list[list[Slicing]], ranked: list[list[Slice]]
) -> tuple[list[Chart], list[dict[str, Any]]]:
    """Charts of the slicings that are worst for any model, and their numbers at 99 levels.

    Parameters
    ----------
    forecasts : list of M ScoredForecast
    cuts : list of M lists of Slicing
    ranked : list of M lists of Slice
        All slices of each model, the worst first.
    """
    by_source: dict[str, Cuts] = {}
    for i, (forecast, ways) in enumerate(zip(forecasts, cuts, strict=True)):
        for way in ways:
            by_source.setdefault(way.source, []).append((i, forecast.name, way))
    worst = {source: (True, 1.0) for source in by_source}
    for each in (slice_ for model in ranked for slice_ in model):
        worst[each.source] = min(worst[each.source], (not each.is_large, each.p_value))
    drawn = sorted(by_source, key=lambda source: worst[source])[:_MOST_CHARTS]
    made = [_slice_chart(k, source, by_source[source]) for k, source in enumerate(drawn)]
    return [chart for chart, _ in made], [moving for _, moving in made]


def _slice_chart(index: int, source: str, cuts: Cuts) -> tuple[Chart, dict[str, Any]]:
    """Coverage of the slices of one source, a line per model."""
    # A constant prediction has no deciles to compare with those of other models.
    cuts = [each for each in cuts if len(each[2].found) > 1] or cuts
    # Deciles of the prediction differ between models, which share only their numbers.
    first = max((s for _, _, s in cuts), key=lambda s: len(s.found))
    shared = all(s.found.names == first.found.names for _, _, s in cuts)
    shown = _shown(first, cuts) if shared else list(range(len(first.found)))
    names = [str(first.found.names[g]) for g in shown]
    ticks = _short(names) if shared else [f"decile {p + 1}" for p in range(len(names))]
    total = len(first.found)
    few = f" Of {total:,} slices the {len(shown)} worst are drawn." if len(shown) < total else ""
    own = "" if shared else ", for each model its own"
    chart = Chart(
        id=f"slice-{index}",
        title=source,
        description=f"Share of targets inside the intervals in each slice of {source}"
        f"{own}; grey bars hold a calibrated forecast.{few}",
        data=[
            points(list(range(len(_own(s, shown)))), [], colour(i), label(name), symbol(i), 8)
            | {
                "mode": "lines+markers" if s.ordered else "markers",
                "line": {"color": colour(i), "width": 1, "dash": dash(i)},
                "hoverinfo": "text",
            }
            for i, name, s in cuts
        ],
        layout={
            "showlegend": len(cuts) > 1,
            "xaxis": {
                "tickvals": list(range(len(shown))),
                "ticktext": [label(tick) for tick in ticks],
                "autotickangles": [0, -90],  # slanted labels would be cut off at the left
                "tickfont": {"size": 10},
                "range": [-0.6, len(shown) - 0.4],
                "showgrid": False,
                "zeroline": False,
            },
            "yaxis": {"title": {"text": "covered (%)"}, "zeroline": False},
            "height": 180 + 5 * max(map(len, ticks)) + 20 * len(cuts),  # labels, legend
        },
        head=["model", "slice", "rows", "covered", "chance from", "to"],
        follows="slices",
    )
    moving = {
        "chart": chart.id,
        "source": source,
        "models": [
            {
                "model": i,
                "names": [str(s.found.names[g]) for g in _own(s, shown)],
                "n": [int(s.found.n[g]) for g in _own(s, shown)],
                "below": [round(100 * float(s.found.below[g]), 1) for g in _own(s, shown)],
                # In percent, with a digit that 100,000 rows need.
                "covered": [np.round(100 * s.found.curves[g], 2).tolist() for g in _own(s, shown)],
            }
            for i, _, s in cuts
        ],
        # Bonferroni for the chart; slices of equal size share a band.
        "bands": _bands(
            [int(n) for _, _, s in cuts for n in s.found.n[_own(s, shown)]], len(shown)
        ),
    }
    return chart, moving


def _own(slicing: Slicing, shown: list[int]) -> list[int]:
    return [g for g in shown if g < len(slicing.found)]


def _shown(first: Slicing, cuts: Cuts) -> list[int]:
    """Slices to draw: all that have an order, else the worst ones, in the order of their names."""
    if first.ordered or len(first.found) <= _MOST_SLICES:
        return list(range(len(first.found)))
    ranked = sorted(
        (each for _, _, s in cuts for each in rank_slices({s.source: s.found})),
        key=lambda each: (not each.is_large, each.p_alone),
    )
    names = list(dict.fromkeys(each.name for each in ranked))[:_MOST_SLICES]
    return [g for g, name in enumerate(first.found.names) if name in names]


def _bands(sizes: list[int], slices: int) -> dict[str, Any]:
    """Lower and upper ends, in percent, of the band of each size at the 99 levels."""
    made = {}
    for n in sorted(set(sizes)):
        low, high = binomial_band(n, LEVELS, 1.0 - 0.05 / slices)
        made[str(n)] = [np.round(100 * end, 2).tolist() for end in (low, high)]
    return made


def _short(names: list[str]) -> list[str]:
    """Names shortened in the middle for an axis, and numbered if that makes them equal."""
    cut = [t if len(t) <= _LONGEST else f"{t[:12]}…{t[-10:]}" for t in names]
    return [t if cut.count(t) == 1 else f"{t} ({i + 1})" for i, t in enumerate(cut)]

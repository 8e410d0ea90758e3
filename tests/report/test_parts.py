"""The statistics of the report against independent answers."""

from __future__ import annotations

import doctest

import numpy as np
import pandas as pd
import pytest
from plotly.offline import get_plotlyjs

from calibrant.distributions import Normal
from calibrant.metrics import evaluate
from calibrant.metrics.slices import rank_slices
from calibrant.report import report as report_module
from calibrant.report._calibration_charts import reliability_chart
from calibrant.report._chart import Chart, colour, dash
from calibrant.report._facts import surprises
from calibrant.report._format import Units
from calibrant.report._plotly import plotly_script
from calibrant.report._slice_charts import slice_charts
from calibrant.report._slices import Slicing, cut, table_columns
from calibrant.report.scored_forecast import ScoredForecast

N = 400
RNG = np.random.default_rng(0)
Y = RNG.normal(size=N)


def scored(name: str, dist: Normal, y: np.ndarray = Y) -> ScoredForecast:
    return ScoredForecast(name, evaluate(dist, y), settings={})


FORECASTS = [
    scored(name, Normal(np.full(N, bias), np.full(N, spread)))
    for name, bias, spread in (("a", 0.0, 1.0), ("b", 0.0, 1.02), ("c", 1.0, 1.0))
]
WAVY = scored("wavy", Normal(np.sin(np.arange(N)), np.ones(N)))


def test_examples() -> None:
    assert doctest.testmod(report_module).failed == 0


def test_plotly_is_the_script_of_its_package_in_parentheses() -> None:
    whole = get_plotlyjs()
    start = whole.index("() => {")
    end = whole.rindex("}));") + 1
    assert plotly_script() == f"{whole[:start]}({whole[start:end]}){whole[end:]}"


def charts_of(models: list[ScoredForecast], cuts: list[list[Slicing]]) -> dict[str, Chart]:
    ranked = [rank_slices({each.source: each.found for each in model}) for model in cuts]
    return {chart.title: chart for chart in slice_charts(models, cuts, ranked)[0]}


def chart_of(values: object) -> Chart:
    return charts_of([FORECASTS[0]], [[sliced(values)]])["x"]


def sliced(values: object, groups: dict | None = None) -> Slicing:
    """The rows of a perfect forecast, cut by one column."""
    return cut(FORECASTS[0], {"x": np.asarray(values)}, groups or {}, 0.9)[0]


def test_slices_are_named_as_their_values_are() -> None:
    years = 2000 + np.arange(N) % 3
    assert (
        sliced(years).found.names == sliced(years.astype(float)).found.names == (2000, 2001, 2002)
    )
    assert sliced(years / 2).found.names == (1000.0, 1000.5, 1001.0)
    days = np.datetime64("2024-01-01T00:00", "ns") + np.arange(N) * np.timedelta64(1, "D")
    assert sliced(days).found.names[0] == "2024-01-01 to 2024-02-09"
    minutes = np.datetime64("2024-01-01T00:00", "ns") + np.arange(N) * np.timedelta64(1, "m")
    assert sliced(minutes).found.names[1] == "2024-01-01 00:40 to 2024-01-01 01:19"
    assert sliced(days - days[0]).found.names[1] == "40 to 79"  # durations in days


def test_long_labels_stay_apart() -> None:
    names = [f"category of the number {word} of the many" for word in ("one", "two", "three")]
    ticks = chart_of(np.resize(names, N)).layout["xaxis"]["ticktext"]
    assert len(set(ticks)) == 3
    assert max(map(len, ticks)) <= 28


def test_a_line_joins_only_what_has_an_order() -> None:
    numbers, letters = np.arange(N, dtype=float), np.resize(["a", "b"], N)
    gaps = np.where(np.arange(N) % 9 == 0, np.nan, numbers)
    for values, mode in ((numbers, "lines+markers"), (letters, "markers"), (gaps, "markers")):
        (trace,) = chart_of(values).data
        assert trace["mode"] == mode
    by_group = {
        each.source: each for each in cut(FORECASTS[0], {}, {"shop": np.arange(N) % 3}, 0.9)
    }
    assert not by_group["shop"].ordered
    # A column of the user's with the name of a source of ours.
    both = {e.source: e.ordered for e in cut(WAVY, {"predicted mean": letters}, {}, 0.9)}
    assert both == {"column predicted mean": False, "predicted mean": True}


def test_models_with_deciles_of_their_own_share_an_axis_and_a_legend() -> None:
    steps = scored("steps", Normal(np.arange(N) % 3, np.ones(N)))
    models = [FORECASTS[0], steps, WAVY]  # the first is constant: it has no deciles at all
    cuts = [cut(each, {"x": np.arange(N)}, {}, 0.9) for each in models]
    by_title = charts_of(models, cuts)
    mean, column = by_title["predicted mean"], by_title["x"]
    assert [trace["name"] for trace in mean.data] == ["steps", "wavy"]
    low, high = mean.layout["xaxis"]["range"]
    assert all(low < x < high for trace in mean.data for x in trace["x"])
    assert mean.layout["xaxis"]["ticktext"] == [f"decile {k}" for k in range(1, 11)]
    assert column.layout["xaxis"]["ticktext"][0] == "0 to 39"
    for chart in (mean, column):
        assert chart.layout["showlegend"]
        assert len({trace["marker"]["symbol"] for trace in chart.data}) == len(chart.data)
    assert not chart_of(np.arange(N)).layout["showlegend"]


def test_curves_differ_without_colour() -> None:
    traces = {trace.get("name"): trace for trace in reliability_chart(FORECASTS, 90).data}
    assert len({traces[each.name]["line"]["dash"] for each in FORECASTS}) == 3
    assert len({(colour(i), dash(i)) for i in range(28)}) == 28


def test_a_calibrated_forecast_seldom_has_a_significant_slice() -> None:
    # Adjusted by Bonferroni: at most 5% false alarms, and 60 runs of mean 3 rarely give 9.
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        dist = Normal(rng.normal(size=N), np.ones(N))
        made = scored("truth", dist, dist.sample(random_state=1000 + seed)[:, 0])
        cuts = cut(made, {"x": rng.normal(size=N)}, {}, 0.9)
        alarms += rank_slices({each.source: each.found for each in cuts})[0].clearly_off
    assert alarms <= 8


def test_tails_keep_their_digits() -> None:
    dist = Normal(np.zeros(3), np.ones(3))
    y = np.array([0.1, 9.0, -6.0])
    rows = surprises(scored("a", dist, y))
    assert [row for row, _ in rows] == [1, 2, 0]
    assert rows[0][1][-1] == "below 1e-12"
    assert float(rows[1][1][-1]) == pytest.approx(1.97e-9, rel=0.02)
    assert [cells[-2] for _, cells in rows] == ["above", "below", "above"]


@pytest.mark.parametrize(
    ("scale", "value", "shown"),
    [(1.0, 1.23456, "1.235"), (250_000.0, 1_234_567.8, "1,234,568"), (0.01, 0.0123456, "0.01235")],
)
def test_digits_follow_the_spread_of_the_target(scale, value, shown) -> None:
    units = Units(scale * np.array([0.0, 0.0, 1.0, 2.0, 2.0]) / 2)
    assert units.show(value) == shown


def test_constant_and_infinite_numbers() -> None:
    units = Units(np.full(3, 5.0))
    assert units.show(5.0) == "5.000"
    assert units.show(np.inf) == "not finite"
    assert units.round(np.array([1.0, np.inf])) == [1.0, None]


def test_columns_are_sliced_as_a_model_reads_them() -> None:
    """One broken cell makes no categories of numbers, and dates in a file are dates."""
    rng = np.random.default_rng(0)
    km = rng.gamma(2.0, 2.0, 300).round(2).astype(str).astype(object)
    km[7], km[8] = "3.2 miles", None
    days = pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d").to_numpy(dtype=object)
    days[9] = None
    X = pd.DataFrame({"km": km, "day": days})
    dist = Normal(np.zeros(300), np.ones(300))
    forecast = scored("model", dist, rng.normal(size=300))
    found = {each.source: each for each in cut(forecast, table_columns(X, 300), {}, 0.9)}
    assert len(found["km"].found.names) == 11  # deciles, and the gaps
    assert "missing" in found["km"].found.names
    assert len(found["day"].found.names) == 11
    assert any(str(name).startswith("2024-01-01 to") for name in found["day"].found.names)


def test_rare_labels_of_nearly_all_rows_are_no_slice() -> None:
    """Two zones of ten rows beside 200 smaller ones: "all others" would be the whole table."""
    rng = np.random.default_rng(0)
    small = [f"zone {i % 190}" for i in range(380)]
    zones = np.concatenate([np.repeat(["north", "south"], 10), small])
    X = pd.DataFrame({"zone": zones})
    dist = Normal(np.zeros(400), np.ones(400))
    forecast = scored("model", dist, rng.normal(size=400))
    found = cut(forecast, table_columns(X, 400), {}, 0.9)
    assert "zone" not in {each.source for each in found}

"""One entry of the registry is enough for a metric to appear everywhere."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibrant import metrics
from calibrant.distributions import Normal
from calibrant.forecasting import Backtest, Forecasts
from calibrant.metrics import METRICS, Evaluation, Floor, Metric, evaluate
from calibrant.report import build_report

N = 200
Y = np.random.default_rng(0).normal(size=N)
DIST = Normal(np.zeros(N), np.ones(N))


@pytest.fixture
def new_metric(monkeypatch: pytest.MonkeyPatch) -> Metric:
    metric = Metric(
        name="largest_error",
        label="largest error",
        section="Accuracy of the mean",
        meaning="of the mean",
        compute=lambda e: float(np.max(np.abs(e.rows.y - e.rows.mean))),
        floor=lambda e: Floor(e.n / 1000, 0.1, 0.3),
    )
    monkeypatch.setitem(METRICS, metric.name, metric)
    return metric


def test_evaluate_has_a_new_entry_in_every_form(new_metric: Metric) -> None:
    result = evaluate(DIST, Y)
    value = np.max(np.abs(Y))
    assert result.largest_error == result.metrics["largest_error"] == value
    assert result.floors["largest_error"] == (0.2, 0.1, 0.3)
    assert result.to_frame().loc["largest_error"].tolist() == [value, 0.2]
    assert json.loads(result.to_json())["largest_error"] == value
    assert f"| largest error | {value:#.5g} | 0.2000 |" in result.to_markdown()
    line = str(result).splitlines()[-1].split()
    assert line == ["largest", "error", f"{value:#.5g}", "0.2000", "0.1000", "to", "0.3000"]
    assert "largest_error" in dir(result)


@pytest.mark.parametrize("unit", [1e-12, 1e3, 1e12])
def test_floors_in_any_unit_fit_into_the_table(
    monkeypatch: pytest.MonkeyPatch, new_metric: Metric, unit: float
) -> None:
    floor = replace(new_metric, floor=lambda e: Floor(1.2345678 * unit, 0.1 * unit, 2.3 * unit))
    monkeypatch.setitem(METRICS, floor.name, floor)
    *_, line = str(evaluate(DIST.affine(0.0, unit), unit * Y)).splitlines()
    assert len(line) <= 80
    name, value, expected, low, _, high = re.split(r" {2,}| (?=[\dt])", line.strip())
    assert (name, float(value)) == (
        "largest error",
        pytest.approx(unit * np.max(np.abs(Y)), rel=1e-3),
    )
    found = [float(each) / unit for each in (expected, low, high)]
    assert found == pytest.approx([1.2345678, 0.1, 2.3], rel=0.05)


def test_report_and_back_test_show_a_new_entry(new_metric: Metric) -> None:
    page = build_report(DIST, None, Y).html
    assert ">0.2000</td>" in page
    assert "of the mean; lower is better" in page
    found = Forecasts(DIST, Y, pd.RangeIndex(N), pd.RangeIndex(N) - 1)
    scores = Backtest({1: found}, None, "fixed", N).scores()
    assert scores.loc[1, "largest_error"] == np.max(np.abs(Y))
    assert scores.loc[1, "largest_error_floor"] == 0.2


def test_a_metric_that_does_not_apply_is_left_out() -> None:
    without, with_groups = evaluate(DIST, Y), evaluate(DIST, Y, np.arange(N) % 2)
    assert "ecpe_by_group" not in without.metrics
    assert "ecpe_by_group" not in without.floors
    assert list(with_groups.metrics) == list(METRICS)
    with pytest.raises(
        AttributeError, match=r"no attribute 'ecpe_by_group'; its metrics are ecpe,"
    ):
        without.ecpe_by_group  # noqa: B018


def test_entries_are_consistent() -> None:
    assert all(name == metric.name for name, metric in METRICS.items())
    sections = [metric.section for metric in METRICS.values()]
    assert sections == sorted(sections, key=list(dict.fromkeys(sections)).index)  # not interleaved
    assert not set(METRICS) & set(Evaluation.__dataclass_fields__)
    named = {"n", "verdict", "floor", "level"}
    assert not named & set(METRICS)


def test_every_calibration_error_has_a_floor() -> None:
    result = evaluate(DIST, Y, np.arange(N) % 2)
    errors = {name for name in METRICS if "cpe" in name or name.endswith("calibration_error")}
    assert errors <= set(result.floors)
    for floor in result.floors.values():
        assert 0 < floor.low < floor.expected < floor.high


def test_every_public_metric_with_one_value_is_registered() -> None:
    """A function of (dist, y) that returns one float, and needs nothing else, has an entry."""
    public = {name: getattr(metrics, name) for name in metrics.__all__}
    found = {
        name
        for name, function in public.items()
        if inspect.isfunction(function)
        and list(inspect.signature(function).parameters)[:2] == ["dist", "y"]
        and inspect.signature(function).return_annotation in ("float", "float | Array")
    }
    assert found <= set(METRICS)
    assert set(METRICS) - found == {"p_value", "ecpe_by_mean", "ecpe_by_stddev", "ecpe_by_group"}


def test_the_floor_of_the_one_sided_error() -> None:
    """PIT values and their distance from one half have the same distribution: one floor."""
    rng = np.random.default_rng(3)
    errors = [metrics.quantile_calibration_error(DIST, rng.normal(size=N)) for _ in range(400)]
    floor = evaluate(DIST, Y).floors["quantile_calibration_error"]
    error = np.std(errors, ddof=1) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - floor.expected) < 4 * error


def test_what_users_type_is_a_function_and_an_attribute() -> None:
    """The metrics that the public contract lists."""
    result = evaluate(DIST, Y)
    names = "ecpe mcpe epiw mpiw rmse mae r2 smape rse nll crps pinball interval_score coverage pit"
    for name in names.split():
        value = getattr(metrics, name)(DIST, Y)
        np.testing.assert_allclose(getattr(result, name), value, rtol=1e-9, err_msg=name)

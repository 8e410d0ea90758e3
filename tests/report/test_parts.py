"""The statistics of the report against independent answers."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from plotly.offline import get_plotlyjs
from scipy.stats import binomtest

from calibrant.distributions import Normal
from calibrant.report import report as report_module
from calibrant.report._facts import surprises
from calibrant.report._forecasts import judge
from calibrant.report._plotly import plotly_script
from calibrant.report._slices import cut, worst
from calibrant.report._words import Units

N = 400
RNG = np.random.default_rng(0)
Y = RNG.normal(size=N)
FORECASTS = [
    judge(name, Normal(np.full(N, bias), np.full(N, spread)), Y, 0.9, {})
    for name, bias, spread in (("a", 0.0, 1.0), ("b", 0.0, 1.02), ("c", 1.0, 1.0))
]


def test_examples() -> None:
    assert doctest.testmod(report_module).failed == 0


def test_plotly_is_the_script_of_its_package_in_parentheses() -> None:
    whole = get_plotlyjs()
    start = whole.index("() => {")
    end = whole.rindex("}));") + 1
    assert plotly_script() == f"{whole[:start]}({whole[start:end]}){whole[end:]}"


def test_p_values_of_slices_are_binomial() -> None:
    slicings = cut(FORECASTS[2], {"x": np.arange(N) % 3}, {}, 0.9)
    by_name = {each.source: each for each in slicings}
    found = by_name["x"].found
    for n, share, p_value in zip(found.n, found.coverage, by_name["x"].p_values, strict=True):
        k = round(share * n)
        tails = [binomtest(k, n, 0.9, alternative=side).pvalue for side in ("less", "greater")]
        assert p_value == pytest.approx(min(1.0, 2 * min(tails)))
    most = worst(slicings)
    assert most.searched == sum(len(each.found) for each in slicings)
    smallest = min(each.p_values.min() for each in slicings)
    assert most.p_value == pytest.approx(min(1.0, most.searched * smallest))


def test_a_calibrated_forecast_seldom_has_a_significant_slice() -> None:
    # Adjusted by Bonferroni: at most 5% false alarms, and 60 runs of mean 3 rarely give 9.
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        dist = Normal(rng.normal(size=N), np.ones(N))
        made = judge("truth", dist, dist.sample(random_state=1000 + seed)[:, 0], 0.9, {})
        alarms += worst(cut(made, {"x": rng.normal(size=N)}, {}, 0.9)).p_value < 0.05
    assert alarms <= 8


def test_tails_keep_their_digits() -> None:
    dist = Normal(np.zeros(3), np.ones(3))
    y = np.array([0.1, 9.0, -6.0])
    rows = surprises(judge("a", dist, y, 0.9, {}), None, y, 0.9)
    assert [row[0] for row in rows] == ["1", "2", "0"]
    assert rows[0][-1] == "below 1e-12"
    assert float(rows[1][-1]) == pytest.approx(1.97e-9, rel=0.02)
    assert [row[-2] for row in rows] == ["above", "below", "above"]


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

"""Rejection, risk-coverage curves, and costs of decisions."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import reject
from calibrant.distributions import Normal
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import CostCheck, cost_check, risk_coverage

RNG = np.random.default_rng(0)
SPREAD = RNG.gamma(4.0, size=4000)
Y = SPREAD * RNG.normal(size=4000)
TRUTH = Normal(np.zeros(4000), SPREAD)


def test_the_widest_rows_are_rejected() -> None:
    rejected = reject(TRUTH, max_width=10.0, coverage=0.8)
    np.testing.assert_array_equal(rejected, 2 * 1.2815515655446004 * SPREAD > 10.0)


def test_the_curve_is_the_mean_error_of_the_kept_rows() -> None:
    curve = risk_coverage(TRUTH, Y)
    kept = ~reject(TRUTH, max_width=curve.max_width[999])
    assert kept.sum() == 1000
    assert curve.kept[999] == 0.25
    assert curve.risk[999] == pytest.approx(np.abs(Y[kept]).mean())
    assert curve.risk[-1] == pytest.approx(np.abs(Y).mean())


def test_a_forecast_that_knows_what_is_hard_has_the_lower_curve() -> None:
    shuffled = Normal(np.zeros(4000), RNG.permutation(SPREAD))
    assert risk_coverage(TRUTH, Y).area < 0.9 * risk_coverage(shuffled, Y).area


def test_a_width_can_be_chosen_for_a_risk() -> None:
    curve = risk_coverage(TRUTH, Y)
    width = curve.width_for(2.0)
    assert np.abs(Y[~reject(TRUTH, max_width=width)]).mean() <= 2.0
    with pytest.raises(DataError, match="No share of the rows has a mean error of -1 or less"):
        curve.width_for(-1.0)


def test_a_calibrated_forecast_knows_its_cost() -> None:
    """Over 400 samples, z has mean 0 and standard deviation 1."""
    z = [
        cost_check(TRUTH, SPREAD * RNG.normal(size=4000), under=3.0, over=1.0).z for _ in range(400)
    ]
    assert abs(np.mean(z)) < 4 / np.sqrt(400)
    assert np.std(z) == pytest.approx(1.0, abs=4 / np.sqrt(2 * 400))


@pytest.mark.parametrize(("factor", "sign"), [(0.5, 1), (2.0, -1)])
def test_a_wrong_spread_promises_the_wrong_cost(factor: float, sign: int) -> None:
    check = cost_check(Normal(np.zeros(4000), factor * SPREAD), Y, under=3.0, over=1.0)
    assert sign * check.z > 3
    assert "not what the forecast promised" in str(check)
    assert "as the forecast promised (+0.5" in str(CostCheck(1.0, 1.05, 0.1))


def test_costs_may_differ_between_rows() -> None:
    under = RNG.uniform(1, 5, 4000)
    check = cost_check(TRUTH, Y, under=under, over=1.0)
    decision = SPREAD * np.array([Normal([0.0], [1.0]).ppf(u / (u + 1))[0] for u in under])
    short = Y - decision
    assert check.realised == pytest.approx(np.mean(np.where(short > 0, under * short, -short)))


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="max_width must be a number above 0, got -1"):
        reject(TRUTH, max_width=-1)
    with pytest.raises(ParameterError, match="coverage must be one number"):
        reject(TRUTH, max_width=1.0, coverage=90)
    with pytest.raises(DataError, match="y must be finite"):
        risk_coverage(TRUTH, np.full(4000, np.nan))

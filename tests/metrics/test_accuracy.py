from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from calibrant.distributions import Normal
from calibrant.metrics import mae, r2, rmse, rse, smape


def test_against_scikit_learn(forecast: tuple[Normal, np.ndarray]) -> None:
    dist, y = forecast
    assert rmse(dist, y) == pytest.approx(root_mean_squared_error(y, dist.mean), rel=1e-12)
    assert mae(dist, y) == pytest.approx(mean_absolute_error(y, dist.mean), rel=1e-12)
    assert r2(dist, y) == pytest.approx(r2_score(y, dist.mean), rel=1e-12)


def test_rse_is_the_printed_formula(forecast: tuple[Normal, np.ndarray]) -> None:
    dist, y = forecast
    assert rse(dist, y) == pytest.approx(rmse(dist, y) / y.std(), rel=1e-12)
    assert rse(dist, y) ** 2 == pytest.approx(1 - r2(dist, y), rel=1e-12)


def test_smape_term_by_term(forecast: tuple[Normal, np.ndarray]) -> None:
    dist, y = forecast
    terms = [abs(m - t) / ((abs(t) + abs(m)) / 2) for m, t in zip(dist.mean, y, strict=True)]
    assert smape(dist, y) == pytest.approx(100 * sum(terms) / len(terms), rel=1e-12)


def test_smape_of_zeros_and_of_opposite_signs() -> None:
    dist = Normal([0.0, -2.0], [1.0, 1.0])
    assert smape(dist, [0.0, 1.0]) == 100.0  # (0 + 200) / 2: nothing is divided by zero


def test_constant_target_has_no_spread_to_explain() -> None:
    dist = Normal([1.0, 2.0], [1.0, 1.0])
    assert np.isnan(r2(dist, [1.0, 1.0]))
    assert np.isnan(rse(dist, [1.0, 1.0]))
    many = Normal(np.zeros(99), np.ones(99))
    assert np.isnan(r2(many, np.full(99, 4.321)))  # whose mean is not quite 4.321


@given(st.floats(1e-12, 1e12), st.floats(-1e3, 1e3))
def test_units(scale: float, shift: float) -> None:
    y, loc = np.array([1.0, 2.0, 4.0]), np.array([1.5, 1.0, 5.0])
    base, moved = Normal(loc, np.ones(3)), Normal(scale * (loc + shift), np.full(3, scale))
    assert rmse(moved, scale * (y + shift)) == pytest.approx(scale * rmse(base, y), rel=1e-8)
    assert r2(moved, scale * (y + shift)) == pytest.approx(r2(base, y), rel=1e-8)

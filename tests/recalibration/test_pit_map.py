"""The PIT map: right where there is something to repair, silent where there is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrant.distributions import MonotoneMap, Normal, Recalibrated
from calibrant.errors import DataError, ParameterError
from calibrant.metrics import ecpe, noise_floor
from calibrant.recalibration import fit_pit_map


def test_repairs_a_wrong_spread_to_the_limit() -> None:
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(20):
        g = fit_pit_map(stats.norm.cdf(2.0 * rng.standard_normal(2000)))
        y = 2.0 * rng.standard_normal(4000)
        base = Normal(np.zeros(4000), np.ones(4000))
        assert ecpe(base, y) > 0.15
        errors.append(ecpe(Recalibrated(base, g), y))
    limit = noise_floor(round(1 / (1 / 2000 + 1 / 4000))).ecpe
    assert np.mean(errors) < 1.25 * limit


def test_leaves_a_perfect_forecaster_nearly_alone() -> None:
    rng = np.random.default_rng(1)
    distances = []
    for _ in range(50):
        g = fit_pit_map(rng.random(300))
        distances.append(np.abs(g(np.linspace(0, 1, 101)) - np.linspace(0, 1, 101)).mean())
    # the empirical distribution function itself deviates by 0.31 / sqrt(300) = 0.018
    assert np.mean(distances) < 0.008


def coverage_errors(draw: Callable[[int], NDArray[np.float64]]) -> dict[bool | str, float]:
    """Mean ECPE in floors of 650 rows mapped as 300 others say, by the `shrink` of the map."""
    levels, found = np.arange(1, 100) / 100, {}
    for shrink in (True, "spread"):
        errors = []
        for _ in range(40):
            u = np.abs(2.0 * fit_pit_map(draw(300), shrink=shrink)(draw(650)) - 1.0)
            errors.append(np.abs((u[:, None] <= levels).mean(axis=0) - levels).mean())
        found[shrink] = float(np.mean(errors)) / noise_floor(650).ecpe
    return found


def test_a_spread_is_learned_from_few_rows() -> None:
    rng = np.random.default_rng(3)
    narrow = coverage_errors(lambda n: stats.norm.cdf(1.15 * rng.standard_normal(n)))
    assert narrow["spread"] < 0.8 * narrow[True]
    perfect = coverage_errors(rng.random)
    assert perfect["spread"] < 1.75  # its price: 1.3 if drawn towards the identity
    skewed = coverage_errors(lambda n: stats.norm.cdf((rng.chisquare(4, n) - 4) / 8**0.5))
    assert skewed["spread"] < 1.1 * skewed[True]


@pytest.mark.parametrize("values", [np.full(100, 0.3), np.random.default_rng(0).random(40) ** 2])
def test_no_spread_is_learned_from_values_that_are_alike_or_very_few(values) -> None:
    assert fit_pit_map(values, shrink="spread") == fit_pit_map(values)


def test_rows_without_weight_tell_no_spread() -> None:
    u = stats.norm.cdf(1.3 * np.random.default_rng(0).standard_normal(300))
    padded = fit_pit_map(
        np.append(u, np.zeros(200)), np.repeat([1.0, 0.0], [300, 200]), shrink="spread"
    )
    assert padded == fit_pit_map(u, shrink="spread") != fit_pit_map(u)


def test_finite_sample_levels() -> None:
    u = np.array([0.2, 0.4, 0.6, 0.8])
    g = fit_pit_map(u, shrink=False)
    np.testing.assert_allclose(g(u), [0.2, 0.4, 0.6, 0.8])
    assert g(0.0) == 0.0
    assert g(1.0) == 1.0


def test_a_weight_of_two_is_the_row_twice() -> None:
    rng = np.random.default_rng(2)
    u = rng.beta(2, 3, 4000)
    twice = fit_pit_map(np.concatenate([u, u[:2000]]), shrink=False)
    weighted = fit_pit_map(u, np.where(np.arange(4000) < 2000, 2.0, 1.0), shrink=False)
    grid = np.linspace(0.02, 0.98, 49)
    np.testing.assert_allclose(weighted(grid), twice(grid), atol=0.01)


def test_rows_without_weight_do_not_count() -> None:
    u = np.random.default_rng(3).beta(2, 2, 100)
    padded = fit_pit_map(np.append(u, [0.0, 1.0]), np.append(np.ones(100), [0.0, 0.0]))
    assert padded == fit_pit_map(u)


@given(
    st.lists(st.sampled_from([0.0, 1e-12, 0.25, 0.5, 0.5 + 1e-12, 0.75, 1.0]), max_size=60),
    st.sampled_from([True, "spread"]),
)
def test_any_ties_give_a_map_with_an_inverse(
    values: list[float], shrink: bool | Literal["spread"]
) -> None:
    g = fit_pit_map(np.array(values), shrink=shrink)
    p = np.linspace(0, 1, 33)
    assert np.all(np.diff(g(p)) > 0)
    np.testing.assert_allclose(g.inverse(g(p)), p, atol=1e-7)


@pytest.mark.parametrize("values", [[0.5, 1.5], [np.nan], [[0.5]]])
def test_bad_values(values: list[float]) -> None:
    with pytest.raises(DataError, match=r"numbers in \[0, 1\]"):
        fit_pit_map(values)


def test_bad_weights() -> None:
    with pytest.raises(DataError, match="Expected 2 sample weights"):
        fit_pit_map([0.1, 0.2], [1.0])


def test_bad_shrink() -> None:
    with pytest.raises(ParameterError, match="shrink must be True, False or"):
        fit_pit_map([0.1, 0.2], shrink="scale")  # type: ignore[arg-type]


def test_atoms_are_mapped_by_both_ends() -> None:
    """Forecasts of a coin that are too sure: it is the ends of an atom that a map can move."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.1, 0.9, 20_000)  # P(Y = 0)
    said = truth**2 / (truth**2 + (1 - truth) ** 2)
    zero = rng.random(20_000) < truth
    left, right = np.where(zero, 0.0, said), np.where(zero, said, 1.0)
    v = rng.random(20_000)

    def distance(g: MonotoneMap) -> float:
        u = np.sort(g(left) + v * (g(right) - g(left)))
        return float(np.abs(u - np.arange(1, 20_001) / 20_001).max())

    found = fit_pit_map(right, left=left)
    assert distance(found) < 0.02 < 0.03 < distance(MonotoneMap())
    # as if the values between the ends were what is moved
    assert distance(fit_pit_map(left + v * (right - left))) > 1.3 * distance(found)


def test_without_atoms_the_left_ends_say_nothing() -> None:
    u = np.random.default_rng(0).beta(2, 2, 500)
    assert fit_pit_map(u, left=u) == fit_pit_map(u)


def test_few_rows_on_an_atom_leave_the_ends_as_they_are() -> None:
    u = (np.arange(200) + 0.5) / 200
    left, right = u.copy(), u.copy()
    left[95:105], right[95:105] = 0.475, 0.525
    found = fit_pit_map(right, left=left)
    plain = fit_pit_map(u)
    np.testing.assert_allclose(found([0.01, 0.99]), plain([0.01, 0.99]), atol=2e-3)


@pytest.mark.parametrize("left", [[0.1, 0.2], [0.1, 0.2, 0.9], [0.1, -0.2, 0.3]])
def test_left_ends_must_fit_the_values(left: list[float]) -> None:
    with pytest.raises(DataError, match="left must hold 3 numbers"):
        fit_pit_map([0.2, 0.4, 0.8], left=left)

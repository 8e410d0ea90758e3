from __future__ import annotations

import numpy as np
import pytest
import uncertainty_toolbox as uct
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest
from uncertainty_toolbox.metrics_calibration import get_proportion_lists_vectorized

from calibrant.distributions import Clipped, Empirical, MonotoneMap, Normal, Recalibrated
from calibrant.metrics import (
    LEVELS,
    calibration_by_group,
    calibration_test,
    coverage,
    ecpe,
    mcpe,
    noise_floor,
    pit,
    quantile_calibration,
    quantile_calibration_error,
)
from calibrant.metrics.calibration import coverage_errors

Forecast = tuple[Normal, np.ndarray]


def test_levels() -> None:
    assert LEVELS.shape == (99,)
    assert LEVELS[0] == 0.01
    assert LEVELS[-1] == 0.99
    with pytest.raises(ValueError, match="read-only"):
        LEVELS[0] = 0.5


@pytest.mark.parametrize("kind", ["interval", "quantile"])
def test_curves_against_uncertainty_toolbox(forecast: Forecast, kind: str) -> None:
    dist, y = forecast
    expected, observed = get_proportion_lists_vectorized(
        dist.mean, dist.stddev, y, num_bins=101, prop_type=kind
    )
    assert expected[1:-1] == pytest.approx(LEVELS)
    if kind == "interval":
        assert np.array_equal(coverage(dist, y, coverage=LEVELS), observed[1:-1])
    else:  # it counts targets above the quantile of the other tail
        assert quantile_calibration(dist, y) == pytest.approx(1 - observed[-2:0:-1], abs=1e-12)


def test_errors_against_uncertainty_toolbox(forecast: Forecast) -> None:
    dist, y = forecast
    arguments = (dist.mean, dist.stddev, y)
    # Its 101 levels include 0 and 1, where there can be no error.
    theirs = uct.mean_absolute_calibration_error(*arguments, num_bins=101, vectorized=True)
    assert ecpe(dist, y) == pytest.approx(theirs * 101 / 99, rel=1e-12)
    theirs = uct.mean_absolute_calibration_error(
        *arguments, num_bins=101, vectorized=True, prop_type="quantile"
    )
    assert quantile_calibration_error(dist, y) == pytest.approx(theirs * 101 / 99, rel=1e-12)


def test_coverage_counts_targets_between_the_bounds(forecast: Forecast) -> None:
    dist, y = forecast
    recalibrated = Recalibrated(dist, MonotoneMap([0.2, 0.7], [0.1, 0.8]))
    for d in (dist, recalibrated):
        bounds = d.interval([0.5, 0.9])
        inside = (y[:, None] >= bounds[:, 0]) & (y[:, None] <= bounds[:, 1])
        assert coverage(d, y, coverage=[0.5, 0.9]) == pytest.approx(inside.mean(axis=0), abs=1e-12)
        assert coverage(d, y) == pytest.approx(inside[:, 1].mean(), abs=1e-12)
    assert isinstance(coverage(dist, y), float)


def test_errors_by_their_definition(forecast: Forecast) -> None:
    dist, y = forecast
    gaps = []
    for level in LEVELS:
        lower, upper = dist.interval(level).T
        gaps.append(abs(level - np.mean((lower <= y) & (y <= upper))))
    assert ecpe(dist, y) == pytest.approx(np.mean(gaps), abs=1e-12)
    assert mcpe(dist, y) == pytest.approx(np.max(gaps), abs=1e-12)


def test_pit_is_the_cdf_without_atoms(forecast: Forecast) -> None:
    dist, y = forecast
    assert np.array_equal(pit(dist, y, random_state=1), dist.cdf(y))


def test_pit_is_randomised_on_atoms_only() -> None:
    dist = Clipped(Normal([0.0] * 4, [1.0] * 4), low=0.0)
    y = np.array([0.0, 0.0, 1.0, 2.0])
    u = pit(dist, y)
    assert np.all((u[:2] > 0) & (u[:2] < 0.5))
    assert u[0] != u[1]
    assert np.array_equal(u[2:], dist.cdf(y)[2:])
    assert np.array_equal(u, pit(dist, y))
    assert not np.array_equal(u, pit(dist, y, random_state=1))


def discrete_truth(n: int) -> tuple[Empirical, np.ndarray]:
    """Grades 3 to 9 like those of wine, with probabilities of their own in every row."""
    rng = np.random.default_rng(5)
    centre = rng.normal(5.8, 0.5, size=(n, 1))
    grades = np.clip(np.round(centre + 0.6 * rng.normal(size=(n, 40))), 3, 9)
    return Empirical(grades), grades[np.arange(n), rng.integers(0, 40, size=n)]


def test_true_discrete_distribution_scores_the_floor() -> None:
    dist, y = discrete_truth(1500)
    low, high = noise_floor(1500).ecpe_range
    assert low < ecpe(dist, y) < high
    assert kstest(pit(dist, y), "uniform").pvalue > 0.01
    # What the randomisation is for: counting y inside [lower, upper] is far from nominal.
    bounds = dist.interval(LEVELS)
    inside = (y[:, None] >= bounds[:, 0]) & (y[:, None] <= bounds[:, 1])
    assert np.mean(np.abs(inside.mean(axis=0) - LEVELS)) > 0.1


def test_errors_on_atoms_are_means_over_draws() -> None:
    dist, y = discrete_truth(400)
    groups = np.arange(400) % 2
    draws = [pit(dist, y, random_state=seed) for seed in range(20)]
    shares = np.array([[np.mean(np.abs(2 * u - 1) <= p) for p in LEVELS] for u in draws])
    errors = np.abs(shares - LEVELS)
    assert ecpe(dist, y) == pytest.approx(errors.mean())
    assert mcpe(dist, y) == pytest.approx(errors.max(axis=1).mean())
    assert coverage(dist, y, coverage=LEVELS) == pytest.approx(shares.mean(axis=0))
    below = np.array([[np.mean(u <= q) for q in LEVELS] for u in draws])
    assert quantile_calibration(dist, y) == pytest.approx(below.mean(axis=0))
    assert quantile_calibration_error(dist, y) == pytest.approx(np.abs(below - LEVELS).mean())
    test = calibration_test(dist, y)
    assert (test.ecpe, test.mcpe) == (ecpe(dist, y), mcpe(dist, y))
    assert test.pit_p_value == pytest.approx(np.mean([kstest(u, "uniform").pvalue for u in draws]))
    first = calibration_by_group(dist, y, groups)
    half = [np.mean(np.abs(2 * u[::2] - 1) <= 0.9) for u in draws]
    assert first.coverage[0] == pytest.approx(np.mean(half))


def test_a_perfect_forecaster_with_atoms_scores_the_floor_on_average() -> None:
    """The mean over draws keeps the expected value of one draw, with less noise."""
    scores, single = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        grades = np.round(rng.normal(size=(200, 40)))
        dist, y = Empirical(grades), grades[np.arange(200), rng.integers(0, 40, 200)]
        scores.append(ecpe(dist, y))
        single.append(coverage_errors(pit(dist, y)).mean())
    error = np.std(scores, ddof=1) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - noise_floor(200).ecpe) < 4 * error
    assert np.std(scores) < np.std(single)


def test_bias_is_seen_from_one_side() -> None:
    y = np.random.default_rng(2).normal(size=4000)
    high = Normal(np.full(4000, 0.5), np.ones(4000))
    assert np.all(quantile_calibration(high, y, alpha=[0.25, 0.5, 0.75]) > [0.4, 0.65, 0.85])


forecasts = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 5)), min_size=1, max_size=30)


@settings(deadline=None, max_examples=60)
@given(forecasts, st.floats(1e-9, 1e9), st.floats(-1e3, 1e3))
def test_properties(rows: list[tuple[float, float]], scale: float, shift: float) -> None:
    y, spread = np.array(rows).T
    dist = Normal(np.zeros(len(y)), spread)
    assert 0 <= ecpe(dist, y) <= mcpe(dist, y) <= 1
    assert np.all(np.diff(coverage(dist, y, coverage=LEVELS)) >= 0)
    order = np.random.default_rng(0).permutation(len(y))
    assert ecpe(dist[order], y[order]) == ecpe(dist, y)
    moved = dist.affine(scale * shift, scale)
    # Rounding may carry one PIT value across a level.
    assert ecpe(moved, scale * (y + shift)) == pytest.approx(ecpe(dist, y), abs=2 / len(y) / 99)

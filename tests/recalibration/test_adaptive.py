"""Recalibration in time: no look-ahead, the same by row and by stream, and it follows a drift."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import calibrant
from calibrant.checks import Array
from calibrant.distributions import (
    Clipped,
    Distribution,
    Empirical,
    Mixture,
    Normal,
    ScoreRecalibrated,
)
from calibrant.errors import CalibrantError, DataError, ModelFileError, ParameterError
from calibrant.metrics import coverage, crps, ecpe, noise_floor, pit
from calibrant.recalibration import AdaptiveRecalibrator
from calibrant.recalibration.quantile_tracking import LEVELS, QuantileTrackers

N = 60
RNG = np.random.default_rng(0)
Y = RNG.normal(size=N) * np.linspace(1, 3, N)
BASES: dict[str, Distribution] = {
    "normal": Normal(RNG.normal(size=N) / 3, np.ones(N)),
    "mixture": Mixture(np.full((N, 2), 0.5), RNG.normal(size=(N, 2)), np.ones((N, 2))),
    "empirical": Empirical(RNG.normal(size=(N, 9))),
    "clipped": Clipped(Normal(np.zeros(N), np.ones(N)), low=-0.5),
}
OUTCOMES = {name: np.maximum(Y, -0.5) if name == "clipped" else Y for name in BASES}
every_base = pytest.mark.parametrize("name", BASES)


def standard(n: int) -> Normal:
    return Normal(np.zeros(n), np.ones(n))


# ---- one row at a time and a whole stream ------------------------------------------------------


@every_base
@pytest.mark.parametrize("lag", [1, 4])
def test_a_stream_is_its_rows_one_by_one(name: str, lag: int) -> None:
    dist, y = BASES[name], OUTCOMES[name]
    slow = AdaptiveRecalibrator().start(dist[:20], y[:20])
    knots = []
    for i in range(20, N):
        if i - lag >= 20:
            slow.update(dist[i - lag], y[[i - lag]])
        knots.append(slow.transform(dist[i]).knots[0])
    fast = AdaptiveRecalibrator().start(dist[:20], y[:20])
    followed = fast.follow(dist[20:], y[20:], lag=lag)
    np.testing.assert_array_equal(followed.knots, knots)
    slow.update(dist[N - lag :], y[N - lag :])
    for key, value in slow.state().items():
        np.testing.assert_array_equal(fast.state()[key], value)


@every_base
@pytest.mark.parametrize("lag", [1, 3])
def test_no_row_sees_what_came_later(name: str, lag: int) -> None:
    dist, y = BASES[name], OUTCOMES[name]
    before = AdaptiveRecalibrator().follow(dist, y, lag=lag)
    for changed in (0, 17, N - 1):
        other = y.copy()
        other[changed:] = 9.0
        after = AdaptiveRecalibrator().follow(dist, other, lag=lag)
        blind = slice(0, changed + lag)
        np.testing.assert_array_equal(after[blind].ppf([0.1, 0.9]), before[blind].ppf([0.1, 0.9]))
        if changed + lag < N:
            assert np.any(after.knots[changed + lag] != before.knots[changed + lag])


def test_start_forgets_and_update_goes_on() -> None:
    dist, y = BASES["normal"], Y
    once = AdaptiveRecalibrator().start(dist, y)
    again = AdaptiveRecalibrator().update(dist[::-1], y).start(dist[:30], y[:30])
    again.update(dist[30:], y[30:])
    np.testing.assert_array_equal(once.transform(dist).knots, again.transform(dist).knots)


def test_without_outcomes_nothing_changes() -> None:
    dist = BASES["mixture"]
    same = AdaptiveRecalibrator().transform(dist)
    levels = np.arange(1, 100) / 100
    np.testing.assert_allclose(same.ppf(levels), dist.ppf(levels), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(same.crps(0.3), dist.crps(0.3), rtol=1e-7)


# ---- the rule ----------------------------------------------------------------------------------


def test_one_step_by_hand() -> None:
    """One outcome just above the median: levels below it go up, those above it down."""
    tracker = QuantileTrackers([40.0])
    tracker.learn(0.01)
    score = Normal([0.0], [1.0]).ppf(LEVELS)[0]
    density = np.exp(-0.5 * score**2) / np.sqrt(2 * np.pi)
    rows = np.maximum(40.0, 1 / np.minimum(LEVELS, 1 - LEVELS))
    moved = score + (LEVELS - (score >= 0.01)) / (rows * density)
    np.testing.assert_allclose(tracker.quantiles[0], np.sort(moved), rtol=1e-9, atol=1e-12)


def test_losses_are_half_a_crps() -> None:
    levels = QuantileTrackers([40.0, 99.0]).losses(0.7)
    np.testing.assert_allclose(2 * levels, standard(2).crps(0.7), rtol=0.02)


def test_coverage_in_the_long_run_whatever_comes() -> None:
    """The errors of a level add up to how far it moved, and it can't move far."""
    rng = np.random.default_rng(4)
    n = 3000
    y = rng.normal(size=n) * np.where(np.arange(n) // 200 % 2, 4.0, 0.5) + np.sin(np.arange(n) / 50)
    adapted = AdaptiveRecalibrator().follow(standard(n), y)
    for level in (0.1, 0.5, 0.9):
        below = np.mean(y <= adapted.ppf(level))
        assert abs(below - level) < 2 * math.sqrt(level * (1 - level) / n)


@pytest.mark.parametrize("drift", ["spread", "ramp", "place", "season"])
def test_calibration_returns_after_a_drift(drift: str) -> None:
    n, rng = 3000, np.random.default_rng(1)
    t = np.linspace(0, 1, n)
    scale = {"spread": np.where(t < 0.3, 1.0, 3.0), "ramp": 1.0 + 3.0 * t}
    spread = scale.get(drift, np.ones(n))
    place = {"place": np.where(t < 0.3, 0.0, 2.0), "season": 1.5 * np.sin(12 * np.pi * t)}
    centre = place.get(drift, np.zeros(n))
    y = centre + spread * rng.normal(size=n)
    static = standard(n)
    adapted = AdaptiveRecalibrator().follow(static, y)
    floor = noise_floor(n).ecpe
    assert ecpe(static, y) > 8 * floor
    assert ecpe(adapted, y) < 2 * floor
    late = slice(n // 2, n)
    error = 3 * math.sqrt(0.9 * 0.1 / (n // 2))
    assert abs(coverage(adapted[late], y[late]) - 0.9) < error
    assert abs(coverage(static[late], y[late]) - 0.9) > error
    # Nor by intervals that are too wide: close to the score of the truth itself.
    assert crps(adapted, y) < 1.1 * crps(Normal(centre, spread), y)


def test_a_calibrated_stream_is_hardly_hurt() -> None:
    ratios, n = [], 2000
    for seed in range(5):
        y = np.random.default_rng(seed).normal(size=n)
        adapted = AdaptiveRecalibrator().follow(standard(n), y)
        ratios.append(crps(adapted, y) / crps(standard(n), y))
        assert ecpe(adapted, y) < noise_floor(n).ecpe_range[1]
    assert np.mean(ratios) < 1.005


def test_a_base_ten_times_too_narrow() -> None:
    """Most outcomes lie where the normal cdf is 0 or 1 to the last bit."""
    n = 2000
    y = 10.0 * np.random.default_rng(2).normal(size=n)
    adapted = AdaptiveRecalibrator().follow(standard(n), y)
    late = slice(500, n)
    assert coverage(standard(n), y) < 0.2
    assert ecpe(adapted[late], y[late]) < 2 * noise_floor(n - 500).ecpe
    np.testing.assert_allclose(np.median(adapted.ppf(0.9)[late]), 12.8, rtol=0.2)


def test_atoms_get_uniform_values() -> None:
    """A count that the model predicts rightly stays calibrated through randomised values."""
    n, rng = 3000, np.random.default_rng(3)
    draws = rng.poisson(2.0, size=(n, 200)).astype(float)
    y = rng.poisson(2.0, size=n).astype(float)
    adapted = AdaptiveRecalibrator().follow(Empirical(draws), y)
    assert ecpe(adapted, y) < 2 * noise_floor(n).ecpe


def test_quantiles_never_cross() -> None:
    rng = np.random.default_rng(5)
    for scores in (np.zeros(200), np.full(200, 50.0), rng.standard_cauchy(200)):
        knots = AdaptiveRecalibrator().follow(standard(200), scores).knots
        assert np.all(np.diff(knots, axis=1) > 0)
        assert np.all(np.abs(knots) < 37)


# ---- saving ------------------------------------------------------------------------------------


def test_state_comes_back() -> None:
    dist, y = BASES["clipped"], OUTCOMES["clipped"]
    rule = AdaptiveRecalibrator(memory=(5, 50, math.inf)).start(dist[:30], y[:30])
    copy = AdaptiveRecalibrator.from_state(rule.state())
    assert copy.memory == (5.0, 50.0, math.inf)
    one, other = rule.follow(dist[30:], y[30:]), copy.follow(dist[30:], y[30:])
    np.testing.assert_array_equal(one.knots, other.knots)
    assert all(isinstance(value, np.ndarray) for value in rule.state().values())


def test_a_state_is_a_copy() -> None:
    rule = AdaptiveRecalibrator().update(standard(3), [1.0, 2.0, 0.0])
    kept = rule.state()
    before = json.dumps({key: value.tolist() for key, value in kept.items()})
    rule.update(standard(3), [1.0, 2.0, 0.0])
    assert json.dumps({key: value.tolist() for key, value in kept.items()}) == before


def test_a_symmetric_one_widens_both_sides_and_leaves_the_median() -> None:
    n = 2000
    y = np.random.default_rng(1).normal(0.5, 3.0, n)  # a bias, and three times the spread
    rule = AdaptiveRecalibrator(symmetric=True)
    adapted = rule.follow(standard(n), y)
    np.testing.assert_allclose(adapted.ppf(0.5), 0.0, atol=1e-9)
    np.testing.assert_allclose(adapted.ppf(0.1), -adapted.ppf(0.9))
    assert abs(coverage(adapted[500:], y[500:]) - 0.9) < 0.03
    np.testing.assert_array_equal(rule.knots, rule.transform(standard(1)).knots[0])
    again = AdaptiveRecalibrator.from_state(rule.state())
    np.testing.assert_array_equal(again.knots, rule.knots)


def test_a_symmetric_one_is_not_narrowed_by_a_run_of_errors() -> None:
    # Outcomes stay on one side for a long time: their own quantiles would lie close together.
    y = 1.5 * np.sign(np.sin(np.arange(3000) / 200))
    wide = AdaptiveRecalibrator(symmetric=True).follow(standard(3000), y, lag=100)
    assert coverage(wide[300:], y[300:]) > 0.87
    sided = AdaptiveRecalibrator().follow(standard(3000), y, lag=100)
    assert coverage(sided[300:], y[300:]) < 0.83


def late_errors(seed: int, n: int = 6000, steps: int = 24) -> Array:
    """Standard normal outcomes that share their causes, as those of overlapping forecasts do."""
    noise = np.random.default_rng(seed).normal(size=n + steps)
    return np.convolve(noise, np.ones(steps) / np.sqrt(steps), mode="valid")[:n]


def test_overlapping_rows_do_not_unsettle_a_calibrated_forecast() -> None:
    steps = 24
    found: dict[str, list[float]] = {"late": [], "plain": []}
    for seed in range(4):
        y = late_errors(seed)
        for name, rule in (
            ("late", AdaptiveRecalibrator().for_delay(steps)),
            ("plain", AdaptiveRecalibrator()),
        ):
            adapted = rule.follow(standard(len(y)), y, lag=steps)
            found[name].append(abs(coverage(adapted, y) - 0.9))
    assert np.mean(found["late"]) < 0.015
    assert np.mean(found["plain"]) > 0.03


def test_for_delay_is_fresh_and_knows_how_late_outcomes_come() -> None:
    rule = AdaptiveRecalibrator([20.0, np.inf]).update(standard(2), [3.0, 4.0])
    soon = rule.for_delay(1, rows=5)
    assert (soon.memory, soon.symmetric, soon.overlap) == ((100.0, np.inf), False, 1.0)
    np.testing.assert_allclose(soon.knots, AdaptiveRecalibrator().knots)
    late = rule.for_delay(24)
    assert (late.memory, late.symmetric, late.overlap) == ((20.0, np.inf), True, 12.0)
    assert AdaptiveRecalibrator.from_state(late.state()).overlap == 12.0


def test_a_damaged_state() -> None:
    state = AdaptiveRecalibrator().state()
    with pytest.raises(ModelFileError, match="Not the state of an AdaptiveRecalibrator: KeyError"):
        AdaptiveRecalibrator.from_state({})
    with pytest.raises(ModelFileError, match=r"quantiles of shape \(2, 35\), not \(4, 35\)"):
        AdaptiveRecalibrator.from_state(state | {"quantiles": state["quantiles"][:2]})
    with pytest.raises(ModelFileError, match="not finite"):
        AdaptiveRecalibrator.from_state(state | {"losses": np.full(4, np.nan)})


# ---- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("overlap", [0.5, -1.0, np.nan])
def test_bad_overlap(overlap: float) -> None:
    with pytest.raises(ParameterError, match="overlap must be a number of rows, at least 1"):
        AdaptiveRecalibrator(overlap=overlap)


@pytest.mark.parametrize("memory", [[], [0.5], [-3.0], [np.nan], [[1.0, 2.0]], 50.0])
def test_bad_memory(memory: object) -> None:
    with pytest.raises(ParameterError, match="memory must be a list of numbers of rows"):
        AdaptiveRecalibrator(memory=memory)


@pytest.mark.parametrize("lag", [0, -1, 1.5, "1"])
def test_bad_lag(lag: object) -> None:
    with pytest.raises(ParameterError, match="lag must be a whole number of at least 1 row"):
        AdaptiveRecalibrator().follow(standard(3), np.zeros(3), lag=lag)


def test_bad_rows() -> None:
    rule = AdaptiveRecalibrator()
    with pytest.raises(ParameterError, match=r"a predictive distribution, .* got ndarray"):
        rule.update(np.zeros(3), np.zeros(3))
    with pytest.raises(ParameterError, match="got list"):
        rule.transform([1.0])
    with pytest.raises(DataError, match="one outcome for each of 3 rows, got 2"):
        rule.update(standard(3), [1.0, 2.0])
    with pytest.raises(CalibrantError, match="y must be finite"):
        rule.follow(standard(2), [1.0, np.nan])
    # Nothing was learned on the way.
    np.testing.assert_array_equal(
        rule.state()["quantiles"], AdaptiveRecalibrator().state()["quantiles"]
    )
    assert rule.state()["seen"] == 0


def test_public_name() -> None:
    assert calibrant.AdaptiveRecalibrator is AdaptiveRecalibrator
    assert isinstance(AdaptiveRecalibrator().transform(standard(2)), ScoreRecalibrated)
    assert pit(AdaptiveRecalibrator().transform(standard(1)), [0.0])[0] == pytest.approx(0.5)

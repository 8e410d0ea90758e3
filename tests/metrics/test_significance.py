from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from calibrant.distributions import Normal
from calibrant.metrics import LEVELS, CalibrationTest, calibration_test, coverage, ecpe, mcpe


def on_normal_targets(
    scale: float, *, seed: int, n: int = 60, shift: float = 0.0
) -> CalibrationTest:
    y = np.random.default_rng(seed).normal(size=n)
    return calibration_test(Normal(np.full(n, shift), np.full(n, scale)), y)


def test_p_values_are_uniform_for_the_truth() -> None:
    tests = [on_normal_targets(1.0, seed=seed) for seed in range(400)]
    for name in ("p_value", "mcpe_p_value", "pit_p_value"):
        values = [getattr(test, name) for test in tests]
        assert kstest(values, "uniform").pvalue > 0.01, name
    # 400 decisions, each wrong with at most 5%: four standard errors above that
    assert np.mean([test.reject for test in tests]) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize("scale", [0.8, 1.2])
def test_a_wrong_scale_is_found(scale: float) -> None:
    tests = [on_normal_targets(scale, seed=seed, n=2000) for seed in range(20)]
    assert max(test.p_value for test in tests) < 0.001
    assert all(test.reject for test in tests)


def test_a_bias_hidden_by_a_wide_spread_is_found() -> None:
    test = on_normal_targets(1.31, seed=3, n=2000, shift=0.8)
    assert test.p_value > 0.05  # central intervals cover about what they should
    assert test.pit_p_value < 1e-6
    assert test.reject


def test_contents() -> None:
    y = np.random.default_rng(6).normal(size=300)
    dist = Normal(np.zeros(300), np.full(300, 0.95))
    test = calibration_test(dist, y, confidence=0.9)
    assert (test.n, test.confidence) == (300, 0.9)
    assert test.ecpe == ecpe(dist, y)
    assert test.mcpe == mcpe(dist, y)
    assert np.array_equal(test.coverage, coverage(dist, y, coverage=LEVELS))
    assert np.all((test.lower <= LEVELS) & (test.upper >= LEVELS))


def test_p_value_is_never_zero() -> None:
    test = on_normal_targets(0.01, seed=0)
    assert test.p_value == pytest.approx(1 / 8001)


def test_ties_on_few_rows_count_as_large() -> None:
    # Two rows whose |2u - 1| is 0.5 have an error that many simulated forecasters share.
    dist = Normal([0.0, 0.0], [1.0, 1.0])
    assert 0.2 < calibration_test(dist, dist.ppf(0.75)).p_value <= 1.0


def test_one_plain_sentence() -> None:
    good, bad = on_normal_targets(1.0, seed=1), on_normal_targets(0.5, seed=1)
    assert str(good).startswith("No evidence of miscalibration at 95% confidence on 60 rows: ECPE")
    assert str(bad).startswith("Miscalibrated at 95% confidence on 60 rows: ECPE")
    assert "\n" not in str(bad)

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions import Mixture, MonotoneMap, Normal, Recalibrated
from calibrant.metrics import pit
from calibrant.metrics.calibration import coverage_errors
from calibrant.recalibration import fit_conditional_pit_map, fit_pit_map


def forecasts(n: int, seed: int, wrong: float) -> tuple[Normal, np.ndarray]:
    """Normal forecasts whose spread is too large by a factor where the mean is small."""
    rng = np.random.default_rng(seed)
    mean = rng.uniform(0, 10, n)
    true = np.full(n, 1.0)
    return Normal(mean, np.where(mean < 2, wrong, 1.0)), mean + true * rng.standard_normal(n)


def through_maps(n: int, wrong: float) -> tuple[Recalibrated, Recalibrated, np.ndarray, np.ndarray]:
    """New rows through the common and the conditional map, their targets and predicted means."""
    dist, y = forecasts(n, 0, wrong)
    u = pit(dist, y)
    common = fit_pit_map(u)
    anchors, levels = fit_conditional_pit_map(common, u, dist.mean)
    new, y_new = forecasts(20_000, 1, wrong)
    maps = MonotoneMap.between(common.x[1:-1], anchors, levels, new.mean)
    base = Mixture.of([new])
    return Recalibrated(base, common), Recalibrated(base, maps), y_new, new.mean


def test_rows_with_small_predicted_means_are_calibrated() -> None:
    before, after, y, mean = through_maps(8000, 2.0)
    small = mean < 1.0
    assert coverage_errors(pit(before[small], y[small])).mean() > 0.08
    assert coverage_errors(pit(after[small], y[small])).mean() < 0.04
    assert coverage_errors(pit(after, y)).mean() < 0.01
    assert after.crps(y).mean() < before.crps(y).mean()


def test_calibrated_forecasts_get_no_conditional_map() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(60):
        u = rng.random(3000)
        found += len(fit_conditional_pit_map(fit_pit_map(u), u, rng.random(len(u)))[0]) > 0
    assert found <= 2


@pytest.mark.parametrize("mean", [np.arange(2399.0), np.full(5000, 3.0)])
def test_too_few_rows_or_one_predicted_mean(mean: np.ndarray) -> None:
    u = np.random.default_rng(0).random(len(mean))
    anchors, levels = fit_conditional_pit_map(fit_pit_map(u), u, mean)
    assert len(anchors) == len(levels) == 0


def test_atoms_and_weights() -> None:
    rng = np.random.default_rng(3)
    n, step = 6000, 0.25
    mean = rng.random(n)
    # Half of the mass of every cell is missing where predicted means are small.
    u = np.where(mean < 0.3, 0.25 + 0.5 * rng.random(n), rng.random(n))
    left = np.floor(u / step) * step
    common = fit_pit_map(left + step, left=left)
    weight = rng.uniform(0.5, 1.5, n)
    anchors, levels = fit_conditional_pit_map(common, left + step, mean, weight, left=left)
    assert np.all(np.diff(levels, axis=1) > 0)
    ends = MonotoneMap.between(common.x[1:-1], anchors, levels, mean)
    low, high = ends(left[:, None])[:, 0], ends((left + step)[:, None])[:, 0]
    v = low + rng.random(n) * (high - low)
    assert np.abs(np.mean(v[mean < 0.25] < 0.25) - 0.25) < 0.06

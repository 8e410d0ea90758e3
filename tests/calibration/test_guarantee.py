"""``guarantee=True``: coverage in finite samples."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from calibrant import calibrate
from calibrant.calibration.bounds import ConformalBounds
from calibrant.distributions import Empirical, Normal
from calibrant.errors import CalibrantWarning, ParameterError


def test_coverage_holds_on_average_over_draws_whatever_the_model() -> None:
    """A wrong model, 19 fresh rows: the expected coverage of 80% is 16/20 exactly."""
    rng, inside, below = np.random.default_rng(0), [], []
    for _ in range(2000):
        y, new = rng.exponential(size=19), rng.exponential(size=1)
        bounds = ConformalBounds.fit(Normal(np.zeros(19), np.full(19, 0.3)), y)
        dist = Normal([0.0], [0.3])
        low, high = bounds.interval(dist, 0.8)[0]
        inside.append(low <= new[0] <= high)
        below.append(new[0] <= bounds.quantiles(dist, 0.75)[0])
    assert np.mean(inside) == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 2000))
    assert np.mean(below) == pytest.approx(0.75, abs=4 * np.sqrt(0.19 / 2000))


def test_atoms_are_covered_at_least() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400).astype(float)
    dist = Empirical(np.tile([0.0, 1.0, 1.0, 2.0], (400, 1)))
    bounds = ConformalBounds.fit(dist[:200], y[:200])
    low, high = bounds.interval(dist[200:], 0.6).T
    assert np.mean((low <= y[200:]) & (y[200:] <= high)) > 0.5


def test_too_few_rows_for_a_level_give_infinite_bounds_and_a_warning() -> None:
    bounds = ConformalBounds.fit(Normal(np.zeros(9), np.ones(9)), np.linspace(-1, 1, 9))
    dist = Normal([0.0], [1.0])
    with pytest.warns(CalibrantWarning, match=r"coverage=0.99 can't be guaranteed with 9"):
        assert np.isinf(bounds.interval(dist, 0.99)).all()
    with pytest.warns(CalibrantWarning, match=r"alpha=0.01 can't be guaranteed with 9"):
        np.testing.assert_array_equal(bounds.quantiles(dist, [0.01, 0.99]), [[-np.inf, np.inf]])


def test_calibrate_holds_rows_out_for_it(rows, fresh, quick) -> None:
    X, y, _ = rows
    model = calibrate(LinearRegression(), X, y, guarantee=True, learner=quick)
    assert model.n_calibration == 840
    assert len(model.bounds.radius) == 360
    interval = model.predict_interval(fresh[0], [0.5, 0.9])
    inside = (interval[:, 0] <= fresh[1][:, None]) & (fresh[1][:, None] <= interval[:, 1])
    # The coverage given 360 rows has a standard deviation of sqrt(p (1 - p) / 362).
    for share, p in zip(inside.mean(axis=0), (0.5, 0.9), strict=True):
        assert share > p - 3 * np.sqrt(p * (1 - p) * (1 / 362 + 1 / 3000))
    assert model.predict_quantiles(fresh[0][:4], 0.9).shape == (4,)


def test_groups_are_not_exchangeable(rows) -> None:
    X, y, _ = rows
    with pytest.raises(ParameterError, match="guarantee=True needs exchangeable rows"):
        calibrate(LinearRegression(), X, y, guarantee=True, groups=np.arange(1200) // 4)

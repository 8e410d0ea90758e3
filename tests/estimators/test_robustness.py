"""One wild target, and rows far from all training rows."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import MMDRegressor

pytestmark = pytest.mark.slow


def make_data(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def model() -> MMDRegressor:
    return MMDRegressor(random_state=0, device="cpu").fit(*make_data())


@pytest.mark.parametrize("wild", [1e6, -1e6])
def test_one_wild_target_does_not_widen_the_intervals(model: MMDRegressor, wild: float) -> None:
    X, y = make_data()
    new, _ = make_data(seed=1)
    y[300] = wild
    moved = MMDRegressor(random_state=0, device="cpu").fit(X, y)
    width, other = (np.ptp(m.predict_interval(new), axis=1).mean() for m in (model, moved))
    assert 1 / 1.5 < other / width < 1.5


def test_spreads_do_not_collapse_far_away(model: MMDRegressor) -> None:
    X, _ = make_data()
    near, far = model.predict_dist(X).stddev, model.predict_dist(1e4 * X).stddev
    assert far.min() > near.mean()

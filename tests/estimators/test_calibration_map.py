"""Maps by the predicted mean: learned where they are needed, used, saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant import Ensemble, Matching, MMDRegressor
from calibrant.errors import ParameterError
from calibrant.metrics import evaluate


def make(**changes: Any) -> MMDRegressor:
    model = MMDRegressor(quality="fast", hidden=(8,), epochs=20, random_state=0, device="cpu")
    model.set_params(ensemble=Ensemble(members=2, folds=4), matching=Matching(epochs=1))
    return model.set_params(**changes)


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Targets whose noise is tiny where they are small, which takes a network long to learn."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, (n, 1))
    return x, x[:, 0] + np.where(x[:, 0] < 2, 0.05, 1.0) * rng.standard_normal(n)


@pytest.fixture(scope="module")
def model() -> MMDRegressor:
    return make().fit(*table(3000))


@pytest.mark.slow
def test_predictions_of_every_size_are_calibrated(model: MMDRegressor) -> None:
    assert len(model.predictor_.map.means) == 10
    x, y = table(5000, 1)
    dist = model.predict_dist(x)
    assert dist.monotone.n_rows == 5000
    common = make(recalibrate="common").fit(*table(3000))
    assert not len(common.predictor_.map.means)
    after, before = evaluate(dist, y), evaluate(common.predict_dist(x), y)
    assert after.by_mean.mean_ecpe < 0.7 * before.by_mean.mean_ecpe
    assert after.crps < before.crps
    assert after.ecpe < 0.03


def test_they_come_back(model: MMDRegressor, tmp_path: Path) -> None:
    x, _ = table(50, 2)
    model.save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_interval(x), model.predict_interval(x))


def test_a_second_fit_forgets_them(model: MMDRegressor) -> None:
    again = make().fit(*table(3000))
    assert len(again.predictor_.map.means)
    again.fit(*table(300))
    assert not len(again.predictor_.map.means)


def test_only_known_ways() -> None:
    with pytest.raises(ParameterError, match="'recalibrate' parameter of MMDRegressor must be"):
        make(recalibrate="mean").fit(*table(300))

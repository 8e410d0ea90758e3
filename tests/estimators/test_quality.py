"""Settings of quality, and cross-fitting."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import MMDRegressor
from calibrant.distributions import Normal
from calibrant.errors import ParameterError
from calibrant.estimators._contraction import contraction
from calibrant.estimators._quality import PRESETS
from calibrant.metrics import pit


def make_data(n: int = 240, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.standard_normal(n)


def cross_fitted(X, y, **options):
    settings = {"quality": "best", "hidden": (16,), "random_state": 0, "device": "cpu"}
    return MMDRegressor(**(settings | options)).at_most(2).fit(X, y)


def test_what_is_set_wins_over_the_quality() -> None:
    model = MMDRegressor(quality="best", members=3, head="gaussian")
    assert model._n_members() == 3 * PRESETS["best"]["cross_fit"]
    assert model._setting("head") == "gaussian"
    assert model._setting("average") == PRESETS["best"]["average"]
    assert MMDRegressor().get_params()["head"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quality": "ultra"}, "quality must be one of fast, default, best, got 'ultra'"),
        ({"cross_fit": 1}, "cross_fit 0 or a number of folds from 2"),
        ({"members": 0}, "members must be at least 1"),
        ({"periodic": -0.1}, "periodic must be at least 0"),
    ],
)
def test_bad_settings(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MMDRegressor(**options).fit(*make_data(60))


def test_every_quality_fits_and_predicts() -> None:
    X, y = make_data(120)
    for quality, preset in PRESETS.items():
        model = MMDRegressor(quality=quality, hidden=(16,), random_state=0).at_most(2).fit(X, y)
        assert model.module_.size == model._n_members()
        assert len(model.predict_dist(X)) == 120
        assert (model.n_held_out_ == 24) == (preset["cross_fit"] == 0 or 120 < 200)


def test_all_rows_are_held_out_once() -> None:
    X, y = make_data()
    model = cross_fitted(X, y)
    assert model.module_.size == 8
    assert model.n_held_out_ == len(y)


def test_groups_stay_together_and_a_split_of_ones_own_is_used() -> None:
    X, y = make_data()
    groups = np.repeat(np.arange(24), 10)
    settings = {"quality": "best", "hidden": (16,), "random_state": 0, "device": "cpu"}
    model = MMDRegressor(**settings).at_most(1).fit(X, y, groups=groups)
    assert model.n_held_out_ == len(y)
    model = (
        MMDRegressor(**settings).at_most(1).fit(X, y, cv=[(np.arange(200), np.arange(200, 240))])
    )
    assert (model.n_held_out_, model.contraction_) == (40, 1.0)


def test_contraction_is_extrapolated_in_one_over_r() -> None:
    a, b = 0.7, 0.2
    factor = contraction(a + b, a + b / 2, 2, 8)
    assert factor == pytest.approx((a + b / 8) / (a + b / 2))
    assert contraction(1.0, 1.0, 2, 8) == 1.0
    assert contraction(0.9, 1.0, 2, 8) == 1.0  # never wider than what was seen
    assert contraction(1.0, 1.0, 1, 5) == 1.0


def test_contraction_repairs_the_spread_of_a_larger_ensemble() -> None:
    """Members that miss the truth by noise of their own: pools of 2 judged, 8 used."""
    rng = np.random.default_rng(0)
    n, noise, wander = 20_000, 1.0, 0.7
    y = noise * rng.standard_normal(n)
    means = wander * rng.standard_normal((8, n))
    alone = Normal(means[0], np.full(n, noise))

    def pooled(size: int) -> Normal:
        some = means[:size]
        return Normal(some.mean(axis=0), np.sqrt(noise**2 + some.var(axis=0)))

    def distance(dist: Normal) -> float:
        return float(np.mean(np.abs(y - dist.mean) / dist.stddev))

    factor = contraction(distance(alone), distance(pooled(2)), 2, 8)
    truth = distance(pooled(8)) / distance(pooled(2))
    assert factor == pytest.approx(truth, abs=0.03)
    full = pooled(8)
    narrowed = full.affine((1 - factor) * full.mean, factor)
    spread = [np.std(pit(dist, y)) for dist in (pooled(2), narrowed)]
    assert abs(spread[1] - spread[0]) < 0.02

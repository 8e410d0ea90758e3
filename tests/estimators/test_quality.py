"""Settings of quality, and cross-fitting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from calibrant import MMDRegressor
from calibrant.distributions import Mixture, Normal
from calibrant.errors import DataError, ParameterError
from calibrant.estimators._pooling import SHARES, as_of_all, best_share, narrowing
from calibrant.estimators._quality import PRESETS, limited
from calibrant.estimators._validation import check_sample
from calibrant.metrics import pit

ONE = np.ones(1)
FOLDS = {
    "quality": "best", "members": 2, "cross_fit": 4, "neighbours": False,
    "hidden": (16,), "random_state": 0, "device": "cpu",
}  # fmt: skip


def make_data(n: int = 240, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.standard_normal(n)


def cross_fitted(X, y, **options):
    return MMDRegressor(**(FOLDS | limited("best", 2) | options)).fit(X, y)


def test_what_is_set_wins_over_the_quality() -> None:
    model = MMDRegressor(quality="best", members=3, cross_fit=4, head="gaussian")
    assert model._n_members() == 3 * 4
    best = PRESETS["best"]
    assert MMDRegressor(quality="best")._n_members() == best["members"] * best["cross_fit"]
    assert model._setting("head") == "gaussian"
    assert model._setting("average") == PRESETS["best"]["average"]
    assert MMDRegressor().get_params()["head"] is None


def test_a_limit_lowers_the_epochs_of_a_quality_and_raises_none() -> None:
    assert limited("best", 50) == {"epochs": 10, "matching_epochs": 50}


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
    for quality in PRESETS:
        few = limited(quality, 2)
        model = MMDRegressor(quality=quality, hidden=(16,), random_state=0, **few).fit(X, y)
        assert model.module_.size == model._n_members()
        assert len(model.predict_dist(X)) == 120
        assert model.n_held_out_ == (24 if quality == "fast" else 120)


def test_few_rows_are_cross_fitted_by_default() -> None:
    X, y = make_data(240)
    few = limited("default", 2)
    model = MMDRegressor(hidden=(8,), random_state=0, **few).fit(X, y)
    assert (model.n_held_out_, model.module_.size) == (240, 5)
    X, y = make_data(1000)
    model.fit(X, y)
    assert (model.n_held_out_, model.module_.size) == (200, 1)
    model.set_params(cross_fit=2).fit(X, y)
    assert (model.n_held_out_, model.module_.size) == (1000, 2)


def test_a_hold_out_learns_its_spread_and_folds_do_not(monkeypatch) -> None:
    from calibrant.estimators import _pooled

    asked, plain = [], _pooled.fit_pit_map
    monkeypatch.setattr(
        _pooled, "fit_pit_map", lambda *a, **k: asked.append(k["shrink"]) or plain(*a, **k)
    )
    X = np.random.default_rng(0).normal(size=(300, 1))
    for folds in (0, 3):
        MMDRegressor(cross_fit=folds, epochs=1, matching_epochs=1, device="cpu").fit(X, X[:, 0])
    assert asked == ["spread", True]


def test_all_rows_are_held_out() -> None:
    X, y = make_data()
    model = cross_fitted(X, y)
    assert model.module_.size == 8
    assert model.n_held_out_ == len(y)


def test_rows_are_dealt_out_anew_for_every_member() -> None:
    X, y = make_data()
    model = cross_fitted(X, y)
    folds = model._folds(check_sample(model, X, y, None, reset=True), 0)
    held_out = [frozenset(fold.tolist()) for _, fold in folds]
    assert len(held_out) == len(set(held_out)) == 8
    for partition in (held_out[:4], held_out[4:]):
        assert sorted(row for fold in partition for row in fold) == list(range(len(y)))


def test_groups_stay_together_and_a_split_of_ones_own_is_used() -> None:
    X, y = make_data()
    groups = np.repeat(np.arange(24), 10)
    once = FOLDS | limited("best", 1)
    model = MMDRegressor(**once).fit(X, y, groups=groups)
    assert model.n_held_out_ == len(y)
    model = MMDRegressor(**once).fit(X, y, cv=[(np.arange(200), np.arange(200, 240))])
    assert model.n_held_out_ == 40


def test_scores_of_all_networks_are_extrapolated_in_one_over_r() -> None:
    rng = np.random.default_rng(0)
    values = ndtr(rng.standard_normal((5000, 1, 1)) + 0.8 * rng.standard_normal((5000, 1, 2)))
    alone, pooled = (np.mean((u - 0.5) ** 2) for u in (values, values.mean(axis=2)))
    b = (alone - pooled) / (1 - 1 / 2)
    found = np.mean((as_of_all(values, ONE, narrowing(values, ONE, 8)) - 0.5) ** 2)
    assert found == pytest.approx(pooled - b * (1 / 2 - 1 / 8))
    assert narrowing(values[..., :1], ONE, 4) == 1.0
    # never wider than what was seen
    same = np.concatenate([values[..., :1]] * 2, axis=2)
    np.testing.assert_allclose(as_of_all(same, ONE, narrowing(same, ONE, 8)), values[:, 0, 0])


@pytest.mark.parametrize("shares", [np.ones(1), np.array([0.75, 0.25])])
def test_the_extrapolation_foretells_a_larger_ensemble(shares: np.ndarray) -> None:
    """Members that miss the truth by noise of their own: pools of 2 judged, 8 used."""
    rng = np.random.default_rng(0)
    n, noise = 20_000, 1.0
    y = noise * rng.standard_normal(n)
    values = np.empty((n, len(shares), 8))
    for kind, member in np.ndindex(values.shape[1:]):
        means = (0.4 + 0.3 * kind) * rng.standard_normal(n)
        values[:, kind, member] = pit(Normal(means, np.full(n, noise)), y)
    truth, seen = (part.mean(axis=2) @ shares for part in (values, values[..., :2]))
    few = values[..., :2]
    foretold = as_of_all(few, shares, narrowing(few, shares, 8))
    assert abs(foretold.std() - truth.std()) < 0.001
    assert abs(seen.std() - truth.std()) > 0.006


@pytest.mark.parametrize("bias", [(0.0, 1.5), (1.5, 0.0), (0.5, 0.5), (0.0, 0.6)])
def test_shares_follow_the_crps_of_the_whole_pool(bias: tuple[float, float]) -> None:
    """Two networks of each kind are seen, eight of each are foretold."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(4000)
    means = [off + 0.3 * rng.standard_normal((8, 4000)) for off in bias]

    def pool(members: list[np.ndarray], weights: list[float] | None = None) -> float:
        parts = [Normal(each, np.full(4000, 0.8)) for each in members]
        return float(Mixture.of(parts, weights).crps(y).mean())

    few = [*means[0][:2], *means[1][:2]]
    found = best_share(lambda positions: pool([few[i] for i in positions]), 2, 8)
    every = [*means[0], *means[1]]
    truth = {s: pool(every, [s] * 8 + [1 - s] * 8) for s in SHARES}
    assert truth[found] < min(truth.values()) + 0.001
    assert max(truth.values()) > min(truth.values()) + 0.001


@pytest.mark.parametrize(
    "options", [{}, {"quality": "best", "members": 1, "cross_fit": 2}, {"scaling": "minmax"}]
)
def test_rows_of_no_weight_are_left_out_of_everything(options: dict) -> None:
    X, y = make_data(200)
    weight = np.where(np.arange(200) % 10 == 0, 0.0, 1.0)
    few = {"epochs": 2, "matching_epochs": 2, "hidden": (8,), "random_state": 0, "device": "cpu"}
    moved = np.where(weight == 0, 1000.0, y)
    one, two = (MMDRegressor(**few | options).fit(X, each, weight) for each in (y, moved))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_folds_of_groups_are_dealt_out_anew() -> None:
    X, y = make_data()
    groups = np.repeat(np.arange(24), 10)
    model = MMDRegressor(**FOLDS)
    sample = check_sample(model, X, y, None, reset=True)._replace(groups=groups)
    held_out = {frozenset(fold.tolist()) for _, fold in model._folds(sample, 0)}
    assert len(held_out) == 8


def test_what_the_default_does_on_few_rows_with_little_to_go_by() -> None:
    X, y = make_data(120)
    few = {"epochs": 2, "matching_epochs": 1, "hidden": (8,), "random_state": 0, "device": "cpu"}
    model = MMDRegressor(**few).fit(X, y, groups=np.arange(120) % 3)
    assert model.module_.size == 3
    assert MMDRegressor(**few, mc_passes=4, dropout=0.1).fit(X, y).module_.size == 1
    own = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU())
    assert MMDRegressor(**few, network=own).fit(X, y).module_.size == 1
    with pytest.raises(DataError, match="one label a row"):
        MMDRegressor(**few).fit(X, y, groups=np.arange(100))

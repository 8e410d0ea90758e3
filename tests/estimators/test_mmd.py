"""Settings of quality, and cross-fitting."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ndtr
from sklearn.base import clone

from calibrant import Ensemble, Matching, MMDRegressor
from calibrant.distributions import Mixture, Normal
from calibrant.errors import DataError, ParameterError
from calibrant.estimators import PRESETS, limited_epochs
from calibrant.estimators.ensemble_extrapolation import (
    best_shares,
    extrapolate_pit,
    fit_stretch,
    pit_shrinkage,
)
from calibrant.estimators.presets import default_size, preset
from calibrant.metrics import pit

ONE = np.ones(1)


def make_data(n: int = 240, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.standard_normal(n)


def make(**changes) -> MMDRegressor:
    model = MMDRegressor(quality="best", hidden=(16,), random_state=0, device="cpu")
    model.set_params(
        ensemble=Ensemble(members=2, folds=4, kinds=("relu",)), **limited_epochs("best", 2)
    )
    return model.set_params(**changes)


def test_what_is_set_wins_over_the_quality() -> None:
    model = MMDRegressor(quality="best", ensemble=Ensemble(members=3, folds=4), components=1)
    settings, best = model.settings(), PRESETS["best"]
    assert (settings.members, settings.folds, settings.components) == (3, 4, 1)
    assert (settings.average, settings.match) == (best.average, best.match)
    assert MMDRegressor(quality="best").settings() == best
    recurrent = MMDRegressor(quality="best", network="lstm").settings()
    assert recurrent == preset("best", "lstm") != best
    assert MMDRegressor(matching=Matching(match="joint")).settings().match == "joint"
    assert MMDRegressor(quality="fast", matching=Matching(match=None)).settings().match is None


def test_a_limit_lowers_the_epochs_of_a_quality_and_raises_none() -> None:
    assert limited_epochs("best", 50) == {"epochs": 2, "matching__epochs": 50}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quality": "ultra"}, "'quality' parameter of MMDRegressor must be .* Got 'ultra'"),
        ({"ensemble__folds": 1}, "ensemble.folds must be 0 or at least 2, got 1"),
        ({"ensemble__kinds": ["neighbours"]}, "kinds must be .* got .'neighbours',"),
        ({"ensemble__kinds": ["relu", "tanh"]}, "kinds must be .* got .'relu', 'tanh'"),
        ({"ensemble__members": 0}, "'members' parameter of Ensemble must be .* Got 0"),
        ({"ensemble__periodic": -0.1}, "'periodic' parameter of Ensemble must be .* Got -0.1"),
        ({"matching__score_weight": 0.0, "matching__match": None}, "score_weight must be above 0"),
    ],
)
def test_bad_settings(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MMDRegressor().set_params(**options).fit(*make_data(60))


def test_every_quality_fits_and_predicts() -> None:
    X, y = make_data(120)
    for quality in PRESETS:
        model = MMDRegressor(quality=quality, hidden=(16,), random_state=0)
        model.set_params(**limited_epochs(quality, 2))
        plan = model.plan(X, y)
        assert not hasattr(model, "n_features_in_")  # a plan leaves the model as it is
        model.fit(X, y)
        assert plan.n_networks % model.module_.size == 0  # kinds without a share are left out
        assert len(model.predict_dist(X)) == 120
        assert model.n_held_out_ == (24 if quality == "fast" else 120)


def test_folds_and_kinds_follow_the_number_of_rows(monkeypatch) -> None:
    from calibrant.estimators import presets

    monkeypatch.setattr(presets, "default_size", lambda n: default_size(n * 20))  # 200 are 4,000
    X, y = make_data(201)
    model = MMDRegressor(hidden=(8,), random_state=0)

    def size(n: int) -> tuple[int, int, int, int]:
        plan = model.plan(X[:n], y[:n])
        return plan.n_held_out, len(plan.groups), plan.n_networks, plan.head.submodels

    assert size(40) == (40, 2, 20, 2)  # too few for neighbours
    assert size(100) == (100, 3, 30, 2)
    assert size(200) == (200, 2, 20, 2)
    assert size(201) == (201, 2, 12, 2)
    model.set_params(ensemble__folds=2)
    assert size(201) == (201, 2, 8, 2)
    model.set_params(ensemble__members=1, ensemble__kinds=["relu"])
    assert size(201) == (201, 1, 2, 2)
    model.set_params(ensemble__folds=0)
    assert size(201) == (41, 1, 1, 2)


def test_best_is_smaller_on_few_rows() -> None:
    few, many = (preset("best", "mlp", n) for n in (2_000, 2_001))
    assert (few.submodels, few.hidden, few.matching_epochs) == (2, (112, 112, 112), 80)
    assert many == PRESETS["best"]
    own = MMDRegressor(quality="best", hidden=(16,), ensemble=Ensemble(submodels=3))
    assert (own.settings(100).hidden, own.settings(100).submodels) == ((16,), 3)
    assert preset("best", "lstm", 100) == preset("best", "lstm")


def test_many_rows_take_fewer_epochs_unless_they_are_set() -> None:
    X, y = make_data(200)
    stage = MMDRegressor().plan(X, y).groups[0].stages[1]
    assert stage.epochs == PRESETS["default"].matching_epochs
    assert PRESETS["default"].epochs_for(32_000) == stage.epochs // 2
    assert MMDRegressor(matching=Matching(epochs=7)).plan(X, y).groups[0].stages[1].epochs == 7


def test_all_rows_are_held_out() -> None:
    X, y = make_data()
    model = make().fit(X, y)
    assert model.module_.size == 8
    assert model.n_held_out_ == len(y)


def test_rows_are_dealt_out_anew_for_every_member() -> None:
    X, y = make_data()
    held_out = [frozenset(fold.tolist()) for _, fold in make().plan(X, y).folds]
    assert len(held_out) == len(set(held_out)) == 8
    for partition in (held_out[:4], held_out[4:]):
        assert sorted(row for fold in partition for row in fold) == list(range(len(y)))


def test_groups_stay_together_and_a_split_of_ones_own_is_used() -> None:
    X, y = make_data()
    groups = np.repeat(np.arange(24), 10)
    once = limited_epochs("best", 1)
    model = make(**once).fit(X, y, groups=groups)
    assert model.n_held_out_ == len(y)
    model = make(**once).fit(X, y, cv=[(np.arange(200), np.arange(200, 240))])
    assert model.n_held_out_ == 40


def test_scores_of_all_networks_are_extrapolated_in_one_over_r() -> None:
    rng = np.random.default_rng(0)
    values = ndtr(rng.standard_normal((5000, 1, 1)) + 0.8 * rng.standard_normal((5000, 1, 2)))
    alone, pooled = (np.mean((u - 0.5) ** 2) for u in (values, values.mean(axis=2)))
    b = (alone - pooled) / (1 - 1 / 2)
    found = np.mean((extrapolate_pit(values, ONE, pit_shrinkage(values, ONE, 8)) - 0.5) ** 2)
    assert found == pytest.approx(pooled - b * (1 / 2 - 1 / 8))
    assert pit_shrinkage(values[..., :1], ONE, 4) == 1.0
    # never wider than what was seen
    same = np.concatenate([values[..., :1]] * 2, axis=2)
    np.testing.assert_allclose(
        extrapolate_pit(same, ONE, pit_shrinkage(same, ONE, 8)), values[:, 0, 0]
    )


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
    foretold = extrapolate_pit(few, shares, pit_shrinkage(few, shares, 8))
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
    found, other = best_shares(lambda chosen: pool([few[i] for i in chosen]), 2, 2, 8)
    assert found + other == 1.0
    every = [*means[0], *means[1]]
    truth = {s: pool(every, [s] * 8 + [1 - s] * 8) for s in np.linspace(0.0, 1.0, 9)}
    assert truth[found] < min(truth.values()) + 0.001
    assert max(truth.values()) > min(truth.values()) + 0.001


def test_shares_of_three_kinds_leave_out_the_worst() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(2000)
    each = [off + 0.3 * rng.standard_normal((2, 2000)) for off in (0.0, 1.5, 0.0)]
    parts = [Normal(mean, np.full(2000, 0.8)) for mean in np.concatenate(each)]

    def crps(chosen: tuple[int, ...]) -> float:
        return float(Mixture.of([parts[i] for i in chosen]).crps(y).mean())

    shares = best_shares(crps, 3, 2, 8)
    assert shares[1] == 0.0
    assert shares[0] == pytest.approx(shares[2], abs=0.25)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"quality": "best", "ensemble__members": 1, "ensemble__folds": 2},
        {"training__scaling": "minmax"},
    ],
)
def test_rows_of_no_weight_are_left_out_of_everything(options: dict) -> None:
    X, y = make_data(200)
    weight = np.where(np.arange(200) % 10 == 0, 0.0, 1.0)
    few = {"epochs": 2, "hidden": (8,), "random_state": 0, "device": "cpu"}
    model = MMDRegressor(matching=Matching(epochs=2), **few).set_params(**options)
    moved = np.where(weight == 0, 1000.0, y)
    one, two = (clone(model).fit(X, each, weight) for each in (y, moved))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_folds_of_groups_are_dealt_out_anew() -> None:
    X, y = make_data()
    groups = np.repeat(np.arange(24), 10)
    plan = make().plan(X, y, groups=groups)
    held_out = {frozenset(fold.tolist()) for _, fold in plan.folds}
    assert len(held_out) == 8


def test_what_the_default_does_on_few_rows_with_little_to_go_by() -> None:
    X, y = make_data(120)
    few = {"epochs": 2, "hidden": (8,), "random_state": 0, "device": "cpu"}
    few["matching"] = Matching(epochs=1)
    plan = MMDRegressor(**few).plan(X, y, groups=np.arange(120) % 3)
    assert len(plan.groups[0].seeds) == 6
    own = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU())
    assert MMDRegressor(**few, network=own).fit(X, y).module_.size == 1
    with pytest.raises(DataError, match="one label per row"):
        MMDRegressor(**few).fit(X, y, groups=np.arange(100))


@pytest.mark.parametrize("spread", [0.3, 0.6, 1.0, 1.5])
def test_an_overconfident_ensemble_is_stretched_and_no_other(spread: float) -> None:
    """Normals whose spread is too small by a known factor; less than 1/3 is not mended wholly."""
    y = np.random.default_rng(0).standard_normal(4000)

    def mean_square(factor: float) -> float:
        return float(np.mean((ndtr(y / (factor * spread)) - 0.5) ** 2))

    found = fit_stretch(mean_square, len(y))
    if spread > 1.0:
        assert found == 1.0
    else:
        assert found == pytest.approx(min(3.0, 1.0 / spread), rel=0.04)


def test_what_chance_explains_is_not_stretched_away() -> None:
    """Few rows of a calibrated forecast: stretches stay near 1."""
    rng = np.random.default_rng(0)
    factors = []
    for _ in range(200):
        y = rng.standard_normal(40)
        factors.append(fit_stretch(lambda s, y=y: float(np.mean((ndtr(y / s) - 0.5) ** 2)), len(y)))
    assert np.median(factors) == 1.0
    assert np.quantile(factors, 0.9) < 1.15


def test_networks_without_folds_have_more_submodels() -> None:
    X, y = make_data(240)
    parts = [(np.arange(200), np.arange(200, 240))]
    plan = MMDRegressor(hidden=(8,)).plan(X, y, cv=parts)
    assert (plan.folds, plan.n_networks, plan.head.submodels) == ((), 4, 8)
    own = MMDRegressor(hidden=(8,), ensemble=Ensemble(submodels=3)).plan(X, y, cv=parts)
    assert own.head.submodels == 3

"""A plan says what will be trained, before anything trains."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

from calibrant import Ensemble, HeteroscedasticRegressor, Matching, MMDRegressor, Windows
from calibrant.estimators.plan import Plan
from calibrant.estimators.planning import LEAST_ROWS_PER_FOLD

SMALL: dict[str, Any] = {"hidden": (8, 4), "random_state": 0, "device": "cpu"}


def make_data(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n)


def lines(plan: Plan) -> dict[str, str]:
    """Lines of the printed plan by their first word; the first line is its title."""
    title, *rest = str(plan).splitlines()
    found = {line[2:11].strip(): line[12:] for line in rest}
    return {"title": title} | found


def test_a_plan_can_not_be_changed() -> None:
    plan = HeteroscedasticRegressor(**SMALL).plan(*make_data())
    with pytest.raises(FrozenInstanceError):
        plan.groups = ()
    with pytest.raises(FrozenInstanceError):
        plan.recipe.members = 2
    (group,) = plan.groups
    longer = replace(group, stages=(replace(group.stages[0], epochs=7),))
    assert (longer.stages[0].epochs, group.stages[0].epochs) == (7, 200)


def test_it_says_what_one_network_is_trained_on() -> None:
    model = HeteroscedasticRegressor(**SMALL, epochs=12, lr=0.5, batch_size=32)
    assert lines(model.plan(*make_data())) == {
        "title": "HeteroscedasticRegressor: 160 rows to train on",
        "networks": "1 x MLP 8-4, gaussian output",
        "features": "3 scaled inputs",
        "held out": "40 rows",
        "stage 1": "likelihood: 12 epochs, batch 32, lr 0.5, best held-out NLL",
    }


def test_it_says_what_an_ensemble_is_trained_on() -> None:
    model = MMDRegressor(
        **SMALL,
        quality="best",
        batch_size=64,
        matching=Matching(match="joint", rollback=False),
        ensemble=Ensemble(members=2, folds=3),
    )
    assert lines(model.plan(*make_data())) == {
        "title": "MMDRegressor: 200 rows to train on",
        "networks": "6 x MLP 8-4, 2 relu submodels, embedding, 5 Gaussians",
        "2nd kind": "6 x MLP 8-4, 2 silu submodels, 5 Gaussians",
        "3rd kind": "6 x MLP 8-4, 2 relu submodels, embedding, 5 Gaussians",
        "features": "3 scaled inputs, for the 3rd kind also 9 of nearest rows and a forest",
        "held out": "3 folds, rows split 2 times",
        "stage 1": "likelihood: 2 epochs, batch 64, lr 0.001, best held-out NLL",
        "stage 2": "matching: 80 epochs, batch 64, lr 0.004, last epoch",
    }


def test_it_says_what_sequences_are_read() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    windows = Windows(X, np.arange(4, 60), 5)
    model = HeteroscedasticRegressor(**SMALL, network="gru")
    found = lines(model.plan(windows, X[4:, 0]))
    assert found["networks"] == "1 x GRU 8-4, gaussian output"
    assert found["features"] == "2 scaled inputs in each of 5 steps"


@pytest.mark.parametrize(
    "random_state", [3, None, np.random.RandomState(3)], ids=["seed", "none", "generator"]
)
def test_planning_leaves_the_model_as_it_is(random_state: Any) -> None:
    model = MMDRegressor(**(SMALL | {"random_state": random_state}))
    before = dict(vars(model))
    drawn = None if random_state in (3, None) else random_state.get_state()[1].copy()
    model.plan(*make_data())
    assert vars(model) == before
    if drawn is not None:
        np.testing.assert_array_equal(random_state.get_state()[1], drawn)


def test_fit_trains_what_the_plan_says() -> None:
    X, y = make_data(90)
    model = MMDRegressor(**SMALL, epochs=2, matching=Matching(epochs=3))
    plan = model.plan(X, y)
    model.fit(X, y)
    assert plan.n_networks == 20
    assert model.n_held_out_ == plan.n_held_out == 90
    for stage in plan.groups[0].stages:
        epochs = [record["epoch"] for record in model.history_ if record["stage"] == stage.number]
        assert epochs == 2 * list(range(stage.epochs + 1))  # one kind after the other


@pytest.mark.parametrize("folds", [2, 4])
def test_folds_need_some_rows_each(folds: int) -> None:
    model = MMDRegressor(**SMALL, ensemble=Ensemble(folds=folds, members=3, kinds=("relu",)))
    enough = folds * LEAST_ROWS_PER_FOLD
    X, y = make_data(max(enough, 10))
    plan = model.plan(X, y)
    assert len(plan.folds) == 3 * folds
    assert plan.held_out is None
    for train, held_out in plan.folds:
        assert sorted([*train, *held_out]) == list(range(len(y)))
    if enough > 10:  # the least that `fit` takes
        fewer = model.plan(X[: enough - 1], y[: enough - 1])
        assert fewer.folds == ()
        assert fewer.n_held_out == 4
        assert fewer.n_networks == 3 * folds  # on the same rows


def test_members_have_seeds_of_their_own_and_the_first_is_that_of_one_alone() -> None:
    X, y = make_data()
    alone = MMDRegressor(**SMALL, ensemble=Ensemble(folds=0, members=1)).plan(X, y)
    several = MMDRegressor(**SMALL, ensemble=Ensemble(folds=0, members=4)).plan(X, y)
    seeds = several.groups[0].seeds
    assert len(set(seeds)) == 4
    assert alone.groups[0].seeds == seeds[:1]


def test_scaling_sees_training_rows_alone() -> None:
    X, y = make_data()
    plan = HeteroscedasticRegressor(**SMALL).plan(
        X[:100], y[:100], validation_data=(100.0 + X[100:], 100.0 + y[100:])
    )
    np.testing.assert_allclose(plan.features.scaler.loc, X[:100].mean(axis=0))
    np.testing.assert_allclose(float(plan.target.scale), y[:100].std())
    assert float(plan.groups[0].rows.y.mean()) == pytest.approx(0.0, abs=1e-6)
    assert float(plan.groups[0].validation.y.mean()) == 50.0  # no target counts as farther

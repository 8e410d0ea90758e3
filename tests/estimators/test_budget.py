"""A budget of time chooses how much is trained."""

from __future__ import annotations

import time

import numpy as np
import pytest

from calibrant import Ensemble, MMDRegressor
from calibrant.errors import ParameterError
from calibrant.estimators import budget
from calibrant.estimators.plan import Plan


def make_data(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n)


def work(plan: Plan) -> float:
    """Epochs of all submodels."""
    return sum(
        len(group.seeds) * group.network.submodels * group.stages[1].epochs  # type: ignore[union-attr]
        for group in plan.groups
    )


@pytest.fixture
def steps_of_a_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "step_seconds", lambda *_: 1e-3)


@pytest.mark.usefixtures("steps_of_a_millisecond")
def test_more_time_trains_more() -> None:
    X, y = make_data()
    plans = [
        MMDRegressor(time_budget=seconds, device="cpu").plan(X, y)
        for seconds in (1e-4, 0.05, 0.5, 5.0, 50.0, 5000.0)
    ]
    amounts = [work(plan) for plan in plans]
    assert amounts == sorted(amounts)
    assert amounts[0] < amounts[1] < amounts[-2]
    assert plans[0].groups[0].stages[1].epochs == 1  # less than the least is the least, cut short
    assert str(plans[-1]) == str(MMDRegressor(quality="best", device="cpu").plan(X, y))


@pytest.mark.usefixtures("steps_of_a_millisecond")
def test_what_the_user_sets_stays() -> None:
    X, y = make_data()
    own = Ensemble(members=3, folds=0, kinds=("silu",))
    plan = MMDRegressor(time_budget=5000.0, ensemble=own, hidden=(16,), device="cpu").plan(X, y)
    (group,) = plan.groups
    assert len(group.seeds) == 3
    assert (group.network.activation, group.network.hidden) == ("silu", (16,))  # type: ignore[union-attr]


def test_training_ends_when_the_time_is_over() -> None:
    X, y = make_data(2000)
    start = time.monotonic()
    model = MMDRegressor(time_budget=1.0, device="cpu", random_state=0).fit(X, y)
    assert time.monotonic() - start < 20.0  # on a busy machine; a default takes longer
    assert len(model.predict_dist(X)) == 2000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_budget": 0}, "'time_budget' parameter of MMDRegressor .* Got 0"),
        ({"time_budget": 60, "network": "lstm"}, 'time_budget needs network="mlp"'),
    ],
)
def test_bad_budgets(options: dict, message: str) -> None:
    X, y = make_data()
    inputs = X[:, None] if "network" in options else X
    with pytest.raises(ParameterError, match=message):
        MMDRegressor(**options).fit(inputs, y)

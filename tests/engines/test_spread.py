"""A model whose networks are trained in parts is the model of one fit."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calibrant.engines import fit_members, run_in_processes, run_serial
from calibrant.engines.spread import split_plan
from calibrant.errors import CalibrantError
from calibrant.estimators import DeepEnsembleRegressor, MMDRegressor


def table(n: int = 120):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X[:, 0] + 0.2 * rng.standard_normal(n)


def small(**changes) -> MMDRegressor:
    return MMDRegressor(hidden=(8,), epochs=1, random_state=0).set_params(
        matching__epochs=2, ensemble__members=1, ensemble__folds=3, **changes
    )


@pytest.mark.parametrize("workers", [3])
def test_parts_give_the_model_of_one_fit(workers: int) -> None:
    X, y = table()
    whole = small().fit(X, y)
    found = fit_members(small(), run_serial, workers, X, y)
    for level in (0.1, 0.5, 0.9):
        expected = whole.predict_quantiles(X, alpha=level)
        np.testing.assert_allclose(found.predict_quantiles(X, alpha=level), expected, atol=2e-3)
    assert len(found.history_) == len(whole.history_)


def test_parts_are_about_equal() -> None:
    plan = small().plan(*table())
    sizes = [len(part.groups[0].seeds) for part in split_plan(plan, 2)]
    assert sum(sizes) == plan.n_networks
    assert max(sizes) <= -(-plan.n_networks // 2)


@pytest.mark.slow
def test_members_of_a_hold_out_in_processes() -> None:
    X, y = table()
    model = DeepEnsembleRegressor(members=2, epochs=2, hidden=(8,), random_state=0)
    whole = DeepEnsembleRegressor(members=2, epochs=2, hidden=(8,), random_state=0).fit(X, y)
    found = fit_members(model, partial(run_in_processes, workers=2), 2, X, y)
    np.testing.assert_allclose(found.predict(X), whole.predict(X), atol=1e-4)


def test_a_worker_that_dies_is_told() -> None:
    def dying(function, items):
        yield from ((item, None) for item in items)

    with pytest.raises(CalibrantError, match="killed twice while it trained"):
        fit_members(small(), dying, 2, *table())

"""Several kinds of networks are trained one after another, each on its own rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from calibrant import Ensemble, Matching, MMDRegressor
from calibrant.estimators import fit_batched
from calibrant.estimators.train import train
from calibrant.networks import NetworkKinds


def make(**changes: Any) -> MMDRegressor:
    model = MMDRegressor(hidden=(16,), batch_size=64, epochs=2, random_state=0, device="cpu")
    kinds = Ensemble(members=2, folds=2, submodels=2, kinds=("relu", "silu", "neighbours"))
    model.set_params(ensemble=kinds, matching=Matching(epochs=3, lr=1e-2))
    return model.set_params(**changes)


def make_data(n: int = 200) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (n, 2))
    X[:, 1] = X[:, 1] > 0
    return {"X": X, "y": np.sin(4 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(n)}


def test_every_kind_has_its_networks_and_inputs() -> None:
    plan = make().plan(**make_data())
    relu, silu, neighbours = (group.network for group in plan.groups)
    assert [len(group.seeds) for group in plan.groups] == [4, 4, 4]
    assert len({seed for group in plan.groups for seed in group.seeds}) == 12
    assert (relu.periodic, silu.periodic, silu.activation) == (0.1, 0.0, "silu")
    assert (relu.n_inputs, neighbours.n_inputs) == (2, 11)
    assert relu.embedded == (0,)  # a column of two values is not embedded
    assert neighbours.embedded == (0, *range(2, 11))
    assert plan.n_networks == 12


def test_kinds_without_a_share_are_left_out() -> None:
    data = make_data()
    plan = make().plan(**data)
    (trained,) = train([plan])
    whole = plan.predictor(trained.networks)
    assert isinstance(whole.networks, NetworkKinds)
    smooth = whole.only_kinds([1])
    assert not smooth.features.more
    x = smooth.features.transform(data["X"])
    outputs = whole.networks.part(slice(4, 8)).outputs(torch.as_tensor(x, dtype=torch.float32))
    assert torch.equal(smooth.networks.outputs(torch.as_tensor(x, dtype=torch.float32)), outputs)
    both = whole.only_kinds([0, 2])
    assert len(both.features.more) == 2
    assert both.networks.size == 8
    assert whole.only_kinds([0, 1, 2]) is whole


def test_kinds_are_saved(tmp_path) -> None:
    data = make_data()
    model = make().fit(**data)
    model.save(tmp_path / "model")
    again = MMDRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data["X"]), model.predict(data["X"]))


@pytest.mark.slow
def test_kinds_are_trained_as_one_batch_with_the_result_of_one_by_one() -> None:
    data = make_data()
    models = [make(), make(random_state=1)]
    fit_batched(models, [data, data])
    for seed, model in enumerate(models):
        alone = make(random_state=seed).fit(**data)
        np.testing.assert_allclose(
            model.predict(data["X"]), alone.predict(data["X"]), rtol=1e-5, atol=1e-5
        )


@pytest.mark.slow
def test_embeddings_see_wiggles() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (900, 1))
    y = np.sin(8 * X[:, 0]) + 0.05 * rng.standard_normal(900)
    few = {"ensemble__kinds": ("relu",), "matching__epochs": 30}
    seen, unseen = (make(**few, ensemble__periodic=scale).fit(X, y) for scale in (2.0, 0.0))
    assert seen.predict_dist(X).crps(y).mean() < 0.5 * unseen.predict_dist(X).crps(y).mean()

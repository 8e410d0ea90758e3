"""Objectives that several methods share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from calibrant.errors import ConvergenceWarning
from calibrant.estimators import HeteroscedasticRegressor
from calibrant.estimators.objectives import mean_nll
from calibrant.losses import negative_log_likelihood
from calibrant.networks import MLP, MemberNetworks, NetworkSpec
from calibrant.training import Rows


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5])
def test_the_likelihood_is_a_weighted_mean_over_rows(beta: float) -> None:
    torch.manual_seed(0)
    networks = [NetworkSpec(hidden=(8,), n_inputs=2).build() for _ in range(3)]
    network = MemberNetworks(networks).double()
    rows = Rows(*(torch.rand(3, 30, *shape).double() for shape in ((2,), (), ())))
    each = negative_log_likelihood(network(rows.x), rows.y, beta=beta)
    torch.testing.assert_close(mean_nll(network, rows, beta), (rows.weight * each).mean(dim=-1))


def test_divergence_is_told() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    model = HeteroscedasticRegressor(lr=1e30, epochs=3, random_state=0, device="cpu")
    with pytest.warns(ConvergenceWarning):
        model.fit(x, x[:, 0])
    assert np.isfinite(model.predict(x)).all()


def test_a_module_of_the_users_own_keeps_what_is_its_own() -> None:
    """Layers that are frozen stay, those without a bias do without, hooks are called."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2))
    body, calls = MLP(2, (8, 8)), []
    body[0].requires_grad_(False)
    body[2] = torch.nn.Linear(8, 8, bias=False)
    body[2].register_forward_hook(lambda *_: calls.append(1))
    model = HeteroscedasticRegressor(network=body, epochs=2, random_state=0, device="cpu")
    model.fit(x, x[:, 0])
    assert torch.equal(model.module_.single.body[0].weight, body[0].weight)
    assert calls
